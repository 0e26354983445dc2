"""`/signin` and `/signout`: a token for a session, and back."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from gainboard.api.answers import address
from gainboard.api.dependencies import WorkspaceDep, caller_of
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import (
    SESSION_ENDED,
    FormDep,
    OpenFormDep,
    Visitor,
    VisitorDep,
    give_cookie,
    require_csrf,
    require_safe_cookie,
    take_cookie,
)
from gainboard.errors import NotAuthenticated
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.sessions import Session, list_sessions, sign_in, sign_out

router = pages()


def is_here(path: str) -> bool:
    """Return whether this is a path of this service, and not of another site that browsers would go to."""
    # Browsers read a backslash as a slash.
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


@router.get("/signin")
def show_sign_in(request: Request, visitor: VisitorDep, next: str = "/") -> Response:
    """Show the form."""
    require_safe_cookie(request)
    return _form(request, visitor, next)


def _form(request: Request, visitor: Visitor, target: str, fault: str = "") -> Response:
    look = PageLook("Sign in", status=401 if fault else 200)
    return page(request, visitor, "signing_in.html", look, target=target if is_here(target) else "/", fault=fault)


@router.post("/signin")
def begin(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Begin a session, and go where the visitor wanted to go."""
    require_safe_cookie(request)
    target = form.get("next")
    try:
        session = sign_in(workspace, Sender.of(form.get("token"), caller_of(request.scope)), visitor.session)
    except NotAuthenticated as error:
        return _form(request, visitor, target, error.message)
    answer = RedirectResponse(address(request, target if is_here(target) else "/"), 303)
    give_cookie(request, answer, session)
    return answer


@router.post("/signout")
def end(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: OpenFormDep) -> Response:
    """End the session. One that has ended already is no fault."""
    if visitor.session is not None:
        require_csrf(visitor, form.get("csrf"))
        sign_out(workspace, visitor.session, [visitor.session.stored.id])
    answer = RedirectResponse(address(request, "/"), 303)
    take_cookie(request, answer)
    answer.headers["Clear-Site-Data"] = '"cache"'  # the next person at this browser finds nothing of this session
    return answer


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
