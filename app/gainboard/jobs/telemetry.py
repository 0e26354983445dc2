"""Measurements of work for Prometheus: how long chunks take, how they end, and how many were started again."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from gainboard.jobs.process import Outcome

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

BUCKETS = (0.1, 0.3, 1, 3, 5, 10, 20, 30, 60, 120, 300)
"""Seconds. A chunk is cut to take some seconds on an ordinary machine."""


class JobTelemetry:
    """The measurements of one process since its start; without a registry, nothing is measured."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._seconds = self._freed = None
        if registry is not None:
            from prometheus_client import Counter, Histogram, ProcessCollector  # noqa: PLC0415 (of the `metrics` extra)

            ProcessCollector(registry=registry)  # when the process started, so that restarts can be counted
            what = "Time of a chunk of a job in its process, by outcome"
            self._seconds = Histogram("gainboard_chunk_seconds", what, ("outcome",), buckets=BUCKETS, registry=registry)
            # From 0 on: Prometheus sees no increase in a counter whose first value is 1.
            for outcome in get_args(Outcome):
                self._seconds.labels(outcome)
            freed = "Chunks that were started again because the process that had them died"
            self._freed = Counter("gainboard_claims_freed", freed, registry=registry)

    def note_chunk(self, outcome: Outcome, seconds: float) -> None:
        """Count a chunk that has ended."""
        if self._seconds is not None:
            self._seconds.labels(outcome).observe(seconds)

    def note_freed(self, count: int) -> None:
        """Count chunks that are started again."""
        if self._freed is not None:
            self._freed.inc(count)
