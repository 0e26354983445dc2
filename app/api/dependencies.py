"""What routes ask for, each named once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import StringConstraints

from app.errors import UnknownParameter
from app.evaluation.names import SLUG_PATTERN
from app.evaluation.principals import Principal, authenticate
from app.evaluation.workspace import Workspace

Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
_bearer = HTTPBearer(auto_error=False, description="A token: `Authorization: Bearer gainboard_...`")


def _workspace(request: Request) -> Workspace:
    found: Workspace = request.app.state.workspace
    return found


WorkspaceDep = Annotated[Workspace, Depends(_workspace)]


def _principal(
    request: Request,
    workspace: WorkspaceDep,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> Principal:
    if credentials is None and "authorization" in request.headers:
        return Principal("anonymous", why_anonymous="The Authorization header is not `Bearer TOKEN`.")
    return authenticate(workspace, credentials.credentials if credentials else None)


PrincipalDep = Annotated[Principal, Depends(_principal)]


def known_query(request: Request) -> None:
    """Refuses query parameters that the route does not have, which would be without effect unnoticed."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not request.query_params:
        return
    known = _query_names(request, route)
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        has = ", ".join(sorted(known)) or "none"
        raise UnknownParameter(f"There is no query parameter {unknown[0]!r} here; there are: {has}.")


def _query_names(request: Request, route: APIRoute) -> frozenset[str]:
    names: dict[str, frozenset[str]] = request.app.state.query_names
    key = f"{request.method} {route.path_format}"
    if key not in names:
        names[key] = _described(request.app.openapi(), route.path_format, request.method.lower())
    return names[key]


def _described(openapi: dict[str, Any], path: str, method: str) -> frozenset[str]:
    operation = openapi["paths"].get(path, {}).get(method, {})
    return frozenset(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query")


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
