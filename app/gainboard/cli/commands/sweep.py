"""Score stored runs over a grid of parameters."""

from __future__ import annotations

import argparse

from gainboard.cli.asked_scores import (
    DIGITS,
    asking_metrics,
    asking_qrels,
    asking_run,
    asking_values,
    metrics_of,
    parameters_of,
)
from gainboard.cli.command import Command, Example, together
from gainboard.cli.configured import about_collection, connecting
from gainboard.cli.connecting import connected
from gainboard.cli.listing import formats, print_json, print_rows


def _sweep(parsed: argparse.Namespace) -> int:
    """Score stored runs under every combination of the values of parameters: their means, a row for each run at each
    point of the grid."""
    with connected(parsed) as server:
        found = server.gainboard.sweep(
            server.collection, metrics_of(parsed), runs=parsed.runs, qrels=parsed.qrels, **parameters_of(parsed)
        )
    if parsed.format == "json":
        print_json(found.to_dict())
    else:
        columns = found.columns()
        print_rows(list(columns), list(zip(*columns.values(), strict=True)), parsed.format, {"mean": DIGITS})
    return 0


COMMAND = Command(
    "sweep",
    __doc__,
    _sweep,
    together(about_collection, asking_metrics, asking_run, asking_qrels, asking_values, formats, connecting),
    [
        Example("gainboard sweep -c web -m Q --gains 3:2:1 --gains 10:5:1 --beta 0.1 --beta 1 --beta 10"),
        Example("gainboard sweep -c web -m nDCG@10 --base 2 --base 10 --run tag --format csv", "for a spreadsheet"),
    ],
)
