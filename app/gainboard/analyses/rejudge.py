"""judge and rejudge: all runs of a collection are judged by a new qrels version, or anew in another order.

The version is published when all are judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import ne
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, JsonValue, model_validator

from gainboard.analyses.job_kinds import Arrays, Change, enter
from gainboard.analyses.params import AnyParams, Judgments, Version
from gainboard.analyses.result_models import JobResult, ResultModel, Shown, fields, table
from gainboard.errors import Conflict, NoQrels
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.judgments.publication import Rows, list_unjudged, publish_judged, store_judged
from gainboard.evaluation.judgments.reordering import OrderChange, Plan, Rejoined, is_in_order, lock_for_change
from gainboard.evaluation.judgments.versions import index_of
from gainboard.evaluation.runs.join import unpack_run
from gainboard.evaluation.runs.stored_files import judge_again
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import counted
from gainboard.store import collections, qrels, runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob
from gainboard.store.records import Collection, Run, VersionName
from gainboard.vocabulary import OFFICIAL, OrderBy, RunOrder

SECONDS_A_RUN, SECONDS_A_LINE = 0.01, 1e-6
COUNTS = ("retrieved", "unjudged", "topics_missing", "topics_unknown")
PACKED = ("rankings", "retrieval_scores")


class RejudgeParams(AnyParams):
    """Another order of the collection's runs (organisers). The stored files are read again, and the same judgments
    become a new qrels version whose runs are in this order. The old version is used until the new one is published, and
    stays available under `?qrels=`. Each draft under the old order is replaced by a new draft. Runs that come meanwhile
    are included. If a run cannot be read in the new order, the job fails and nothing is changed.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"order_by": "score32"}]})

    order_by: OrderBy | None = Field(
        None,
        description="`score` (double precision), `score32` (single precision, as trec_eval up to 9) or `rank` (the "
        "fourth column). Left out or null: as it is",
        examples=["score32"],
    )
    ignore_identical_ids: bool | None = Field(
        None,
        description="Whether to leave out lines whose document id is their topic's. Left out or null: as it is",
        examples=[True],
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if self.order_by is None and self.ignore_identical_ids is None:
            raise ValueError("name what shall change: order_by, ignore_identical_ids, or both")
        return self

    def shown(self) -> dict[str, JsonValue]:
        # What stays as it is takes no part, so that equal requests of any time are equal.
        return self.model_dump(mode="json", exclude_none=True)

    def order(self, collection: Collection) -> RunOrder:
        """Return the order that the collection's runs will have."""
        changed = {name: value for name in RunOrder._fields if (value := getattr(self, name)) is not None}
        return collection.order._replace(**changed)


class ReorderedRun(ResultModel):
    """A run in its new order."""

    name: Annotated[str, Shown("run")]
    team: Annotated[str, Shown()]
    topics: Annotated[int, Shown("topics reordered")] = Field(
        description="Topics in which a judged document has another rank"
    )


class RejudgeResult(JobResult):
    """The runs in another order."""

    kind: Literal["rejudge"]
    order_by: OrderBy
    ignore_identical_ids: bool = False
    published_version: int | None = Field(
        description="The version that is published in this order; null without judgments"
    )
    reordered: list[ReorderedRun]

    def verdict(self) -> str:
        return f"{len(self.reordered):,} of {counted(len(self.runs), 'run')} have judged documents at other ranks."

    def tables(self) -> Sequence[Table]:
        """Return the table of the runs, each with the number of topics whose ranking has changed."""
        order = RunOrder(self.order_by, self.ignore_identical_ids)
        caption = (
            f"Topics in which a judged document has another rank by {order} than before, under qrels version "
            f"{self.published_version}."
        )
        return (table(ReorderedRun, "reordered", caption, self.reordered),)


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


@enter
class Rejudging(Change[RejudgeParams, RejudgeResult]):
    """Joins of the runs with the published version. `result` also joins newer runs, and the drafts."""

    name = "rejudge"
    title = "Another order of runs"
    question = "change"
    summary = "Reads the stored runs again in another order, and publishes the same judgments for them."

    @classmethod
    def find_same(cls, tx: Transaction, collection: Collection, params: RejudgeParams) -> StoredJob | None:
        order = params.order(collection)
        if (newest := qrels.find(tx, collection.id)) is None:
            raise NoQrels(
                f"No qrels of {collection.name!r} are published, so this takes no job. Change the collection: "
                f"PATCH /v1/collections/{collection.name} {json.dumps(order._asdict())}."
            )
        if not is_in_order(tx, collection, order):
            return cls.newest_job(tx, collection, params, "running", "queued")
        if (done := cls.newest_job(tx, collection, params, "succeeded")) is not None:
            return done
        raise Conflict(
            f"The runs of {collection.name!r} are already ordered by {order}, under qrels version "
            f"{newest.version}. There is nothing to change."
        )

    def __init__(self, matrices: Matrices, params: RejudgeParams) -> None:
        super().__init__(matrices, params)
        self._change = OrderChange(matrices.workspace, matrices.collection, params.order(matrices.collection))

    def parts(self) -> list[float]:
        return [cost_of(run) for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        joined = self._change.join(self.matrices.qrels, self.matrices.runs[part])
        if joined.fault is not None:
            return {"fault": _as_array(joined.fault.encode())}
        return as_arrays(joined.row)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        for run, arrays in zip(self.matrices.runs, findings, strict=True):
            is_joined = "fault" not in arrays
            rejoined = Rejoined(as_row(arrays)) if is_joined else Rejoined(fault=arrays["fault"].tobytes().decode())
            # The change takes these joins as its own, so it joins only newer runs, and the drafts.
            self._change.joins[self.matrices.qrels.id, run.id] = rejoined
        plan = self._change.prepare()
        return {
            **self._change.order._asdict(),
            "published_version": plan.published_version,
            "reordered": [
                ReorderedRun(name=run.name, team=run.team, topics=topics)
                for run, topics in zip(plan.runs, self._topics_reordered(plan), strict=True)
            ],
        }

    def _topics_reordered(self, plan: Plan) -> list[int]:
        if plan.newest is None or plan.newest not in plan.replaced:
            return [0] * len(plan.runs)
        with self.matrices.workspace.database.reading() as tx:
            before = runs.rankings(tx, [run.id for run in plan.runs], plan.newest.id)

        def by_topic(packed: bytes) -> list[tuple[bytes, bytes]]:
            run = unpack_run(packed)
            # Widened, because the two runs may store their ranks in different numbers of bytes.
            ranks, levels = (np.split(column, run.starts[1:-1]) for column in (run.rank.astype(np.int64), run.level))
            return [(rank.tobytes(), level.tobytes()) for rank, level in zip(ranks, levels, strict=True)]

        # A topic counts if a judged document gets another rank in it, or crosses the depth.
        counts = []
        for run in plan.runs:
            after = self._change.joins[plan.newest.id, run.id].row["rankings"]
            counts.append(sum(map(ne, by_topic(before[run.id]), by_topic(after))))
        return counts

    def lock(self, tx: Transaction, principal: Principal) -> None:
        lock_for_change(tx, principal, self.matrices.collection)

    def apply(self, tx: Transaction, principal: Principal) -> bool:
        return self._change.apply(tx, principal)


def _as_array(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


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

    def verdict(self) -> str:
        state = "is" if self.published else "is not"
        return f"{counted(self.judged_runs, 'run')} judged by version {self.version}, which {state} published."

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
        # A job under way joins what is new at its end, so it answers this request. A finished one does only if nothing
        # came.
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
