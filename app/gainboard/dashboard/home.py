"""`/`: the collections that one may see, for people; programs get the addresses to start from."""

from __future__ import annotations

from datetime import datetime

from fastapi import Request, Response

from gainboard.api.dependencies import WorkspaceDep
from gainboard.api.problems import read_problem
from gainboard.dashboard.rendering import PageLook, PeopleRoute, help_of_problem, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.evaluation.collections import list_collections

router = pages(PeopleRoute)
MOST = 200


@router.get("/")
def show_home(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, after: str | None = None) -> Response:
    """Show the collections that exist for the visitor."""
    found = list_collections(workspace, visitor.principal, after, MOST + 1)
    now: datetime = workspace.now()
    return page(
        request,
        visitor,
        "home.html",
        PageLook("Collections"),
        collections=[each.collection for each in found[:MOST]],
        more=found[MOST - 1].collection.name if len(found) > MOST else None,
        now=now,
    )


@router.get("/problems/{slug}")
def show_problem(slug: str, request: Request, visitor: VisitorDep) -> Response:
    """Show what a type of problem means, and what to do about it."""
    problem = read_problem(slug)
    return page(request, visitor, "problem.html", PageLook(problem.title, help=help_of_problem(slug)), problem=problem)
