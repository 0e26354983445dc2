"""The translation of errors into problem documents (RFC 9457). Each class of `errors.py` says what clients are told."""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from gainboard import errors
from gainboard.api.dependencies import TOKEN_SCHEME
from gainboard.api.models.common import ProblemDetails, ProblemPage, message_of
from gainboard.api.routes import CheckedRoute, DoorRoute
from gainboard.errors import GainboardError, meaning_of

TOKENS: Mapping[str, Any] = {
    "type": "http",
    "description": "A token: `Authorization: Bearer gainboard_...`",
    "scheme": "bearer",
}

MOST_BYTES = 1 << 16
"""The largest problem document. It may quote what was sent, which is larger."""
LONGEST_TEXT = 1000
"""The most characters of a text in a problem document that would be too large."""

log = logging.getLogger("gainboard")

router = APIRouter(tags=["problems"], route_class=DoorRoute)


ANYWHERE: tuple[type[GainboardError], ...] = (
    errors.InvalidRequest,
    errors.UnknownParameter,
    errors.NotAuthenticated,
    errors.TooManyFailures,
    errors.NotFound,
    errors.RowDamaged,
    errors.TooLarge,
    errors.BodyStalled,
    errors.AddressTooLong,
    errors.DatabaseBusy,
    errors.NoSpace,
    errors.ObjectsUnreachable,
    errors.OutOfMemory,
    errors.Unexpected,
)
"""The errors that every route may answer with, so that a route lists only its own."""


UNREADABLE: Mapping[str, Any] = {
    "description": "The request is no HTTP, or its address has more than 64 KiB. The connection is closed.",
    "content": {"text/plain": {"schema": {"type": "string", "const": "Invalid HTTP request received."}}},
}
"""The only answer that is no problem document: uvicorn gives it before Gainboard sees the request."""


def documented(
    *kinds: type[GainboardError], also: Mapping[int, dict[str, Any]] = {}
) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route by status: its problems, each with an example, and those of `also`."""
    by_status: defaultdict[int, list[type[GainboardError]]] = defaultdict(list)
    for kind in dict.fromkeys((*ANYWHERE, *kinds)):
        by_status[kind.status].append(kind)
    answers: dict[int | str, dict[str, Any]] = {400: dict(UNREADABLE)}
    answers |= also.items()
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    for status, alike in sorted(by_status.items()):
        examples = {kind.slug: {"value": _members(kind, "...")} for kind in alike}
        answers[status] = {
            "description": "; ".join(f"`{kind.slug}`: {meaning_of(kind).splitlines()[0]}" for kind in alike),
            "content": {"application/problem+json": {"schema": schema, "examples": examples}},
        }
    return answers


def _members(kind: type[GainboardError], detail: str) -> dict[str, Any]:
    return {"type": f"/problems/{kind.slug}", "title": kind.title, "status": kind.status, "detail": detail}


class _ProblemResponse(JSONResponse):
    """A JSON answer that can hold half a surrogate pair: problems quote the sender's text, and UTF-8 refuses it."""

    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")


def problem(error: GainboardError) -> JSONResponse:
    """Return the error as an answer."""
    headers = dict(error.headers)
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    members = _members(type(error), error.message) | dict(error.details)
    answer = _ProblemResponse(members, error.status, headers)
    if len(answer.body) > MOST_BYTES:
        answer = _ProblemResponse(_shortened(members), error.status, headers)
    return answer


def _shortened(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a problem with shorter texts, and with as many errors as there is room for."""
    found = dict(members) | {"detail": _cut(members["detail"])}
    room, shown = MOST_BYTES // 2, []
    for each in members.get("errors", ()):
        cut = {name: _cut(value) if isinstance(value, str) else value for name, value in each.items()}
        room -= len(_ProblemResponse(cut).body)
        if room < 0:
            break
        shown.append(cut)
    return found | ({"errors": shown} if "errors" in members else {})


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def install(application: FastAPI) -> None:
    """Install the handlers that turn every error of the application into a problem document."""
    application.add_exception_handler(GainboardError, _on_error)
    application.add_exception_handler(OSError, _on_system)
    application.add_exception_handler(MemoryError, _on_memory)
    application.add_exception_handler(HTTPException, _on_http)
    application.add_exception_handler(RequestValidationError, _on_validation)
    describe = application.openapi

    def with_problem() -> dict[str, Any]:
        described = describe()
        # No route returns this model, so FastAPI would not add it to the schemas that `documented` refers to.
        described["components"]["securitySchemes"] = {TOKEN_SCHEME: TOKENS}
        described["components"]["schemas"].setdefault("ProblemDetails", ProblemDetails.model_json_schema())
        return described

    setattr(application, "openapi", with_problem)  # noqa: B010


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GainboardError)
    return problem(error)


async def _on_memory(request: Request, error: Exception) -> Response:
    log.warning("a request needed more memory than there is: %s %s", request.method, request.url.path)
    return problem(
        errors.OutOfMemory(
            "The server has too little memory for this request now, so nothing was stored. Try again later, or ask for "
            "less at once."
        )
    )


async def _on_system(request: Request, error: Exception) -> Response:
    # A temporary file may be found full wherever it is written or closed, also inside the parser of forms.
    refusal = errors.NoSpace.of(error) if isinstance(error, OSError) else None
    if refusal is None:
        raise error
    request.app.state.workspace.database.note_lack(error)
    return problem(refusal)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, GainboardError):  # our own limiter raised it while the body was read
        return problem(error.__cause__)
    path = request.url.path
    if error.status_code == 404:
        return problem(errors.NotFound(f"There is nothing at {path}. Check the address; `/docs` lists all."))
    if error.status_code == 405:
        answer = problem(
            errors.MethodNotAllowed(
                f"{path} does not allow {request.method}. The Allow header lists the methods that it allows."
            )
        )
        # The router reports only the first route that fits the path.
        shape = getattr(request.scope.get("route"), "path", None)
        routes = [route for route in request.app.routes if isinstance(route, APIRoute) and route.include_in_schema]
        methods = set[str]().union(*(route.methods or () for route in routes if route.path == shape))
        methods |= {"HEAD"} if "GET" in methods else set()
        answer.headers["Allow"] = ", ".join(sorted(methods)) or (error.headers or {}).get("Allow", "GET, HEAD")
        return answer
    return problem(errors.InvalidRequest.at("body", "unreadable", str(error.detail)))


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    # Without a JSON media type, FastAPI takes the body for bytes, so that the whole body is wrong.
    if "json" not in request.headers.get("content-type", "") and any(
        fault["loc"] == ("body",) and fault["type"] != "missing" for fault in faults
    ):
        return problem(errors.UnsupportedMediaType("Send JSON, with the header `Content-Type: application/json`."))
    # To describe the bodies of all kinds of jobs takes a tenth of a second, the first time.
    body = await run_in_threadpool(described_body, request)
    shown = [
        {
            "location": location_of(fault, error.body),
            "code": str(fault["type"]).replace("_", "-"),
            "message": _message(fault, body),
        }
        for fault in faults[: errors.FAULTS_SHOWN]
    ]
    summary = f"{shown[0]['location']}: {shown[0]['message']}"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    total = {"errors_total": len(faults)} if len(faults) > len(shown) else {}
    return problem(errors.InvalidRequest(summary + more, errors=shown, **total))


def _message(fault: Mapping[str, Any], body: BodySchema) -> str:
    if fault["type"] == "extra_forbidden" and fault["loc"][0] == "body":
        available = ", ".join(body.members(fault["loc"][1:-1]))
        return f"There is no {fault['loc'][-1]!r} here. Available: {available}"
    if fault["type"].startswith("union_tag_"):
        return f"Must be one of: {', '.join(body.tags())}"
    return message_of(fault)


@router.get("/problems/{slug}", responses=documented())
def read_problem(slug: str) -> ProblemPage:
    """Return what a type of problem means, and what to do about it."""
    for kind in errors.every_error():
        if kind.slug == slug:
            return ProblemPage(type=f"/problems/{slug}", title=kind.title, status=kind.status, meaning=meaning_of(kind))
    raise errors.NotFound(
        f"There is no type of problem {slug!r}. The `type` of an answer has the right address, such as "
        "/problems/not-found."
    )


Part = int | str


def location_of(found: Mapping[str, Any], body: Any) -> str:
    """Return the location of a validation error, such as `body.params.metrics.0` or `query.limit`."""
    first, *parts = found["loc"]
    if first != "body" or found["type"] == "json_invalid":  # the part of broken JSON is an offset in the text
        # Parts such as `list[constrained-str]` name an alternative of the schema, not a location in the request.
        kept = [part for part in parts if not re.search(r"\[|^constrained-", str(part))]
    else:
        kept = list(_places(parts, body, is_missing=found["type"] == "missing"))
    if found["type"].startswith("union_tag_"):
        kept.append(found["ctx"]["discriminator"].strip("'"))  # Pydantic quotes it
    return ".".join(map(str, (first, *kept)))


def _places(parts: Sequence[Part], sent: Any, is_missing: bool) -> Iterator[Part]:
    """Yield the parts that are locations in the request; the other parts name alternatives of the schema."""
    for number, part in enumerate(parts, start=1):
        is_index = isinstance(sent, list) and isinstance(part, int) and part < len(sent)
        if is_index or (isinstance(sent, dict) and part in sent):
            sent = sent[part]
        elif not (is_missing and number == len(parts)):
            continue
        yield part


@dataclass(frozen=True)
class BodySchema:
    """The schema of a route's body."""

    schema: Mapping[str, Any]
    schemas: Mapping[str, Any]

    def tags(self) -> list[str]:
        """Return the tags that tell apart the alternatives of the body, if there are several."""
        return sorted(self.schema.get("discriminator", {}).get("mapping", ()))

    def members(self, parts: Sequence[Part]) -> list[str]:
        """Return the members of the object at a location, given as the parts of a validation error."""
        node = self._resolved(self.schema)
        for part in parts:
            node = self._resolved(self._below(node, part))
        return sorted(node.get("properties", ()))

    def _below(self, node: Mapping[str, Any], part: Part) -> Mapping[str, Any]:
        tagged = node.get("discriminator", {}).get("mapping", {})
        if part in tagged:
            return {"$ref": tagged[part]}
        if part in node.get("properties", {}):
            found: Mapping[str, Any] = node["properties"][part]
            return found
        if isinstance(part, int):
            return next((each["items"] for each in self._alternatives(node) if "items" in each), {})
        return next((each for each in self._alternatives(node) if each.get("title") == part), node)

    def _alternatives(self, node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [node, *map(self._resolved, node.get("anyOf", ()))]

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.schemas[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        alternatives = [each for each in found.get("anyOf", ()) if each.get("type") != "null"]
        return self._resolved(alternatives[0]) if len(alternatives) == 1 else found


def described_body(request: Request) -> BodySchema:
    """Return the schema of this route's JSON body, without members if the route has no JSON body."""
    route = request.scope.get("route")
    schema = route.body_schema if isinstance(route, CheckedRoute) else {}
    return BodySchema(schema, schema.get("$defs", {}))
