"""rejudge: the collection's runs in another order, and the same judgments as a new qrels version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from gainboard.errors import Conflict, NoQrels
from gainboard.evaluation.analyses.rejudging import Rejudging
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.rejudging import change_unpublished, is_in_order
from gainboard.evaluation.visibility import open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Column, Figure, Table
from gainboard.store import jobs, qrels
from gainboard.store.database import Transaction
from gainboard.store.job_records import JobState, StoredJob
from gainboard.store.records import Collection, OrderBy
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.orders import launch
from gainboard.work.params import AnyParams
from gainboard.work.result_models import JobResult, ResultModel

MOST_LOOKED_AT = 100
"""The newest jobs in which an equal change is searched for: organisers change an order only a few times."""


class RejudgeParams(AnyParams):
    """Another order of the collection's runs (organisers). The stored files are read again, and the same judgments
    become a new qrels version whose runs are in this order. The old version is used until the new one is published, and
    stays available under `?qrels=`. Each draft under the old order is replaced by a new draft. Runs that come meanwhile
    are included. If a run cannot be read in the new order, the job fails and nothing is changed.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"order_by": "score32"}]})

    order_by: OrderBy = Field(
        description="`score` (double precision), `score32` (single precision, as trec_eval up to 9) or `rank` (the "
        "fourth column)",
        examples=["score32"],
    )


class ReorderedRun(ResultModel):
    """A run in its new order."""

    name: str
    team: str
    topics: int = Field(description="Topics in which a judged document has another rank")


class RejudgeResult(JobResult):
    """The runs in another order."""

    kind: Literal["rejudge"]
    order_by: OrderBy
    published_version: int | None = Field(description="The number of the new version; null if none is published")
    reordered: list[ReorderedRun]


def _analysis(matrices: Matrices, asked: RejudgeParams) -> Rejudging:
    return Rejudging(matrices, asked.order_by)


def _find_same(tx: Transaction, collection: Collection, asked: RejudgeParams) -> StoredJob | None:
    if (newest := qrels.find(tx, collection.id)) is None:
        raise NoQrels(
            f"No qrels of {collection.name!r} are published, so this takes no job. Change the collection's `order_by`: "
            f'PATCH /v1/collections/{collection.name} {{"order_by": "{asked.order_by}"}}.'
        )
    if not is_in_order(tx, collection, asked.order_by):
        is_open = newest_job(tx, collection, REJUDGE, asked, "running")
        return is_open or newest_job(tx, collection, REJUDGE, asked, "queued")
    if (done := newest_job(tx, collection, REJUDGE, asked, "succeeded")) is not None:
        return done
    raise Conflict(
        f"The runs of {collection.name!r} are already ordered by {asked.order_by}, under qrels version "
        f"{newest.version}. There is nothing to change."
    )


def newest_job(
    tx: Transaction, collection: Collection, kind: JobKind[Any], asked: AnyParams, state: JobState
) -> StoredJob | None:
    """Return the newest job of this state that makes, or has made, this change of the collection."""
    found = jobs.page(tx, before=None, limit=MOST_LOOKED_AT, collection_id=collection.id, kind=kind.name, state=state)
    return next((job for job in found if job.params == asked.shown()), None)


def change_order(workspace: Workspace, principal: Principal, name: str, order_by: OrderBy) -> StoredJob | None:
    """Change the order of a collection's runs: at once if no qrels are published, else by a job.

    Return the job, or None if the change is done. Raise Conflict if a run cannot be read in this order.
    """
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        if is_in_order(tx, view.collection, order_by):
            return None
    if change_unpublished(workspace, principal, name, order_by):
        return None
    return launch(workspace, principal, name, REJUDGE, RejudgeParams(order_by=order_by))


def tables(result: Result) -> Sequence[Table]:
    """Return the table of the runs, each with the number of topics whose ranking has changed."""
    rows = [(each["name"], each["team"], each["topics"]) for each in result["reordered"]]
    columns = (Column("run"), Column("team"), Column("topics reordered"))
    caption = (
        f"Topics in which a judged document has another rank by {result['order_by']} than before, under qrels version "
        f"{result['published_version']}."
    )
    return (Table("reordered", caption, columns, rows),)


def figures(result: Result) -> Sequence[Figure]:
    """Return no figure: a few numbers are a table."""
    return ()


REJUDGE = enter(
    JobKind(
        name="rejudge",
        params=RejudgeParams,
        result=RejudgeResult,
        analysis=_analysis,
        tables=tables,
        figures=figures,
        find_same=_find_same,
    )
)
