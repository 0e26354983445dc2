"""Run analyses of stored runs that take longer than a request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from gainboard.cli.connecting import CalledServer, collection_option
from gainboard.cli.jobs import Noun
from gainboard.cli.loading import file_options
from gainboard.cli.old import Example, Group
from gainboard.cli.options import metric_option, read_metrics
from gainboard.client import Job


def _ask(server: CalledServer, parsed: argparse.Namespace, parameters: dict[str, Any]) -> Job:
    metrics = {"metrics": found} if (found := read_metrics(parsed)) else {}
    return server.gainboard.job(server.collection, parsed.kind, **metrics, **parameters)


def _list_work(server: CalledServer, parsed: argparse.Namespace | None) -> Iterator[Job]:
    if parsed is None:
        return server.gainboard.jobs()
    return server.gainboard.jobs(collection=server.some_collection, kind=parsed.kind, state=parsed.state)


def _run_options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    metric_option(parser, "none; most kinds need some")
    file_options(parser)


def _list_options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    parser.add_argument("--kind", help="only jobs of this kind")
    parser.add_argument("--state", help="only jobs in this state")


COMMAND = Group(
    "job",
    __doc__,
    Noun(
        name="job",
        list_kinds=lambda server: server.gainboard.job_kinds(),
        ask=_ask,
        find=lambda server, job: server.gainboard.find_job(job),
        list_work=_list_work,
        columns=("collection", "kind"),
        run_options=_run_options,
        list_options=_list_options,
        examples=[
            Example(
                "gainboard job run bootstrap-sensitivity -c web -m Q -m AP --set alphas=0.05,0.01 --set seed=3 --wait",
                "which metric separates more pairs of runs",
            ),
            Example(
                "gainboard job run swap-rate --qrels qrels.txt --runs runs/* -m AP -m Q --output out",
                "without a server",
            ),
            Example("gainboard job run gain-vectors -c web --output curves", "all tables and figures as files"),
        ],
    ).commands(),
)
