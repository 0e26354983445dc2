"""How the parts of an analysis become chunks, and how much one job may cost."""

from __future__ import annotations

from collections.abc import Sequence

from gainboard.errors import InvalidRequest

CHUNK_SECONDS = 8.0
"""Estimated seconds of one core in a chunk: what is lost when a process dies, and how long others wait at most."""
MOST_CHUNKS = 2_000
MOST_SECONDS = 4 * 3600.0
"""Estimated seconds of one core in a job."""


def sizes_of_chunks(parts: Sequence[float], chunk_seconds: float = CHUNK_SECONDS) -> list[int]:
    """How many parts each chunk has, from the parts' costs; the last one, of one part, puts the result together.

    They follow from the costs alone, so the number of processes has no part in the result. Raises InvalidRequest
    for a job that costs more than `MOST_SECONDS`.
    """
    if (total := sum(parts)) > MOST_SECONDS:
        raise InvalidRequest.at(
            "body.params",
            "too-costly",
            f"This is estimated at {total / 3600:,.1f} hours of one core; at most {MOST_SECONDS / 3600:g} in one job. "
            "Ask for fewer metrics, runs, resamples or trials.",
        )
    wanted = max(chunk_seconds, total / (MOST_CHUNKS / 2))
    sizes: list[int] = []
    cost = wanted
    for part in parts:
        if cost >= wanted:
            sizes.append(0)
            cost = 0.0
        sizes[-1] += 1
        cost += part
    return [*sizes, 1]
