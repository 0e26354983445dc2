"""What every use case works with: the database, the limits, and what is kept in memory between requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics import JudgedRun
from gainboard.store.database import Database
from gainboard.store.records import Run
from gainboard.trec import Limits

if TYPE_CHECKING:
    from gainboard.evaluation.judging import JudgedTopics, QrelsIndex

MOST_JUDGMENTS = 1_000_000
"""Kept ready for the join of uploads: about half a kilobyte each, or 13 collections of TREC's size together."""

MOST_BYTES = 256 << 20
"""Of judged runs kept ready for scoring: some 10,000 of TREC's size."""

MOST_SCORED_BYTES = 64 << 20
"""Of scores: those of 43 metrics for some 3,700 runs of TREC's size."""

MOST_ROW_BYTES = 32 << 20
"""Of rows of leaderboards: some 5,000 under 43 metrics."""

MOST_UNDEFINED_BYTES = 16 << 20
"""Of where scores are undefined: 200 metrics on 6,980 topics eleven times, or 43 on 50 some 5,000 times."""

_ENTRY_BYTES = 1 << 10
"""Of a small thing that is kept: its key, and the objects that it is made of."""

MOST_LISTED = 50_000
"""Records of runs: some kilobytes each, warnings included."""

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
        """The value, if it is still here."""
        with self._lock:
            if (value := self._values.get(key)) is not None:
                self._values.move_to_end(key)
            return value

    def keep(self, key: K, value: V) -> V:
        """Puts the value in, and the longest unused ones out."""
        with self._lock:
            if (before := self._values.pop(key, None)) is not None:
                self._weight -= self._weigh(before)
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._size and len(self._values) > 1:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value, made where it is not here. Two threads may make it at once; both get an equal one."""
        found = self.find(key)
        return found if found is not None else self.keep(key, make())


@dataclass(frozen=True)
class ScoredRun:
    """A run's scores under some metrics: float64 [metrics, topics], NaN where undefined, and their means [metrics]."""

    scores: NDArray[np.float64]
    means: NDArray[np.float64]
    topics_missing: int


@dataclass
class Workspace:
    """Handed to every use case first. Qrels versions, judged runs and results of jobs never change, so keeping them
    is safe however many processes serve the same database."""

    database: Database
    limits: Limits = field(default_factory=Limits)
    judged_topics: Recent[int, JudgedTopics] = field(default_factory=lambda: Recent(64))
    judged_runs: Recent[tuple[int, int], JudgedRun] = field(
        default_factory=lambda: Recent(MOST_BYTES, lambda run: run.nbytes)
    )
    scored_runs: Recent[tuple[int, int, bytes], ScoredRun] = field(
        default_factory=lambda: Recent(MOST_SCORED_BYTES, lambda scored: scored.scores.nbytes + _ENTRY_BYTES)
    )
    """By the ids of the qrels version and the run, and the labels of the metrics (`scored.under`)."""
    rows: Recent[tuple[int, int, bytes], tuple[bytes, bytes]] = field(
        default_factory=lambda: Recent(MOST_ROW_BYTES, lambda row: sum(map(len, row)) + _ENTRY_BYTES)
    )
    """What a leaderboard says of a run but for its place, as JSON, plain and compressed; by the same."""
    undefined: Recent[tuple[int, bytes], NDArray[np.bool_]] = field(
        default_factory=lambda: Recent(MOST_UNDEFINED_BYTES, lambda undefined: undefined.nbytes + _ENTRY_BYTES)
    )
    """[metrics, topics]: where no run has a score, by the id of the qrels version and the labels."""
    stored_runs: Recent[tuple[int, int], Sequence[Run]] = field(
        default_factory=lambda: Recent(MOST_LISTED, lambda runs: len(runs) + 1)
    )
    """All runs of a collection, by its id and its revision."""
    ranked_digests: Recent[int, bytes] = field(default_factory=lambda: Recent(10_000))
    """Of the rankings of runs, by the run's id: what `identical_runs` compares."""
    indexes: Recent[int, QrelsIndex] = field(default_factory=lambda: Recent(MOST_JUDGMENTS, lambda index: index.judged))
    groups: Recent[str, Mapping[str, list[str]]] = field(default_factory=lambda: Recent(256))
    """The letters of a leaderboard's runs, by the id of the job."""

    uses: Recent[str, datetime] = field(default_factory=lambda: Recent(10_000))
    """When this process last noted that a token was used, by its id."""

    def now(self) -> datetime:
        """The server's clock, in UTC."""
        return datetime.now(UTC)
