"""The `reproduce` commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import AsJson, Jobs, Seed, Threads

commands = typer.Typer(help="Tables and figures of the paper, recomputed.", no_args_is_help=True)

RESULTS = Path("results")
Directory = Annotated[Path, typer.Option(help="Folder for results; run the same command again to resume.")]
LargestDegree = Annotated[int | None, typer.Option(min=1, help="Leave out rows with a larger printed ED degree.")]


def _add_ed_degree_table(table: str, summary: str) -> None:
    @commands.command(table, help=summary, epilog=f"Example: polymargin reproduce {table} --largest-degree 100")
    def ed_degree_table(
        directory: Directory = RESULTS / "tables",
        largest_degree: LargestDegree = None,
        seed: Seed = 0,
        threads: Threads = None,
        as_json: AsJson = False,
    ) -> None:
        from polymargin.cli.reproduce import run_ed_degree_table

        raise typer.Exit(
            run_ed_degree_table(
                table, directory=directory, seed=seed, threads=threads, largest_degree=largest_degree, as_json=as_json
            )
        )


_add_ed_degree_table("table1", "ED degrees of deep networks, printed and ours.")
_add_ed_degree_table("table2", "ED degrees of lightning self-attention, printed and ours.")


@commands.command("table3", epilog="Example: polymargin reproduce table3 --jobs 2")
def table3(
    directory: Directory = RESULTS / "soundness",
    epochs: Annotated[int, typer.Option(min=1, help="Training epochs.")] = 5000,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """The soundness benchmark with planted counterexamples, trained and verified, beside the printed numbers."""
    from polymargin.cli.soundness import run_table3

    raise typer.Exit(run_table3(directory, epochs=epochs, seed=seed, jobs=jobs, as_json=as_json))


@commands.command("beyond", epilog="Example: polymargin reproduce beyond")
def beyond(
    directory: Directory = RESULTS / "tables",
    seed: Seed = 0,
    timeout: Annotated[float, typer.Option(help="Seconds for one row.")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """ED degrees of architectures that the paper leaves out, by Gröbner bases; a picture of the trends."""
    from polymargin.cli.reproduce import run_beyond

    raise typer.Exit(run_beyond(directory=directory, seed=seed, timeout=timeout, as_json=as_json))


def _add_reproduction(name: str, summary: str) -> None:
    @commands.command(name, help=summary, epilog=f"Example: polymargin reproduce {name} --quick")
    def reproduction(
        quick: Annotated[
            bool, typer.Option("--quick", help="Fewer rows, samples and epochs: minutes instead of hours.")
        ] = False,
        directory: Annotated[
            Path | None, typer.Option(help="Folder for the files.", show_default="results, or results/quick")
        ] = None,
        seed: Seed = 0,
        as_json: AsJson = False,
    ) -> None:
        from polymargin.cli.reproduce_all import run_reproduce

        raise typer.Exit(run_reproduce(name, directory=directory, quick=quick, seed=seed, as_json=as_json))


for _name, _summary in (
    ("all", "Every table and figure, and a report.html that compares printed values with ours."),
    ("figure-sphere", "A margin sphere touching a decision surface in three inputs."),
    ("figure-tracking", "A predictor–corrector step and tracked paths."),
    ("figure-discriminant", "A conic, its evolute and the regions with two and four real critical points."),
    ("figure-conics", "The strata of conics."),
    ("figure-xor", "XOR with and without the regulariser."),
    ("figure-chambers", "Three slices of the chambers of lightning self-attention."),
    ("figure-kac-rice", "Simulated real critical points and the Kac–Rice expectation."),
):
    _add_reproduction(_name, _summary)
