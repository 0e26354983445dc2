"""The dependencies that routes ask for, each with one name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.types import Scope

from gainboard.api.models.common import Slug
from gainboard.errors import InvalidRequest, UnknownParameter
from gainboard.evaluation.principals import Caller, Principal, Sender, authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import Engine
from gainboard.jobs.job_events import Watch
from gainboard.notation.types import INTEGER
from gainboard.store.records import OFFICIAL, VersionName

# FastAPI runs plain functions in a thread, which costs two thread switches: what never waits is `async`.
_bearer = HTTPBearer(auto_error=False, description="A token: `Authorization: Bearer gainboard_...`")


async def _workspace(request: Request) -> Workspace:
    found: Workspace = request.app.state.workspace
    return found


WorkspaceDep = Annotated[Workspace, Depends(_workspace)]


async def _engine(request: Request) -> Engine:
    found: Engine = request.app.state.engine
    return found


EngineDep = Annotated[Engine, Depends(_engine)]


async def _watch(request: Request) -> Watch:
    found: Watch = request.app.state.watch
    return found


WatchDep = Annotated[Watch, Depends(_watch)]


def as_sent(token: str) -> str:
    """Return a token as the client sent it, from the text of its header."""
    # Starlette decodes headers as Latin-1. A token in another alphabet was sent as UTF-8.
    return token.encode("latin-1").decode("utf-8", "replace")


def caller_of(scope: Scope) -> Caller:
    """Return what is known about the caller of a request. All layers of the application share it."""
    client = scope.get("client")
    found: Caller = scope.setdefault("gainboard.caller", Caller(client[0] if client else ""))
    return found


def sender_of(scope: Scope) -> Sender:
    """Return the sender of a request, from its headers."""
    headers = Headers(scope=scope)
    scheme, token = get_authorization_scheme_param(headers.get("authorization"))
    if scheme.lower() == "bearer" and token:
        return Sender.of(as_sent(token), caller_of(scope))
    if "authorization" in headers:
        return Sender(
            why_anonymous="The Authorization header must be `Bearer TOKEN`, for example `Authorization: Bearer "
            "gainboard_...`."
        )
    return Sender()


async def _sender(
    request: Request, described: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
) -> Sender:
    return sender_of(request.scope)  # `described` is there for OpenAPI


SenderDep = Annotated[Sender, Depends(_sender)]
"""The dependency of routes that look up the token together with the collection, in one statement."""


def _principal(request: Request, workspace: WorkspaceDep, sender: SenderDep) -> Principal:
    let_ask_again(request, partial(authenticate, workspace, replace(sender, caller=None)))
    return authenticate(workspace, sender)


PrincipalDep = Annotated[Principal, Depends(_principal)]


def let_ask_again(request: Request, again: Callable[[], Principal]) -> None:
    """Note how the principal of a request is looked up: by its token, or by its session."""
    request.state.principal_again = again


def ask_again(request: Request) -> Principal:
    """Return the principal as it is now. Use it before an answer that took time. Slow: call it in a thread.

    Raise NotAuthenticated if the token or the session has ended since the request began.
    """
    again: Callable[[], Principal] = request.state.principal_again
    return again()


async def known_query(request: Request) -> None:
    """Refuse query parameters that the route does not have: a misspelt one would be ignored silently."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not request.query_params:
        return
    known = _query_names(request, route)
    for name, values in groupby(sorted(request.query_params.multi_items()), itemgetter(0)):
        if name not in known:
            has = ", ".join(sorted(known)) or "none"
            raise UnknownParameter(f"There is no query parameter {name!r} here. Available: {has}.")
        if not known[name] and len(list(values)) > 1:
            raise InvalidRequest.at(f"query.{name}", "repeated", f"{name} is given more than once. Give it once.")


def _query_names(request: Request, route: APIRoute) -> Mapping[str, bool]:
    """Return the route's query parameters, and whether each may be given several times."""
    names: dict[str, Mapping[str, bool]] = request.app.state.query_names
    key = f"{request.method} {route.path_format}"
    if key not in names:
        # Pages are not part of OpenAPI and know the names themselves.
        own: Callable[[], Mapping[str, bool]] | None = getattr(route, "query_names", None)
        names[key] = own() if own else _described(request.app.openapi(), route.path_format, request.method.lower())
    return names[key]


def _described(openapi: dict[str, Any], path: str, method: str) -> Mapping[str, bool]:
    parameters = openapi["paths"].get(path, {}).get(method, {}).get("parameters", ())
    return {each["name"]: _is_list(each["schema"]) for each in parameters if each["in"] == "query"}


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" or any(_is_list(each) for each in schema.get("anyOf", ()))


CollectionName = Annotated[str, Path(alias="collection", description="The collection's name")]


def accepts(request: Request, wanted: str, default: str = "application/json") -> bool:
    """Return whether the Accept header prefers `wanted` to the resource's default type."""
    return _quality(request, wanted) > _quality(request, default)


def _quality(request: Request, media_type: str) -> float:
    major = media_type.partition("/")[0]
    best = (-1, 0.0)
    for part in request.headers.get("accept", "*/*").split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        specificity = {"*/*": 0, f"{major}/*": 1, media_type: 2}.get(name.lower(), -1)
        if specificity > best[0]:
            best = (specificity, _q(parameters))
    return best[1]


def _q(parameters: list[str]) -> float:
    try:
        return next((float(each[2:]) for each in parameters if each.startswith("q=")), 1.0)
    except ValueError:
        return 0.0


JudgmentsName = Annotated[Slug, Field(description="Name of a judgment set")]


class VersionQuery(BaseModel):
    """The part of every query about scores that names a qrels version."""

    judgments: JudgmentsName = OFFICIAL
    qrels: Annotated[
        int | None,
        Field(ge=1, le=2**31 - 1, description="Number of a qrels version of the set; the newest by default"),
        INTEGER,
    ] = None

    @property
    def version_name(self) -> VersionName:
        """The name of the version."""
        return VersionName(self.judgments, self.qrels)
