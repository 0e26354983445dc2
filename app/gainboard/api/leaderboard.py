"""`/v1/collections/{collection}/leaderboard`: the runs of a collection, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
from gainboard.evaluation.boards.leaderboard import ALPHA, SEED, BoardGroups, RankedRuns, changed_at, leaderboard
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
    found = leaderboard(
        workspace,
        sender,
        collection,
        question,
        *columns,
        best_per_team=asked.best_per_team,
        corrected_by=asked.corrected_by,
    )
    # Another judgment set has its own release, so such answers are not kept for others.
    note_origin(request, None if found.corrected else origin_of(found.scores))
    form = asked.format or next((each for each, kind in ACCEPTED.items() if accepts(request, kind)), None)
    if form == "csv":
        return PlainTextResponse("".join(_csv(found, asked.top)), media_type=ACCEPTED[form])
    if form in ("latex", "markdown"):
        return table_answer(form, board_table(found, asked.top))
    # The time comes first: what is not in memory yet is not quick, and the first intervals import SciPy.
    changed = changed_at(workspace, found)
    return answer(_show(found, asked.top) | {"changed_at": changed})


def _show(found: RankedRuns, top: int | None) -> dict[str, Any]:
    """Return a `LeaderboardAnswer` as plain values: to validate a model of each row takes as long as the scores."""
    scores, labels = found.scores, found.scores.labels()
    groups = found.groups
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.shown_version,
        "judgment_set": scores.qrels.judgments,
        "by": found.by,
        "topic_group": ChosenGroup(**scores.chosen.described()) if scores.chosen else None,
        "by_group": [
            GroupColumn(**each.chosen.described(), topics_scored=dict(each.topics_scored)) for each in found.by_group
        ],
        "metrics": labels,
        "asked": scores.label_by_expression,
        "notes": notes_on_names(scores.metrics),
        "rows": _show_rows(found, labels, top),
        "rows_total": len(found.rows),
        "decimals": scores.decimals,
        "topics_scored": found.topics_scored(),
        "standardised": _show_standard(found),
        "corrected": _show_correction(found),
        "best_per_team": found.best_per_team,
        "withheld": scores.withheld,
        "groups_test": _show_test(groups) if isinstance(groups, BoardGroups) else None,
        "no_groups_because": groups if isinstance(groups, str) else None,
    }


def _show_standard(found: RankedRuns) -> StandardOfBoard | None:
    if found.standard is None:
        return None
    form, reference = found.standard.form, list(found.standard.reference)
    return StandardOfBoard(form=form, reference=reference, topics_left_out=dict(found.alike))


def _show_correction(found: RankedRuns) -> CorrectionOfBoard | None:
    if (corrected := found.corrected) is None:
        return None
    metrics = {}
    for label, each in zip(found.scores.labels(), corrected.by_metric, strict=True):
        trusted, topics = each.counted
        correlation = None if math.isnan(found_one := each.sample.correlation()) else found_one
        metrics[label] = CorrectionOfMetric(
            weight=each.weight,
            trusted_topics=trusted,
            topics=topics,
            correlation=correlation,
            topics_left_out=list(each.topics.left_out),
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


def _show_rows(found: RankedRuns, labels: list[str], top: int | None) -> list[dict[str, Any]]:
    """Return each row as a `LeaderboardRow` shows it."""
    letters, sets = _letters_and_sets(found)
    late = found.scores.collection.late_from
    return [
        {
            "rank": row.rank,
            "name": row.run.name,
            "team": row.run.team,
            "late": late is not None and row.run.created_at >= late,
            "mean": dict(zip(labels, found.means_of(row), strict=True)),
            "interval": dict(zip(labels, found.intervals_of(row), strict=True)),
            "groups": letters.get(row.run.name),
            "by_group": {
                str(each.chosen.name): dict(zip(labels, each.means_of(row), strict=True)) for each in found.by_group
            },
            "rank_set": sets.get(row.run.name),
            "uncorrected": dict(zip(labels, found.uncorrected_of(row), strict=True)) if found.corrected else {},
        }
        for row in found.rows[:top]
    ]


def _letters_and_sets(
    found: RankedRuns,
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, tuple[int, int]]]:
    groups = found.groups
    return (groups.letters, groups.rank_sets) if isinstance(groups, BoardGroups) else ({}, {})


def _csv(found: RankedRuns, top: int | None) -> Iterator[str]:
    more = ["uncorrected"] if found.corrected else [f"mean:{each.chosen.name}" for each in found.by_group]
    yield csv_line((*BOARD_COLUMNS, *more))
    letters, sets = _letters_and_sets(found)
    here, labels = found.scores.collection, found.scores.labels()
    for row in found.rows[:top]:
        run, own_letters = row.run, "".join(letters.get(row.run.name, ()))
        late, places = "yes" if here.is_late(run) else "no", sets.get(run.name, (None, None))
        means, by_group = found.means_of(row), [each.means_of(row) for each in found.by_group]
        by_group += [found.uncorrected_of(row)] if found.corrected else []
        for place, (label, mean, ends) in enumerate(zip(labels, means, found.intervals_of(row), strict=True)):
            own = (row.rank, run.name, run.team, label, mean, *(ends or (None, None)), own_letters, late, *places)
            yield csv_line((*own, *(each[place] for each in by_group)))
