"""Which runs an analysis is about: all, some by name, the best k, the best of each team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import NotFound
from gainboard.store.records import Run

Means = Callable[[str], NDArray[np.float64]]
"""From a metric's label to the mean score of each candidate under it; NaN where a run has none."""


class Selection(Protocol):
    """How runs are chosen. What is chosen may depend on scores; from among which runs, and how many, does not."""

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        """The runs that take part in choosing, in the order in which they will be answered if all are chosen.

        Raises NotFound where one that is asked for is not among the stored ones.
        """

    def count(self, candidates: Sequence[Run]) -> int:
        """How many will be chosen."""

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        """The places of the chosen ones among the candidates, in the order in which they are answered."""


@dataclass(frozen=True, slots=True)
class AllRuns:
    """Every run of the collection, by name."""

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        return list(stored)

    def count(self, candidates: Sequence[Run]) -> int:
        return len(candidates)

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return list(range(len(candidates)))


@dataclass(frozen=True, slots=True)
class NamedRuns:
    """Runs by name, in the order in which they are named."""

    names: tuple[str, ...]

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        by_name = {run.name: run for run in stored}
        if absent := [name for name in self.names if name not in by_name]:
            raise NotFound(f"There is no run {absent[0]!r} in {collection!r} here.")
        return [by_name[name] for name in dict.fromkeys(self.names)]

    def count(self, candidates: Sequence[Run]) -> int:
        return len(candidates)

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return list(range(len(candidates)))


@dataclass(frozen=True, slots=True)
class TopRuns:
    """The `top` runs with the highest means of the metric `by`, best first; ties are broken by name."""

    top: int
    by: str

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        return list(stored)

    def count(self, candidates: Sequence[Run]) -> int:
        return min(self.top, len(candidates))

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return _best_first(candidates, means(self.by))[: self.top]


@dataclass(frozen=True, slots=True)
class BestPerTeam:
    """Each team's run with the highest mean of the metric `by`, best first; ties are broken by name."""

    by: str

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        return list(stored)

    def count(self, candidates: Sequence[Run]) -> int:
        return len({run.team_id for run in candidates})

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        best: dict[int, int] = {}
        for place in _best_first(candidates, means(self.by)):
            best.setdefault(candidates[place].team_id, place)
        return list(best.values())


def _best_first(candidates: Sequence[Run], means: NDArray[np.float64]) -> list[int]:
    # Equal sums added in another order may differ in the last bits; 12 decimals decide, as everywhere.
    rounded = np.round(np.where(np.isnan(means), -np.inf, means), 12)
    return sorted(range(len(candidates)), key=lambda place: (-rounded[place], candidates[place].name))
