"""Answering a repeated POST as the first time: for 24 hours, under the sender's Idempotency-Key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response

from gainboard.api.models.texts import KEY_PATTERN
from gainboard.errors import KeyInUse, KeyReused
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.workspace import Workspace
from gainboard.store import idempotency
from gainboard.store.idempotency import Kept, Scope

KEPT_HEADERS = ("location", "content-type", "retry-after")

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=KEY_PATTERN,
        description="Any text of your own; a repetition within 24 hours is answered as the first time",
    ),
]


async def _fingerprint(request: Request) -> str:
    return hashlib.sha256(request.url.query.encode() + b"\n" + await request.body()).hexdigest()


FingerprintDep = Annotated[str, Depends(_fingerprint)]


def once(
    workspace: Workspace,
    principal: Principal,
    request: Request,
    key: str | None,
    fingerprint: str,
    act: Callable[[], Response],
    kept: Callable[[Response], Response] = lambda answer: answer,
) -> Response:
    """What `act` answers, or what it answered to the first request with this key.

    `kept` turns the answer into the one to repeat, where that must be another. An error gives the key back.
    """
    if key is None or principal.token is None:
        return act()
    scope = Scope(principal.token.id, _route(request), key)
    with workspace.database.writing() as tx:
        earlier = idempotency.claim(tx, scope, fingerprint, workspace.now())
    if earlier is not None:
        return _repeat(earlier, fingerprint)
    try:
        answer = act()
        _keep(workspace, scope, kept(answer))
    except BaseException:
        with workspace.database.writing() as tx:
            idempotency.release(tx, scope)
        raise
    return answer


def _route(request: Request) -> str:
    # Hashed, for a path may have any length and any characters.
    return hashlib.sha256(f"{request.method} {request.url.path}".encode()).hexdigest()


def _keep(workspace: Workspace, scope: Scope, answer: Response) -> None:
    headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    with workspace.database.writing() as tx:
        idempotency.keep(tx, scope, answer.status_code, headers, bytes(answer.body))


def _repeat(earlier: Kept, fingerprint: str) -> Response:
    if earlier.fingerprint != fingerprint:
        raise KeyReused("This Idempotency-Key came with another request; use a new one for each.")
    if earlier.status is None:
        raise KeyInUse("The first request with this Idempotency-Key is still under way; try again shortly.")
    return Response(earlier.body, earlier.status, dict(earlier.headers or {}))
