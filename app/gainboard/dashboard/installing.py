"""The dashboard's part of the application: all pages, and problems as pages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api.routes import add_routes
from gainboard.dashboard import (
    assets,
    board,
    compare,
    design,
    documentation,
    founding,
    home,
    jobs,
    joining,
    judgments,
    metrics,
    mount,
    pool,
    releases,
    runs,
    settings,
    signing_in,
    submissions,
    teams,
    topics,
)
from gainboard.dashboard.places import Place, enter
from gainboard.dashboard.rendering import PageLook, PageRoute, help_of_problem, page
from gainboard.dashboard.sessions import Visitor, visitor_of
from gainboard.errors import GainboardError

PAGES = (
    home,
    signing_in,
    joining,
    founding,
    board,
    topics,
    compare,
    runs,
    pool,
    judgments,
    releases,
    jobs,
    submissions,
    teams,
    settings,
    metrics,
    design,
    documentation,
    mount,
)
"""The modules of pages, each with its `router`. They come before the API, whose addresses some of them share."""


def install(application: FastAPI) -> None:
    """Add the pages, before the API's routes are added and after its handlers of problems."""
    show_problems_as_pages(application)
    add_routes(application, *(module.router for module in (assets, *PAGES)))


Handler = Callable[[Request, Exception], Awaitable[Response]]
KEPT = ("retry-after", "allow", "connection")


def show_problems_as_pages(application: FastAPI) -> None:
    """Show the problems of pages as pages. The API's handlers must be installed before."""
    for kind, handler in list(application.exception_handlers.items()):
        application.add_exception_handler(kind, _readable(handler))


def _readable(handler: Any) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        answer: Response = await handler(request, error)
        if not _is_for_people(request) or answer.media_type != "application/problem+json":
            return answer
        return await run_in_threadpool(show, request, answer)

    return handle


def _is_for_people(request: Request) -> bool:
    """Return whether the request was for a page. Addresses of the API have problem documents in browsers, too."""
    if isinstance(request.scope.get("route"), PageRoute):
        return "text/html" in request.headers.get("accept", "*/*").replace("*/*", "text/html")
    is_known = request.scope.get("route") is not None or request.url.path.startswith("/v1/")
    return not is_known and "text/html" in request.headers.get("accept", "")


def show(request: Request, answer: Response) -> Response:
    """Return a problem document as a page, with the form to sign in if that may help."""
    problem = json.loads(bytes(answer.body))
    headers = {name: value for name, value in answer.headers.items() if name in KEPT}
    visitor = visitor_of(request)
    place = _place_of(request, visitor)
    look = PageLook(
        problem["title"], place, status=answer.status_code, headers=headers, help=help_of_problem(problem["type"])
    )
    return page(request, visitor, "error.html", look, problem=problem)


def _place_of(request: Request, visitor: Visitor) -> Place | None:
    """Return the collection of the address, so that its pages are near; None if it is not for this visitor."""
    try:
        return enter(request.app.state.workspace, visitor, request.path_params["collection"])
    except (KeyError, GainboardError):
        return None
