"""Another order of a collection's runs. Each part joins one run again and counts the topics whose ranking changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Arrays, Change
from gainboard.evaluation.judging import unpack_run
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.rejudging import OrderChange, Plan, Rejoined, lock_for_change
from gainboard.metrics import JudgedRun
from gainboard.store import runs
from gainboard.store.database import Transaction
from gainboard.store.records import OrderBy, Run

SECONDS_A_RUN, SECONDS_A_LINE = 0.01, 1e-6
COUNTS = ("retrieved", "unjudged", "topics_missing", "topics_unknown")
PACKED = ("rankings", "retrieval_scores")


def cost_of(run: Run) -> float:
    """Return the estimated seconds that it takes to read a run and to join it."""
    return SECONDS_A_RUN + SECONDS_A_LINE * run.retrieved


def as_arrays(row: Mapping[str, Any]) -> Arrays:
    """Return the columns of a join as findings of a part; `as_row` reads them."""
    packed = {name: _as_array(row[name]) for name in PACKED}
    return {"counts": np.array([row[name] for name in COUNTS], np.int64), **packed}


def as_row(arrays: Arrays) -> dict[str, Any]:
    """Return the columns of a join from the findings that `as_arrays` returned."""
    counts = dict(zip(COUNTS, arrays["counts"].tolist(), strict=True))
    return {name: arrays[name].tobytes() for name in PACKED} | counts


class Rejudging(Change):
    """Joins of the runs with the published version. `result` also joins newer runs, and the drafts."""

    def __init__(self, matrices: Matrices, order_by: OrderBy) -> None:
        super().__init__(matrices)
        self._change = OrderChange(matrices.workspace, matrices.collection, order_by)

    def parts(self) -> list[float]:
        return [cost_of(run) for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        joined = self._change.join(self.matrices.qrels, self.matrices.runs[part])
        if joined.fault is not None:
            return {"fault": _as_array(joined.fault.encode())}
        return as_arrays(joined.row)

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        for run, arrays in zip(self.matrices.runs, found, strict=True):
            self._change.joins[self.matrices.qrels.id, run.id] = _rejoined(arrays)
        plan = self._change.prepare()
        return {
            "order_by": self._change.order_by,
            "published_version": plan.published_version,
            "reordered": [
                {"name": run.name, "team": run.team, "topics": topics}
                for run, topics in zip(plan.runs, self._topics_reordered(plan), strict=True)
            ],
        }

    def _topics_reordered(self, plan: Plan) -> list[int]:
        if plan.newest is None or plan.newest not in plan.replaced:
            return [0] * len(plan.runs)
        with self.matrices.workspace.database.reading() as tx:
            before = runs.rankings(tx, [run.id for run in plan.runs], plan.newest.id)
        after = [self._change.joins[plan.newest.id, run.id].row["rankings"] for run in plan.runs]
        return [
            _topics_that_differ(unpack_run(before[run.id]), unpack_run(packed))
            for run, packed in zip(plan.runs, after, strict=True)
        ]

    def lock(self, tx: Transaction, principal: Principal) -> None:
        lock_for_change(tx, principal, self.matrices.collection)

    def apply(self, tx: Transaction, principal: Principal) -> bool:
        return self._change.apply(tx, principal)


def _as_array(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


def _rejoined(arrays: Arrays) -> Rejoined:
    if "fault" in arrays:
        return Rejoined(fault=arrays["fault"].tobytes().decode())
    return Rejoined(as_row(arrays))


def _topics_that_differ(before: JudgedRun, after: JudgedRun) -> int:
    """Return the number of topics in which a judged document gets another rank or crosses the depth."""

    def rows(run: JudgedRun) -> list[tuple[bytes, bytes]]:
        ranks, levels = (np.split(column, run.starts[1:-1]) for column in (run.rank.astype(np.int64), run.level))
        return [(rank.tobytes(), level.tobytes()) for rank, level in zip(ranks, levels, strict=True)]

    return sum(one != other for one, other in zip(rows(before), rows(after), strict=True))
