"""`/help`: the documentation below the service's own header, its search, and the files that its pages lead to."""

from __future__ import annotations

import mimetypes
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from gainboard.api.answers import address
from gainboard.dashboard.rendering import PageLook, headers_of_page, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.documentation import contents, every_page, linked_files, make_ahead, render, search
from gainboard.errors import NotFound

router = pages()


@router.get("/help")
def show_help(request: Request) -> Response:
    """Send a browser to the first page, whose links are relative to its folder."""
    return RedirectResponse(address(request, "/help/index.html"), 308)


@router.get("/help/search.html")
def show_help_search(request: Request, visitor: VisitorDep, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show the sections of the documentation that have any of the words."""
    look = PageLook(f"Search for {q}" if q else "Search")
    return page(
        request, visitor, "documentation_search.html", look, groups=contents(), query=q, hits=search(q) if q else []
    )


@router.get("/help/{page_name}.html")
def show_help_page(page_name: str, request: Request, visitor: VisitorDep) -> Response:
    """Show a page of the documentation."""
    if (found := every_page().get(page_name)) is None:
        raise NotFound(f"There is no page {page_name!r} of the documentation. /help has all.")
    make_ahead()
    content = Markup(render(page_name).html)
    return page(
        request, visitor, "documentation.html", PageLook(found.title), groups=contents(), shown=found, content=content
    )


@router.get("/help/{file:path}")
def show_help_file(file: str) -> Response:
    """Show a file that a page of the documentation shows or links to, such as a picture."""
    if (path := linked_files().get(file)) is None:
        raise NotFound(f"The documentation has no file {file!r}. /help has all.")
    media_type = mimetypes.guess_type(path.name)[0] or "text/plain"
    return Response(path.read_bytes(), headers=headers_of_page(style="'unsafe-inline'"), media_type=media_type)
