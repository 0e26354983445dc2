"""Run analyses of stored runs that take longer than a request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from gainboard.cli.asked_scores import asking_metrics, metrics_of
from gainboard.cli.command import Example, Group
from gainboard.cli.configured import about_collection
from gainboard.cli.connecting import Server
from gainboard.cli.working import Noun
from gainboard.client import Job


def _ask(server: Server, parsed: argparse.Namespace, parameters: dict[str, Any]) -> Job:
    metrics = {"metrics": found} if (found := metrics_of(parsed)) else {}
    return server.gainboard.job(server.collection, parsed.kind, **metrics, **parameters)


def _listed(server: Server, parsed: argparse.Namespace | None) -> Iterator[Job]:
    if parsed is None:
        return server.gainboard.jobs()
    return server.gainboard.jobs(collection=server.some_collection, kind=parsed.kind, state=parsed.state)


def _asking(parser: argparse.ArgumentParser) -> None:
    about_collection(parser)
    asking_metrics(parser, "none, and most kinds want some")


def _listing(parser: argparse.ArgumentParser) -> None:
    about_collection(parser)
    parser.add_argument("--kind", help="only those of this kind")
    parser.add_argument("--state", help="only those in this state")


COMMAND = Group(
    "job",
    __doc__,
    Noun(
        name="job",
        kinds=lambda server: server.gainboard.job_kinds(),
        ask=_ask,
        find=lambda server, job: server.gainboard.find_job(job),
        listed=_listed,
        columns=("collection", "kind"),
        asking=_asking,
        listing=_listing,
        examples=[
            Example(
                "gainboard job run bootstrap-sensitivity -c web -m Q -m AP --set alphas=0.05,0.01 --set seed=3 --wait",
                "which metric tells more pairs of runs apart",
            ),
            Example("gainboard job run gain-vectors -c web --output curves", "all tables and figures as files"),
        ],
    ).commands(),
)
