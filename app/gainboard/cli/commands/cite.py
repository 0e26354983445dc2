"""Cite a release, a board or a score."""

from __future__ import annotations

from typing import Annotated, Literal, Unpack

from gainboard.cli.command import Example, Misuse, Option, command
from gainboard.cli.connecting import NamedCollection, find_release
from gainboard.cli.options import Metrics
from gainboard.notation.queries import RankingOptions, ReplicatesOptions


class CitedOptions(RankingOptions, ReplicatesOptions, total=False):
    """The options that decide the scores and the letters of a cited board."""


@command(
    __doc__,
    Example("gainboard cite web", "its newest release"),
    Example("gainboard cite web -m nDCG@10 -f sentence", "how the scores of a board were computed"),
    Example("gainboard cite web -m nDCG@10 --run tag -f csl", "the score of a run, for a reference manager"),
)
def cite(
    at: NamedCollection,
    *,
    release: Annotated[int | None, Option("the release (default: the newest)", metavar="NUMBER")] = None,
    metrics: Metrics = (),
    run: Annotated[str | None, Option("the run whose score under -m is cited", metavar="NAME")] = None,
    format: Annotated[Literal["bibtex", "csl", "sentence"], Option("(default: bibtex)", "-f", "--format")] = "bibtex",
    **query: Unpack[CitedOptions],
) -> None:
    """Print how to cite a release, or with -m or --run a board as it is now: as BibTeX, as CSL-JSON, or in the sentence
    of a paper. Each says the version, the metric with its parameters, and the SHA-256 of the release or the judgments.
    """
    if release and (metrics or run):
        raise Misuse("a release has its own metrics: give --release, or -m and --run for the board as it is now")
    with at.connect() as gainboard:
        if metrics or run:
            print(gainboard.leaderboard_text(at.collection, metrics, format=format, runs=run or (), **query))
        else:
            number = release or find_release(gainboard, at.collection, or_else=", or cite a board: -m METRIC")
            print(gainboard.release(at.collection, number).cite[format])
