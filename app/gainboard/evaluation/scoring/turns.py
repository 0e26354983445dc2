"""Turns of dear requests: what a request will cost is estimated before its work starts, and dear work waits its turn.

The requests of one principal, and those of all anonymous visitors together, do dear work one at a time. So nobody can
fill all threads and all memory of a server, and requests that cost little go on beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Condition
from typing import Final

from gainboard.errors import NotAuthenticated, TooManyDearRequests
from gainboard.store.database import may_take_long

QUICK_SECONDS: Final = 0.02
"""Work of more seconds, by estimate, keeps no other request waiting: it is not done in the event loop."""
DEAR_SECONDS: Final = 0.2
"""Work of fewer seconds of one core needs no turn."""
MOST_ANONYMOUS_SECONDS: Final = 1.0
"""The most seconds of one core for a request without a token, unless it asks for nothing of its own choice."""
MOST_AT_ONCE: Final = 2
"""The most principals whose dear requests are at work in one process."""
MOST_WAITING: Final = 8
"""The most dear requests that wait in one process. Each holds a thread."""
MOST_WAITING_OF_ONE: Final = 3
LONGEST_WAIT: Final = 30.0
"""The most seconds of waiting."""

ANYBODY: Final = ""
"""All anonymous visitors, who share their turns."""


class DearRequests:
    """The turns of one process."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._at_work: set[str] = set()
        self._waiting: Counter[str] = Counter()

    def take(self, who: str) -> None:
        """Return once it is the principal's turn. Raise TooManyDearRequests if too many wait already."""
        with self._changed:
            if self._waiting[who] >= MOST_WAITING_OF_ONE or self._waiting.total() >= MOST_WAITING:
                raise _busy()
            self._waiting[who] += 1
            try:
                if not self._changed.wait_for(
                    lambda: who not in self._at_work and len(self._at_work) < MOST_AT_ONCE, LONGEST_WAIT
                ):
                    raise _busy()
                self._at_work.add(who)
            finally:
                self._waiting[who] -= 1

    def give_back(self, who: str) -> None:
        """End the principal's turn."""
        with self._changed:
            self._at_work.discard(who)
            self._waiting += Counter()  # principals that wait no more are forgotten
            self._changed.notify_all()


def _busy() -> TooManyDearRequests:
    return TooManyDearRequests(
        "The server works on requests that take as long as this one, and computes few of them at once. Send the "
        "request again in a few seconds, or ask for fewer runs, metrics or baselines."
    )


@dataclass
class Visit:
    """A request on its way: who asks, what it has cost so far by estimate, and whether it has its turn."""

    turns: DearRequests
    who: Callable[[], str | None]
    """A function that returns the id of the token; None for an anonymous visitor."""
    seconds: float = 0.0
    turn_of: str | None = field(default=None, init=False)

    def spend(self, seconds: float, *, is_chosen: bool) -> None:
        """Add work of so many seconds. Wait for a turn if it is dear."""
        self.seconds += seconds
        who = self.who()
        if who is None and is_chosen and self.seconds > MOST_ANONYMOUS_SECONDS:
            raise NotAuthenticated(
                f"This takes about {self.seconds:.1f} seconds of computing, and without a token a request may take at "
                f"most {MOST_ANONYMOUS_SECONDS:g} second. Send a token, or ask for fewer runs, metrics or baselines."
            )
        if self.turn_of is None and self.seconds > DEAR_SECONDS:
            turn_of = who or ANYBODY
            self.turns.take(turn_of)
            self.turn_of = turn_of

    def end(self) -> bool:
        """Give the turn back. Return whether there was one."""
        if self.turn_of is None:
            return False
        self.turns.give_back(self.turn_of)
        self.turn_of = None
        return True


_VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)


@contextmanager
def visiting(visit: Visit) -> Iterator[None]:
    """Count the work of the block, and of the threads that it starts, for this request."""
    before = _VISIT.set(visit)
    try:
        yield
    finally:
        _VISIT.reset(before)


def spend(seconds: float, *, is_chosen: bool = True) -> None:
    """Count work of so many seconds of one core, before it starts. Jobs and commands never wait.

    `is_chosen` is false for what a page asks of itself: it stays open to everybody. Raise NotAuthenticated for an
    anonymous visitor who asks for too much, and TooManyDearRequests if too many wait already.
    """
    if seconds > QUICK_SECONDS:
        may_take_long()
    if (visit := _VISIT.get()) is not None:
        visit.spend(seconds, is_chosen=is_chosen)
