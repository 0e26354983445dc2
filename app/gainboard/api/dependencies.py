"""The dependencies that routes ask for, each with one name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security.utils import get_authorization_scheme_param
from starlette.types import Scope

from gainboard.api.answers import headers_of
from gainboard.evaluation.access.principals import Caller, Principal, Sender, authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import Engine
from gainboard.jobs.job_events import Watch

# FastAPI runs plain functions in a thread, which costs two thread switches: what never waits is `async`.
TOKEN_SCHEME = "HTTPBearer"
"""The name of the tokens in the description of the API."""


async def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


WorkspaceDep = Annotated[Workspace, Depends(_workspace)]


async def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


EngineDep = Annotated[Engine, Depends(_engine)]


async def _watch(request: Request) -> Watch:
    watch: Watch = request.app.state.watch
    return watch


WatchDep = Annotated[Watch, Depends(_watch)]


def as_sent(token: str) -> str:
    """Return a token as the client sent it, from the text of its header."""
    # Starlette decodes headers as Latin-1. A token in another alphabet was sent as UTF-8.
    return token.encode("latin-1").decode("utf-8", "replace")


def caller_of(scope: Scope) -> Caller:
    """Return what is known about the caller of a request. All layers of the application share it."""
    client = scope.get("client")
    caller: Caller = scope.setdefault("gainboard.caller", Caller(client[0] if client else ""))
    return caller


def sender_of(scope: Scope) -> Sender:
    """Return the sender of a request, from its headers."""
    headers = headers_of(scope)
    scheme, token = get_authorization_scheme_param(headers.get("authorization"))
    if scheme.lower() == "bearer" and token:
        return Sender.of(as_sent(token), caller_of(scope))
    if "authorization" in headers:
        return Sender(
            why_anonymous="The Authorization header must be `Bearer TOKEN`, for example `Authorization: Bearer "
            "gainboard_...`."
        )
    return Sender()


async def read_sender(request: Request) -> Sender:
    """Return the sender. FastAPI's own reader of tokens would look at the header again, so the route describes this."""
    return sender_of(request.scope)


SenderDep = Annotated[Sender, Depends(read_sender)]
"""The dependency of routes that look up the token together with the collection, in one statement."""


def _principal(request: Request, workspace: WorkspaceDep, sender: SenderDep) -> Principal:
    # Without the caller: one request counts as one failure at most.
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


CollectionName = Annotated[str, Path(alias="collection", description="The collection's name")]


def accepts(request: Request, wanted: str, default: str = "application/json") -> bool:
    """Return whether the Accept header prefers `wanted` to the resource's default type."""
    return _prefers(headers_of(request.scope).get("accept", "*/*"), wanted, default)


@lru_cache(maxsize=128)  # a client sends the same header with each request
def _prefers(accepted: str, wanted: str, default: str) -> bool:
    return _quality(accepted, wanted) > _quality(accepted, default)


def _quality(accepted: str, media_type: str) -> float:
    major = media_type.partition("/")[0]
    best = (-1, 0.0)
    for part in accepted.split(","):
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
