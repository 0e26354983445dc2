"""What routes ask for, each named once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gainboard.errors import InvalidRequest, UnknownParameter
from gainboard.evaluation.principals import Principal, Sender, authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.work.engine import Engine
from gainboard.work.watch import Watch

# Whatever waits for nothing is `async`: FastAPI has all else done by a thread, at the price of two changes of threads.
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
    """A token as it was sent, of the text of its header."""
    # Headers come as Latin-1; a token that somebody chose in another alphabet was sent as UTF-8.
    return token.encode("latin-1").decode("utf-8", "replace")


async def _sender(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
) -> Sender:
    if credentials is not None:
        return Sender(as_sent(credentials.credentials))
    if "authorization" in request.headers:
        return Sender(why_anonymous="The Authorization header is not `Bearer TOKEN`.")
    return Sender()


SenderDep = Annotated[Sender, Depends(_sender)]
"""For routes that look the token up together with what they are about."""


def _principal(workspace: WorkspaceDep, sender: SenderDep) -> Principal:
    return authenticate(workspace, sender)


PrincipalDep = Annotated[Principal, Depends(_principal)]


async def known_query(request: Request) -> None:
    """Refuses query parameters that the route does not have, which would be without effect unnoticed."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not request.query_params:
        return
    known = _query_names(request, route)
    for name, values in groupby(sorted(request.query_params.multi_items()), itemgetter(0)):
        if name not in known:
            has = ", ".join(sorted(known)) or "none"
            raise UnknownParameter(f"There is no query parameter {name!r} here; there are: {has}.")
        if not known[name] and len(list(values)) > 1:
            raise InvalidRequest.at(f"query.{name}", "repeated", f"{name} is given more than once.")


def _query_names(request: Request, route: APIRoute) -> Mapping[str, bool]:
    """The route's query parameters, and whether each may be given several times."""
    names: dict[str, Mapping[str, bool]] = request.app.state.query_names
    key = f"{request.method} {route.path_format}"
    if key not in names:
        names[key] = _described(request.app.openapi(), route.path_format, request.method.lower())
    return names[key]


def _described(openapi: dict[str, Any], path: str, method: str) -> Mapping[str, bool]:
    parameters = openapi["paths"].get(path, {}).get(method, {}).get("parameters", ())
    return {each["name"]: _is_list(each["schema"]) for each in parameters if each["in"] == "query"}


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" or any(_is_list(each) for each in schema.get("anyOf", ()))


CollectionName = Annotated[str, Path(alias="collection", description="The collection's name")]


def accepts(request: Request, wanted: str, default: str = "application/json") -> bool:
    """Whether the Accept header prefers `wanted` to what the resource gives by default."""
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
