"""Idempotency keys: a repeated POST gets the first answer again, for 24 hours."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Annotated, Final

from fastapi import Depends, Header, Request, Response

from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.models.common import KEY_PATTERN
from gainboard.errors import KeyInUse, KeyReused
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import collections, idempotency
from gainboard.store.database import Transaction
from gainboard.store.idempotency import Kept, Scope

KEPT_HEADERS = ("location", "content-type", "retry-after")
FIRST_SECONDS: Final = 0.5
LAST_SECONDS: Final = 8.0
"""Seconds between two tries to store how requests with keys have ended: few at first."""
MOST_UNSTORED: Final = 10_000

log = logging.getLogger("gainboard")

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


@dataclass(frozen=True)
class KeyedRequest:
    """A request that is carried out once for its Idempotency-Key, however often it is sent."""

    request: Request
    workspace: Workspace
    principal: Principal
    key: str | None
    fingerprint: str = ""
    """A hash of the query and the body: the key of another request is refused."""

    def answer_once(
        self,
        act: Callable[[], Response],
        *,
        permit: Callable[[], object],
        kept: Callable[[Response], Response] = lambda answer: answer,
        again: Callable[[Response], Response] = lambda answer: answer,
    ) -> Response:
        """Return the answer of `act`, or the stored answer of the first request with this key.

        `permit` raises what the request itself would raise now for what its principal may not do: nobody gets a stored
        answer before. `kept` turns the answer into the one that is stored, and `again` the stored one into what the
        principal may still see, where these differ. After an error of `act` the key may be used again.
        """
        # A key belongs to a token, so a request without a token cannot have one.
        if self.key is None or self.principal.token is None:
            return act()
        workspace, unstored = self.workspace, Unstored.of(self.workspace)
        scope = Scope(self.principal.token.id, _route(workspace, self.request), self.key)
        # The key is claimed in a transaction of its own, before `act` begins: of two equal requests only one may act.
        now = workspace.now()
        earlier = unstored.find(scope)
        if earlier is None:
            with workspace.database.writing() as tx:
                unstored.release(tx, scope)
                earlier = idempotency.claim(tx, scope, self.fingerprint, now, workspace.lease.id)
        if earlier is not None:
            permit()
            return again(_repeated(earlier, self.fingerprint))
        try:
            answer = act()
            stored = kept(answer)
        # Also if the request is cancelled: a key that stays claimed would refuse its repetitions for minutes.
        except BaseException:
            unstored.store(scope, End(now))
            raise
        # What was done is answered as done, whether its answer can be stored now or later.
        headers = {name: stored.headers[name] for name in KEPT_HEADERS if name in stored.headers}
        unstored.store(scope, End(now, Kept(self.fingerprint, stored.status_code, headers, bytes(stored.body))))
        return answer


async def _read_key(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, idempotency_key: IdempotencyKey = None
) -> KeyedRequest:
    return KeyedRequest(request, workspace, principal, idempotency_key)


KeyedUploadDep = Annotated[KeyedRequest, Depends(_read_key)]
"""The dependency of a route that takes a file: the fingerprint comes with the file."""


async def _read_fingerprint(keyed: KeyedUploadDep) -> KeyedRequest:
    sent = keyed.request.url.query.encode() + b"\n" + await keyed.request.body()
    return replace(keyed, fingerprint=hashlib.sha256(sent).hexdigest())


KeyedDep = Annotated[KeyedRequest, Depends(_read_fingerprint)]
"""The dependency that makes a route take an Idempotency-Key, and describes it."""


def _route(workspace: Workspace, request: Request) -> str:
    """Return the route of a key: a key of a collection is another one if a later collection has its name."""
    name, uuid = request.path_params.get("collection"), None
    if name is not None and is_slug(name):
        with workspace.database.reading() as tx:
            found = collections.find(tx, name)
        uuid = found.uuid if found else None
    # A path may have any length and any characters, so a hash of it is stored.
    return hashlib.sha256(f"{request.method} {request.url.path} {uuid}".encode()).hexdigest()


def _repeated(earlier: Kept, fingerprint: str) -> Response:
    if earlier.fingerprint != fingerprint:
        raise KeyReused("This Idempotency-Key was used for another request. Send a new key with each new request.")
    if earlier.status is None:
        raise KeyInUse(
            "The first request with this Idempotency-Key is not finished yet. Repeat this request in a few seconds."
        )
    return Response(earlier.body, earlier.status, dict(earlier.headers or {}))


@dataclass(frozen=True)
class End:
    """The end of a request that has claimed its key at this time: the answer to keep, or none after an error."""

    claimed_at: datetime
    kept: Kept | None = None


@dataclass
class Unstored:
    """The ends of requests that could not be stored: a disk is full, or the database does not answer.

    Repetitions that come to this process are answered from here. A thread tries to store the ends until they are
    stored, or their claims have ended by themselves.
    """

    workspace: Workspace
    ends: dict[Scope, End] = field(default_factory=dict)
    guard: Lock = field(default_factory=Lock)
    stop: Event = field(default_factory=Event)
    thread: Thread | None = None

    @classmethod
    def of(cls, workspace: Workspace) -> Unstored:
        """Return the ends of this workspace."""
        found: Unstored = workspace.kept.get(cls) or workspace.kept.setdefault(cls, cls(workspace))
        return found

    def find(self, scope: Scope) -> Kept | None:
        """Return the answer of a request that has ended, and whose answer is not stored yet."""
        end = self.ends.get(scope)
        return end.kept if end else None

    def release(self, tx: Transaction, scope: Scope) -> None:
        """Release the key of a request that failed, if that could not be stored yet."""
        if (end := self.ends.get(scope)) is not None and end.kept is None:
            idempotency.release(tx, scope, since=end.claimed_at)

    def store(self, scope: Scope, end: End) -> None:
        """Store the end of a request, now or later. No error tells of it, because the answer does not depend on it."""
        try:
            _keep(self.workspace, scope, end)
        except BaseException as error:
            log.warning("how a request with an Idempotency-Key ended is stored later: %s", error)
            with self.guard:
                if len(self.ends) >= MOST_UNSTORED:
                    self.ends.pop(next(iter(self.ends)))
                self.ends[scope] = end
                if self.thread is None and not self.stop.is_set():
                    self.thread = Thread(target=self._store_repeatedly, name="idempotency keys", daemon=True)
                    self.thread.start()
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        else:
            self.ends.pop(scope, None)

    def _store_repeatedly(self) -> None:
        pause = FIRST_SECONDS
        while not self.stop.wait(pause):
            pause = min(2 * pause, LAST_SECONDS)
            self.store_all()
            with self.guard:
                # Decided under the guard: `store` sees this thread, or starts another one.
                if not self.ends:
                    self.thread = None
                    return

    def store_all(self) -> None:
        """Try to store what is not stored yet. Forget what another request may have claimed since."""
        for scope, end in list(self.ends.items()):
            with suppress(Exception):  # the next try comes
                _keep(self.workspace, scope, end)
                with self.guard:
                    if self.ends.get(scope) is end:  # and not that of a later request
                        del self.ends[scope]

    def close(self) -> None:
        """Try once more to store what is not stored yet, because the server stops."""
        self.stop.set()
        self.store_all()


def _keep(workspace: Workspace, scope: Scope, end: End) -> None:
    with workspace.database.writing() as tx:
        if end.kept is None or end.kept.status is None:
            idempotency.release(tx, scope, since=end.claimed_at)
        else:
            status, headers, body = end.kept.status, end.kept.headers or {}, end.kept.body or b""
            idempotency.keep(tx, scope, status, headers, body, since=end.claimed_at)
