"""The tape as straight-line code for one thread: every register a variable, every number read in order from a stream.

The stream holds the coefficients as the code uses them, so that two come with one load. Four rows of a linear instruction at
a time: their sums do not wait for each other.

Where weights are parameters a thread cannot hold them all, and what it cannot hold goes through memory of its own. So each of
their products is written right before it is used, and where they are many, parameters are read again every few rows: the lanes
of a warp mostly read the same ones, from a cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from polymargin.gpu.stream import Stream
from polymargin.gpu.tape import PRODUCT, Instruction, Tape

ROWS_TOGETHER = 4
# Parameters per unknown beyond which they are read again.
MANY = 4
_REGISTER = re.compile(r"\b([rm])(\d+)\b")
_PRODUCT = re.compile(r"const Complex ([rm]\d+) = (?!\{)")


def straight_line(tape: Tape, stream: Stream) -> str:
    """Return `evaluate` (values and the upper half of the Jacobian) and `motion` (their derivative along the parameters)."""
    size = tape.inputs
    values = [f"value[{i}] = {_name(register)};" for i, register in enumerate(tape.values)]
    upper = [
        f"upper[{place}] = {_name(tape.jacobian[i][j])};"
        for place, (i, j) in enumerate((i, j) for i in range(size) for j in range(i, size))
    ]
    code = [line for step in (*tape.value_code, *tape.derivative_code) for line in _step(step, stream)]
    code = list(_with_arguments(tape, stream, [*code, *values, *upper]))
    moved = set(tape.moving)
    # Products move with the values of their factors; the compiler removes unused ones.
    products = any(not step.linear for step in tape.motion_code)
    moving = [line for step in tape.value_code for line in _step(step, stream)] if products else []
    moving += [line for step in tape.motion_code for line in _motion_step(step, moved, stream)]
    moving += [f"moved[{i}] = {_motion_name(register, moved)};" for i, register in enumerate(tape.values)]
    moving = list(_with_arguments(tape, stream, moving))
    return "\n".join(
        [
            "template <class Source>",
            "PM_DEVICE void evaluate(const Source& source, Complex (&value)[PM_SIZE], Complex (&upper)[kUpper]) {",
            *_indented(code),
            "}",
            "template <class Source>",
            "PM_DEVICE void motion(const Source& source, Complex (&moved)[PM_SIZE]) {",
            *_indented(moving),
            "}",
        ]
    )


def _weights_are_parameters(tape: Tape) -> bool:
    """Return whether there are more parameters than points, levels and a start system have."""
    return tape.parameters > 2 * tape.inputs + 2


def _with_arguments(tape: Tape, stream: Stream, lines: Sequence[str]) -> Iterator[str]:
    """Return the lines, with each leaf read right before its first use, because registers are scarce."""
    scarce, forgetful = _weights_are_parameters(tape), tape.parameters > MANY * tape.inputs
    constants = tape.first_constant + len(tape.constants)
    waiting: dict[str, str] = {}  # products that are not used yet
    known: dict[str, str] = {}  # what a leaf is called here, and which products are there
    readings = 0

    def written(line: str) -> Iterator[str]:
        nonlocal readings
        for letter, digits in _REGISTER.findall(line):
            name, register = letter + digits, int(digits)
            if name in known:
                continue
            if register < constants:
                readings += 1
                again = forgetful and tape.inputs <= register < tape.first_constant
                known[name] = f"{name}_{readings}" if again else name
                yield f"const Complex {known[name]} = {_leaf(tape, stream, letter, register)};"
            elif name in waiting:
                known[name] = name
                yield from written(waiting.pop(name))
        yield _REGISTER.sub(lambda found: known.get(found[0], found[0]), line)

    for line in lines:
        product = _PRODUCT.match(line) if scarce else None
        if product:
            waiting[product[1]] = line
        elif forgetful and line == "PM_FENCE":
            known = {name: here for name, here in known.items() if name == here}
            yield "PM_FORGET"
        else:
            yield from written(line)


def _leaf(tape: Tape, stream: Stream, letter: str, register: int) -> str:
    parameter = register - tape.inputs
    if letter == "m":
        return f"source.velocity({parameter})"
    if parameter < 0:
        return f"source.input({register})"
    if parameter < tape.parameters:
        return f"source.parameter({parameter})"
    return f"{{source.coefficient({stream.take_constant(parameter - tape.parameters)}), 0.0}}"


def _step(step: Instruction, stream: Stream) -> list[str]:
    if step.linear:
        return _linear(step, stream, "r", lambda argument: f"r{argument}")
    lines = []
    for row in range(step.rows):
        operands = [f"r{column[row]}" for column in step.arguments]
        value = " * ".join(operands) if step.operation == PRODUCT else f"squared({operands[0]})"
        lines.append(f"const Complex r{step.target + row} = {value};")
    return lines


def _motion_step(step: Instruction, moved: set[int], stream: Stream) -> list[str]:
    if step.linear:
        return _linear(step, stream, "m", lambda argument: _motion_name(argument, moved))
    lines = []
    for row in range(step.rows):
        left, right = (step.arguments[c][row] for c in (0, -1))
        if left == right:  # other rows of the instruction may move alone
            value = f"scaled(2.0, r{left} * {_motion_name(left, moved)})"
        elif left in moved and right in moved:
            value = f"multiply_add(m{left}, r{right}, r{left} * m{right})"
        elif left in moved:
            value = f"m{left} * r{right}"
        else:
            value = f"r{left} * {_motion_name(right, moved)}"
        lines.append(f"const Complex m{step.target + row} = {value};")
    return lines


def _linear(step: Instruction, stream: Stream, letter: str, name: Callable[[int], str]) -> list[str]:
    lines = []
    for first in range(0, step.rows, ROWS_TOGETHER):
        rows = range(first, min(first + ROWS_TOGETHER, step.rows))
        targets = [f"{letter}{step.target + row}" for row in rows]
        # Without a fence compilers load the numbers of all rows first, and run out of registers.
        lines.append("PM_FENCE")
        columns = [[name(column[row]) for row in rows] for column in step.arguments]
        biases = _load([step.bias[row] for row in rows], stream, lines) if step.bias else []
        for number, (arguments, factors) in enumerate(zip(columns, step.factors, strict=True)):
            loaded = _load([factors[row] for row in rows], stream, lines)
            for k, (target, argument, factor) in enumerate(zip(targets, arguments, loaded, strict=True)):
                if number:
                    lines.append(f"{target} = add_scaled({factor}, {argument}, {target});")
                elif step.bias:
                    begun = f"{{fused({factor}, {argument}.re, {biases[k]}), {factor} * {argument}.im}}"
                    lines.append(f"Complex {target} = {begun};")
                else:
                    lines.append(f"Complex {target} = scaled({factor}, {argument});")
        if not columns:
            lines += [
                f"const Complex {target} = {{{bias}, 0.0}};" for target, bias in zip(targets, biases, strict=True)
            ]
    return lines


def _load(places: Sequence[int], stream: Stream, lines: list[str]) -> list[str]:
    """Return expressions for the coefficients at these places, after a line for each pair of them."""
    pairs, names = stream.take_pairs(places)
    lines += [f"const Pair {pair} = source.coefficient_pair({place});" for pair, place in pairs]
    return names


def _name(register: int) -> str:
    return "Complex{0.0, 0.0}" if register < 0 else f"r{register}"


def _motion_name(register: int, moved: set[int]) -> str:
    return f"m{register}" if register in moved else "Complex{0.0, 0.0}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
