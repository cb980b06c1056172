"""The tape for a group of lanes: its registers are a file in shared memory, the rows of an instruction are dealt to the lanes.

A barrier follows each instruction, whose rows do not need each other. Arguments that are the same for all rows, or follow each
other, are named in the code; other lists of registers become tables. The lower half of the Jacobian, the last row apart, goes
into the registers of the lanes that hold its rows: straight from the instruction that makes it, or from the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from polymargin.gpu.shared_file import ZERO, SharedFile, held_instruction, in_order
from polymargin.gpu.stream import EMPTY, Stream
from polymargin.gpu.tape import PRODUCT, Instruction, Tape

# Most entries that lanes compute in place of one that is read; otherwise the file is faster.
MOST_WASTED = 1.3


def row_assignment(tape: Tape, stream: Stream, group: int, rows: int) -> tuple[str, SharedFile]:
    """Return code for a group of lanes that hold `rows` rows of the matrix each, and where it keeps its registers."""
    inner = tape.inputs - 1
    lower = _lower(inner, group, rows)
    held = held_instruction(tape) if len(lower) <= MOST_WASTED * inner * (inner + 1) / 2 else None
    file = SharedFile(tape, held)
    code = [
        line
        for step, moves in in_order(tape)
        if step is not held
        for line in (_motion_step if moves else _step)(step, file, stream, group)
    ]
    if held is None:
        matrix = ["PM_UNROLL", "for (int e = 0; e < kHeld; ++e) row[e] = file[kMatrix[e * PM_GROUP + lane]];"]
        entries = [ZERO if row < 0 else file.place(tape.jacobian[row][column]) for row, column in lower]
    else:
        matrix, entries = _held(held, lower, tape, file, stream, group), [ZERO]
    padding = [ZERO] * (group * rows - inner)
    border = [file.place(register) for register in tape.jacobian[inner]]
    values = [file.place(register) for register in tape.values]
    motions = [file.motion(register) for register in tape.values]
    constants = [
        f"file[{file.constants + c}] = {{coefficients[{stream.take_constant(c)}], 0.0}};"
        for c in range(len(tape.constants))
    ]
    text = "\n".join(
        [
            _table("kTable", file.tables or [ZERO]),
            _table("kMatrix", entries),
            _table("kBorder", [*border[:inner], *padding]),
            _table("kValues", [*values[:inner], *padding]),
            _table("kMotions", [*motions[:inner], *padding]),
            f"constexpr int kInputs = {file.place(0)}, kParameters = {file.place(tape.inputs) if tape.parameters else ZERO};",
            f"constexpr int kMotionOfParameters = {file.motion(tape.inputs)}, kScratch = {file.scratch};",
            f"constexpr int kCorner = {border[inner]}, kLastValue = {values[inner]}, kLastMotion = {motions[inner]};",
            "PM_DEVICE void place_constants(Complex* file, const double* coefficients, int lane) {",
            "  if (lane == 0) {",
            f"    file[{ZERO}] = {{0.0, 0.0}};",
            *(f"    {line}" for line in constants),
            "  }",
            "  barrier();",
            "}",
            "PM_DEVICE void evaluate(Complex* file, const double* coefficients, int lane) {",
            *(f"  {line}" for line in code),
            "}",
            "PM_DEVICE void matrix(const Complex* file, const double* coefficients, int lane, Complex (&row)[kHeld]) {",
            *(f"  {line}" for line in matrix),
            "}",
        ]
    )
    return text, file


def _lower(inner: int, group: int, rows: int) -> list[tuple[int, int]]:
    """Return the entries that the lanes hold (`held` in kernel/group_rows.cuh), those of all lanes side by side.

    In each slot these are the columns up to its last row: the lower half, and some unused ones of the upper one. (-1, -1)
    stands for the latter, and for rows that are not there.
    """
    found = []
    for slot in range(rows):
        dealt = range(slot * group, (slot + 1) * group)
        for column in range((slot + 1) * group if slot + 1 < rows else inner):
            found += [(row, column) if column <= row < inner else (-1, -1) for row in dealt]
    return found


def _held(
    step: Instruction, lower: Sequence[tuple[int, int]], tape: Tape, file: SharedFile, stream: Stream, group: int
) -> list[str]:
    wanted = []
    for row, column in lower:
        register = tape.jacobian[row][column] if row >= 0 else -1
        wanted.append(register - step.target if register >= 0 else EMPTY)

    def dealt(places: Sequence[int]) -> list[int]:
        return [EMPTY if row == EMPTY else places[row] for row in wanted]

    columns = [[file.place(column[0])] for column in step.arguments]
    bias, factors = dealt(step.bias) if step.bias else [], [dealt(places) for places in step.factors]
    lines = _sums(step, bias, factors, columns, file, stream, group)
    return [*lines, "PM_UNROLL", "for (int e = 0; e < kHeld; ++e) row[e] = rows.sum[e];"]


def _step(step: Instruction, file: SharedFile, stream: Stream, group: int) -> list[str]:
    target = file.place(step.target)
    if step.linear:
        columns = [[file.place(register) for register in column] for column in step.arguments]
        return _linear(step, columns, target, file, stream, group)
    operands = [f"file[{file.expression([file.place(r) for r in column])}]" for column in step.arguments]
    value = " * ".join(operands) if step.operation == PRODUCT else f"squared({operands[0]})"
    return _each_row(step.rows, f"file[{target} + row] = {value};", group)


def _motion_step(step: Instruction, file: SharedFile, stream: Stream, group: int) -> list[str]:
    target = file.motion(step.target)
    if step.linear:
        moving = [[file.motion(register) for register in column] for column in step.arguments]
        return _linear(step, moving, target, file, stream, group)
    columns = (step.arguments[0], step.arguments[-1])
    left, right = (f"file[{file.expression([file.place(r) for r in column])}]" for column in columns)
    moved_left, moved_right = (f"file[{file.expression([file.motion(r) for r in column])}]" for column in columns)
    value = f"multiply_add({moved_left}, {right}, {left} * {moved_right})"
    return _each_row(step.rows, f"file[{target} + row] = {value};", group)


def _linear(
    step: Instruction, columns: Sequence[Sequence[int]], target: int, file: SharedFile, stream: Stream, group: int
) -> list[str]:
    padding = [EMPTY] * (-step.rows % group)
    bias, factors = [*step.bias, *padding] if step.bias else [], [[*column, *padding] for column in step.factors]
    lines = _sums(step, bias, factors, columns, file, stream, group)
    return [
        "{",
        *(f"  {line}" for line in lines),
        f"  rows.store(file + {target}, {step.rows}, lane);",
        "}",
        "barrier();",
    ]


def _sums(
    step: Instruction,
    bias: Sequence[int],
    factors: Sequence[Sequence[int]],
    columns: Sequence[Sequence[int]],
    file: SharedFile,
    stream: Stream,
    group: int,
) -> list[str]:
    """Return lines that compute `rows`: sums of the columns with the factors at these places, in the order of assignment."""
    turns = len(bias or factors[0]) // group
    start = f"(coefficients + {stream.take_dealt(bias, group)}, lane)" if bias else ""
    lines = [f"Rows<{turns}> rows{start};"]
    for column, dealt in zip(columns, factors, strict=True):
        place = stream.take_dealt(dealt, group)
        if step.shared_arguments:
            lines.append(f"rows.add(coefficients + {place}, lane, file[{column[0]}]);")
        else:
            argument = f"[&](int row) {{ return file[{file.expression(column)}]; }}"
            lines.append(f"rows.add_each(coefficients + {place}, lane, {step.rows}, {argument});")
    return lines


def _each_row(rows: int, line: str, group: int) -> list[str]:
    head = f"for (int turn = 0; turn < {-(-rows // group)}; ++turn) {{"
    return [
        "PM_UNROLL",
        head,
        "  const int row = turn * PM_GROUP + lane;",
        f"  if (row < {rows}) {line}",
        "}",
        "barrier();",
    ]


def _table(name: str, entries: Sequence[int]) -> str:
    return f"PM_TABLE short {name}[] = {{{', '.join(map(str, entries))}}};"
