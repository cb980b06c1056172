"""The tape for a group of lanes: its registers are a file in shared memory, the rows of an instruction are dealt to the lanes.

A barrier follows each instruction, whose rows do not need each other. Arguments that are the same for all rows, or follow each
other, are named in the code; other lists of registers become tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polymargin.gpu.stream import EMPTY, Stream
from polymargin.gpu.tape import LINEAR, PRODUCT, Instruction, Tape


@dataclass
class FileLayout:
    """Where things are in the file: registers, a zero, the motion of the registers that move."""

    tape: Tape
    tables: list[int] = field(default_factory=list)

    @property
    def zero(self) -> int:
        return self.tape.registers

    def motion(self, register: int) -> int:
        moving = self._motions.get(register)
        return self.zero if moving is None else moving

    def __post_init__(self) -> None:
        self._motions = {register: self.zero + 1 + k for k, register in enumerate(self.tape.moving)}

    @property
    def length(self) -> int:
        return self.zero + 1 + len(self._motions)

    def place(self, registers: Sequence[int]) -> str:
        """An expression in `row` for registers[row]."""
        first = registers[0]
        if all(register == first for register in registers):
            return f"{first}"
        if all(register == first + k for k, register in enumerate(registers)):
            return f"{first} + row"
        offset = len(self.tables)
        self.tables.extend(registers)
        return f"kTable[{offset} + row]"


def dealt_rows(tape: Tape, stream: Stream, group: int, rows: int) -> tuple[str, int]:
    """Code for a group of lanes that hold `rows` rows of the matrix each, and the length of the file."""
    layout = FileLayout(tape)
    code = [line for step in (*tape.value_code, *tape.derivative_code) for line in _step(step, layout, stream, group)]
    moving = [line for step in tape.motion_code for line in _motion_step(step, layout, stream, group)]
    inner = tape.inputs - 1
    entries = [[layout.zero if r < 0 else r for r in row] for row in tape.jacobian]
    padding = [layout.zero] * (group * rows - inner)
    matrix = [place for j in range(inner) for place in (*(entries[a][j] for a in range(inner)), *padding)]
    matrix += [*(entries[a][inner] for a in range(inner)), *padding]
    motions = [layout.motion(register) for register in tape.values]
    constants = [
        f"file[{tape.first_constant + c}] = {{coefficients[{stream.take_constant(c)}], 0.0}};"
        for c in range(len(tape.constants))
    ]
    text = "\n".join(
        [
            _table("kTable", layout.tables or [0]),
            _table("kMatrix", matrix),
            _table("kValues", [*tape.values[:inner], *padding]),
            _table("kMotions", [*motions[:inner], *padding]),
            f"constexpr int kCorner = {entries[inner][inner]}, kMotionOfParameters = {layout.zero + 1};",
            f"constexpr int kLastValue = {tape.values[inner]}, kLastMotion = {motions[inner]};",
            "PM_DEVICE void place_constants(Complex* file, const double* coefficients, int lane) {",
            "  if (lane == 0) {",
            f"    file[{layout.zero}] = {{0.0, 0.0}};",
            *(f"    {line}" for line in constants),
            "  }",
            "  barrier();",
            "}",
            "PM_DEVICE void evaluate(Complex* file, const double* coefficients, int lane) {",
            *(f"  {line}" for line in code),
            "}",
            "PM_DEVICE void motion(Complex* file, const double* coefficients, int lane) {",
            *(f"  {line}" for line in moving),
            "}",
        ]
    )
    return text, layout.length


def _step(step: Instruction, layout: FileLayout, stream: Stream, group: int) -> list[str]:
    if step.linear:
        return _linear(step, step.arguments, step.target, layout, stream, group)
    operands = [f"file[{layout.place(column)}]" for column in step.arguments]
    value = " * ".join(operands) if step.operation == PRODUCT else f"squared({operands[0]})"
    return _each_row(step.rows, f"file[{step.target} + row] = {value};", group)


def _motion_step(step: Instruction, layout: FileLayout, stream: Stream, group: int) -> list[str]:
    target = layout.motion(step.target)
    if step.linear:
        moving = [[layout.motion(register) for register in column] for column in step.arguments]
        return _linear(step, moving, target, layout, stream, group)
    columns = (step.arguments[0], step.arguments[-1])
    left, right = (f"file[{layout.place(column)}]" for column in columns)
    moved_left, moved_right = (f"file[{layout.place([layout.motion(r) for r in column])}]" for column in columns)
    value = f"multiply_add({moved_left}, {right}, {left} * {moved_right})"
    return _each_row(step.rows, f"file[{target} + row] = {value};", group)


def _linear(
    step: Instruction, columns: Sequence[Sequence[int]], target: int, layout: FileLayout, stream: Stream, group: int
) -> list[str]:
    turns = -(-step.rows // group)
    padding = [EMPTY] * (turns * group - step.rows)
    start = f"coefficients + {stream.take([*step.bias, *padding])}, lane" if step.bias else ""
    lines = ["{", f"  Rows<{turns}> rows{f'({start})' if start else ''};"]
    for column, factors in zip(columns, step.factors, strict=True):
        place = stream.take([*factors, *padding])
        if step.operation == LINEAR:
            lines.append(f"  rows.add(coefficients + {place}, lane, file[{column[0]}]);")
        else:
            argument = f"[&](int row) {{ return file[{layout.place(column)}]; }}"
            lines.append(f"  rows.add_each(coefficients + {place}, lane, {step.rows}, {argument});")
    return [*lines, f"  rows.store(file + {target}, {step.rows}, lane);", "}", "barrier();"]


def _each_row(rows: int, line: str, group: int) -> list[str]:
    if rows <= group:
        return [f"if (lane < {rows}) {{", "  const int row = lane;", f"  {line}", "}", "barrier();"]
    return ["PM_UNROLL", f"for (int row = lane; row < {rows}; row += PM_GROUP) {{", f"  {line}", "}", "barrier();"]


def _table(name: str, entries: Sequence[int]) -> str:
    return f"PM_TABLE short {name}[] = {{{', '.join(map(str, entries))}}};"
