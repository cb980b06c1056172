"""Places of registers: whoever reads one finds what was written there last to be it."""

from __future__ import annotations

import pytest
from gpu.follower_cases import BOUNDARIES, network

from polymargin import Boundary
from polymargin.boundary import critical_system
from polymargin.gpu import source
from polymargin.gpu.shared_file import ZERO, SharedFile, held_instruction, in_order
from polymargin.gpu.source import Layout
from polymargin.gpu.tape import Tape


@pytest.mark.parametrize("stage", ["target", "blend"])
@pytest.mark.parametrize("name", BOUNDARIES)
def test_what_is_read_is_still_there(name: str, stage: str) -> None:
    tape = Tape.of(getattr(critical_system(BOUNDARIES[name]()), stage))
    assert tape is not None
    for held in (None, held_instruction(tape)):
        file = SharedFile(tape, held)
        written: dict[int, tuple[str, int]] = {ZERO: ("zero", 0)}

        def write(kind: str, register: int, places: SharedFile, into: dict[int, tuple[str, int]]) -> None:
            place = places.place(register) if kind == "value" else places.motion(register)
            assert place < places.length
            into[place] = (kind, register)

        for register in range(tape.first_constant + len(tape.constants)):
            write("value", register, file, written)
        for register in range(tape.inputs, tape.first_constant):
            write("motion", register, file, written)
        moving = set(tape.moving)
        for step, moves in [*((s, m) for s, m in in_order(tape) if s is not held), *([(held, False)] if held else [])]:
            for register in {register for column in step.arguments for register in column}:
                if not moves or not step.linear:
                    assert written[file.place(register)] == ("value", register)
                if moves and register in moving:
                    assert written[file.motion(register)] == ("motion", register)
            if step is not held:
                for register in range(step.target, step.target + step.rows):
                    write("motion" if moves else "value", register, file, written)
        inner = () if held else tape.jacobian[:-1]
        for register in (*tape.values, *(register for row in (*inner, tape.jacobian[-1]) for register in row)):
            assert register < 0 or written[file.place(register)] == ("value", register)
        for register in moving.intersection(tape.values):
            assert written[file.motion(register)] == ("motion", register)
        # The elimination replaces everything from `scratch` on; what stays is before it.
        assert all(place < file.scratch for place in range(file.constants + len(tape.constants)))


def test_little_is_lost_between_what_is_needed_at_the_same_time() -> None:
    """Blends have blocks of many lengths; a third more of them once halved the paths that a multiprocessor follows."""
    for inputs in (12, 16, 24):
        boundary = Boundary.from_network(network(inputs, [inputs + 2], 3), 0, 1)
        tape = Tape.of(critical_system(boundary).blend)
        assert tape is not None
        assert SharedFile(tape, None).length < 0.8 * tape.registers


def test_more_lanes_where_the_registers_of_a_tape_need_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    boundary = Boundary.from_network(network(12, [12, 12], 2), 0, 1)
    tape = Tape.of(critical_system(boundary).target)
    assert tape is not None
    assert source.layout_for(tape) == Layout(4, 3)
    for kilobytes, layout in ((40, Layout(8, 2)), (20, Layout(16, 2)), (10, None)):
        monkeypatch.setattr(source, "SHARED_MEMORY", kilobytes * 1024)
        assert source.layout_for(tape) == layout


def test_shallow_networks_make_their_matrix_in_one_instruction() -> None:
    shallow = Tape.of(critical_system(BOUNDARIES["shallow"]()).target)
    attention = Tape.of(critical_system(BOUNDARIES["attention"]()).target)
    assert shallow is not None
    assert attention is not None
    held = held_instruction(shallow)
    assert held is not None
    assert held.rows == 6
    assert held_instruction(attention) is None
