"""Ties of stored runs. They are found in the stored files, which are read when somebody asks, and then remembered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from gainboard.errors import InvalidRequest
from gainboard.evaluation.judgments.versions import JudgedVersion
from gainboard.evaluation.runs.stored_files import reread
from gainboard.evaluation.scoring.binding import customs_of
from gainboard.evaluation.scoring.requests import StoredScores
from gainboard.evaluation.scoring.scorer import judged_runs
from gainboard.evaluation.scoring.ties import RunTies, TiedScores, is_drawn, refuse_by_intent, tied_scores
from gainboard.evaluation.scoring.turns import spend
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.metrics import TiedRun
from gainboard.vocabulary import RunOrder, TiesAsked

MOST_READ: Final = 3_000_000
"""The most documents in the files that one request reads: some seconds."""
MOST_DRAWN: Final = 100_000
"""The most tied documents of which one request draws orders: some seconds."""
MOST_ORDERS: Final = 200_000
"""The most orders that one request tries, over all runs and topics: some seconds."""
READ_SECONDS: Final = 5e-7
"""The approximate time to read a document of a stored file."""
DRAWN_SECONDS: Final = 3e-5
"""The approximate time to draw the orders of one tied document for one metric."""
ORDER_SECONDS: Final = 1.5e-5
"""The approximate time to score one order of one topic under one metric."""
RUN_TIES: WorkspaceCache[tuple[int, RunOrder], RunTies] = WorkspaceCache(16 << 20, lambda ties: ties.nbytes)
"""Ties by the id of the run and by order. Runs never change. A run takes 10 to 100 kB."""


class ScoredTies(NamedTuple):
    """The ties of a run, and its scores under other orders of them."""

    ties: RunTies
    scores: TiedScores


def score_ties(workspace: Workspace, table: StoredScores, asked: TiesAsked) -> list[ScoredTies]:
    """Return the ties of each run of the table, and scores under the table's metrics.

    Whoever asks must see the judgments (`View.require_judgments`). Raise InvalidRequest if too many files must be read,
    and for a metric without a range. Raise Conflict for a file that cannot be read in this order.
    """
    order = table.qrels.order
    for _, metric in customs_of(table.metrics):
        message = f"{metric.label} was uploaded, so its scores under other orders are unknown. Leave it out."
        raise InvalidRequest.at("query.metric", "uploaded-scores", message)
    refuse_by_intent(table.metrics)
    kept = RUN_TIES.of(workspace)
    unread = [run for run in table.runs if kept.find((run.id, order)) is None]
    if (documents := sum(run.retrieved for run in unread)) > MOST_READ:
        message = (
            f"The ties of {len(unread)} runs are in files with {documents:,} documents; at most {MOST_READ:,} are read "
            "for one request. Ask for some of the runs first: `run=NAME`. Their ties are remembered."
        )
        raise InvalidRequest.at("query.run", "too-many", message)
    spend(documents * READ_SECONDS)
    version = JudgedVersion(table.qrels, table.judged)
    exact = any(metric.needs_retrieval_scores for metric in table.metrics)
    judged = judged_runs(workspace, table.collection, version, table.runs, exact)
    consume = partial(RunTies.of, order_by=order.order_by, depth=table.collection.depth)
    # One document more than is kept shows whether ties go on beyond the depth.
    read = partial(reread, workspace, table.collection, order=order, consume=consume, further=1)
    ties_of_runs = [kept.get((run.id, order), partial(read, run=run)) for run in table.runs]
    tied = [ties.tied_run(run, table.topics) for ties, run in zip(ties_of_runs, judged, strict=True)]
    refuse = _refuse_too_many_draws if asked == "expected" else _refuse_too_many_orders
    refuse(table, tied)
    judgments = version.topics.judgments
    return [
        ScoredTies(ties, tied_scores(asked, table.metrics, tied_run, judgments, run.name))
        for run, ties, tied_run in zip(table.runs, ties_of_runs, tied, strict=True)
    ]


def _refuse_too_many_draws(table: StoredScores, tied: Sequence[TiedRun]) -> None:
    drawn = [metric.label for metric in table.metrics if is_drawn(metric)]
    documents = sum(int(run.size[run.begin[run.is_mixed]].sum()) for run in tied)
    if drawn and documents > MOST_DRAWN:
        message = (
            f"The expectation of {drawn[0]} has no closed form. It needs orders of {documents:,} tied documents; at "
            f"most {MOST_DRAWN:,} are ordered in one request. Ask for fewer runs, `run=NAME`, or leave it out."
        )
        raise InvalidRequest.at("query.ties", "too-many", message)
    spend(len(drawn) * documents * DRAWN_SECONDS)


def _refuse_too_many_orders(table: StoredScores, tied: Sequence[TiedRun]) -> None:
    tried = [metric.label for metric in table.metrics if not metric.metric.sorted_is_best]
    orders = sum(run.count_orders(topic) or 0 for run in tied for topic in run.mixed_topics) if tried else 0
    if orders > MOST_ORDERS:
        message = (
            f"The range of {tried[0]} needs {orders:,} orders of tied documents; at most {MOST_ORDERS:,} are tried for "
            "one request. Ask for fewer runs, `run=NAME`, or leave this metric out."
        )
        raise InvalidRequest.at("query.ties", "too-many", message)
    spend(len(tried) * orders * ORDER_SECONDS)
