"""Score stored runs over a grid of parameters."""

from __future__ import annotations

from typing import Unpack

from gainboard.cli.command import Example, command
from gainboard.cli.loading import CampaignOrFiles
from gainboard.cli.options import Metrics, RunNames
from gainboard.cli.printing import DIGITS, Format, print_json, print_rows, tell_of_judgments
from gainboard.notation.queries import SweepOptions


@command(
    __doc__,
    Example("gainboard sweep -c web -m Q --gains 3:2:1 --gains 10:5:1 --beta 0.1 --beta 1 --beta 10"),
    Example("gainboard sweep -c web -m nDCG@10 --base 2 --base 10 --run tag --format csv", "for a spreadsheet"),
)
def sweep(
    at: CampaignOrFiles,
    *,
    metrics: Metrics = (),
    run_names: RunNames = (),
    format: Format = "table",
    **query: Unpack[SweepOptions],
) -> None:
    """Score stored runs under every combination of the given parameter values. Each row has the means of one run under
    one combination.
    """
    with at.connect() as gainboard:
        query["qrels"] = at.version
        answer = gainboard.sweep(at.collection, metrics, runs=run_names, **query)
        if format == "json":
            print_json(answer.to_dict())
            return
        if format == "table":
            tell_of_judgments(answer, are_files=bool(at.runs))
        columns = answer.columns()
        print_rows(list(columns), list(zip(*columns.values(), strict=True)), format, {"mean": DIGITS})
