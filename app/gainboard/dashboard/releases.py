"""`/r/{release}`: a release of a collection, such as `web-1`, as it was frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from gainboard.api.dependencies import WorkspaceDep
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.errors import NotFound
from gainboard.evaluation.releases.releases import find_release, list_releases, read_document

router = pages()


@dataclass(frozen=True)
class BoardOnPage:
    """A board of a release's document, and the axis on which its intervals are drawn."""

    value: Mapping[str, Any]
    scale: ChartScale

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> BoardOnPage:
        """Return a board with an axis that holds all means and intervals."""
        by = value["by"]
        ends = [end for row in value["rows"] for end in row["intervals"][by] or ()]
        return cls(value, ChartScale.around([0.0, *ends, *(row["means"][by] for row in value["rows"])]))


def boards_of(document: Mapping[str, Any]) -> list[BoardOnPage]:
    """Return the boards of a release, one for each official metric."""
    return [BoardOnPage.of(each) for each in document["boards"]]


@router.get("/r/{release}")
def show_release(release: str, request: Request, workspace: WorkspaceDep, visitor: VisitorDep) -> Response:
    """Show a release: how to cite it, its boards, and what it holds."""
    name, _, number = release.rpartition("-")
    if not (name and number.isdecimal() and len(number) <= 9):
        raise NotFound(f"There is no release {release!r}. Its name is that of a collection and a number: web-1.")
    place = enter(workspace, visitor, name)
    _, found = find_release(workspace, place.view.principal, name, int(number))
    newer = list_releases(workspace, place.view.principal, name, limit=1)[1][0]
    document = read_document(workspace, found)
    return page(
        request,
        visitor,
        "release.html",
        PageLook(f"{found.title}, release {release}", place),
        document=document,
        sha256=found.sha256,
        boards=boards_of(document),
        newest=newer.number if newer.number > found.number else None,
    )
