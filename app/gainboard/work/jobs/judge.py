"""judge: all runs of a collection, judged by a qrels version, which is then published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from gainboard.evaluation.analyses.judging_runs import JudgingRuns
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.publication import unjudged
from gainboard.exhibits import Column, Figure, Table
from gainboard.store import qrels
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob
from gainboard.store.records import OFFICIAL, Collection, VersionName
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.jobs.rejudge import newest_job
from gainboard.work.params import AnyParams, Judgments, Version
from gainboard.work.result_models import JobResult


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
    version: int = Field(description="The version that the runs are judged by")
    published: bool = Field(description="Whether it was published")
    judged_runs: int = Field(description="Runs that were judged")


def _analysis(matrices: Matrices, asked: JudgeParams) -> JudgingRuns:
    return JudgingRuns(matrices, asked.publish)


def _find_same(tx: Transaction, collection: Collection, asked: JudgeParams) -> StoredJob | None:
    if is_open := newest_job(tx, collection, JUDGE, asked, "running") or newest_job(
        tx, collection, JUDGE, asked, "queued"
    ):
        return is_open
    version = qrels.find(tx, collection.id, asked.version())
    newest = qrels.find(tx, collection.id, VersionName(asked.judgments))
    if version is None or unjudged(tx, collection, {}, version.id) or (asked.publish and version != newest):
        return None
    return newest_job(tx, collection, JUDGE, asked, "succeeded")


def tables(result: Result) -> Sequence[Table]:
    """Return the table of one row: the version, and how many runs are judged by it."""
    columns = (Column("version"), Column("judged runs"), Column("published"))
    row = (result["version"], result["judged_runs"], "yes" if result["published"] else "no")
    return (Table("judged", "Runs judged by a version of the judgments.", columns, [row]),)


def figures(result: Result) -> Sequence[Figure]:
    """Return no figure: a few numbers are a table."""
    return ()


JUDGE = enter(
    JobKind(
        name="judge",
        params=JudgeParams,
        result=JudgeResult,
        analysis=_analysis,
        tables=tables,
        figures=figures,
        find_same=_find_same,
    )
)
