"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_TIMEOUT = 60.0
Model = Annotated[Path, typer.Argument(help="Network file (.npz, .onnx, .pt, .skops) or folder.")]
Trust = Annotated[bool, typer.Option("--trust", help="Open pickles, which run code: only from people you trust.")]
Activation = Annotated[
    str | None,
    typer.Option(
        help="What stands between the layers of a file of plain weights: square, a degree, coefficients c0,c1,…, or "
        "legendre:c0,c1,… (chebyshev, hermite, hermite_e; with a domain: chebyshev(-8,8):c0,c1,…); with semicolons one for each "
        "hidden layer.",
        show_default="what the file says",
    ),
]
Outputs = Annotated[
    str | None,
    typer.Option(
        help="Where plain matrices of weights have their outputs: rows (PyTorch) or columns (flax, Keras).",
        show_default="what the shapes say",
    ),
]
InputShape = Annotated[
    str | None,
    typer.Option(
        help="Shape of one input of a whole PyTorch module, such as 1,28,28.", show_default="what the module says"
    ),
]
_DATA = typer.Argument(help="Points, one per row, or images (.npy, .npz or .csv).", show_default=False)
Data = Annotated[Path, _DATA]
DataOrNone = Annotated[Path | None, _DATA]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Right classes, one per row (.npy, .npz or .csv).",
        show_default="'labels' of the points if they are an .npz file",
    ),
]
Image = Annotated[
    str | None,
    typer.Option(help="Shape of an image, such as 28x28 or 3x32x32, or none.", show_default="squares from 8x8"),
]
Points = Annotated[Path, typer.Argument(help="Points, one per row (.npy, .npz or .csv).")]
Threads = Annotated[int | None, typer.Option(min=1, help="Worker threads.", show_default="all cores")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
Limit = Annotated[int, typer.Option(min=1, help="List at most this many critical points; beyond that, give bounds.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not cache stage-1 solutions on disk.")]
Label = Annotated[int, typer.Option(min=0, help="One class of the boundary.")]
Rival = Annotated[int, typer.Option(min=0, help="The other class.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes that share the work, one thread each.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers share the work: tcp://host:8786.")
]
Plots = Annotated[list[Path] | None, typer.Option(help="Draw into this .png or .svg file; may be repeated.")]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds per point.")]
Norm = Annotated[str, typer.Option(help="Norm of a perturbation: l2, linf or l1.")]
Domain = Annotated[
    str | None, typer.Option(help="Perturbed points stay within lo,hi, such as 0,1.", show_default="anywhere")
]
Weights = Annotated[
    Path | None,
    typer.Option(
        help="File (.npy, .npz, .csv) with a weight for each input, or for l2 a positive definite matrix.",
        show_default="none",
    ),
]
Movable = Annotated[
    str | None,
    typer.Option(
        help="Only these inputs change: their numbers, such as 0,3,5, or for l2 a file with the columns of a subspace.",
        show_default="all",
    ),
]
Rivals = Annotated[
    str | None, typer.Option(help="Only ties with these classes count, such as 1,7.", show_default="all")
]
Abstain = Annotated[float, typer.Option(min=0.0, help="An answer counts only if its logit leads by more than this.")]
Certificates = Annotated[
    Path | None, typer.Option(help="Folder for the proofs: point-0.json and so on, and the model as model.npz.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="File for finished rows; run the same command again to resume."),
]
