"""`/me`: the sessions of a visitor's token, and their end."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from gainboard.api.answers import address
from gainboard.api.dependencies import WorkspaceDep
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import SESSION_ENDED, FormDep, VisitorDep
from gainboard.errors import NotAuthenticated
from gainboard.evaluation.sessions import Session, list_sessions, sign_out

router = pages()


@router.get("/me")
def show_sessions(request: Request, workspace: WorkspaceDep, visitor: VisitorDep) -> Response:
    """Show the sessions of the visitor's token."""
    own = _require(visitor.session, "Sign in to see your sessions.")
    values = {"sessions": list_sessions(workspace, own), "own": own.stored.id}
    return page(request, visitor, "me.html", PageLook("Your sessions"), **values)


def _require(session: Session | None, why: str) -> Session:
    if session is None:
        raise NotAuthenticated(why)
    return session


@router.post("/me")
def end_sessions(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: FormDep) -> Response:
    """End the sessions that the form names, and show the others."""
    sign_out(workspace, _require(visitor.session, SESSION_ENDED), form.all("session"))
    return RedirectResponse(address(request, "/me"), 303)
