"""Freeze a collection: make a release that never changes (organisers)."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import collection_argument, collection_option, connect_server, server_options
from gainboard.cli.options import metric_option, read_metrics
from gainboard.cli.printing import format_option, print_one


def _freeze(parsed: argparse.Namespace) -> int:
    """Make a release of the collection as it is now, with an address of its own, a text to cite it, and boards under
    the official metrics. A later release names this one as what it corrects. What a release holds can no longer be
    withdrawn or deleted.
    """
    with connect_server(parsed) as server:
        release = server.gainboard.freeze(
            server.collection,
            title=parsed.title,
            metrics=read_metrics(parsed) or (),
            creators=parsed.creators or (),
            license=parsed.license,
            doi=parsed.doi,
            run_files=not parsed.hashes_only,
        )
        print_one(release, parsed.format)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    collection_argument(parser)
    metric_option(parser, "the collection's")
    parser.add_argument("--title", default="", help="the title (default: the collection's)")
    parser.add_argument("--creator", dest="creators", metavar="NAME", action="append", help="whom to cite; repeatable")
    parser.add_argument("--license", default="", help="the licence of the data, such as the address of its text")
    parser.add_argument("--doi", help="a DOI that is reserved for the release, such as 10.5281/zenodo.42")
    parser.add_argument("--hashes-only", action="store_true", help="exports have the hashes of runs, not their files")


COMMAND = Command(
    "freeze",
    __doc__,
    _freeze,
    together(_options, format_option, server_options),
    [
        Example("gainboard freeze web --title 'Web 2026' -m nDCG@10 -m AP", "the collection as it is now"),
        Example("gainboard freeze web --creator 'R. Mokoena' --doi 10.5281/zenodo.42", "with what to cite"),
    ],
)
