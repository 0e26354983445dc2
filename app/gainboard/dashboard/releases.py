"""`/r/{release}`: a release of a collection, such as `web-1`, as it was frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Response

from gainboard.api.answers import server_address
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.rendering import page_of, pages
from gainboard.dashboard.sessions import VisitorDep, enter
from gainboard.errors import NotFound
from gainboard.evaluation.releases.releases import cite_release, find_release, list_releases, read_document

router = pages()


class BoardOnPage(NamedTuple):
    """A board of a release's document, and the axis on which its intervals are drawn."""

    value: Mapping[str, Any]
    scale: ChartScale


def boards_of(document: Mapping[str, Any]) -> list[BoardOnPage]:
    """Return the boards of a release, one for each official metric, with axes that hold all means and intervals."""
    boards = []
    for value in document["boards"]:
        by = value["by"]
        ends = [end for row in value["rows"] for end in row["intervals"][by] or ()]
        boards.append(BoardOnPage(value, ChartScale.around([0.0, *ends, *(row["means"][by] for row in value["rows"])])))
    return boards


@router.get("/r/{release}")
def show_release(release: str, visitor: VisitorDep) -> Response:
    """Show a release: how to cite it, its boards, and what it holds."""
    name, _, number = release.rpartition("-")
    # Nine digits fit into the column of numbers; PostgreSQL fails at a number that does not.
    if not (name and number.isdecimal() and len(number) <= 9):
        raise NotFound(f"There is no release {release!r}. Its name is that of a collection and a number: web-1.")
    place = enter(visitor, name)
    _, frozen = find_release(visitor.workspace, place.principal, name, int(number))
    newest = list_releases(visitor.workspace, place.principal, name, limit=1)[1][0].number
    document = read_document(visitor.workspace, frozen)
    return page_of(
        place,
        "release.html",
        f"{frozen.title}, release {release}",
        document=document,
        sha256=frozen.sha256,
        boards=boards_of(document),
        cited=cite_release(document, frozen.sha256, server_address(place.request)),
        newest=newest if newest > frozen.number else None,
    )
