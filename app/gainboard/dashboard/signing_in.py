"""`/signin`, `/signout`, `/me` and `/join`: a session for a token or for an invitation, and its end."""

from __future__ import annotations

from fastapi import Response

from gainboard.api.dependencies import caller_of
from gainboard.dashboard.rendering import PageLook, lead_to, page, page_of, pages
from gainboard.dashboard.schema_forms import Field, fields_of
from gainboard.dashboard.sessions import (
    FormDep,
    OpenFormDep,
    PlaceDep,
    Visitor,
    VisitorDep,
    forget_once,
    give_cookie,
    require_csrf,
    require_safe_cookie,
    show_once,
    shown_once,
    take_cookie,
)
from gainboard.errors import NotAuthenticated, NotFound
from gainboard.evaluation.access import invitations
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.sessions import list_sessions, sign_in, sign_out
from gainboard.evaluation.access.visibility import require_participation
from gainboard.evaluation.collection_settings import Policy, Quotas
from gainboard.store.records import Collection

router = pages()


def is_here(path: str) -> bool:
    """Return whether this is a path of this service, and not of another site that browsers would go to."""
    # Browsers read a backslash as a slash.
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


@router.get("/signin")
def show_sign_in(visitor: VisitorDep, next: str = "/") -> Response:
    """Show the form."""
    require_safe_cookie(visitor.request)
    return _show_form(visitor, next)


def _show_form(visitor: Visitor, target: str, fault: str = "") -> Response:
    look = PageLook("Sign in", status=401 if fault else 200)
    return page(visitor, "signing_in.html", look, target=target if is_here(target) else "/", fault=fault)


@router.post("/signin")
def begin(visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Begin a session, and go where the visitor wanted to go."""
    require_safe_cookie(visitor.request)
    target = form.get("next")
    try:
        sender = Sender.of(form.get("token"), caller_of(visitor.request.scope))
        session = sign_in(visitor.workspace, sender, visitor.session)
    except NotAuthenticated as error:
        return _show_form(visitor, target, error.message)
    answer = lead_to(visitor.request, target if is_here(target) else "/")
    give_cookie(visitor.request, answer, session)
    return answer


@router.post("/signout")
def end(visitor: VisitorDep, form: OpenFormDep) -> Response:
    """End the session. One that has ended already is no fault."""
    if visitor.session is not None:
        require_csrf(visitor, form.get("csrf"))
        sign_out(visitor.workspace, visitor.session, [visitor.session.stored.id])
    answer = lead_to(visitor.request, "/")
    take_cookie(visitor.request, answer)
    # The next person at this browser finds nothing of this session.
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


@router.get("/me")
def show_sessions(visitor: VisitorDep) -> Response:
    """Show the sessions of the visitor's token."""
    if visitor.session is None:
        raise NotAuthenticated("Sign in to see your sessions.")
    values = {"sessions": list_sessions(visitor.workspace, visitor.session), "own": visitor.session.stored.id}
    return page(visitor, "me.html", PageLook("Your sessions"), **values)


@router.post("/me")
def end_sessions(visitor: VisitorDep, form: FormDep) -> Response:
    """End the sessions that the form names, and show the others."""
    assert visitor.session is not None, "a form belongs to a session"
    sign_out(visitor.workspace, visitor.session, form.all("session"))
    return lead_to(visitor.request, "/me")


@router.get("/join")
def show_join(visitor: VisitorDep) -> Response:
    """Show the place for a code. A script puts it there from the address, whose end browsers send nowhere."""
    require_safe_cookie(visitor.request)
    return _show_no_invitation(visitor)


def _show_no_invitation(visitor: Visitor, fault: str = "") -> Response:
    look = PageLook("Invitation", status=404 if fault else 200)
    return page(visitor, "join.html", look, invitation=None, fault=fault)


@router.post("/join")
def look_at(visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Show whose invitation it is, with the button to accept it."""
    require_safe_cookie(visitor.request)
    code = form.get("code")
    try:
        invitation = invitations.look_at(visitor.workspace, code, caller_of(visitor.request.scope))
    except NotFound as error:
        return _show_no_invitation(visitor, error.message)
    quotas = _show_quotas(invitation.collection)
    look = PageLook(f"Invitation to {invitation.collection.title or invitation.collection.name}")
    return page(visitor, "join.html", look, invitation=invitation, code=code, quotas=quotas, fault="")


def _show_quotas(collection: Collection) -> list[Field]:
    """Return the quotas that the collection has, with their titles, as its settings show them."""
    fields = fields_of(Quotas.model_json_schema(), Policy.of(collection).quotas.model_dump())
    return [field for field in fields if field.value]


@router.post("/join/accept")
def accept(visitor: VisitorDep, form: OpenFormDep) -> Response:
    """Exchange the code for a token, begin a session with it, and show the token this once."""
    require_safe_cookie(visitor.request)
    try:
        caller = caller_of(visitor.request.scope)
        accepted = invitations.accept(visitor.workspace, form.get("code"), caller, visitor.session)
    except NotFound as error:
        return _show_no_invitation(visitor, error.message)
    answer = lead_to(visitor.request, f"/c/{accepted.collection.name}/joined")
    give_cookie(visitor.request, answer, accepted.session)
    show_once(visitor.request, answer, accepted.token)
    return answer


@router.get("/c/{collection}/joined")
def show_joined(place: PlaceDep) -> Response:
    """Show the new token, what may be sent until when, and how to use the token in a terminal."""
    require_participation(place.view)
    quotas, secret = _show_quotas(place.view.collection), shown_once(place.request)
    answer = page_of(place, "joined.html", f"Welcome to {place.title}", secret=secret, quotas=quotas)
    forget_once(place.request, answer)
    return answer
