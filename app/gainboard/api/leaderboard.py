"""`/v1/collections/{collection}/leaderboard`: the runs of a collection, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.board_exhibits import board_table, table_answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.collections import ChosenGroup
from gainboard.api.models.scores import (
    BOARD_COLUMNS,
    CorrectionOfBoard,
    CorrectionOfMetric,
    GroupColumn,
    GroupsTest,
    LeaderboardAnswer,
    StandardOfBoard,
)
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, question_of
from gainboard.api.response_cache import note_origin
from gainboard.api.routes import KeptRoute, quick_or_in_thread
from gainboard.api.scores import ON_SCORING
from gainboard.evaluation.boards.adjusted_boards import ASSUMED, standard_of
from gainboard.evaluation.boards.leaderboard import ALPHA, SEED, Board, BoardGroups, changed_at, leaderboard
from gainboard.evaluation.cache_validity import origin_of
from gainboard.exhibits import csv_line
from gainboard.metrics import notes_on_names
from gainboard.notation.queries import BoardOptions, LeaderboardQuery
from gainboard.statistics.bootstrap_range import BootstrapRange

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=KeptRoute
)


ACCEPTED: Mapping[Literal["csv", "latex", "markdown"], str] = {
    "csv": "text/csv",
    "latex": "application/x-tex",
    "markdown": "text/markdown",
}
FORMS: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each run and metric, whose rank and groups are those under `by`; "
        "or a table for print with rank, team and groups, as LaTeX (booktabs) that compiles as it is, or as Markdown",
        "content": {media_type: {"schema": {"type": "string"}} for media_type in ACCEPTED.values()},
    }
}


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING, also=FORMS))
@quick_or_in_thread
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[LeaderboardQuery, asked_by(LeaderboardQuery)],
) -> Response:
    """Rank all visible runs by their mean under one metric. Each row also has the means under the other metrics."""
    top = asked.get("top")
    board = leaderboard(workspace, sender, collection, question_of(asked), **columns_of(asked))
    # Another judgment set has its own release, so such answers are not kept for others.
    note_origin(request, None if board.corrected else origin_of(board.scores))
    form = asked.get("format") or next((each for each, kind in ACCEPTED.items() if accepts(request, kind)), None)
    if form == "csv":
        return PlainTextResponse("".join(_csv(board, top)), media_type=ACCEPTED[form])
    if form in ("latex", "markdown"):
        return table_answer(form, board_table(board, top))
    # The time comes first: what is not in memory yet is not quick, and the first intervals import SciPy.
    changed = changed_at(workspace, board)
    return answer(_show(board, top) | {"changed_at": changed})


def columns_of(asked: BoardOptions) -> dict[str, Any]:
    """Return which columns and rows of a board a query asks for, as `leaderboard` takes them."""
    return {
        "by": asked.get("by"),
        "by_group": asked.get("by_group", ()),
        "standard": standard_of(asked.get("standardise"), asked.get("reference", ())),
        "best_per_team": asked.get("best_per_team", False),
        "corrected_by": asked.get("corrected_by"),
    }


def _show(board: Board, top: int | None) -> dict[str, Any]:
    """Return a `LeaderboardAnswer` as plain values: to validate a model of each row takes as long as the scores."""
    scores, labels = board.scores, board.scores.labels
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.shown_version,
        "judgment_set": scores.qrels.judgments,
        "by": board.by,
        "topic_group": ChosenGroup(**scores.chosen.described()) if scores.chosen else None,
        "by_group": [
            GroupColumn(**group.chosen.described(), topics_scored=dict(group.topics_scored)) for group in board.by_group
        ],
        "metrics": labels,
        "asked": scores.label_by_expression,
        "notes": notes_on_names(scores.metrics),
        "rows": [
            {
                "rank": row.rank,
                "name": row.run.name,
                "team": row.run.team,
                "late": row.is_late,
                "mean": dict(zip(labels, row.means, strict=True)),
                "interval": dict(zip(labels, row.intervals, strict=True)),
                "groups": row.letters,
                "by_group": {
                    str(group.chosen.name): dict(zip(labels, means, strict=True))
                    for group, means in zip(board.by_group, row.by_group, strict=True)
                },
                "rank_set": row.rank_set,
                "uncorrected": dict(zip(labels, row.uncorrected, strict=True)) if board.corrected else {},
            }
            for row in board.rows[:top]
        ],
        "rows_total": len(board.rows),
        "decimals": scores.decimals,
        "topics_scored": board.topics_scored(),
        "standardised": _show_standard(board),
        "corrected": _show_correction(board),
        "best_per_team": board.best_per_team,
        "withheld": scores.withheld,
        "groups_test": _show_test(board.tested) if board.tested else None,
        "no_groups_because": board.groups if isinstance(board.groups, str) else None,
    }


def _show_standard(board: Board) -> StandardOfBoard | None:
    if board.standard is None:
        return None
    form, reference = board.standard.form, list(board.standard.reference)
    return StandardOfBoard(form=form, reference=reference, topics_left_out=dict(board.alike))


def _show_correction(board: Board) -> CorrectionOfBoard | None:
    if (corrected := board.corrected) is None:
        return None
    metrics = {}
    for label, metric in zip(board.scores.labels, corrected.by_metric, strict=True):
        trusted, topics = metric.counted
        correlation = metric.sample.correlation()
        metrics[label] = CorrectionOfMetric(
            weight=metric.weight,
            trusted_topics=trusted,
            topics=topics,
            correlation=None if math.isnan(correlation) else correlation,
            topics_left_out=list(metric.topics.left_out),
        )
    version = corrected.trusted
    return CorrectionOfBoard(by=version.judgments, qrels_version=version.version, assumes=ASSUMED, metrics=metrics)


def _show_test(groups: BoardGroups) -> GroupsTest:
    return GroupsTest(
        name=BootstrapRange.name,
        alpha=ALPHA,
        draws=groups.draws,
        seed=SEED,
        topics=groups.topics,
        pairs=groups.pairs,
        different_pairs=groups.different_pairs,
    )


def _csv(board: Board, top: int | None) -> Iterator[str]:
    more = ["uncorrected"] if board.corrected else [f"mean:{group.chosen.name}" for group in board.by_group]
    yield csv_line((*BOARD_COLUMNS, *more))
    for row in board.rows[:top]:
        letters, late, ends = "".join(row.letters or ()), "yes" if row.is_late else "no", row.rank_set or (None, None)
        others = [row.uncorrected] if board.corrected else row.by_group
        for label, mean, interval, *beside in zip(board.scores.labels, row.means, row.intervals, *others, strict=True):
            low, high = interval or (None, None)
            yield csv_line(
                (row.rank, row.run.name, row.run.team, label, mean, low, high, letters, late, *ends, *beside)
            )
