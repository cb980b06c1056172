"""The options of every command that answers for many points: how the work is done, not what is asked.

They are declared once, as the fields of `WorkOptions`. A command takes one argument of that type, and `spread` shows its fields
to typer as options of the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.options import (
    Activation,
    Checkpoint,
    Cluster,
    InputShape,
    Jobs,
    Limit,
    NoCache,
    Outputs,
    Seed,
    Threads,
    Trust,
)

if TYPE_CHECKING:
    from polymargin.cli.regions import Given
    from polymargin.margins import Settings, Verifier


@dataclass(frozen=True)
class WorkOptions:
    checkpoint: Checkpoint = None
    jobs: Jobs = 1
    cluster: Cluster = None
    threads: Threads = None
    seed: Seed = 0
    limit: Limit = 200_000
    no_cache: NoCache = False
    trust: Trust = False
    activation: Activation = None
    outputs: Outputs = None
    input_shape: InputShape = None

    def workers(self) -> AbstractContextManager[Any]:
        """The executor that --jobs and --cluster ask for; None for this process."""
        from polymargin.cli.jobs import workers

        return workers(self.jobs, self.cluster)

    @property
    def reading(self) -> ModelOptions:
        """How the model's file is read."""
        return ModelOptions(self.trust, self.activation, self.outputs, self.input_shape)

    @property
    def settings(self) -> Settings:
        """How critical points are listed and kept."""
        from polymargin.margins import Settings

        return Settings(limit=self.limit, cache=not self.no_cache)

    def verifier(self, network: Any, executor: Any, given: Given) -> Verifier:
        """The network, asked about what the command line says, in this process or by the executor."""
        from polymargin.margins import Verifier

        workers = self.threads if executor is None else executor
        return Verifier(network, **given.keywords, seed=self.seed, workers=workers, settings=self.settings)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of `WorkOptions` in place of its last argument, `work`."""
    hints = get_type_hints(command, include_extras=True)
    own = [each.replace(annotation=hints[name]) for name, each in inspect.signature(command).parameters.items()][:-1]
    shared = get_type_hints(WorkOptions, include_extras=True)
    names = [field.name for field in fields(WorkOptions)]
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=shared[field.name]
        )
        for field in fields(WorkOptions)
    ]

    @wraps(command)
    def call(**given: Any) -> None:
        work = WorkOptions(**{name: given.pop(name) for name in names})
        command(**given, work=work)

    parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *options]
    vars(call)["__signature__"] = inspect.Signature(parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call
