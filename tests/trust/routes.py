"""Every route there is, from the description of the interface, so that a new one is tested unasked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.conftest import Service

VARIATIONS: Mapping[str, tuple[str, ...]] = {
    "qrels": ("1", "2"),
    "against": ("1",),
    "metric": ("AP", "P@1", "Nonsense"),
    "format": ("csv",),
    "topics": ("all",),
    "run": ("absent",),
    "draft": ("true",),
    "limit": ("1",),
    "collection": ("NAME",),
}
"""Queries to try where a route has the parameter; `NAME` stands for the collection's."""
BODIES: Mapping[str, Any] = {
    "jobs": {"kind": "stability", "params": {"metrics": ["AP"], "trials": 5}},
    "reports": {"name": "q-measure-appendix", "collections": ["NAME"]},
    "tokens": {"role": "reader"},
    "teams": {"name": "new"},
    "runs": "nonsense\n",
    "qrels": "1 0 good 1\n",
}
OWN_TO_EACH = ("date", "x-request-id")


@dataclass(frozen=True)
class Route:
    """A method and a path with parameters in braces, and the names of its query parameters."""

    method: str
    path: str
    queries: tuple[str, ...]

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return re.findall(r"{(\w+)}", self.path)

    def ask(
        self,
        client: httpx.Client,
        fill: Mapping[str, str],
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The answer; fails where a parameter is new and `fill` does not say what to put for it."""
        path = self.path
        for name in self.parameters:
            path = path.replace(f"{{{name}}}", fill[name])
        body = BODIES.get(path.rsplit("/")[-1], {})
        sent: dict[str, Any] = {"content": body} if isinstance(body, str) else {"json": _named(body, fill)}
        if self.method in ("GET", "HEAD"):
            sent = {}
        asked = {name: fill["collection"] if value == "NAME" else value for name, value in (query or {}).items()}
        return client.request(self.method, path, params=asked, headers=dict(headers or {}), **sent)

    def variations(self) -> Iterator[dict[str, str]]:
        """Queries to try."""
        yield {}
        for name in self.queries:
            for value in VARIATIONS.get(name, ()):
                yield {name: value}


def _named(body: Any, fill: Mapping[str, str]) -> Any:
    return json.loads(json.dumps(body).replace("NAME", fill["collection"]))


def every_route(service: Service, *methods: str) -> list[Route]:
    """Those with one of these methods, or all."""
    paths = service.anonymous.get("/openapi.json").json()["paths"]
    return [
        Route(
            method.upper(),
            path,
            tuple(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"),
        )
        for path, operations in paths.items()
        for method, operation in operations.items()
        if not methods or method.upper() in methods
    ]


def seen(answer: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """All that a client sees of an answer, but for the time and the request's id."""
    return (
        answer.status_code,
        answer.content,
        {name: value for name, value in answer.headers.items() if name not in OWN_TO_EACH},
    )
