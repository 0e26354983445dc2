"""Routes of the API and of pages: what they refuse, and what the layers around them need to know of them.

Bodies are bounded before anything is made of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, wraps
from inspect import iscoroutinefunction, signature
from typing import Annotated, Any, ClassVar, Final, ParamSpec, Protocol, TypeVar, cast, get_type_hints

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import Match
from starlette.types import Message, Receive, Scope

from gainboard.api.answers import headers_of
from gainboard.api.dependencies import TOKEN_SCHEME, read_sender, sender_of
from gainboard.api.queries import QueryReader
from gainboard.errors import InvalidRequest, TooLarge, UnknownParameter
from gainboard.evaluation.access.principals import authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.store.database import NotQuick, quickly

T = TypeVar("T")

MOST_MEMBERS = 10_000
"""The most objects and lists in a body and members of its objects. Each may be at fault, and each fault costs.

What a list has is bounded by its own field, which reports one fault of a long list.
"""
ASIDE_FROM_BYTES = 1 << 13
"""Larger bodies are parsed in a thread, so that no other request waits."""
# Possessive (`*+`), so that a text without an end costs no second try.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


async def parsed(request: Request, parse: Callable[[bytes], T]) -> T:
    """Return what `parse` makes of the body. Large bodies are parsed in a thread, one after another.

    Many threads that parse at the same time would take the interpreter's lock from all others.
    """
    body = await request.body()
    if len(body) <= ASIDE_FROM_BYTES:
        return parse(body)
    return await to_thread.run_sync(parse, body, limiter=request.app.state.one_parser)


class BoundedRequest(Request):
    """A request whose body has a limit, and whose JSON has each member of an object once.

    The body is read by whoever needs it: FastAPI, a form, or `uploads.received`, which lifts this limit because files
    have limits of their own. So a new route for files cannot be forgotten anywhere. A large body is refused by its
    declared size, before anything is read, and so is the JSON of a sender without a token (`require_token`).
    """

    def __init__(
        self, scope: Scope, receive: Receive, most: int, what: str, require_token: Callable[[Scope], object] | None
    ) -> None:
        # FastAPI, Starlette's forms and `stream` all read by this function, so none of them goes around the limit.
        super().__init__(scope, self._receive_bounded)
        self._receive_all, self._most, self._what, self._require_token = receive, most, what, require_token
        self._read, self._has_begun, self._is_bounded = 0, False, True

    def lift_limit(self) -> None:
        """Let the body be of any size: whoever reads it counts its bytes."""
        self._is_bounded = False

    async def _receive_bounded(self) -> Message:
        if not self._is_bounded:
            return await self._receive_all()
        if not self._has_begun:
            declared = headers_of(self.scope).get("content-length", "0")
            if declared.isdecimal() and int(declared) > self._most:
                raise self._refusal()
            if self._require_token:
                # FastAPI reads the body before it asks for the token, so the token is looked up twice. The first look
                # is a fraction of a millisecond, and only requests with a JSON body take it.
                await run_in_threadpool(self._require_token, self.scope)
            self._has_begun = True
        message = await self._receive_all()
        # The declared size may be wrong or missing, so bytes are counted, too.
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            raise self._refusal()
        return message

    def _refusal(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._most:,} bytes, the limit for {self._what}. Send less in one request."
        )

    async def json(self) -> Any:
        """Return the value of the body. Raise TooLarge or InvalidRequest."""
        if not hasattr(self, "_json"):
            self._json = await parsed(self, read_json)
        return self._json


def read_json(body: bytes) -> Any:
    """Return the value of JSON. Raise JSONDecodeError, TooLarge for too many members, and InvalidRequest."""
    # The first count includes characters in texts, and is quick. It suffices for nearly all bodies.
    if _members(body) > MOST_MEMBERS and _members(_STRING.sub(b"", body)) > MOST_MEMBERS:
        raise TooLarge(f"The objects of the body have more than {MOST_MEMBERS:,} members. Send less in one request.")
    return json.loads(body, object_pairs_hook=_unique)


def _members(body: bytes) -> int:
    """Return the number of members and objects. Outside of strings, each member has one colon."""
    return body.count(b":") + body.count(b"{") + body.count(b"[")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in members if names.count(name) > 1)
        message = f"An object has {twice[:60]!r} more than once, and only one value can hold. Give it once."
        raise InvalidRequest.at("body", "repeated", message)
    return members


Handler = Callable[[Request], Coroutine[Any, Any, Response]]
P = ParamSpec("P")
JSON_BYTES: Final = 1 << 20
CHANGING: Final = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""The methods that have JSON bodies: each route of the API with one of them needs a token."""


class CheckedRoute(APIRoute):
    """A route of the API. It refuses unknown query parameters, because a misspelt one would be ignored silently.

    The attributes say what is done around the function. They belong to the class of its router, so that a new route
    has them; layers that act before or after the route find it in `scope["route"]`.
    """

    reads_tokens: ClassVar[bool] = True
    """True for the API, which reads tokens and no cookies. Pages read cookies alone."""
    most_bytes: ClassVar[int] = JSON_BYTES
    """The largest body, except of a file: `uploads.received` counts the bytes of files."""
    what_bodies_are: ClassVar[str] = "JSON"
    is_kept: ClassVar[bool] = False
    """True if its answers may be kept and sent again to those who may see them (`response_cache.py`)."""
    is_static: ClassVar[bool] = False
    """True if its answers are the same for everybody, and say themselves how long they may be kept."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        # FastAPI describes what it reads itself. Queries and tokens are read by dependencies that are quicker.
        described = dict(self.openapi_extra or {})
        if parameters := [each for reader in self.readers for each in reader.described()]:
            described["parameters"] = parameters
        if any(each.call is read_sender for each in _parts(self.dependant)):
            described["security"] = [{TOKEN_SCHEME: []}, *described.get("security", ())]
        self.openapi_extra = described or None

    @property
    def readers(self) -> list[QueryReader]:
        """The readers of the query of a request."""
        return [each.call for each in _parts(self.dependant) if isinstance(each.call, QueryReader)]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route fits the request."""
        # A request is compared with one route after another, and this tells most of them at a tenth of the cost.
        return super().matches(scope) if self.last_literal in scope["path"] else (Match.NONE, {})

    @cached_property
    def last_literal(self) -> str:
        """The last part of the path that is in the path of each request for it."""
        return next(part for part in reversed(re.split(r"\{[^}]*\}", self.path)) if part)

    def get_route_handler(self) -> Handler:
        """Return the handler of requests."""
        function = self.endpoint
        is_plain = iscoroutinefunction(function) and not signature(function).parameters
        if is_plain and get_type_hints(function)["return"] is Response:
            # Probes come all the time, and what FastAPI prepares for a function would take half of the answer.
            async def handle_probe(request: Request) -> Response:
                if request.scope["query_string"]:
                    self._refuse_unknown(request)
                answer: Response = await function()
                return answer

            return handle_probe
        handle = super().get_route_handler()
        # Only bodies wait for this: whoever sends none is asked for a token by the function's own dependencies.
        needs_token = self.reads_tokens and not CHANGING.isdisjoint(self.methods or ())
        require_token = _require_token if needs_token else None

        async def handle_bounded(request: Request) -> Response:
            if request.scope["query_string"]:
                self._refuse_unknown(request)
            return await handle(
                BoundedRequest(request.scope, request.receive, self.most_bytes, self.what_bodies_are, require_token)
            )

        return handle_bounded

    def _refuse_unknown(self, request: Request) -> None:
        names = self.query_names
        sent = [name for name, _ in request.query_params.multi_items()]
        if names.keys() >= set(sent) and len(set(sent)) == len(sent):
            return
        for name, count in sorted(Counter(sent).items()):
            if name not in names:
                has = ", ".join(sorted(names)) or "none"
                raise UnknownParameter(f"There is no query parameter {name!r} here. Available: {has}.")
            if count > 1 and not names[name]:
                raise InvalidRequest.at(f"query.{name}", "repeated", f"{name} is given more than once. Give it once.")

    @cached_property
    def query_names(self) -> Mapping[str, bool]:
        """The names of the query's parameters, and whether each may be given several times."""
        fields = [field for each in _parts(self.dependant) for field in each.query_params]
        # The few fields of pages that FastAPI reads itself.
        names = {field.alias: "list[" in str(field.field_info.annotation) for field in fields}
        for reader in self.readers:
            names |= reader.may_repeat
        return names

    @cached_property
    def body_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the body, empty without one. The description of all routes takes a second to make."""
        if self.body_field is None:
            return {}
        field = self.body_field.field_info
        described: Any = Annotated[field.annotation, field]
        return TypeAdapter(described).json_schema()


class KeptRoute(CheckedRoute):
    """A route of the API whose answers may be kept."""

    is_kept = True


class DoorRoute(CheckedRoute):
    """A route of the API at an address that a page has, too. Its answers vary as those of the page."""

    reads_tokens = False


def _require_token(scope: Scope) -> None:
    authenticate(scope["app"].state.workspace, sender_of(scope)).require_token()


class Quick(Protocol[P]):
    """A function of a route, which is awaited; pages call the function below it, which is in a thread already."""

    __wrapped__: Callable[P, Response]

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> Coroutine[Any, Any, Response]: ...


def quick_or_in_thread(function: Callable[P, Response]) -> Quick[P]:
    """Answer in the event loop where that is quick, and in a thread otherwise. The function has a `workspace`.

    To hand a request to a thread and back takes a fifth of a small answer. Whatever may take long raises NotQuick.
    """

    @wraps(function)
    async def call(*arguments: P.args, **named: P.kwargs) -> Response:
        workspace = cast(Workspace, named["workspace"])
        if workspace.database.is_quick:
            with suppress(NotQuick), quickly():
                return function(*arguments, **named)
        return await run_in_threadpool(function, *arguments, **named)

    return cast(Quick[P], call)


def _parts(dependant: Dependant) -> Iterator[Dependant]:
    """Yield what a function asks for, and what that asks for in turn."""
    yield dependant
    for each in dependant.dependencies:
        yield from _parts(each)


FORM_BYTES = 1 << 16


class PageRoute(CheckedRoute):
    """A route of a page. Its forms have no token but a session, which is checked before they are read."""

    reads_tokens, most_bytes, what_bodies_are = False, FORM_BYTES, "forms"


class PeopleRoute(PageRoute):
    """A page at an address that programs use, too: only requests that name HTML in their Accept header get it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route fits the request."""
        match, child = super().matches(scope)
        accepts = match != Match.NONE and b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        return (match, child) if accepts else (Match.NONE, {})


def add_routes(application: FastAPI, *routers: APIRouter) -> None:
    """Add the routes of routers as they are.

    FastAPI's `include_router` would build each of them a second time, and look for the route of each request twice.
    """
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                # Generated clients have functions of these names. FastAPI's own have the whole address in them.
                route.operation_id = route.name
        application.router.routes.extend(router.routes)
