"""Idempotency keys: a repeated POST gets the first answer again, for 24 hours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response

from gainboard.api.models.common import KEY_PATTERN
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
        description="Any text that you choose; the same request with the same key gets the first answer again for 24 "
        "hours",
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
    """Return the answer of `act`, or the stored answer of the first request with this key.

    `kept` turns the answer into the one that is stored, where these differ. After an error the key may be used again.
    """
    # A key belongs to a token, so a request without a token cannot have one.
    if key is None or principal.token is None:
        return act()
    scope = Scope(principal.token.id, _route(request), key)
    # The key is claimed in a transaction of its own, before `act` begins: of two equal requests only one may act.
    with workspace.database.writing() as tx:
        earlier = idempotency.claim(tx, scope, fingerprint, workspace.now())
    if earlier is not None:
        return _repeat(earlier, fingerprint)
    try:
        answer = act()
        _keep(workspace, scope, kept(answer))
    # Also if the request is cancelled: a key that stays claimed would refuse its repetitions for minutes.
    except BaseException:
        with workspace.database.writing() as tx:
            idempotency.release(tx, scope)
        raise
    return answer


def _route(request: Request) -> str:
    # A path may have any length and any characters, so a hash of it is stored.
    return hashlib.sha256(f"{request.method} {request.url.path}".encode()).hexdigest()


def _keep(workspace: Workspace, scope: Scope, answer: Response) -> None:
    headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    with workspace.database.writing() as tx:
        idempotency.keep(tx, scope, answer.status_code, headers, bytes(answer.body))


def _repeat(earlier: Kept, fingerprint: str) -> Response:
    if earlier.fingerprint != fingerprint:
        raise KeyReused("This Idempotency-Key was used for another request. Send a new key with each new request.")
    if earlier.status is None:
        raise KeyInUse(
            "The first request with this Idempotency-Key is not finished yet. Repeat this request in a few seconds."
        )
    return Response(earlier.body, earlier.status, dict(earlier.headers or {}))
