"""`/v1/collections/{collection}/leaderboard`: the runs of a collection, ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey, once
from gainboard.api.jobs import ANSWERS as JOB_ANSWERS
from gainboard.api.jobs import FINISHED, ON_LAUNCH
from gainboard.api.kept import note_origin
from gainboard.api.models.jobs import ShownJob
from gainboard.api.models.leaderboard import (
    BOARD_COLUMNS,
    GroupColumn,
    LeaderboardAnswer,
    LeaderboardRow,
    ShownGroupsJob,
    StandardOfBoard,
)
from gainboard.api.models.topic_groups import BY_GROUP_QUERY, ChosenGroup, TopicsAsked, group_of
from gainboard.api.problems import documented
from gainboard.api.scores import ON_SCORING, Asked
from gainboard.api.work import DeskDep
from gainboard.evaluation.leaderboard import RankedRuns, leaderboard
from gainboard.evaluation.origins import origin_of
from gainboard.evaluation.policy import is_late
from gainboard.evaluation.scoring import Question
from gainboard.evaluation.standard_scores import MOST_REFERENCE, Standard, standard_of
from gainboard.evaluation.topic_groups import MOST_GROUPS
from gainboard.exhibits import csv_line
from gainboard.statistics.standardised import Standardisation
from gainboard.work.groups import Groups, GroupsJob, groups_job
from gainboard.work.groups import ask_for_groups as ask

router = APIRouter(prefix="/v1/collections/{collection}", tags=["scores"], responses=documented())


class AskedLeaderboard(Asked):
    """The query of a request for a leaderboard."""

    by: Annotated[str | None, Field(description="The metric that ranks the runs. The default is the first metric")] = (
        None
    )

    def question(self) -> Question:
        """Return the question about all runs."""
        return Question(
            self.metric, None, self.given(), self.version_name, group_of(self.topics), late=self.late, names=self.names
        )


class AskedColumns(AskedLeaderboard):
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

    def standard(self) -> Standard | None:
        """Return the standard of the scores, if one is asked for."""
        return standard_of(self.standardise, self.reference)


class AskedFormat(AskedColumns):
    """The query of a request for a leaderboard in a format."""

    format: Annotated[Literal["json", "csv"] | None, Field(description="Overrides the Accept header")] = None


CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each run and metric, whose rank and groups are those under `by`",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING, also=CSV))
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[AskedFormat, Query()],
) -> Response:
    """Rank all visible runs by their mean under one metric. Each row also has the means under the other metrics."""
    found = leaderboard(workspace, sender, collection, asked.question(), asked.by, asked.by_group, asked.standard())
    grouping = groups_job(workspace, found)
    note_origin(request, origin_of(found.scores, *((grouping.id, grouping.state) if grouping else ())))
    if asked.format == "csv" or (asked.format is None and accepts(request, "text/csv")):
        return PlainTextResponse("".join(_csv(found, grouping)), media_type="text/csv")
    return answer(_show(request, found, grouping))


@router.post(
    "/leaderboard/groups",
    status_code=202,
    response_model=ShownJob,
    responses=documented(*ON_SCORING, *ON_LAUNCH, also=FINISHED),
)
def ask_for_groups(
    collection: CollectionName,
    desk: DeskDep,
    sender: SenderDep,
    asked: Annotated[AskedLeaderboard, Query()],
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for the groups of a leaderboard, with the query of that leaderboard: the job `groups_job` is queued, or
    returned if it exists. Once it has succeeded, the leaderboard has the letters.
    """

    def act() -> Response:
        job = ask(desk.workspace, desk.principal, sender, collection, asked.question(), asked.by)
        return JOB_ANSWERS.asked(desk, job.id)

    return once(desk.workspace, desk.principal, desk.request, idempotency_key, fingerprint, act)


def _show(request: Request, found: RankedRuns, grouping: GroupsJob | None) -> LeaderboardAnswer:
    scores, labels = found.scores, found.scores.labels()
    return LeaderboardAnswer(
        collection=scores.collection.name,
        qrels_version=scores.shown_version,
        judgment_set=scores.qrels.judgments,
        topic_group=ChosenGroup(**scores.chosen.described()) if scores.chosen else None,
        by_group=[
            GroupColumn(**each.chosen.described(), topics_scored=dict(each.topics_scored)) for each in found.by_group
        ],
        by=found.by,
        metrics=labels,
        asked=dict(scores.asked),
        rows=_show_rows(found, labels, grouping),
        topics_scored=scores.topics_scored(),
        standardised=_show_standard(found),
        withheld=dict(scores.withheld),
        groups_job=_show_job(request, grouping) if grouping else None,
    )


def _show_standard(found: RankedRuns) -> StandardOfBoard | None:
    if found.standard is None:
        return None
    form, reference = found.standard.form, list(found.standard.reference)
    return StandardOfBoard(form=form, reference=reference, topics_left_out=dict(found.alike))


def _show_rows(found: RankedRuns, labels: list[str], grouping: GroupsJob | None) -> list[LeaderboardRow]:
    groups, sets = _letters(grouping), _rank_sets(grouping)
    return [
        LeaderboardRow(
            rank=row.rank,
            name=row.run.name,
            team=row.run.team,
            late=is_late(found.scores.collection, row.run),
            mean=dict(zip(labels, found.means_of(row), strict=True)),
            interval=dict(zip(labels, found.intervals_of(row), strict=True)),
            groups=groups.get(row.run.name),
            rank_set=sets.get(row.run.name),
            by_group={
                str(each.chosen.name): dict(zip(labels, each.means_of(row), strict=True)) for each in found.by_group
            },
        )
        for row in found.rows
    ]


def _letters(grouping: GroupsJob | None) -> Groups:
    return (grouping.groups if grouping else None) or {}


def _rank_sets(grouping: GroupsJob | None) -> Mapping[str, tuple[int, int]]:
    return grouping.rank_sets if grouping else {}


def _csv(found: RankedRuns, grouping: GroupsJob | None) -> Iterator[str]:
    yield csv_line((*BOARD_COLUMNS, *(f"mean:{each.chosen.name}" for each in found.by_group)))
    groups, sets = _letters(grouping), _rank_sets(grouping)
    here, labels = found.scores.collection, found.scores.labels()
    for row in found.rows:
        run, letters = row.run, "".join(groups.get(row.run.name, ()))
        late, places = "yes" if is_late(here, run) else "no", sets.get(run.name, (None, None))
        means, by_group = found.means_of(row), [each.means_of(row) for each in found.by_group]
        for place, (label, mean, ends) in enumerate(zip(labels, means, found.intervals_of(row), strict=True)):
            own = (row.rank, run.name, run.team, label, mean, *(ends or (None, None)), letters, late, *places)
            yield csv_line((*own, *(each[place] for each in by_group)))


def _show_job(request: Request, grouping: GroupsJob) -> ShownGroupsJob:
    url = address(request, f"/v1/jobs/{grouping.id}")
    return ShownGroupsJob(
        kind=grouping.kind,
        params=dict(grouping.params),
        id=grouping.id,
        state=grouping.state,
        outdated=grouping.outdated,
        url=url,
    )
