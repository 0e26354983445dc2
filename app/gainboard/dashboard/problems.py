"""`/problems/{slug}`: what a type of problem means, for people; programs get JSON at the same address."""

from __future__ import annotations

from fastapi import Request, Response

from gainboard.api.problems import read_problem
from gainboard.dashboard.rendering import PageLook, PeopleRoute, page, pages
from gainboard.dashboard.sessions import VisitorDep

router = pages(PeopleRoute)


@router.get("/problems/{slug}")
def show_problem(slug: str, request: Request, visitor: VisitorDep) -> Response:
    """Show what a type of problem means, and what to do about it."""
    problem = read_problem(slug)
    return page(request, visitor, "problem.html", PageLook(problem.title), problem=problem)
