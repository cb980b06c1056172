"""`polymargin agree`: where two networks give the same class, and how far their logits differ there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import (
    DEFAULT_TIMEOUT,
    AsJson,
    Certificates,
    Domain,
    Model,
    Norm,
    Points,
    ReadingOptions,
    Seed,
    Timeout,
    spread,
)
from polymargin.standing import Standing


@spread
def agree(
    model: Model,
    other: Annotated[Path, typer.Argument(help="The other network, of the same inputs and classes.")],
    points: Points,
    radius: Annotated[
        float | None,
        typer.Option(help="Compare logits within this distance.", show_default="where both keep the class"),
    ] = None,
    norm: Norm = "l2",
    domain: Domain = None,
    certificates: Certificates = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> int:
    """Prove up to which radius two networks keep the class of each point, and find inputs at which they disagree."""
    from polymargin.cli.models import read_both, read_model
    from polymargin.cli.printing import plain_table, print_json, wide_console
    from polymargin.cli.regions import RegionOptions
    from polymargin.value_ranges import agree as agreement_of

    first, array = read_both(model, points, reading)
    second = read_model(other, reading)
    within = RegionOptions(norm=norm, domain=domain).region
    found = agreement_of(first, second, array, radius=radius, within=within, timeout=timeout, seed=seed)
    if certificates is not None:
        for name, network, side in (("model", first, 0), ("other", second, 1)):
            folder = certificates / name
            folder.mkdir(parents=True, exist_ok=True)
            network.save(folder / "model.npz")
            for row, one in enumerate(found):
                if (proof := one.certificates[side]) is not None:
                    proof.save(folder / f"point-{row}.json")
    if as_json:
        print_json({"rows": [{"row": row, **one.to_dict()} for row, one in enumerate(found)]})
    else:
        table = plain_table(None, ">row", "classes", ">proved", ">disagree at", ">logits differ by", "standing")
        for row, one in enumerate(found):
            ends = (f"{value:.6g}" for value in (one.lower, one.distance, one.largest_difference))
            table.add_row(str(row), f"{one.labels[0]} {one.labels[1]}", *ends, one.standing.name)
        wide_console().print(table)
    agreed = all(one.labels[0] == one.labels[1] and one.standing is Standing.CERTIFIED for one in found)
    return 0 if agreed else 1
