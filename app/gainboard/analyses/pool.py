"""pool: the documents that runs propose for judging, in the order of judging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import not_
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, JsonValue, model_validator

from gainboard.acceleration.serving import load_noted
from gainboard.analyses.common import refuse, require_at_most
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import AnyParams, GroupTopics, Names, Seed, SetVersion, Topics
from gainboard.analyses.result_models import JobResult, ResultModel, Shown, table
from gainboard.evaluation.judgments import pools
from gainboard.evaluation.judgments.versions import index_of
from gainboard.evaluation.runs.run_files import TopDocuments
from gainboard.evaluation.runs.stored_files import top_documents
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.evaluation.scoring.selection import RunsToPool
from gainboard.exhibits import Column, LongTable, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.texts import counted
from gainboard.statistics.judging import PoolOrder
from gainboard.store.records import VersionName
from gainboard.trec import READING
from gainboard.vocabulary import OrderBy, RunOrder

SECONDS_A_RUN, SECONDS_A_LINE = 0.01, 1e-6
MOST_FOUND = 20_000_000
"""The most documents that one pool reads in all runs: 2 GB of ids while the result is put together."""
WORTH_COMPILED = 500_000
"""The lines of all runs from which compiled reading saves more than loading it takes."""
MOST_TEAMS_DRAWN = 10
MOST_ROWS = 5_000
"""The most rows of a pool that is printed: LaTeX of 60,000 takes longer than the pool."""
Depth = Annotated[int, Field(ge=1, le=1_000_000)]


class PoolParams(AnyParams):
    """The pool of a campaign (organisers): for each topic, the documents that the pooled runs have at rank `depth` or
    above, in an order of judging. It needs no judgments. Only organisers see the job, because it shows what teams have
    found. A pool never changes: a later run makes another job.

    Orders: `ntcir` has documents of most runs first, then those with the least sum of ranks in these runs (Sakai, Tao
    and Zeng, TOIS 2022). `rrf` has the highest reciprocal rank fusion, the sum of 1/(60 + rank), first (Cormack, Clarke
    and Buettcher, SIGIR 2009). `document` is by document id, as TREC's pools are. `random` is a permutation, drawn for
    each topic on its own. Ties are broken by document id.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"depth": 30, "order": "ntcir"}]})

    depth: Depth = Field(100, description="Ranks that are taken of each run; not more than the collection's depth")
    runs: Names | None = Field(
        None, description="Names of the runs, also of runs uploaded with `pooled=false`; by default all others"
    )
    teams: Names | None = Field(None, description="Names of the teams whose runs are pooled; all by default")
    top: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="Number of runs of each team, by `priority` and then by name; all by default"
    )
    order: PoolOrder = Field("ntcir", description="The order of judging")
    budget: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        None, description="The most documents, taken in the order; no limit by default"
    )
    budget_for: Literal["topic", "all"] = Field(
        "topic", description="Whether the budget is for each topic or for `all`; of all, topics take turns"
    )
    strata: Annotated[str, Field(max_length=100)] | None = Field(
        None,
        description="Strata from which documents are sampled: the last rank of each, and the share that is judged. "
        "`10:1,100:0.2` judges all to rank 10, and 20 % of the others to rank 100, which is the depth",
    )
    without: Annotated[list[SetVersion], Field(max_length=20)] = Field(
        [],
        description="Judgments whose documents are left out, such as those of a first round: "
        '`[{"judgments": "official", "qrels": 1}]`. Without a number, the published version',
    )
    topics: Literal["all"] | Annotated[str, Field(min_length=1, max_length=128)] | Topics | GroupTopics = Field(
        "all",
        description='`"all"`: the topics that the collection declares, or else those of the runs; the name of a topic '
        "group, or topics",
    )
    depths: Annotated[list[Depth], Field(max_length=20)] = Field(
        list(pools.COST_DEPTHS), description="Depths at which the result counts what a pool would cost"
    )
    seed: Seed = 0
    order_by: OrderBy | None = Field(None, description="The order of the runs' documents; by default the collection's")
    ignore_identical_ids: bool | None = Field(
        None, description="Whether lines of runs with their topic's id are left out; by default as the collection says"
    )

    @model_validator(mode="after")
    def _selects_in_one_way(self) -> Self:
        if self.runs is not None and (self.teams is not None or self.top is not None):
            raise ValueError("`runs` names all runs of the pool, so give neither `teams` nor `top` with it")
        if self.strata is not None and (self.budget is not None or self.without):
            raise ValueError("`strata` sample the whole pool, so give neither `budget` nor `without` with them")
        pools.read_strata(self.strata)
        return self

    def settled(self, label: Labels) -> Self:
        here = label.collection
        topics = sorted(here.topics, key=str.encode) if self.topics == "all" and here.topics else self.topics
        order = {name: getattr(here.order, name) if (value := getattr(self, name)) is None else value for name in ORDER}
        named = {name: sorted(set(value)) for name in ("runs", "teams") if (value := getattr(self, name)) is not None}
        unused = {} if self.order == "random" or self.strata else {"seed": 0}
        deepest = max((depth for depth, _ in pools.read_strata(self.strata)), default=self.depth)
        depths = sorted({min(depth, here.depth) for depth in self.depths})
        chosen = {"topics": topics, "depth": min(deepest, here.depth), "depths": depths}
        return self.model_copy(update=order | named | unused | chosen)

    def shown(self) -> dict[str, JsonValue]:
        return self.model_dump(mode="json", exclude_none=True)

    def selection(self) -> RunsToPool:
        names, teams = (tuple(chosen) if chosen is not None else None for chosen in (self.runs, self.teams))
        return RunsToPool(names, teams, self.top)

    def topics_asked(self) -> Literal["all"] | str | Topics | GroupTopics:
        return self.topics

    def about_topics(self, topics: Topics | GroupTopics) -> Self:
        return self.model_copy(update={"topics": topics})

    def versions(self) -> dict[str, VersionName]:
        return {f"without.{position}": version.named() for position, version in enumerate(self.without)}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        named = dict.fromkeys(SetVersion.of(versions[version.named()]) for version in self.without)
        by_name = sorted(named, key=lambda version: (version.judgments.encode(), version.qrels or 0))
        return self.model_copy(update={"without": by_name})

    def form(self) -> pools.PoolForm:
        """Return the form of the pool."""
        is_in_all, strata = self.budget_for == "all", pools.read_strata(self.strata)
        return pools.PoolForm(self.depth, self.order, self.budget, is_in_all, self.seed, self.depths, strata)

    def run_order(self) -> RunOrder:
        """Return the order of the runs' documents, of a settled request."""
        assert self.order_by is not None
        return RunOrder(self.order_by, ignore_identical_ids=bool(self.ignore_identical_ids))


ORDER = RunOrder._fields


class PoolRun(ResultModel):
    """A run of the pool."""

    run: str
    team: str
    sha256: str = Field(description="SHA-256 of its file")


class PooledDocumentsOfTopic(ResultModel):
    """The pool of a topic, with a place in each list for each document."""

    topic: str
    documents: list[str] = Field(description="In the order of judging")
    runs: list[int] = Field(description="Number of pooled runs that have the document within the depth")
    teams: list[int] = Field(description="Number of their teams")
    best_ranks: list[int] = Field(description="The document's best rank")
    # Left out without strata, so that such a pool has the bytes that it always had.
    strata: list[int] = Field([], description="The document's stratum, from 1", exclude_if=not_)
    unsampled: dict[str, int] = Field({}, description="The strata of documents that were not sampled", exclude_if=not_)


class PoolTopic(ResultModel):
    """The counts of a topic. The lists by team are in the order of `teams`."""

    topic: Annotated[str, Shown()]
    found: Annotated[int, Shown()] = Field(description="Documents within the depth")
    left_out: Annotated[int, Shown()] = Field(description="Those that are judged already")
    pooled: Annotated[int, Shown()] = Field(description="Documents of the pool")
    contributed: list[int] = Field(description="Those of them that each team has within the depth")
    unique: list[int] = Field(description="Those that no other team has")


class PoolTeam(ResultModel):
    """The documents that a team gives to the pool."""

    team: Annotated[str, Shown()]
    runs: Annotated[int, Shown()]
    contributed: Annotated[int, Shown()] = Field(
        description="Documents of the pool that its runs have within the depth"
    )
    unique: Annotated[int, Shown()] = Field(description="Those that no other team has")


class PoolCosts(ResultModel):
    """The documents to judge in a pool of another depth, without a budget."""

    depth: Annotated[int, Shown()]
    documents: Annotated[int, Shown()]
    by_topic: list[int] = Field(description="In the order of `topics`")
    contributed: list[int] = Field(description="By team, in the order of `teams`")
    unique: list[int] = Field(description="By team: documents that no other team has")


class PoolResult(JobResult):
    """The documents to judge."""

    kind: Literal["pool"]
    depth: int
    order: PoolOrder
    documents: int = Field(description="Documents of all topics")
    sha256: str = Field(description="SHA-256 of the pool's file in TREC's format: `topic document` lines, in the order")
    pooled_runs: list[PoolRun]
    without: list[SetVersion] = Field(description="Judgments whose documents are left out")
    topics: list[PoolTopic]
    teams: list[PoolTeam]
    costs: list[PoolCosts]
    pool: list[PooledDocumentsOfTopic]

    def verdict(self) -> str:
        topics, runs = counted(len(self.topics), "topic"), counted(len(self.pooled_runs), "run")
        return f"{counted(self.documents, 'document')} of {topics} to judge, from the first {self.depth:,} of {runs}."

    def tables(self) -> Sequence[Table | LongTable]:
        """Return the pool, its counts by topic and by team, and the costs of other depths."""
        columns = [Column(name) for name in ("topic", "document", "place", *pools.DETAILS)]
        caption = f"The pool of depth {self.depth} in the order {self.order}: {self.documents:,} documents."
        by_topic_and_team = [
            (topic.topic, team.team, contributed, unique)
            for topic in self.topics
            for team, contributed, unique in zip(self.teams, topic.contributed, topic.unique, strict=True)
        ]
        return (
            LongTable("pool", caption, columns, self._rows)
            if self.documents > MOST_ROWS
            else Table("pool", caption, columns, [*self._rows()]),
            table(PoolTopic, "topics", "Documents of the pool by topic.", self.topics),
            table(PoolTeam, "teams", f"{BY_TEAM}, and those that it alone gives.", self.teams),
            table(
                [Column(name) for name in ("topic", "team", "contributed", "unique")],
                "topics-teams",
                f"{BY_TEAM} of each topic.",
                by_topic_and_team,
            ),
            table(
                (
                    PoolCosts,
                    Column("mean", group="by topic", digits=1),
                    Column("least", group="by topic"),
                    Column("most", group="by topic"),
                ),
                "costs",
                "Documents to judge in a pool of another depth, without a budget.",
                [
                    (cost, cost.documents / len(cost.by_topic), min(cost.by_topic), max(cost.by_topic))
                    for cost in self.costs
                    if cost.by_topic
                ],
            ),
            *self._costs_in_detail(),
        )

    def _costs_in_detail(self) -> tuple[Table, Table]:
        depths = [f"depth {cost.depth}" for cost in self.costs]
        by_topic: list[list[str | int]] = [
            [topic.topic, *(cost.by_topic[at] for cost in self.costs)] for at, topic in enumerate(self.topics)
        ]
        by_team: list[list[str | int]] = [
            [team.team, *(count for cost in self.costs for count in (cost.contributed[at], cost.unique[at]))]
            for at, team in enumerate(self.teams)
        ]
        pairs_of_columns = [Column(name, group=depth) for depth in depths for name in ("contributed", "unique")]
        return (
            Table(
                "costs-topics",
                "Documents to judge by topic and depth.",
                [Column("topic"), *(Column(depth) for depth in depths)],
                by_topic,
            ),
            Table(
                "costs-teams",
                "Documents that each team gives, and gives alone, by depth.",
                [Column("team"), *pairs_of_columns],
                by_team,
            ),
        )

    def _rows(self) -> Iterator[list[str | int]]:
        return (row for topic in self.pool for row in pools.pool_rows(topic, details=True))

    def figures(self) -> Sequence[Figure]:
        """Return the figure of the costs by depth: all documents, and those that each team alone gives."""
        if len(self.costs) < 2:
            return ()
        depths: list[float | None] = [cost.depth for cost in self.costs]
        most = sorted(range(len(self.teams)), key=lambda at: -self.costs[-1].unique[at])[:MOST_TEAMS_DRAWN]
        x = Axis("Depth of the pool", limits=(0, None), counts=True)
        total = [Series("documents to judge", depths, [cost.documents for cost in self.costs])]
        alone = [Series(self.teams[at].team, depths, [cost.unique[at] for cost in self.costs]) for at in sorted(most)]
        panels = [
            Panel(x, Axis("Documents", limits=(0, None), counts=True), total, title="All documents"),
            Panel(x, Axis("Documents", limits=(0, None), counts=True), alone, title="Only of this team"),
        ]
        caption = "Documents to judge by depth of the pool, and those that only one team gives"
        left = f" (the {MOST_TEAMS_DRAWN} teams that give most)" if len(self.teams) > MOST_TEAMS_DRAWN else ""
        return (Figure("costs", f"{caption}{left}.", panels),)


@enter
class Pooling(Analysis[PoolParams, PoolResult]):
    """The first documents of each run, run by run; then the pool of them."""

    name = "pool"
    title = "Pool of documents to judge"
    question = "collection"
    needs_judgments = True
    summary = "Which documents people should judge, and what a deeper pool would cost."
    about_runs_alone = by_replicate = True

    def __init__(self, matrices: Matrices, params: PoolParams) -> None:
        super().__init__(matrices, params)
        self.form = params.form()
        self.runs = matrices.runs
        if not self.runs:
            message = "No run is to be pooled: no run of this choice was uploaded with `pooled=true`. Name `runs`."
            raise refuse("runs", "no-runs", message)
        deepest = self.form.read_depth
        most_documents = sum(min(run.retrieved, deepest * run.topic_count) for run in self.runs)
        require_at_most(MOST_FOUND, most_documents, f"documents down to rank {deepest} of all runs", "depth")

    def parts(self) -> list[float]:
        return [SECONDS_A_RUN + SECONDS_A_LINE * run.retrieved for run in self.runs]

    def work(self, part: int) -> Arrays:
        order, matrices = self.params.run_order(), self.matrices
        # Loading compiled code takes longer than reading a few small runs without it.
        if sum(run.retrieved for run in self.runs) > WORTH_COMPILED:
            load_noted([READING])
        top = top_documents(matrices.workspace, matrices.collection, self.runs[part], order, self.form.read_depth)
        texts = {"topics": "\n".join(top.topics).encode(), "documents": b"\n".join(top.documents)}
        counts = {"counts": np.array(top.counts, np.int64)}
        return counts | {name: np.frombuffer(text, np.uint8) for name, text in texts.items()}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        teams = sorted({run.team for run in self.runs}, key=str.encode)
        team_of_run = [teams.index(run.team) for run in self.runs]
        named = self.params.topics
        # They are settled, so a text is no group's name: it says "all".
        topics = None if isinstance(named, str) else list(named.topics if isinstance(named, GroupTopics) else named)
        judged = [*map(self._levels, self.params.without)]
        pool = pools.make_pool(map(_read_top, findings), team_of_run, self.form, topics, judged)
        return {
            "depth": self.form.depth,
            "order": self.form.order,
            "documents": sum(len(topic.documents) for topic in pool.topics),
            "sha256": pools.pool_sha256(pool.topics),
            "pooled_runs": [PoolRun(run=run.name, team=run.team, sha256=run.sha256) for run in self.runs],
            "without": self.params.without,
            "topics": _topic_counts(pool),
            "teams": [
                PoolTeam(team=team, runs=team_of_run.count(at), contributed=contributed, unique=unique)
                for at, (team, contributed, unique) in enumerate(
                    zip(
                        teams, *(counts.sum(axis=0).tolist() for counts in (pool.contributed, pool.unique)), strict=True
                    )
                )
            ],
            "costs": [
                PoolCosts(
                    depth=cost.depth,
                    documents=int(cost.documents.sum()),
                    by_topic=cost.documents.tolist(),
                    contributed=cost.contributed.tolist(),
                    unique=cost.unique.tolist(),
                )
                for cost in pool.costs
            ],
            "pool": [PooledDocumentsOfTopic.model_construct(**vars(topic)) for topic in pool.topics],
        }

    def _levels(self, named: SetVersion) -> Mapping[str, Mapping[bytes, int]]:
        other = self.matrices.under(named.named())
        return index_of(other.workspace, other.collection, other.qrels).levels


def _read_top(findings: Arrays) -> TopDocuments:
    topics, documents = (findings[name].tobytes() for name in ("topics", "documents"))
    counts = findings["counts"].tolist()
    return TopDocuments(topics.decode().split("\n") if counts else [], counts, documents.split(b"\n"))


def _topic_counts(pool: pools.Pool) -> list[PoolTopic]:
    columns = (pool.found, pool.left_out, pool.contributed, pool.unique)
    return [
        PoolTopic(
            topic=topic.topic,
            found=documents,
            left_out=left_out,
            pooled=len(topic.documents),
            contributed=contributed,
            unique=unique,
        )
        for topic, documents, left_out, contributed, unique in zip(
            pool.topics, *(column.tolist() for column in columns), strict=True
        )
    ]


BY_TEAM = "Documents that each team gives to the pool"
