"""From atoms to stages: one for all products of a level, one for every activation of it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.product_network import ProductNetwork
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage
from polymargin.networks.tape.operations import Applied, Array, Form, OperationTape, is_series

SQUARE = (0.0, 0.0, 1.0)
Kind = Applied | None  # None for products


def program(tape: OperationTape, rows: Any, constants: Array) -> Network:
    """The network whose logits are rows @ atoms + constants; atoms that nothing uses are left out."""
    blocks: dict[int, dict[Kind, list[int]]] = defaultdict(lambda: defaultdict(list))
    for atom in sorted(_used(tape, rows)):
        blocks[tape.levels[atom]][_kind(tape, atom)].append(atom)
    order = list(range(tape.input_count))
    widths: tuple[int, ...] = (tape.input_count,)
    stages: list[Stage] = []
    for level in sorted(blocks):
        for kind, atoms in blocks[level].items():
            if kind is None:
                sides = zip(*(factors_of(tape, atom) for atom in atoms), strict=True)
                stages.append(Product(*(_forms(tape, side, order, widths) for side in sides)))
            else:
                plain = [factors_of(tape, atom)[0] for atom in atoms]
                forms = _forms(tape, plain, order, widths)
                stages.append(Polynomial(forms, *kind) if is_series(kind) else Piecewise(forms, *kind))
            order += atoms
            widths = (*widths, len(atoms))
    polynomial = not any(isinstance(stage, Piecewise) for stage in stages)
    return (ProductNetwork if polynomial else Network)(stages, Forms.of(rows[:, order], constants, widths))


def _kind(tape: OperationTape, atom: int) -> Kind:
    if atom in tape.applied:
        return tape.applied[atom][1]
    coefficients = SQUARE if atom in tape.products else tape.atoms[atom - tape.input_count][2]
    return None if coefficients == SQUARE else (coefficients, POWERS.name)


def factors_of(tape: OperationTape, atom: int) -> tuple[Form, Form]:
    """The two forms whose product an atom is; a square and an activation have the same form twice."""
    if atom in tape.products:
        return tape.products[atom]
    form = tape.applied[atom][0] if atom in tape.applied else tape.atoms[atom - tape.input_count][:2]
    return form, form


def _forms(tape: OperationTape, forms: Any, order: list[int], widths: tuple[int, ...]) -> Forms:
    directions, shifts = zip(*forms, strict=True)
    return Forms.of(tape.rows(np.array(directions))[:, order], shifts, widths)


def _used(tape: OperationTape, rows: Any) -> set[int]:
    """All atoms that the rows depend on, but for the inputs."""
    used: set[int] = set()
    waiting = np.unique(rows.indices).tolist()
    while waiting:
        new = [atom for atom in waiting if atom >= tape.input_count and atom not in used]
        used.update(new)
        directions = [direction for atom in new for direction, _ in factors_of(tape, atom)]
        waiting = np.unique(tape.rows(np.unique(np.array(directions, dtype=np.intp))).indices).tolist()
    return used
