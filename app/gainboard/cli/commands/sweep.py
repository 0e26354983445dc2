"""Score stored runs over a grid of parameters."""

from __future__ import annotations

import argparse

from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import (
    late_option,
    metric_option,
    parameter_value_options,
    qrels_option,
    read_metrics,
    read_parameters,
    run_option,
    topics_option,
)
from gainboard.cli.printing import DIGITS, format_option, print_json, print_rows, tell_of_topics, tell_of_version


def _sweep(parsed: argparse.Namespace) -> int:
    """Score stored runs under every combination of the given parameter values. Each row has the means of one run under
    one combination.
    """
    with connect_server(parsed) as server:
        found = server.gainboard.sweep(
            server.collection,
            read_metrics(parsed),
            runs=parsed.runs,
            topics=parsed.topics,
            judgments=parsed.judgments,
            qrels=parsed.qrels,
            late=parsed.late,
            **read_parameters(parsed),
        )
    if parsed.format == "json":
        print_json(found.to_dict())
    else:
        if parsed.format == "table":
            tell_of_version(found.qrels_version)
            tell_of_topics([found.topic_group])
        columns = found.columns()
        print_rows(list(columns), list(zip(*columns.values(), strict=True)), parsed.format, {"mean": DIGITS})
    return 0


COMMAND = Command(
    "sweep",
    __doc__,
    _sweep,
    together(
        collection_option,
        metric_option,
        run_option,
        topics_option,
        qrels_option,
        late_option,
        parameter_value_options,
        format_option,
        server_options,
    ),
    [
        Example("gainboard sweep -c web -m Q --gains 3:2:1 --gains 10:5:1 --beta 0.1 --beta 1 --beta 10"),
        Example("gainboard sweep -c web -m nDCG@10 --base 2 --base 10 --run tag --format csv", "for a spreadsheet"),
    ],
)
