"""The dashboard's part of the application: all pages, and problems as pages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api.routes import add_routes
from gainboard.dashboard import (
    board,
    compare,
    documentation,
    home,
    jobs,
    judgments,
    mount,
    rendering,
    runs,
    settings,
    signing_in,
    teams,
    topics,
)
from gainboard.dashboard.rendering import PageLook, help_of_problem, is_for_people, page
from gainboard.dashboard.sessions import enter, visitor_of
from gainboard.errors import GainboardError
from gainboard.evaluation.audit import find_last_change
from gainboard.vocabulary import OFFICIAL

PAGES = (
    home,
    signing_in,
    board,
    topics,
    compare,
    runs,
    judgments,
    jobs,
    teams,
    settings,
    documentation,
    mount,
)
"""The modules of pages, each with its `router`. They come before the API, whose addresses some of them share."""


def install(application: FastAPI) -> None:
    """Add the pages, before the API's routes are added and after its handlers of problems."""
    show_problems_as_pages(application)
    add_routes(application, *(module.router for module in (rendering, *PAGES)))


KEPT = ("retry-after", "allow", "connection")


def show_problems_as_pages(application: FastAPI) -> None:
    """Show the problems of pages as pages. The API's handlers must be installed before."""
    for kind, handler in list(application.exception_handlers.items()):
        application.add_exception_handler(kind, _showing(handler))


def _showing(handler: Any) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        answer: Response = await handler(request, error)
        if answer.media_type == "application/problem+json" and is_for_people(request):
            # The page reads the session and the collection from the database.
            return await run_in_threadpool(show_problem, request, answer)
        return answer

    return handle


def show_problem(request: Request, answer: Response) -> Response:
    """Return a problem document as a page, with the form to sign in if that may help."""
    problem = json.loads(bytes(answer.body))
    headers = {name: value for name, value in answer.headers.items() if name in KEPT}
    visitor, place = visitor_of(request), None
    # The pages of the collection stay near, unless it is not for this visitor, or the address has none.
    with suppress(KeyError, GainboardError):
        place = enter(visitor, request.path_params["collection"])
    change = None
    if place and place.view.organises and request.method == "POST" and answer.status_code in (404, 409):
        # Somebody else may have done meanwhile what the page still offered. The log says who.
        judgments, *_, part = request.query_params.get("judgments", OFFICIAL), *request.path_params.values()
        subject = part if judgments == OFFICIAL else f"{judgments}/{part}"
        change = find_last_change(place.workspace, place.principal, place.name, subject)
    look = PageLook(
        problem["title"], place, status=answer.status_code, headers=headers, help=help_of_problem(problem["type"])
    )
    return page(visitor, "error.html", look, problem=problem, change=change)
