"""`/join`: a team's invitation, and the exchange of its code for a token and a session."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from gainboard.api.answers import address
from gainboard.api.dependencies import CollectionName, WorkspaceDep, caller_of
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import (
    OpenFormDep,
    VisitorDep,
    forget_once,
    give_cookie,
    require_safe_cookie,
    show_once,
    shown_once,
)
from gainboard.errors import NotFound
from gainboard.evaluation.access import invitations
from gainboard.evaluation.access.visibility import require_participation
from gainboard.store.records import CollectionPolicy

router = pages()


@router.get("/join")
def show_join(request: Request, visitor: VisitorDep) -> Response:
    """Show the place for a code. A script puts it there from the address, whose end browsers send nowhere."""
    require_safe_cookie(request)
    return page(request, visitor, "join.html", PageLook("Invitation"), invitation=None, fault="")


@router.post("/join")
def look_at(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Show whose invitation it is, with the button to accept it."""
    require_safe_cookie(request)
    code = form.get("code")
    try:
        found = invitations.look_at(workspace, code, caller_of(request.scope))
    except NotFound as error:
        look = PageLook("Invitation", status=404)
        return page(request, visitor, "join.html", look, invitation=None, fault=error.message)
    policy = CollectionPolicy.of(found.collection)
    look = PageLook(f"Invitation to {found.collection.title or found.collection.name}")
    return page(request, visitor, "join.html", look, invitation=found, code=code, policy=policy, fault="")


@router.post("/join/accept")
def accept(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Exchange the code for a token, begin a session with it, and show the token this once."""
    require_safe_cookie(request)
    try:
        accepted = invitations.accept(workspace, form.get("code"), caller_of(request.scope), visitor.session)
    except NotFound as error:
        look = PageLook("Invitation", status=404)
        return page(request, visitor, "join.html", look, invitation=None, fault=error.message)
    answer = RedirectResponse(address(request, f"/c/{accepted.collection.name}/joined"), 303)
    give_cookie(request, answer, accepted.session)
    show_once(request, answer, accepted.token)
    return answer


@router.get("/c/{collection}/joined")
def show_joined(collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: VisitorDep) -> Response:
    """Show the new token, what may be sent until when, and how to use the token in a terminal."""
    place = enter(workspace, visitor, collection)
    require_participation(place.view)
    policy, secret = CollectionPolicy.of(place.view.collection), shown_once(request)
    look = PageLook(f"Welcome to {place.title}", place)
    answer = page(request, visitor, "joined.html", look, secret=secret, policy=policy)
    forget_once(request, answer)
    return answer
