"""Places of the registers of a tape in the file that a group of lanes shares.

A zero and the constants stay; everything else is written anew for every evaluation, so an instruction may take the place of a
value that is not read any more. Then the elimination takes all of it but the zero and the constants, for its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polymargin.gpu.tape import Instruction, Tape

ZERO = 0
_FOREVER = 1 << 30


class _Block:
    """Registers that one instruction makes, and the times between which they are needed."""

    def __init__(self, made: int, registers: range, places: dict[int, int], uses: dict[int, int]) -> None:
        self.registers, self.places = registers, places
        self.first, self.last = made, max([made, *(uses.get(register, made) for register in registers)])

    def meets(self, other: _Block) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass
class SharedFile:
    """Places of registers and of their motions, for a tape of which some registers are `held` elsewhere."""

    tape: Tape
    held: Instruction | None
    tables: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        tape = self.tape
        self._places: dict[int, int] = {}
        self._motions: dict[int, int] = {}
        self.length = self.constants + len(tape.constants)
        for c in range(len(tape.constants)):
            self._places[tape.first_constant + c] = self.constants + c
        last_use, last_motion_use = _last_uses(tape, self.held)
        parameters = range(tape.inputs, tape.first_constant)
        blocks = [
            _Block(-1, range(tape.inputs), self._places, last_use),
            _Block(-1, parameters, self._places, last_use),
            _Block(-1, parameters, self._motions, last_motion_use),
        ]
        for time, (step, moves) in enumerate(in_order(tape)):
            made = range(step.target, step.target + step.rows)
            if moves:
                blocks.append(_Block(time, made, self._motions, last_motion_use))
            elif step is not self.held:
                blocks.append(_Block(time, made, self._places, last_use))
        self._place(blocks)

    @property
    def constants(self) -> int:
        """Return the place of the first constant."""
        return ZERO + 1

    @property
    def scratch(self) -> int:
        """Return the first place that is not permanent."""
        return self.constants + len(self.tape.constants)

    def place(self, register: int) -> int:
        """Return the place of a register, or the zero for none."""
        return ZERO if register < 0 else self._places[register]

    def motion(self, register: int) -> int:
        """Return the place of the motion of a register, or the zero if it does not move."""
        return self._motions.get(register, ZERO)

    def expression(self, places: Sequence[int]) -> str:
        """Return an expression in `row` for places[row]."""
        first = places[0]
        if all(place == first for place in places):
            return f"{first}"
        if all(place == first + k for k, place in enumerate(places)):
            return f"{first} + row"
        offset = len(self.tables)
        self.tables.extend(places)
        return f"kTable[{offset} + row]"

    def _place(self, blocks: Sequence[_Block]) -> None:
        """Place the longest first, each in the first gap between those that are needed at the same time."""
        placed: list[tuple[int, _Block]] = []
        for block in sorted(blocks, key=lambda block: -len(block.registers)):
            first = self.scratch
            for start, other in sorted(((s, o) for s, o in placed if block.meets(o)), key=lambda pair: pair[0]):
                if first + len(block.registers) <= start:
                    break
                first = max(first, start + len(other.registers))
            placed.append((first, block))
            block.places.update((register, first + k) for k, register in enumerate(block.registers))
            self.length = max(self.length, first + len(block.registers))


def held_instruction(tape: Tape) -> Instruction | None:
    """Return the linear instruction that computes all inner entries of the Jacobian and nothing else, if there is one.

    Lanes that hold these entries in registers can compute them there.
    """
    inner = range(tape.inputs - 1)
    entries = {tape.jacobian[i][j] for i in inner for j in inner} - {-1}
    for step in tape.derivative_code:
        made = set(range(step.target, step.target + step.rows))
        if made == entries and step.linear and step.shared_arguments:
            return None if entries & _read(tape, step) else step
    return None


def _read(tape: Tape, but: Instruction) -> set[int]:
    """Return the registers that are read, apart from the inner entries of the Jacobian."""
    steps = (step for step in (*tape.value_code, *tape.derivative_code, *tape.motion_code) if step is not but)
    read = {register for step in steps for column in step.arguments for register in column}
    return read | set(tape.values) | set(tape.jacobian[-1])


def in_order(tape: Tape) -> Iterator[tuple[Instruction, bool]]:
    """Return the instructions in order, and whether they compute motions: after the values they need, before the derivatives."""
    yield from ((step, False) for step in tape.value_code)
    yield from ((step, True) for step in tape.motion_code)
    yield from ((step, False) for step in tape.derivative_code)


def _last_uses(tape: Tape, held: Instruction | None) -> tuple[dict[int, int], dict[int, int]]:
    """Return the last instruction that reads each register and each motion; held ones come last."""
    uses: dict[int, int] = {}
    motion_uses: dict[int, int] = {}
    for time, (step, moves) in enumerate(in_order(tape)):
        registers = [register for column in step.arguments for register in column]
        if moves:
            motion_uses.update((register, time) for register in registers)
        if not moves or not step.linear:  # products move with the values of their factors
            uses.update((register, _FOREVER if step is held else time) for register in registers)
    for register in (*tape.values, *(register for row in tape.jacobian for register in row)):
        uses[register] = _FOREVER
    motion_uses.update((register, _FOREVER) for register in tape.values)
    return uses, motion_uses
