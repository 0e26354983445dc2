"""Answers of every resource."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic_core import to_json


def answer(content: Any, status: int = 200, **headers: str) -> Response:
    """JSON in full precision, undefined numbers as null; for large answers much faster than FastAPI's own way."""
    body = to_json(content, inf_nan_mode="null")
    return Response(
        body, status, {name.replace("_", "-"): value for name, value in headers.items()}, "application/json"
    )


def address(request: Request, path: str) -> str:
    """A path as clients reach it, who may do so through a proxy that has put the service under a root path."""
    root: str = request.scope.get("root_path", "")
    return root + path
