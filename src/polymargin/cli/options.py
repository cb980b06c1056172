"""Options that several commands share, each declared once, and groups of them.

A command takes a group as one argument: a dataclass whose fields are options. `spread` shows these fields to typer as options of
the command, and ends it with the exit status that it returns. Nothing heavy is imported here, so that `--help` is quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from polymargin.margins import Settings

DEFAULT_TIMEOUT = 60.0
Model = Annotated[Path, typer.Argument(help="Network file (.npz, .onnx, .pt, .skops) or folder.")]
Points = Annotated[Path, typer.Argument(help="Points, one per row (.npy, .npz or .csv).")]
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
Threads = Annotated[int | None, typer.Option(min=1, help="Worker threads.", show_default="all cores")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
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
Certificates = Annotated[
    Path | None, typer.Option(help="Folder for the proofs: point-0.json and so on, and the model as model.npz.")
]
CountLimit = Annotated[
    int, typer.Option(min=1, help="Refuse to count a boundary that may have more critical points than this.")
]


@dataclass(frozen=True)
class ReadingOptions:
    """How the file of a model is read."""

    trust: Annotated[
        bool, typer.Option("--trust", help="Open pickles, which run code: only from people you trust.")
    ] = False
    activation: Annotated[
        str | None,
        typer.Option(
            help="What stands between the layers of a file of plain weights: square, a degree, coefficients c0,c1,…, or "
            "legendre:c0,c1,… (chebyshev, hermite, hermite_e; with a domain: chebyshev(-8,8):c0,c1,…); with semicolons one for "
            "each hidden layer.",
            show_default="what the file says",
        ),
    ] = None
    outputs: Annotated[
        str | None,
        typer.Option(
            help="Where plain matrices of weights have their outputs: rows (PyTorch) or columns (flax, Keras).",
            show_default="what the shapes say",
        ),
    ] = None
    input_shape: Annotated[
        str | None,
        typer.Option(
            help="Shape of one input of a whole PyTorch module, such as 1,28,28.", show_default="what the module says"
        ),
    ] = None


@dataclass(frozen=True)
class WorkOptions:
    """How many points are answered, and not what is asked."""

    checkpoint: Annotated[
        Path | None, typer.Option(help="File for finished rows; run the same command again to resume.")
    ] = None
    jobs: Jobs = 1
    cluster: Cluster = None
    threads: Threads = None
    seed: Seed = 0
    limit: Annotated[
        int, typer.Option(min=1, help="List at most this many critical points; beyond that, give bounds.")
    ] = 200_000
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not cache start solutions on disk.")] = False

    def workers(self) -> AbstractContextManager[Any]:
        """Return the executor that --jobs and --cluster ask for; None for this process."""
        from polymargin.cli.jobs import workers

        return workers(self.jobs, self.cluster)

    @property
    def settings(self) -> Settings:
        """Return how critical points are listed and kept."""
        from polymargin.margins import Settings

        return Settings(limit=self.limit, cache=not self.no_cache)


def spread(command: Callable[..., int]) -> Callable[..., None]:
    """Return the command with the fields of each group in place of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in inspect.signature(command).parameters if is_dataclass(hints[name])}

    @wraps(command)
    def call(**given: Any) -> None:
        made = {name: _made(group, given) for name, group in groups.items()}
        raise typer.Exit(command(**given, **made))

    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        parameters += _options(groups[name]) if name in groups else [_option(name, own.default, hints[name])]
    vars(call)["__signature__"] = inspect.Signature(parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _options(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a group, and of groups in it."""
    found, hints = [], get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind = hints[field.name]
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        found += _options(kind) if is_dataclass(kind) else [_option(field.name, default, kind)]
    return found


def _option(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _made(group: Any, given: dict[str, Any]) -> Any:
    """Return the group with its fields, which are taken from what was given."""
    hints = get_type_hints(group)
    values = {
        f.name: _made(hints[f.name], given) if is_dataclass(hints[f.name]) else given.pop(f.name) for f in fields(group)
    }
    return group(**values)
