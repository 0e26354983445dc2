"""The workspace that every use case gets first: database, limits of uploads, and caches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any, Generic, TypeVar

from gainboard.store.database import Database, may_take_long
from gainboard.store.processes import Lease
from gainboard.store.uploads import UploadSlots
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
