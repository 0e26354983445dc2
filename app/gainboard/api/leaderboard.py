"""`/v1/collections/{collection}/leaderboard`: the runs of a collection, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from gainboard.api.answers import answer
from gainboard.api.board_exhibits import board_table, table_answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.collections import BY_GROUP_QUERY, ChosenGroup, TopicsAsked, group_of
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
from gainboard.api.response_cache import note_origin
from gainboard.api.routes import PolledRoute
from gainboard.api.scores import ON_SCORING, ScoringQuery
from gainboard.evaluation.boards.adjusted_boards import ASSUMED, MOST_REFERENCE, Standard, standard_of
from gainboard.evaluation.boards.leaderboard import ALPHA, SEED, Board, BoardGroups, changed_at, leaderboard
from gainboard.evaluation.cache_validity import origin_of
from gainboard.evaluation.judgments.topic_groups import MOST_GROUPS
from gainboard.evaluation.scoring.requests import Question
from gainboard.exhibits import csv_line
from gainboard.metrics import notes_on_names
from gainboard.notation.texts import SLUG_PATTERN
from gainboard.notation.types import BOOLEAN, INTEGER
from gainboard.statistics.bootstrap_range import BootstrapRange
from gainboard.statistics.means import Standardisation

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=PolledRoute
)


class LeaderboardQuery(ScoringQuery):
    """The query of a request for a leaderboard."""

    by: Annotated[str | None, Field(description="The metric that ranks the runs. The default is the first metric")] = (
        None
    )

    def question(self) -> Question:
        """Return the question about all runs."""
        return Question(
            self.metric,
            None,
            self.explicit_defaults(),
            self.version_name,
            group_of(self.topics),
            late=self.late,
            names=self.names,
        )


class BoardColumnsQuery(LeaderboardQuery):
    """The query of a request for a leaderboard with columns for topic groups."""

    by_group: Annotated[list[TopicsAsked], Field(max_length=MOST_GROUPS, description=BY_GROUP_QUERY)] = Field(
        default_factory=list
    )
    standardise: Annotated[
        Standardisation | None,
        Field(
            description="Standardise each score by its topic: `normal` is Phi of (score - mean) / standard deviation "
            "over the reference runs, `linear` is 0.15 times that plus 0.5, within 0 to 1, and `empirical` is the "
            "share of the reference runs that score no higher"
        ),
    ] = None
    reference: Annotated[
        list[str],
        Field(max_length=MOST_REFERENCE, description="The reference runs of `standardise`, at least two"),
    ] = Field(default_factory=list)
    best_per_team: Annotated[
        bool,
        Field(
            description="Show of each team its best run alone by the metric `by`, and of equal ones the first by name. "
            "Ranks, groups and rank sets are among these runs"
        ),
        BOOLEAN,
    ] = False
    corrected_by: Annotated[
        str | None,
        Field(
            pattern=SLUG_PATTERN,
            description="A judgment set of people, on a random sample of the topics, that corrects the means under "
            "`judgments`. Principals who may see both sets get them",
        ),
    ] = None

    def standard(self) -> Standard | None:
        """Return the standard of the scores, if one is asked for."""
        return standard_of(self.standardise, self.reference)


class LeaderboardFormatQuery(BoardColumnsQuery):
    """The query of a request for a leaderboard in a format."""

    top: Annotated[
        int | None,
        Field(ge=1, le=100_000, description="The number of rows. Ranks, groups and rank sets are those of all runs"),
        INTEGER,
    ] = None
    format: Annotated[
        Literal["json", "csv", "latex", "markdown"] | None, Field(description="Overrides the Accept header")
    ] = None


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
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[LeaderboardFormatQuery, Query()],
) -> Response:
    """Rank all visible runs by their mean under one metric. Each row also has the means under the other metrics."""
    question, columns = asked.question(), (asked.by, asked.by_group, asked.standard())
    board = leaderboard(
        workspace,
        sender,
        collection,
        question,
        *columns,
        best_per_team=asked.best_per_team,
        corrected_by=asked.corrected_by,
    )
    # Another judgment set has its own release, so such answers are not kept for others.
    note_origin(request, None if board.corrected else origin_of(board.scores))
    form = asked.format or next((each for each, kind in ACCEPTED.items() if accepts(request, kind)), None)
    if form == "csv":
        return PlainTextResponse("".join(_csv(board, asked.top)), media_type=ACCEPTED[form])
    if form in ("latex", "markdown"):
        return table_answer(form, board_table(board, asked.top))
    # The time comes first: what is not in memory yet is not quick, and the first intervals import SciPy.
    changed = changed_at(workspace, board)
    return answer(_show(board, asked.top) | {"changed_at": changed})


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
