"""`/docs`: the API's description, shown by Swagger UI from this package."""

from __future__ import annotations

from fastapi import Request, Response

from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import VisitorDep

router = pages()
STYLE = "'unsafe-inline'"
"""Swagger UI sets styles of elements as it draws. Nothing of it comes from what people have uploaded."""


@router.get("/docs")
def show_docs(request: Request, visitor: VisitorDep) -> Response:
    """Show the API, with forms to try it."""
    return page(request, visitor, "docs.html", PageLook("API", style=STYLE))
