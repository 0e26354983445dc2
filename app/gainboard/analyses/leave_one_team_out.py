"""leave-one-team-out: whether the pool is fair to runs that did not contribute to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, JsonValue, model_validator

from gainboard.analyses import common
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import GroupTopics, MetricsParams, Names, TopicNotJudged, Topics
from gainboard.analyses.result_models import METRIC_SECTION, JobResult, Number, ResultModel, Shown, fields, table
from gainboard.evaluation.judgments.judged_shares import NumberedDocuments, RetrievedDocuments
from gainboard.evaluation.scoring.binding import is_custom
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.metrics import JudgedRuns, mean_of, score_all
from gainboard.notation.texts import counted, said_extremes
from gainboard.statistics import judging
from gainboard.statistics.correlation import taus_with
from gainboard.statistics.means import competition_ranks

MOST_OUTSIDE = 0.1
"""The largest share of judged documents in no pool of which a result does not warn."""
LEAST_TOPICS = 5
"""The fewest topics on which changes of means say anything about a pool."""
NAMED = 10
"""The most topics that a sentence names. The result has all of them."""
SECONDS_A_RUN, SECONDS_A_LINE = 0.01, 1e-6
MOST_SCORES = 200_000_000
"""The most teams x runs x topics x metrics that one job scores again: some minutes."""
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
    Fewer than five topics are refused. With `pool`, `pool_topics_left_out` names the topics of the pool that are not
    judged completely, which do not count.
    """

    contributors: Names | None = Field(
        None, description="Names of the runs that went into the pool; by default those uploaded as `pooled`"
    )
    pool_depth: Depth | None = Field(
        None,
        description="Depth of the pool; by default the largest depth to which all documents of every contributing run "
        "are judged on every topic",
    )

    pool: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None,
        description="Id of the job that made the pool (organisers): its runs are the contributors, its depth is the "
        "depth, and only topics whose pool is judged completely count",
    )

    pool_topics_left_out: list[TopicNotJudged] = Field(
        [], max_length=100_000, description="Filled in from `pool`: its topics that do not count. Requests leave it out"
    )

    @model_validator(mode="after")
    def _names_one_pool(self) -> Self:
        if self.pool is not None and (self.contributors is not None or self.pool_depth is not None):
            raise ValueError("`pool` has its own contributors and depth, so give neither with it")
        return self

    def pool_asked(self) -> str | None:
        return self.pool

    def about_pool(self, runs: list[str], depth: int, topics: Topics, others: list[TopicNotJudged]) -> Self:
        requested = self.topics.topics if isinstance(self.topics, GroupTopics) else self.topics
        chosen = [topic for topic in topics if topic in requested] if isinstance(requested, list) else topics
        left_out = [topic for topic in others if topic.topic in requested] if isinstance(requested, list) else others
        update = {"contributors": runs, "pool_depth": depth, "topics": chosen, "pool_topics_left_out": left_out}
        return self.model_copy(update={"pool": None, **update})

    def shown(self) -> dict[str, JsonValue]:
        # Settled, it is in the other parameters: the job is that of a request which names these.
        return {name: value for name, value in super().shown().items() if name != "pool"}

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
    pooled: Annotated[int, Shown("judged", group="documents in its pool")] = Field(
        description="Judged documents in its pools"
    )
    unique: Annotated[int, Shown("in no other", group="documents in its pool")] = Field(
        description="Those that no other team has"
    )
    unique_relevant: Annotated[int, Shown("of these relevant", group="documents in its pool")]


class RunLeftOut(ResultModel):
    """A run under all judgments, and without those that only its team found."""

    run: Annotated[str, Shown()]
    mean: Annotated[Number, Shown("by all judgments", digits=4, group="mean")]
    mean_without: Annotated[Number, Shown("without", digits=4, group="mean")]
    change: Annotated[Number, Shown(digits=4, group="mean")]
    rank: Annotated[int, Shown("by all judgments", group="rank")]
    rank_without: Annotated[int, Shown("without", group="rank")]


class TeamLeftOut(ResultModel):
    """A metric without the judgments that only this team found."""

    team: Annotated[str, Shown()]
    topics_undefined: Annotated[list[str], Shown(by=len)] = Field(
        description="Topics on which the metric is undefined then"
    )
    tau: Annotated[Number, Shown(digits=4)] = Field(description="Tau-b of all runs by both means")
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
    pool_topics_left_out: list[TopicNotJudged] = Field(description="Topics of the pool that do not count, and why")
    judged: int = Field(description="Judged documents")
    in_no_pool: int = Field(description="Judged documents that no contributing run has at that depth")
    in_no_pool_share: float = Field(description="Their share of the judged documents")
    note: str | None = Field(
        description="A warning, if so many are in no pool that any pool looks fair, or if topics are left out"
    )
    teams: list[PooledTeam]
    metrics: list[LeftOutUnderMetric]

    @property
    def _title(self) -> str:
        estimated = " (estimated)" if self.estimated else ""
        runs = f"{len(self.contributors)} contributing runs of {len(self.teams)} teams"
        outside = f"{self.in_no_pool:,} of {self.judged:,} judged documents in no pool"
        return f"Pool of depth {self.pool_depth}{estimated}, {runs}, {outside}"

    def verdict(self) -> str:
        most = {of.metric: of.largest_change for of in self.metrics}
        ranks = counted(max(of.largest_rank_change for of in self.metrics), "rank")
        largest = said_extremes(most, "the largest change of a mean")
        return f"Without what only its own team found, {largest}; no run moves by more than {ranks}."

    def tables(self) -> Sequence[Table]:
        """Return the teams with their documents and changes, and the runs."""
        notes, documents = [self.note] if self.note else [], {team.team: team for team in self.teams}
        teams = [
            (
                *(metric.metric, team, documents[team.team]),
                max((abs(run.change) for run in team.runs if run.change is not None), default=None),
                max(abs(run.rank_without - run.rank) for run in team.runs),
                team,
            )
            for metric in self.metrics
            for team in metric.teams
        ]
        columns = (
            *(METRIC_SECTION, fields(TeamLeftOut, "team"), PooledTeam),
            *(Column("score", digits=4, group="largest change"), Column("rank", group="largest change")),
            fields(TeamLeftOut, "tau", "topics_undefined"),
        )
        runs = [
            (metric.metric, run, team.team, run)
            for metric in self.metrics
            for team in metric.teams
            for run in team.runs
        ]
        changes = fields(RunLeftOut, "mean", "mean_without", "change", "rank", "rank_without")
        of_runs = (METRIC_SECTION, fields(RunLeftOut, "run"), Column("team"), changes)
        about_runs = f"Runs by the judgments without those that only their team brought. {self._title}."
        return (
            table(columns, "teams", f"Each team left out of the pool. {self._title}.", teams, notes=notes),
            table(of_runs, "runs", about_runs, runs, notes=notes),
        )

    def figures(self) -> Sequence[Figure]:
        """Return the means without the team's own documents against those by all judgments."""
        series = []
        for metric in self.metrics:
            runs = [run for team in metric.teams for run in team.runs]
            means, without = [run.mean for run in runs], [run.mean_without for run in runs]
            series.append(Series(metric.metric, means, without, style="points"))
        panel = Panel(
            Axis("mean by all judgments"), Axis("mean without the team's own documents"), series, has_diagonal=True
        )
        caption = f"Means of runs without the judgments that only their team brought. {self._title}."
        return (Figure("means", caption, (panel,)),)


@dataclass(frozen=True)
class MeansWithout:
    """Means [runs] by all judgments and by those without a team's documents, on the topics that both define."""

    means: Floats
    without: Floats
    undefined: Sequence[str]


@enter
class LeaveOneTeamOut(Analysis[LeaveOneTeamOutParams, LeaveOneTeamOutResult]):
    """Each team's scores and ranks under each metric, with and without the judgments that only this team brought."""

    name = "leave-one-team-out"
    title = "Fairness to new systems"
    question = "collection"
    needs_judgments = by_replicate = True
    summary = (
        "What each team would score, had its own documents not been judged: whether the pool is deep enough for others."
    )
    changes = 2  # 1: the share of judged documents in no pool, and a warning; 2: topics of the pool left out

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: LeaveOneTeamOutParams) -> None:
        super().__init__(matrices, params)
        self.metrics = params.metrics
        self.contributors = [run for run in matrices.runs if run.pooled]
        if (named := params.contributors) is not None:
            # In the order of the runs, whatever the order of the request, so that equal choices have equal results.
            self.contributors = [run for run in matrices.runs if run.name in set(named)]
            selected = {run.name for run in self.contributors}
            if missing := [name for name in named if name not in selected]:
                message = f"{matrices.collection.name!r} has no run {missing[0]!r}. Check its name."
                raise common.refuse("contributors", "unknown-run", message)
        self.teams = sorted({run.team for run in self.contributors})
        self._refuse_what_cannot_be()
        self.is_estimated = params.pool_depth is None
        self.pool_depth = params.pool_depth or self._estimate_depth()

    def _refuse_what_cannot_be(self) -> None:
        if len(self.teams) < 2:
            message = (
                f"The contributors are of {len(self.teams)} team. To leave one out, runs of at least 2 teams must have "
                "gone into the pool."
            )
            raise common.refuse("contributors", "too-few-teams", message)
        if (topics := len(self.matrices.topics)) < LEAST_TOPICS:
            others = self.params.pool_topics_left_out
            message = f"This takes at least {LEAST_TOPICS} topics. The number of topics that count is {topics}."
            raise common.refuse("topics", "too-few-topics", " ".join((message, *_sentences_about(others))))
        for label in self.metrics:
            if is_custom(label):
                message = f"{label} was uploaded, so its scores without a team's documents are unknown. Leave it out."
                raise common.refuse("metrics", "uploaded-scores", message)
            if self.matrices.metric(label).needs_retrieval_scores:
                message = (
                    f"{label} needs more than the ranks of relevant documents, which this analysis has. Leave it out."
                )
                raise common.refuse("metrics", "needs-retrieval-scores", message)
            if self.matrices.metric(label).needs_intents:
                message = f"{label} needs judgments by intent, but this analysis has levels. Leave it out."
                raise common.refuse("metrics", "needs-intents", message)
        scores = len(self.teams) * self.matrices.run_count * len(self.matrices.topics) * len(self.metrics)
        common.require_at_most(MOST_SCORES, scores, "scores over all teams", "metrics")

    def _estimate_depth(self) -> int:
        """Return the largest depth to which every contributing run is judged on every topic. This reads no files."""
        names = {run.name for run in self.contributors}
        depths = {
            run.name: depth
            for run, judged in zip(self.matrices.runs, self.matrices.judged_runs(), strict=True)
            if run.name in names
            and (depth := judging.judged_depth(judged.starts, judged.rank, judged.retrieved)) is not None
        }
        # Not simply the collection's depth: at 500, where the pool was 50 deep, no team has a document of its own, and
        # any pool looks fair.
        estimated = min(depths.values(), default=self.matrices.collection.depth)
        if estimated == 0:
            unjudged = sorted(name for name, depth in depths.items() if depth == 0)
            message = (
                f"The depth of the pool cannot be estimated: {len(unjudged)} runs, such as {unjudged[0]}, have an "
                "unjudged document at rank 1. Give `pool_depth`, or name the `contributors` to the pool."
            )
            raise common.refuse("pool_depth", "not-estimated", message)
        return estimated

    @cached_property
    def _documents(self) -> NumberedDocuments:
        return NumberedDocuments(self.matrices)

    def parts(self) -> list[float]:
        return [SECONDS_A_RUN + SECONDS_A_LINE * run.retrieved for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        return self._documents.read(self.matrices.runs[part])._asdict()

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        read = [RetrievedDocuments(**arrays) for arrays in findings]
        # All documents of all runs are needed at once, because what is unique to a team depends on every other team. So
        # the parts only read the files.
        owners, pooled = self._pool_documents(read)
        without = [self._rescore(read, owners == team) for team in range(len(self.teams))]
        return {
            "topics": len(self.matrices.topics),
            "pool_depth": self.pool_depth,
            "estimated": self.is_estimated,
            "contributors": [run.name for run in self.contributors],
            "pool_topics_left_out": self.params.pool_topics_left_out,
            "judged": len(owners),
            "in_no_pool": (outside := int(np.count_nonzero(owners == judging.NOBODY))),
            "in_no_pool_share": outside / len(owners),
            "note": _note(outside, len(owners), self.params.pool_topics_left_out),
            "teams": [
                PooledTeam(
                    team=team,
                    runs=[run.name for run in self.contributors if run.team == team],
                    pooled=pooled[number],
                    unique=len(levels),
                    unique_relevant=int(np.count_nonzero(levels > 0)),
                )
                for number, team in enumerate(self.teams)
                for levels in [self._documents.levels[owners == number]]
            ],
            "metrics": [
                self._metric(label, [comparisons[row] for comparisons in without])
                for row, label in enumerate(self.metrics)
            ],
        }

    def _pool_documents(self, read: Sequence[RetrievedDocuments]) -> tuple[NDArray[np.int64], list[int]]:
        """Return the team of each judged document, as `sole_owners` says it, and the sizes of the teams' pools."""
        names = {run.name: self.teams.index(run.team) for run in self.contributors}
        tops = [
            (names[run.name], judged.document[judged.rank <= self.pool_depth])
            for run, judged in zip(self.matrices.runs, read, strict=True)
            if run.name in names
        ]
        # Only what contributors retrieved: a document of another run did not enter the pool by that run.
        document = np.concatenate([documents for _, documents in tops])
        team = np.concatenate([np.full(len(documents), number) for number, documents in tops])
        sizes = [len(np.unique(document[team == number])) for number in range(len(self.teams))]
        return judging.sole_owners(document, team, len(self._documents.levels)), sizes

    def _rescore(self, read: Sequence[RetrievedDocuments], removed: NDArray[np.bool_]) -> list[MeansWithout]:
        """Return for each metric the means of all runs with all judgments, and without the removed documents."""
        bound = [self.matrices.metric(label) for label in self.metrics]
        # All runs, not only the team's, because its ranks are among runs that the same judgments score.
        runs = [self._documents.without(documents, removed) for documents in read]
        scores = score_all(bound, JudgedRuns.of(runs, self._documents.judgments_without(removed)))
        compared = []
        for metric, rescored in zip(bound, scores, strict=True):
            whole = self.matrices.scores(metric.label)
            before, after = (~np.isnan(table[0]) for table in (whole, rescored))
            # A topic without a relevant document left would otherwise change means that no judgment has changed.
            both = before & after
            lost = [self.matrices.topics[topic] for topic in np.flatnonzero(before & ~after)]
            old, new = (
                mean_of(metric, np.ascontiguousarray(table[:, both])) if both.any() else np.full(len(table), np.nan)
                for table in (whole, rescored)
            )
            compared.append(MeansWithout(old, new, lost))
        return compared

    def _metric(self, label: str, by_team: Sequence[MeansWithout]) -> LeftOutUnderMetric:
        teams = [self._leave_out(team, means) for team, means in zip(self.teams, by_team, strict=True)]
        runs = [run for team in teams for run in team.runs]
        changes = [abs(run.change) for run in runs if run.change is not None]
        missing = np.flatnonzero(~self.matrices.defined(label))
        return LeftOutUnderMetric(
            metric=label,
            topics_left_out=[self.matrices.topics[topic] for topic in missing],
            teams=teams,
            mean_change=float(np.mean(changes)) if changes else np.nan,
            largest_change=max(changes, default=np.nan),
            largest_rank_change=max(abs(run.rank_without - run.rank) for run in runs),
        )

    def _leave_out(self, team: str, scored: MeansWithout) -> TeamLeftOut:
        ranks, ranks_without = competition_ranks(scored.means), competition_ranks(scored.without)
        return TeamLeftOut(
            team=team,
            topics_undefined=list(scored.undefined),
            tau=float(taus_with(scored.means, scored.without[np.newaxis])[0]),
            runs=[
                RunLeftOut(
                    run=run.name,
                    mean=float(scored.means[row]),
                    mean_without=float(scored.without[row]),
                    change=float(scored.without[row] - scored.means[row]),
                    rank=int(ranks[row]),
                    rank_without=int(ranks_without[row]),
                )
                for row, run in enumerate(self.matrices.runs)
                if run.team == team
            ],
        )


def _note(outside: int, judged: int, others: Sequence[TopicNotJudged]) -> str | None:
    """Return sentences for readers: about topics of the pool that are left out, and about so many judged documents in
    no pool that any pool looks fair.
    """
    sentences = list(_sentences_about(others))
    if outside > MOST_OUTSIDE * judged:
        sentences.append(
            f"{outside:,} of {judged:,} judged documents ({outside / judged:.0%}) are in no pool. They stay judged "
            "whichever team is left out, so the changes are smaller than those of a new team: choose a deeper pool, or "
            "name all contributors."
        )
    return " ".join(sentences) or None


_BECAUSE: Mapping[str, str] = {
    "cut-by-budget": "because the budget cut their pool: make a pool without a budget, and have it judged",
    "not-judged": "because documents of their pool are not judged: have the rest judged",
    "no-documents": "because no contributing run has a document for them",
}


def _sentences_about(others: Sequence[TopicNotJudged]) -> Iterator[str]:
    """Yield a sentence for each reason why topics of the pool do not count. It names the first of them."""
    for because, why in _BECAUSE.items():
        if topics := [topic.topic for topic in others if topic.because == because]:
            shown = ", ".join(topics[:NAMED]) + (", ..." if len(topics) > NAMED else "")
            yield f"Of the pool's topics, {len(topics)} ({shown}) did not count, {why}."
