"""leave-one-team-out: whether the pool is fair to runs that did not contribute to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from gainboard.evaluation.analyses.leave_one_team_out import LeaveOneTeamOut
from gainboard.exhibits import Axis, Column, Figure, Panel, Series, Table
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.labels import Labels
from gainboard.work.params import MetricsParams, Names
from gainboard.work.result_models import JobResult, Number, ResultModel

Depth = Annotated[int, Field(ge=1, le=1_000_000)]


class LeaveOneTeamOutParams(MetricsParams):
    """Fairness of the pool to new systems (Zobel, SIGIR 1998; Buckley, Dimmick, Soboroff and Voorhees, IPM 2007). For
    each team, the judged documents that only this team contributed to the pool become unjudged, and all runs are scored
    again. Small changes of the team's own runs mean that the pool is fair to a team that did not contribute.

    A document is in the pool of a team if one of its contributing runs has it at rank `pool_depth` or above. Judged
    documents in nobody's pool stay judged: `in_no_pool` of them, a share of `in_no_pool_share`. If they are more than a
    tenth, any pool looks fair, and `note` says so. Topics without a relevant document left are listed in
    `topics_undefined`, and count on neither side. Those without one by all judgments are `topics_left_out`.
    `unique_relevant` counts documents at any level above 0. All runs are scored: a selection of runs has no effect.
    """

    contributors: Names | None = Field(
        None, description="Names of the runs that went into the pool; by default those uploaded as `pooled`"
    )
    pool_depth: Depth | None = Field(
        None,
        description="Depth of the pool; by default the largest depth to which all documents of every contributing run "
        "are judged on every topic",
    )

    def settled(self, label: Labels) -> Self:
        """Return the same request without the parameters that have no effect on its result."""
        return super().settled(label).model_copy(update={"drop_identical": False, "type": None})

    def expressions(self, label: Labels) -> dict[str, Any]:
        named = sorted(set(self.contributors)) if self.contributors is not None else None
        return super().expressions(label) | {"runs": "all", "contributors": named}


class PooledTeam(ResultModel):
    """The documents that a team gave to the pools."""

    team: str
    runs: list[str] = Field(description="Its runs that contribute")
    pooled: int = Field(description="Judged documents in its pools")
    unique: int = Field(description="Those that no other team has")
    unique_relevant: int


class RunLeftOut(ResultModel):
    """A run under all judgments, and without those that only its team found."""

    run: str
    mean: Number
    mean_without: Number
    change: Number
    rank: int
    rank_without: int


class TeamLeftOut(ResultModel):
    """A metric without the judgments that only this team found."""

    team: str
    topics_undefined: list[str] = Field(description="Topics on which the metric is undefined then")
    tau: Number = Field(description="Tau-b of all runs by both means")
    runs: list[RunLeftOut]


class LeftOutUnderMetric(ResultModel):
    """The changes under a metric."""

    metric: str
    topics_left_out: list[str]
    teams: list[TeamLeftOut]
    mean_change: Number = Field(description="Mean of the absolute changes")
    largest_change: Number
    largest_rank_change: int


class LeaveOneTeamOutResult(JobResult):
    """The scores of each team without the judgments that only it brought."""

    kind: Literal["leave-one-team-out"]
    topics: int
    pool_depth: int
    estimated: bool = Field(description="Whether the depth is an estimate")
    contributors: list[str] = Field(description="The runs that were pooled")
    judged: int = Field(description="Judged documents")
    in_no_pool: int = Field(description="Judged documents that no contributing run has at that depth")
    in_no_pool_share: float = Field(description="Their share of the judged documents")
    note: str | None = Field(description="A warning, if so many are in no pool that any pool looks fair")
    teams: list[PooledTeam]
    metrics: list[LeftOutUnderMetric]


def _title(result: Result) -> str:
    estimated = " (estimated)" if result["estimated"] else ""
    runs = f"{len(result['contributors'])} contributing runs of {len(result['teams'])} teams"
    outside = f"{result['in_no_pool']:,} of {result['judged']:,} judged documents in no pool"
    return f"Pool of depth {result['pool_depth']}{estimated}, {runs}, {outside}"


def tables(result: Result) -> Sequence[Table]:
    """Return the teams with their documents and changes, and the runs."""
    return (_teams(result), _runs(result))


def _teams(result: Result) -> Table:
    documents = {each["team"]: each for each in result["teams"]}
    rows = [
        (
            metric["metric"],
            team["team"],
            *(documents[team["team"]][name] for name in ("pooled", "unique", "unique_relevant")),
            max((abs(run["change"]) for run in team["runs"] if run["change"] is not None), default=None),
            max(abs(run["rank_without"] - run["rank"]) for run in team["runs"]),
            team["tau"],
            len(team["topics_undefined"]),
        )
        for metric in result["metrics"]
        for team in metric["teams"]
    ]
    columns = (
        Column("metric", section=True),
        Column("team"),
        Column("judged", group="documents in its pool"),
        Column("in no other", group="documents in its pool"),
        Column("of these relevant", group="documents in its pool"),
        Column("score", digits=4, group="largest change"),
        Column("rank", group="largest change"),
        Column("tau", digits=4),
        Column("topics undefined"),
    )
    return Table("teams", f"Each team left out of the pool. {_title(result)}.", columns, rows, notes=_notes(result))


def _notes(result: Result) -> list[str]:
    return [note] if (note := result.get("note")) else []


def _runs(result: Result) -> Table:
    names = ("mean", "mean_without", "change", "rank", "rank_without")
    rows = [
        (metric["metric"], run["run"], team["team"], *(run[name] for name in names))
        for metric in result["metrics"]
        for team in metric["teams"]
        for run in team["runs"]
    ]
    columns = (
        Column("metric", section=True),
        Column("run"),
        Column("team"),
        *(Column(name, digits=4, group="mean") for name in ("by all judgments", "without", "change")),
        *(Column(name, group="rank") for name in ("by all judgments", "without")),
    )
    caption = f"Runs by the judgments without those that only their team brought. {_title(result)}."
    return Table("runs", caption, columns, rows, notes=_notes(result))


def figures(result: Result) -> Sequence[Figure]:
    """Return the means without the team's own documents against those by all judgments."""
    series = []
    for metric in result["metrics"]:
        runs = [run for team in metric["teams"] for run in team["runs"]]
        means, without = ([run[name] for run in runs] for name in ("mean", "mean_without"))
        series.append(Series(metric["metric"], means, without, style="points"))
    panel = Panel(
        Axis("mean by all judgments"), Axis("mean without the team's own documents"), series, has_diagonal=True
    )
    caption = f"Means of runs without the judgments that only their team brought. {_title(result)}."
    return (Figure("means", caption, (panel,)),)


LEAVE_ONE_TEAM_OUT = enter(
    JobKind(
        name="leave-one-team-out",
        changes=1,  # 1: the share of judged documents in no pool, and a warning
        params=LeaveOneTeamOutParams,
        result=LeaveOneTeamOutResult,
        analysis=lambda matrices, asked: LeaveOneTeamOut(
            matrices, asked.metrics, contributors=asked.contributors, pool_depth=asked.pool_depth
        ),
        tables=tables,
        figures=figures,
    )
)
