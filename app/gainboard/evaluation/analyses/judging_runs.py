"""All runs of a collection, judged by a qrels version that is then published. Each part judges one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gainboard.errors import Conflict
from gainboard.evaluation.analyses.analysis import Arrays, Change
from gainboard.evaluation.analyses.rejudging import as_arrays, as_row, cost_of
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.publication import Rows, publish_judged, store_judged, unjudged
from gainboard.evaluation.rejudging import lock_for_change
from gainboard.evaluation.rereading import rejudged
from gainboard.evaluation.versions import index_of
from gainboard.store import collections, qrels
from gainboard.store.database import Transaction
from gainboard.store.records import Run


class JudgingRuns(Change):
    """Joins of the runs with the version. `result` also joins newer runs."""

    def __init__(self, matrices: Matrices, publish: bool) -> None:
        super().__init__(matrices)
        self._publish = publish
        self._judged: Rows = {}

    def parts(self) -> list[float]:
        return [cost_of(run) for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        return as_arrays(self._row(self.matrices.runs[part]))

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        for run, arrays in zip(self.matrices.runs, found, strict=True):
            self._judged[run.id] = as_row(arrays)
        with self.matrices.workspace.database.reading() as tx:
            newer = unjudged(tx, self.matrices.collection, self._judged, self.matrices.qrels.id)
        for run in newer:
            self._judged[run.id] = self._row(run)
        return {"version": self.matrices.qrels.version, "published": self._publish, "judged_runs": len(self._judged)}

    def _row(self, run: Run) -> dict[str, Any]:
        matrices = self.matrices
        index = index_of(matrices.workspace, matrices.collection, matrices.qrels)
        return rejudged(matrices.workspace, matrices.collection, run, matrices.qrels.order_by, index).row()

    def lock(self, tx: Transaction, principal: Principal) -> None:
        lock_for_change(tx, principal, self.matrices.collection)

    def apply(self, tx: Transaction, principal: Principal) -> bool:
        collection, named = collections.of_id(tx, self.matrices.collection.id), self.matrices.qrels.named
        version = qrels.find(tx, collection.id, named)
        if version is None:
            raise Conflict(f"The qrels {named} were discarded, so nothing was judged by them.")
        if unjudged(tx, collection, self._judged, version.id):
            return False
        store_judged(tx, collection, self._judged, version.id)
        if self._publish and version != qrels.find(tx, collection.id, named._replace(version=None)):
            publish_judged(tx, principal, collection, version, self.matrices.workspace.now())
        return True
