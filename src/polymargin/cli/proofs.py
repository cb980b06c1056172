"""A folder of certificates: the model they are about, one file per point, and the command that checks them."""

from __future__ import annotations

import shlex
from pathlib import Path

from polymargin.errors import InputError, PolymarginError
from polymargin.margins import Certificate
from polymargin.networks import load
from polymargin.networks.network import Network


class ProofFolder:
    """`model.npz` is the model as the checker reads it, whatever kind of file it came from. Without a folder nothing is kept.

    names   of the file of every row, None for a row without a certificate
    """

    def __init__(self, folder: Path | None, network: Network) -> None:
        self._folder = folder
        self.names: dict[int, str | None] = {}
        if folder is None:
            return
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"--certificates {folder}: this is a file; expected a folder, which is made if there is none"
            )
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / "model.npz"
        if not model.exists():
            network.save(model)
        elif not _same(model, network):
            raise InputError(
                f"{model}: another model; certificates of two models do not share a folder: choose another"
            )

    def keep(self, row: int, proof: Certificate | None) -> None:
        """Write the certificate of a row, if it has one."""
        self.names[row] = None
        if proof is not None and self._folder is not None:
            self.names[row] = str(proof.save(self._folder / f"point-{row}.json"))

    def how_to_check(self) -> str | None:
        """Return the exact command, for a shell; None without a folder."""
        if self._folder is None:
            return None
        files = [name for name in self.names.values() if name is not None]
        if not files:
            return "no certificates to check"
        folder = shlex.quote(str(self._folder))
        names = [shlex.quote(file) for file in files] if len(files) <= 2 else [f"{folder}/point-*.json"]
        return f"check the proofs with: polymargin check {folder}/model.npz {' '.join(names)}"


def _same(model: Path, network: Network) -> bool:
    try:
        return load(model).fingerprint == network.fingerprint
    except PolymarginError:
        return False
