"""The workspace that every use case is handed first: database, limits of uploads, and what is kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Generic, TypeVar

from gainboard.store.database import Database
from gainboard.trec import Limits

SCORING_MEMORY = 128 << 20
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values last asked for; for things that never change once made.

    At most `size` of them, or as many as together weigh that; the last one stays whatever it weighs.
    """

    def __init__(self, size: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        self._size = size
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def find(self, key: K) -> V | None:
        """Return the value, if it is still here."""
        with self._lock:
            if (value := self._values.get(key)) is not None:
                self._values.move_to_end(key)
            return value

    def keep(self, key: K, value: V) -> V:
        """Put the value in, and the longest unused ones out."""
        with self._lock:
            if (before := self._values.pop(key, None)) is not None:
                self._weight -= self._weigh(before)
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._size and len(self._values) > 1:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value, made where it is not here. Two threads may make it at once; both get an equal one."""
        found = self.find(key)
        return found if found is not None else self.keep(key, make())


class Cache(Generic[K, V]):
    """A cache of one module, for every workspace: made once beside the code that uses it, as a constant.

    Qrels versions, judged runs and results of jobs never change, so keeping them is safe however many processes serve
    the same database.
    """

    def __init__(self, size: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        self._size, self._weigh = size, weigh

    def of(self, workspace: Workspace) -> Recent[K, V]:
        """Return what is kept of this workspace."""
        found: Recent[K, V] | None = workspace.kept.get(self)
        if found is None:
            # Of two threads that come first at once, one finds what the other has put in.
            found = workspace.kept.setdefault(self, Recent(self._size, self._weigh))
        return found


@dataclass
class Workspace:
    """Handed to every use case first."""

    database: Database
    limits: Limits = field(default_factory=Limits)
    scoring_memory: int = SCORING_MEMORY
    """Bytes for the judged rankings of runs."""
    kept: dict[object, Any] = field(default_factory=dict, repr=False)

    def now(self) -> datetime:
        """Return the time of the server's clock, in UTC."""
        return datetime.now(UTC)
