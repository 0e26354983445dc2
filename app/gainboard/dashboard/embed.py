"""`/embed/c/{collection}`: a board to frame elsewhere, of public collections alone."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import Field

from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.dashboard.board import BoardQuery, board_values
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import Visitor
from gainboard.errors import Forbidden
from gainboard.notation.types import INTEGER

router = pages()


class EmbedQuery(BoardQuery):
    """The query of an embedded board: that of the board, a theme, and a number of runs."""

    theme: Annotated[Literal["light", "dark"] | None, Field(description="The reader's own by default")] = None
    top: Annotated[int, Field(ge=1, le=100, description="The number of runs that are shown"), INTEGER] = 20


@router.get("/embed/c/{collection}")
def show_embedded(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, asked: Annotated[EmbedQuery, Query()]
) -> Response:
    """Show the first runs of a board. Whoever looks is nobody here, so the page shows what everybody may see."""
    nobody = Visitor()
    place = enter(workspace, nobody, collection)
    if not place.view.sees_free_scores:
        raise Forbidden(f"{place.name!r} is not public, so no other page may show its board.")
    look = PageLook(place.title, place, may_be_framed=True)
    values = board_values(request, workspace, nobody, place, asked)
    return page(request, nobody, "embed.html", look, **{**values, "rows": values["rows"][: asked.top]})
