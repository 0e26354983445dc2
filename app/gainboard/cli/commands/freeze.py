"""Freeze a collection: make a release that never changes (organisers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from gainboard.cli.command import Example, Option, command
from gainboard.cli.connecting import NamedCollection
from gainboard.cli.options import metric_option
from gainboard.cli.printing import Format, print_one


@command(
    __doc__,
    Example("gainboard freeze web --title 'Web 2026' -m nDCG@10 -m AP", "the collection as it is now"),
    Example("gainboard freeze web --creator 'R. Mokoena' --doi 10.5281/zenodo.42", "with what to cite"),
)
def freeze(
    at: NamedCollection,
    *,
    metrics: Annotated[Sequence[str], metric_option("the collection's")] = (),
    title: Annotated[str, "the title (default: the collection's)"] = "",
    creators: Annotated[Sequence[str], Option("whom to cite; repeatable", "--creator", metavar="NAME")] = (),
    license: Annotated[str, "the licence of the data, such as the address of its text"] = "",
    doi: Annotated[str | None, "a DOI that is reserved for the release, such as 10.5281/zenodo.42"] = None,
    hashes_only: Annotated[bool, "exports have the hashes of runs, not their files"] = False,
    format: Format = "table",
) -> None:
    """Make a release of the collection as it is now, with an address of its own, a text to cite it, and boards under
    the official metrics. A later release names this one as what it corrects. What a release holds can no longer be
    withdrawn or deleted.
    """
    with at.connect() as gainboard:
        release = gainboard.freeze(
            at.collection,
            title=title,
            metrics=metrics,
            creators=creators,
            license=license,
            doi=doi,
            run_files=not hashes_only,
        )
        print_one(release, format)
