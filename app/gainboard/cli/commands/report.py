"""Make the tables and figures of a paper for stored collections."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from gainboard.cli.connecting import CalledServer, collection_option
from gainboard.cli.jobs import Noun
from gainboard.cli.loading import file_options
from gainboard.cli.old import Example, Group
from gainboard.client import Report


def _ask(server: CalledServer, parsed: argparse.Namespace, parameters: dict[str, Any]) -> Report:
    return server.gainboard.report(parsed.kind, parsed.collections or [server.collection], **parameters)


def _list_work(server: CalledServer, parsed: argparse.Namespace | None) -> Iterator[Report]:
    if parsed is None:
        return server.gainboard.reports()
    return server.gainboard.reports(collection=server.some_collection, name=parsed.kind)


def _run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c",
        "--collection",
        dest="collections",
        metavar="NAME",
        action="append",
        help="a collection; may be repeated (GAINBOARD_COLLECTION)",
    )
    file_options(parser)


def _list_options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    parser.add_argument("--kind", help="only reports of this kind")


COMMAND = Group(
    "report",
    __doc__,
    Noun(
        name="report",
        list_kinds=lambda server: server.gainboard.report_kinds(),
        ask=_ask,
        find=lambda server, report: server.gainboard.find_report(report),
        list_work=_list_work,
        columns=("collections", "name"),
        run_options=_run_options,
        list_options=_list_options,
        examples=[
            Example(
                "gainboard report run q-measure-appendix -c web --wait --output appendix",
                "every table as CSV and LaTeX, every figure as SVG",
            ),
        ],
    ).commands(),
)
