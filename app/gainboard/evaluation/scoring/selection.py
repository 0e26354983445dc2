"""The runs that a request is about: all, some by name, the best k, or the best of each team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import NotFound
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.scoring.scores import rank_by_mean
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.statistics.means import group_rows
from gainboard.store import runs
from gainboard.store.database import Transaction
from gainboard.store.records import Run
from gainboard.vocabulary import LateShown

STORED_RUNS: WorkspaceCache[tuple[int, int], Sequence[Run]] = WorkspaceCache(50_000, lambda runs: len(runs) + 1)
"""All runs of a collection, by its id and its revision. A run takes a few kilobytes, with its warnings."""

Means = Callable[[str], NDArray[np.float64]]
"""Maps a metric's label to the mean score of each candidate; NaN if a run has none."""


class Selection:
    """A way to choose runs. The choice may depend on scores. The candidates and the number of chosen runs never do."""

    __slots__ = ()

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        """Return the runs that may be chosen, in the order of the answer if all are chosen.

        Raise NotFound if a named run is not stored.
        """
        return list(stored)

    def count(self, candidates: Sequence[Run]) -> int:
        """Return how many runs will be chosen."""
        return len(candidates)

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        """Return the indexes of the chosen runs among the candidates, in the order of the answer."""
        return list(range(len(candidates)))


@dataclass(frozen=True, slots=True)
class AllRuns(Selection):
    """Every run of the collection, by name."""


@dataclass(frozen=True, slots=True)
class NamedRuns(Selection):
    """Runs given by name, in the order of the names. The name of a system stands for all its replicates."""

    names: tuple[str, ...]

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        of_system: dict[str, list[str]] = {run.system: [] for run in stored if run.system}
        for run in stored if of_system else ():
            if (system := run.system or run.name) in of_system:
                of_system[system].append(run.name)
        members = [member for name in self.names for member in of_system.get(name, [name])]
        return self.standing_alone(_named(stored, members, collection))

    def standing_alone(self, chosen: Sequence[Run]) -> list[Run]:
        """Return the runs; a replicate that is named, and not its system, without its system."""
        named = set(self.names)
        is_alone = [run.system is not None and run.name in named and run.system not in named for run in chosen]
        return [replace(run, system=None) if alone else run for run, alone in zip(chosen, is_alone, strict=True)]


@dataclass(frozen=True, slots=True)
class TopRuns(Selection):
    """The `top` runs with the highest means of the metric `by`, best first; ties are broken by name."""

    top: int
    by: str

    def count(self, candidates: Sequence[Run]) -> int:
        return min(self.top, len(candidates))

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return _best_first(candidates, means(self.by))[: self.top]


@dataclass(frozen=True, slots=True)
class BestPerTeam(Selection):
    """Each team's run with the highest mean of the metric `by`, best first; ties are broken by name."""

    by: str

    def count(self, candidates: Sequence[Run]) -> int:
        return len({run.team_id for run in candidates})

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        best: dict[int, int] = {}
        for place in _best_first(candidates, means(self.by)):
            best.setdefault(candidates[place].team_id, place)
        return list(best.values())


class PooledRun(Protocol):
    """The details of a run that decide whether it goes into a pool."""

    @property
    def name(self) -> str: ...
    @property
    def team(self) -> str: ...
    @property
    def pooled(self) -> bool: ...
    @property
    def priority(self) -> int | None: ...


PooledRunT = TypeVar("PooledRunT", bound=PooledRun)


@dataclass(frozen=True, slots=True)
class RunsToPool(Selection):
    """The runs that go into a pool, by name: those named, whatever their uploads said, or those uploaded as pooled.

    `teams` keeps the runs of these teams, and `top` the first runs of each team by priority: a run with a number comes
    before one without, and runs with equal numbers are in the order of their names.
    """

    names: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    top: int | None = None

    def of(self, stored: Sequence[PooledRunT], collection: str) -> list[PooledRunT]:
        """Return the runs of the pool. Raise NotFound for a name that no run, or no team with runs, has."""
        if self.names is not None:
            return sorted(_named(stored, self.names, collection), key=lambda run: run.name.encode())
        if absent := sorted(set(self.teams or ()) - {run.team for run in stored}):
            raise NotFound(f"The team {absent[0]!r} has no run in {collection!r}. Check its name.")
        pooled = [run for run in stored if run.pooled and (self.teams is None or run.team in self.teams)]
        by_team: dict[str, list[PooledRunT]] = {}
        for run in sorted(pooled, key=lambda run: (run.priority is None, run.priority or 0, run.name.encode())):
            by_team.setdefault(run.team, []).append(run)
        first = [run for runs_of_team in by_team.values() for run in runs_of_team[: self.top]]
        return sorted(first, key=lambda run: run.name.encode())

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        return self.of(stored, collection)


def _named(stored: Sequence[PooledRunT], names: Sequence[str], collection: str) -> list[PooledRunT]:
    by_name = {run.name: run for run in stored}
    if absent := [name for name in names if name not in by_name]:
        raise NotFound(f"There is no run {absent[0]!r} in {collection!r}, or this token may not see it.")
    return [by_name[name] for name in dict.fromkeys(names)]


def _best_first(candidates: Sequence[Run], means: NDArray[np.float64]) -> list[int]:
    return [place for _, place in rank_by_mean([run.name for run in candidates], means)]


def systems_of(chosen: Sequence[Run]) -> tuple[list[Run], NDArray[np.intp] | None]:
    """Return a record of each system, and the system of each run as `collapse` takes it, in the order of first runs.

    A record is the system's first run under the system's name. Without replicates, these are the runs, and None.
    """
    if not any(run.system for run in chosen):
        return list(chosen), None
    # Teams are part of it, so that a run of another team that came before is never one of a system's replicates.
    keys = [(run.team_id, run.system or run.name) for run in chosen]
    groups = group_rows(keys)
    first = np.unique(groups, return_index=True)[1].tolist()
    return [replace(chosen[row], name=keys[row][1]) for row in first], groups


def visible_runs(
    workspace: Workspace, tx: Transaction, view: View, names: Sequence[str] | None, late: LateShown = "include"
) -> list[Run]:
    """Return the runs with these names, or all visible runs if `names` is None, with or without late ones.

    Raises NotFound if a run does not exist or is not visible.
    """
    collection = view.collection
    stored = STORED_RUNS.of(workspace).get((collection.id, collection.revision), lambda: runs.page(tx, collection.id))
    visible = [run for run in stored if view.sees_run(run)]
    named = visible if names is None else NamedRuns(tuple(names)).candidates(visible, collection.name)
    return named if late == "include" else [run for run in named if not collection.is_late(run)]
