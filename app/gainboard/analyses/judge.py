"""judge: all runs of a collection, judged by a qrels version, which is then published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from gainboard.analyses.job_kinds import Arrays, Change, enter
from gainboard.analyses.params import AnyParams, Judgments, Version
from gainboard.analyses.rejudge import as_arrays, as_row, cost_of
from gainboard.analyses.result_models import JobResult
from gainboard.analyses.result_tables import Shown, fields, table
from gainboard.errors import Conflict
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.judgments.publication import Rows, list_unjudged, publish_judged, store_judged
from gainboard.evaluation.judgments.reordering import lock_for_change
from gainboard.evaluation.judgments.versions import index_of
from gainboard.evaluation.runs.stored_files import judge_again
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.store import collections, qrels
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob
from gainboard.store.records import Collection, Run, VersionName
from gainboard.vocabulary import OFFICIAL


class JudgeParams(AnyParams):
    """Judges all stored runs by a version of the judgments, such as a draft, and publishes it (organisers). Large
    collections take this job whenever judgments are uploaded or published; until it ends, the version before is used.
    Runs that come meanwhile are included.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"qrels": 1}]})

    qrels: Version = Field(description="Number of the version", examples=[1])
    judgments: Judgments = Field(OFFICIAL, description="The judgment set of the version")
    publish: bool = Field(True, description="Whether to publish it once all runs are judged")

    def version(self) -> VersionName:
        return VersionName(self.judgments, self.qrels)

    def shown(self) -> dict[str, JsonValue]:
        # Without the official set, the job is that of a request from before there were sets.
        is_official = self.judgments == OFFICIAL
        return self.model_dump(mode="json", exclude={"judgments"} if is_official else None)


class JudgeResult(JobResult):
    """The runs that were judged."""

    kind: Literal["judge"]
    version: Annotated[int, Shown()] = Field(description="The version that the runs are judged by")
    published: Annotated[bool, Shown(by=lambda published: "yes" if published else "no")] = Field(
        description="Whether it was published"
    )
    judged_runs: Annotated[int, Shown()] = Field(description="Runs that were judged")

    def tables(self) -> Sequence[Table]:
        """Return the table of one row: the version, and how many runs are judged by it."""
        columns = fields(JudgeResult, "version", "judged_runs", "published")
        return (table(columns, "judged", "Runs judged by a version of the judgments.", [self]),)


@enter
class JudgingRuns(Change[JudgeParams, JudgeResult]):
    """Joins of the runs with the version. `result` also joins newer runs."""

    name = "judge"
    title = "Judge all runs"
    question = "change"
    summary = "Judges all stored runs by a version of the judgments, and publishes it."

    @classmethod
    def find_same(cls, tx: Transaction, collection: Collection, params: JudgeParams) -> StoredJob | None:
        if is_open := cls.newest_job(tx, collection, params, "running", "queued"):
            return is_open
        version = qrels.find(tx, collection.id, params.version())
        newest = qrels.find(tx, collection.id, VersionName(params.judgments))
        if version is None or list_unjudged(tx, collection, {}, version.id) or (params.publish and version != newest):
            return None
        return cls.newest_job(tx, collection, params, "succeeded")

    def __init__(self, matrices: Matrices, params: JudgeParams) -> None:
        super().__init__(matrices, params)
        self._judged: Rows = {}

    def parts(self) -> list[float]:
        return [cost_of(run) for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        return as_arrays(self._row(self.matrices.runs[part]))

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        for run, arrays in zip(self.matrices.runs, findings, strict=True):
            self._judged[run.id] = as_row(arrays)
        with self.matrices.workspace.database.reading() as tx:
            newer = list_unjudged(tx, self.matrices.collection, self._judged, self.matrices.qrels.id)
        for run in newer:
            self._judged[run.id] = self._row(run)
        return {
            "version": self.matrices.qrels.version,
            "published": self.params.publish,
            "judged_runs": len(self._judged),
        }

    def _row(self, run: Run) -> dict[str, Any]:
        matrices = self.matrices
        index = index_of(matrices.workspace, matrices.collection, matrices.qrels)
        return judge_again(matrices.workspace, matrices.collection, run, matrices.qrels.order, index).row()

    def lock(self, tx: Transaction, principal: Principal) -> None:
        lock_for_change(tx, principal, self.matrices.collection)

    def apply(self, tx: Transaction, principal: Principal) -> bool:
        collection, named = collections.of_id(tx, self.matrices.collection.id), self.matrices.qrels.named
        version = qrels.find(tx, collection.id, named)
        if version is None:
            raise Conflict(f"The qrels {named} were discarded, so nothing was judged by them.")
        # A run may have come since: it must be joined before the version is published, so `result` is called again.
        if list_unjudged(tx, collection, self._judged, version.id):
            return False
        store_judged(tx, collection, self._judged, version.id)
        if self.params.publish and version != qrels.find(tx, collection.id, named._replace(version=None)):
            publish_judged(tx, principal, collection, version, self.matrices.workspace.now())
        return True
