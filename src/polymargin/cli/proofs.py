"""A folder of certificates: the model they are about, one file per point, and the command that checks them."""

from __future__ import annotations

import shlex
from pathlib import Path

from polymargin.certificates import Certificate
from polymargin.errors import InputError, PolymarginError
from polymargin.networks import load
from polymargin.networks.network import Network


class ProofFolder:
    """`model.npz` is the model as the checker reads it, whatever kind of file it came from."""

    def __init__(self, folder: Path, network: Network) -> None:
        self._folder = folder
        self._files: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / "model.npz"
        if not model.exists():
            network.save(model)
        elif not _same(model, network):
            raise InputError(
                f"{model}: another model; certificates of two models do not share a folder: choose another"
            )

    def keep(self, row: int, proof: Certificate | None) -> str | None:
        """Write the certificate of a row, if it has one; the name of the file."""
        if proof is None:
            return None
        file = proof.save(self._folder / f"point-{row}.json")
        self._files.append(file)
        return str(file)

    @property
    def how_to_check(self) -> str:
        """The exact command, for a shell."""
        if not self._files:
            return "no certificates to check"
        folder = shlex.quote(str(self._folder))
        names = (
            [shlex.quote(str(file)) for file in self._files] if len(self._files) <= 2 else [f"{folder}/point-*.json"]
        )
        return f"check the proofs with: polymargin check {folder}/model.npz {' '.join(names)}"


def _same(model: Path, network: Network) -> bool:
    try:
        return load(model).fingerprint == network.fingerprint
    except PolymarginError:
        return False
