"""From atoms to stages: for each level one stage of all products, and one for every function that is applied.

Atoms of one level that differ only by affine changes, p(z) = α σ(a z + c) + β, share a stage, as any two quadratics do. α and β
go into the forms that see the atom.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.format import MOST_STAGES
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage
from polymargin.networks.tape.alike import SAME, Change, changed, common_function
from polymargin.networks.tape.operations import Applied, Array, Form, OperationTape, Rows, Series, is_series

Kind = Applied | None  # None for products


def program(tape: OperationTape, rows: Rows, constants: Array) -> Network:
    """Return the network whose logits are rows @ atoms + constants; atoms that nothing uses are left out."""
    return _Program(tape, _used(tape, rows)).network(rows, constants)


@dataclass(frozen=True)
class _Members:
    """The atoms of one stage, and how each is written with its function."""

    kind: Kind
    atoms: list[int]
    changes: list[Change]


class _Program:
    """Stages so far; `order` are the atoms they compute, which are factors · values + shifts."""

    def __init__(self, tape: OperationTape, used: set[int]) -> None:
        self.tape = tape
        self.order = list(range(tape.input_count))
        self.factors, self.shifts = [1.0] * tape.input_count, [0.0] * tape.input_count
        self.widths: tuple[int, ...] = (tape.input_count,)
        self.stages: list[Stage] = []
        levels: dict[int, list[int]] = defaultdict(list)
        for atom in sorted(used):
            levels[tape.levels[atom]].append(atom)
        for level in sorted(levels):
            for members in _divided(tape, levels[level]):
                self._add(members)

    def network(self, rows: Rows, constants: Array) -> Network:
        return Network(self.stages, self._forms(rows, constants))

    def _add(self, members: _Members) -> None:
        if len(self.stages) == MOST_STAGES:
            raise InputError(
                f"the model has more than {MOST_STAGES} stages; give all neurons of a layer the same activation"
            )
        tape, kind = self.tape, members.kind
        if kind is None:
            sides = zip(*(tape.products[atom] for atom in members.atoms), strict=True)
            self.stages.append(Product(*(self._of(side, [SAME] * len(side)) for side in sides)))
        else:
            forms = self._of([form_of(tape, atom) for atom in members.atoms], members.changes)
            self.stages.append(Polynomial(forms, *kind) if is_series(kind) else Piecewise(forms, *kind))
        self.order += members.atoms
        self.factors += [change.factor for change in members.changes]
        self.shifts += [change.constant for change in members.changes]
        self.widths = (*self.widths, len(members.atoms))

    def _of(self, forms: Sequence[Form], changes: list[Change]) -> Forms:
        directions, shifts = zip(*forms, strict=True)
        rows, constants = self.tape.rows(np.array(directions)), np.array(shifts)
        if any(change is not SAME for change in changes):
            scales = np.array([change.scale for change in changes])
            rows = sparse.diags(scales) @ rows
            constants = scales * constants + np.array([change.shift for change in changes])
        return self._forms(rows, constants)

    def _forms(self, rows: Rows, constants: Array) -> Forms:
        """Return the forms of atoms as forms of the values of the stages."""
        matrix = sparse.csr_array(rows)[:, self.order]
        shifts, factors = np.array(self.shifts), np.array(self.factors)
        if shifts.any():
            constants = constants + matrix @ shifts
        if np.any(factors != 1.0):
            matrix = matrix @ sparse.diags_array(factors)
        return Forms.of(matrix, constants, self.widths)


def _divided(tape: OperationTape, atoms: list[int]) -> list[_Members]:
    """Return the atoms of a level by the function that makes them; polynomials that are alike together."""
    kinds: dict[Kind, list[int]] = defaultdict(list)
    polynomials: dict[Series, list[int]] = defaultdict(list)
    for atom in atoms:
        if atom in tape.products or atom in tape.applied:
            kinds[None if atom in tape.products else tape.applied[atom][1]].append(atom)
        else:
            polynomials[tape.atoms[atom - tape.input_count][2], POWERS.name].append(atom)
    result = [_Members(kind, own, [SAME] * len(own)) for kind, own in kinds.items()]
    counts = Counter({kind[0]: len(own) for kind, own in polynomials.items()})
    while counts:
        function = common_function(counts)
        alike = {wanted: change for wanted in counts if (change := changed(function, wanted)) is not None}
        pairs = sorted((atom, alike[p]) for p in alike for atom in polynomials[p, POWERS.name])
        result.append(_Members((function, POWERS.name), [atom for atom, _ in pairs], [change for _, change in pairs]))
        for wanted in alike:
            del counts[wanted]
    return result


def form_of(tape: OperationTape, atom: int) -> Form:
    """Return the form to which an atom applies its function."""
    return tape.applied[atom][0] if atom in tape.applied else tape.atoms[atom - tape.input_count][:2]


def _used(tape: OperationTape, rows: Rows) -> set[int]:
    """Return all atoms that the rows depend on, but for the inputs."""
    used: set[int] = set()
    waiting = np.unique(rows.indices).tolist()
    while waiting:
        new = [atom for atom in waiting if atom >= tape.input_count and atom not in used]
        used.update(new)
        forms = [form for atom in new for form in tape.products.get(atom) or (form_of(tape, atom),)]
        directions = np.unique(np.array([direction for direction, _ in forms], dtype=np.intp))
        waiting = np.unique(tape.rows(directions).indices).tolist()
    return used
