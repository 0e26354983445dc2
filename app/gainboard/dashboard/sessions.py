"""The visitor of a page: a session in a cookie. The API never reads it, so no other site can use the API by it.

The place of a page is a collection as its visitor sees it, which decides what entries the navigation has.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from inspect import isfunction, signature
from ipaddress import ip_address
from typing import Annotated, Any, NamedTuple, get_args
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request, Response
from fastapi.params import Depends as Dependency

from gainboard.api.dependencies import CollectionName, PrincipalDep, SenderDep, WorkspaceDep, caller_of, let_ask_again
from gainboard.api.routes import parsed
from gainboard.errors import Forbidden, GainboardError, NotAuthenticated, TooLarge
from gainboard.evaluation.access.principals import Principal, Sender
from gainboard.evaluation.access.sessions import LIFETIME, Session, resume
from gainboard.evaluation.access.visibility import View, open_collection
from gainboard.evaluation.workspace import Workspace

# Browsers take a name with this prefix only over https, for this host alone and for all of its paths.
SECURE, LOCAL = "__Host-gainboard", "gainboard"
"""The cookie's names: over https, and over http, which only this machine may use."""
MOST_FIELDS = 200
SESSION_ENDED = "The session has ended. Sign in again."
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Visitor:
    """Somebody who looks at a page, with a session or without, and the request for the page."""

    request: Request
    workspace: Workspace
    session: Session | None = None

    @property
    def sender(self) -> Sender:
        """The sender, for use cases that look up the token together with the collection."""
        return self.session.sender if self.session else Sender(why_anonymous="Sign in to see this page.")

    @property
    def principal(self) -> Principal:
        if self.session:
            return self.session.principal
        return Principal("anonymous", why_anonymous="Sign in to see this page.")

    @property
    def is_signed_in(self) -> bool:
        return self.session is not None

    @property
    def csrf(self) -> str:
        """The text that the forms of this session carry; empty without a session."""
        return self.session.csrf if self.session else ""

    @property
    def role_shown(self) -> str:
        """The role in words, with the team of a participant."""
        token = self.principal.token
        return f"{self.principal.role} of {token.team}" if token and token.team else self.principal.role


def _visitor(request: Request, workspace: WorkspaceDep) -> Visitor:
    # A session is used by what a person does: something that changes, or going to an address. Events, files and data
    # that pages load by themselves, however often, must keep no session alive on a screen that everybody has left.
    is_use = request.method not in ("GET", "HEAD")
    if not is_use:
        destination = request.headers.get("sec-fetch-dest")
        # Old browsers do not say where an answer goes, so what they accept counts.
        is_use = "text/html" in request.headers.get("accept", "") if destination is None else destination == "document"
    secret = request.cookies.get(_cookie_name(request))
    session = resume(workspace, secret, is_use=is_use) if secret else None
    visitor = request.state.visitor = Visitor(request, workspace, session)
    if visitor.principal.token is not None:
        caller_of(request.scope).token = visitor.principal.token.id
    let_ask_again(request, partial(_principal_again, visitor))
    return visitor


def _principal_again(visitor: Visitor) -> Principal:
    """Return the visitor's principal as it is now. Raise NotAuthenticated if the session has ended."""
    if visitor.session is None:
        return visitor.principal
    session = resume(visitor.workspace, visitor.session.secret, is_use=False)
    if session is None:
        raise NotAuthenticated(SESSION_ENDED)
    return session.principal


VisitorDep = Annotated[Visitor, Depends(_visitor)]


def visitor_of(request: Request) -> Visitor:
    """Return the visitor that the page has found. Where no page was asked for, look for a session; else nobody."""
    workspace: Workspace = request.app.state.workspace
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    # A route that has not looked for a visitor, such as a static file, shows its problems as to nobody.
    if visitor is not None or request.scope.get("route") is not None:
        return visitor or Visitor(request, workspace)
    try:
        return _visitor(request, workspace)
    # A page about a problem must come, whatever is wrong with the session.
    except GainboardError:
        return Visitor(request, workspace)


def _cookie_name(request: Request) -> str:
    return SECURE if request.url.scheme == "https" else LOCAL


def require_safe_cookie(request: Request) -> None:
    """Raise Forbidden where a cookie could be read on its way: over http, unless it never leaves this machine."""
    if request.url.scheme == "https":
        return
    # Behind a proxy of this machine, every client is local. So the host that the browser asked for counts, too.
    if not (request.client and _is_local(request.client.host) and _is_local(request.url.hostname or "")):
        raise Forbidden(
            "Signing in needs https, because anybody on the way could otherwise read the cookie. Ask the people who "
            "run this service to put it behind https; on the machine itself, http://127.0.0.1 works."
        )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def give_cookie(request: Request, answer: Response, session: Session) -> None:
    """Put the session into the browser."""
    answer.set_cookie(
        _cookie_name(request), session.secret, int(LIFETIME.total_seconds()), **_cookie_attributes(request)
    )


def take_cookie(request: Request, answer: Response) -> None:
    """Take the session out of the browser."""
    answer.delete_cookie(_cookie_name(request), **_cookie_attributes(request))


def _cookie_attributes(request: Request) -> Mapping[str, Any]:
    # A browser deletes a cookie only where path and `secure` are those with which it was set.
    return {"path": "/", "secure": request.url.scheme == "https", "httponly": True, "samesite": "strict"}


ONCE_SECONDS = 60


def show_once(request: Request, answer: Response, secret: str) -> None:
    """Let the page that `answer` leads to show a secret, once: the browser keeps it for a minute, and nobody else."""
    answer.set_cookie(f"{_cookie_name(request)}-once", secret, ONCE_SECONDS, **_cookie_attributes(request))


def shown_once(request: Request) -> str | None:
    """Return the secret that this page shows."""
    return request.cookies.get(f"{_cookie_name(request)}-once")


def forget_once(request: Request, answer: Response) -> None:
    """Let the browser forget the secret that `answer` shows, if there was one."""
    if shown_once(request) is not None:
        answer.delete_cookie(f"{_cookie_name(request)}-once", **_cookie_attributes(request))


@dataclass(frozen=True)
class Form:
    """The fields of a form that a page of this session has sent."""

    pairs: Sequence[tuple[str, str]]

    def get(self, name: str) -> str:
        """Return the value of a field, without white space around it; empty if it is not filled in."""
        return next((value.strip() for field, value in self.pairs if field == name), "")

    def all(self, name: str) -> list[str]:
        """Return all values of a field that are filled in."""
        return [value.strip() for field, value in self.pairs if field == name and value.strip()]

    def __contains__(self, name: str) -> bool:
        return any(field == name for field, _ in self.pairs)


def require_own_origin(request: Request) -> None:
    """Raise Forbidden unless the request comes from a page of this service."""
    # Pages ask browsers to say nothing about where they come from, so the Origin of their forms is `null`. No page can
    # set Sec-Fetch-Site, which browsers send to https and to their own machine.
    site = request.headers.get("sec-fetch-site")
    if site is None:
        origin = urlsplit(request.headers.get("origin", ""))
        is_own = (origin.scheme, origin.netloc) == (request.url.scheme, request.headers.get("host", ""))
    else:
        is_own = site == "same-origin"
    if not is_own:
        raise Forbidden("The form was sent from another site. Open the page here, and send the form again.")


def require_csrf(visitor: Visitor, sent: str) -> None:
    """Raise NotAuthenticated without a session, and Forbidden unless `sent` is the session's own text."""
    visitor.principal.require_token()
    # In constant time. As bytes, because texts beyond ASCII would raise an error.
    if not hmac.compare_digest(sent.encode(), visitor.csrf.encode()):
        raise Forbidden("The form belongs to another session. Load the page again, and send the form again.")


async def read_form(request: Request) -> Form:
    """Return the fields of a form. Its size was limited before it was read."""
    require_own_origin(request)
    if not request.headers.get("content-type", "").startswith(FORM):
        raise Forbidden(f"Send the form as {FORM}.")
    return await parsed(request, _parse_form)


def _parse_form(body: bytes) -> Form:
    text = body.decode("utf-8", "replace")
    if text.count("&") >= MOST_FIELDS:
        raise TooLarge(f"The form has more than {MOST_FIELDS} fields. Send it from its page, as it is.")
    return Form(parse_qsl(text, keep_blank_values=True))


async def _own_form(request: Request, visitor: VisitorDep) -> Form:
    # Whoever has no session is told so before the body is read.
    if not visitor.is_signed_in:
        raise NotAuthenticated(SESSION_ENDED)
    form = await read_form(request)
    require_csrf(visitor, form.get("csrf"))
    return form


FormDep = Annotated[Form, Depends(_own_form)]
"""The form of a page that changes something: from a page of this service, and of this session."""
OpenFormDep = Annotated[Form, Depends(read_form)]
"""The form to sign in, for which there is no session yet."""


def uploader(request: Request, visitor: VisitorDep) -> Visitor:
    """Return the visitor who uploads a file. Raise an error unless a page of this service and session sends it."""
    if not visitor.is_signed_in:
        raise NotAuthenticated(SESSION_ENDED)
    require_own_origin(request)
    require_csrf(visitor, request.headers.get("x-csrf-token", ""))
    return visitor


UploaderDep = Annotated[Visitor, Depends(uploader)]
"""The visitor who sends a file by a script, with the header `X-CSRF-Token`; its body is not read yet."""


async def _principal(visitor: VisitorDep) -> Principal:
    return visitor.principal


async def _sender(visitor: VisitorDep) -> Sender:
    return visitor.sender


OF_VISITOR = {get_args(PrincipalDep)[1].dependency: _principal, get_args(SenderDep)[1].dependency: _sender}


@cache  # one object for each dependency, because FastAPI calls the same object once in a request
def by_session(function: Callable[..., Any], **given: Any) -> Callable[..., Any]:
    """Return a function of the API, or one of its dependencies, that asks for the visitor and not for a token.

    It is the same function under another signature, by which FastAPI goes. The functions that it depends on change in
    the same way, so none is forgotten. Parameters with a value are no part of the signature.
    """
    if function in OF_VISITOR or not isfunction(function):
        return OF_VISITOR.get(function, function)

    def change(part: Any) -> Any:
        is_dependency = isinstance(part, Dependency) and part.dependency is not None
        return replace(part, dependency=by_session(part.dependency)) if is_dependency else part

    values, parameters = {}, []
    described = signature(function, eval_str=True)
    for name, parameter in described.parameters.items():
        annotation, parts = parameter.annotation, get_args(parameter.annotation)
        if isinstance(given.get(name), Dependency):
            annotation = Annotated[parts[0], given[name]]
        elif name in given:
            values[name] = given[name]
            continue
        elif hasattr(annotation, "__metadata__"):
            annotation = Annotated[tuple(map(change, parts))]
        parameters.append(parameter.replace(annotation=annotation, default=change(parameter.default)))
    if parameters == [*described.parameters.values()]:
        return function
    twin = partial(function, **values)
    setattr(twin, "__signature__", described.replace(parameters=parameters))  # noqa: B010 (partial declares none)
    return twin


class NavigationEntry(NamedTuple):
    """An entry of the navigation: its text, and its address below that of the collection."""

    title: str
    path: str
    takes_setting: bool = False
    """True if its page shows scores under the metrics and parameters of the query."""


@dataclass(frozen=True)
class Place:
    """A collection as a visitor sees it now."""

    visitor: Visitor
    view: View
    now: datetime

    @property
    def request(self) -> Request:
        return self.visitor.request

    @property
    def workspace(self) -> Workspace:
        return self.visitor.workspace

    @property
    def principal(self) -> Principal:
        return self.view.principal

    @property
    def sender(self) -> Sender:
        """The sender, for use cases that look up the token together with the collection."""
        return self.visitor.sender

    @property
    def name(self) -> str:
        """The name of the collection, which is harmless in a path."""
        return self.view.collection.name

    @property
    def title(self) -> str:
        return self.view.collection.title or self.name

    @property
    def path(self) -> str:
        """The address of the collection's board."""
        return f"/c/{self.name}"

    @property
    def phase(self) -> str:
        return "released" if self.is_released else "hidden"

    @property
    def is_released(self) -> bool:
        return self.view.collection.is_released(self.now)

    @property
    def entries(self) -> Sequence[NavigationEntry]:
        """The pages of the collection that this visitor may use."""
        view, is_judged = self.view, not self.view.collection.has_scores_alone
        takes_part = is_judged and view.principal.role in ("participant", "organiser")
        offered = (
            (True, NavigationEntry("Board", "", takes_setting=True)),
            (view.sees_free_scores, NavigationEntry("Topics", "/topics", takes_setting=True)),
            (view.sees_free_scores, NavigationEntry("Compare", "/compare", takes_setting=True)),
            (is_judged and (view.organises or view.sees_judgments), NavigationEntry("Pool", "/pool")),
            (
                view.organises or view.sees_judgments,
                NavigationEntry("Judgments" if is_judged else "Score files", "/judgments"),
            ),
            (view.sees_free_scores, NavigationEntry("Analyses", "/analyses")),
            (takes_part, NavigationEntry("Submissions", "/submissions")),
            (is_judged and view.organises, NavigationEntry("Teams", "/teams")),
            (view.organises, NavigationEntry("Settings", "/settings")),
        )
        return [entry for is_offered, entry in offered if is_offered]


def enter(visitor: Visitor, name: str) -> Place:
    """Return the collection as this visitor sees it. Raise NotFound or NotAuthenticated as the API does."""
    with visitor.workspace.database.reading() as tx:
        return Place(visitor, open_collection(tx, visitor.principal, name), visitor.workspace.now())


def _place(collection: CollectionName, visitor: VisitorDep) -> Place:
    return enter(visitor, collection)


PlaceDep = Annotated[Place, Depends(_place)]
"""The dependency of pages of a collection."""
