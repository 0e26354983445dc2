"""The workspace that every use case gets first: database, limits of uploads, caches, and turns of dear requests.

What a request will cost is estimated before its work starts, and dear work waits its turn. The requests of one
principal, and those of all anonymous visitors together, do dear work one at a time. So nobody can fill all threads and
all memory of a server, and requests that cost little go on beside.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from threading import Condition, Lock
from typing import Any, Final, Generic, TypeVar

from gainboard.errors import NotAuthenticated, TooManyDearRequests
from gainboard.store.database import Database, may_take_long
from gainboard.store.processes import Lease, UploadSlots
from gainboard.trec import FileLimits

SCORING_MEMORY = 128 << 20
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """A cache of the values used last, for values that never change.

    It holds at most `size` values, or values of that weight together. The last value stays whatever its weight is.
    """

    def __init__(self, size: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        self._size = size
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def find(self, key: K) -> V | None:
        """Return the value, if it is still in the cache."""
        with self._lock:
            if (value := self._values.get(key)) is not None:
                self._values.move_to_end(key)
            return value

    def keep(self, key: K, value: V) -> V:
        """Put the value in, and remove the values that were unused for longest."""
        with self._lock:
            if (before := self._values.pop(key, None)) is not None:
                self._weight -= self._weigh(before)
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._size and len(self._values) > 1:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value, made if it is missing. Two threads may make it at the same time; both get an equal one."""
        if (value := self.find(key)) is not None:
            return value
        may_take_long()
        # The value is made outside of the lock: it may take seconds, and others want other values.
        return self.keep(key, make())


class WorkspaceCache(Generic[K, V]):
    """A cache of one module for every workspace: made once, as a constant beside the code that uses it.

    Qrels versions, judged runs and results of jobs never change. Caching them is safe for any number of processes on
    the same database.
    """

    def __init__(self, size: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        self._size, self._weigh = size, weigh

    def of(self, workspace: Workspace) -> LRUCache[K, V]:
        """Return the cache of this workspace."""
        cache: LRUCache[K, V] | None = workspace.kept.get(self)
        if cache is None:
            # If two threads come first at the same time, setdefault gives both the same cache.
            cache = workspace.kept.setdefault(self, LRUCache(self._size, self._weigh))
        return cache


@dataclass
class Workspace:
    """The first argument of every use case."""

    database: Database
    limits: FileLimits = field(default_factory=FileLimits)
    scoring_memory: int = SCORING_MEMORY
    """The memory for the judged rankings of runs, in bytes."""
    kept: dict[object, Any] = field(default_factory=dict, repr=False)
    lease: Lease = field(init=False, repr=False)
    """This process in the register of those that live, once it serves or runs jobs."""
    upload_slots: UploadSlots = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.lease = Lease(self.database)
        self.upload_slots = UploadSlots(self.database, self.lease)

    def now(self) -> datetime:
        """Return the time of the server's clock, in UTC."""
        return self.database.machine.now()


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
