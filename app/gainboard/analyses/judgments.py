"""judgments: the content of a qrels version, and what another version says about the same documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import Params, SetVersion, Version
from gainboard.analyses.result_models import JobResult, Number, Part, ResultModel, Shown, table
from gainboard.evaluation.judgments.differences import compare_levels
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.store.records import VersionName
from gainboard.vocabulary import OFFICIAL

SECONDS_A_JUDGMENT = 5e-6
MOST_NAMED = 5
Counts = NDArray[np.int64]
UNJUDGED = "not judged"


class JudgmentsParams(Params):
    """The judgments of a qrels version: its topics, the documents judged at each level, and R, the number of relevant
    documents of a topic at any level. Documents below level 0 count as level 0: judged and nonrelevant. `against` adds
    a table of the levels in another version and in this one, for example for a reassessment (Kekalainen, IPM, 2005).

    Runs play no role: a selection of runs has no effect, nor have defaults for metrics' parameters.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    against: Version | SetVersion | None = Field(
        None, description='Another published qrels version, or one of another set: `{"judgments": "second"}`'
    )

    def settled(self, label: Labels) -> Self:
        """Return the same request without the parameters that have no effect on its result."""
        return super().settled(label).model_copy(update={"drop_identical": False})

    def expressions(self, label: Labels) -> dict[str, Any]:
        return {"runs": "all"}

    def versions(self) -> dict[str, VersionName]:
        return {"against": named} if (named := self.other()) is not None else {}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        if not isinstance(self.against, SetVersion):
            return self
        return self.model_copy(update={"against": SetVersion.of(versions[self.against.named()])})

    def other(self) -> VersionName | None:
        """Return the other version; None if there is none."""
        if isinstance(self.against, SetVersion):
            return self.against.named()
        return VersionName(version=self.against) if self.against is not None else None


class RelevantExtreme(ResultModel):
    """The smallest or the largest number of relevant documents, and the topics that have it."""

    relevant: int
    topics: list[str]


class RelevantCounts(ResultModel):
    """Relevant documents of the topics, at any level."""

    documents: int
    mean: float
    minimum: RelevantExtreme
    maximum: RelevantExtreme


class LevelCount(ResultModel):
    """The judgments at a level."""

    level: int
    name: Annotated[str, Shown("level")]
    documents: Annotated[int, Shown()]
    mean: Annotated[float, Shown("mean over topics", digits=1)] = Field(description="Documents of a topic")


class TopicCounts(ResultModel):
    """The judgments of a topic."""

    topic: Annotated[str, Shown()]
    judged: Annotated[int, Shown()]
    relevant: Annotated[int, Shown()]
    per_level: list[int]


class CrossedJudgments(ResultModel):
    """The judgments of another version, by level there and here."""

    qrels_version: int
    judgment_set: str
    topics_only_there: list[str]
    topics_only_here: list[str]
    levels: list[str] = Field(description="Names of the levels")
    documents: int = Field(description="Documents that both versions judge")
    crossed: list[list[int]] = Field(description="Documents [level there, level here]")
    there: list[int] = Field(description="Documents by level there")
    here: list[int]
    shares: list[list[Number]] = Field(description="`crossed`, as shares of each row")
    shares_here: list[Number]
    judged_only_there: list[int] = Field(description="Documents by level")
    judged_only_here: list[int]


class JudgmentsResult(JobResult):
    """The judgments of each topic and level, and how they differ from those of another version."""

    kind: Literal["judgments"]
    topics: int
    judged: int = Field(description="Judged documents of all topics")
    relevant: RelevantCounts
    levels: list[LevelCount]
    by_topic: list[TopicCounts]
    against: CrossedJudgments | None = Field(None, description="Only if another version was named")

    def tables(self) -> Sequence[Table]:
        """Return the levels, the topics, and the table of the two versions."""
        relevant = self.relevant
        total = LevelCount(level=1, name="relevant, at any level", documents=relevant.documents, mean=relevant.mean)
        notes = []
        for name, extreme in (("minimum", relevant.minimum), ("maximum", relevant.maximum)):
            topics, others = extreme.topics[:MOST_NAMED], len(extreme.topics) - MOST_NAMED
            more = f" and {others} more" if others > 0 else ""
            plural = "s" if len(extreme.topics) > 1 else ""
            notes.append(f"{extreme.relevant} are relevant at the {name}: topic{plural} {', '.join(topics)}{more}.")
        about = f"Judged documents of {self.topics} topics by relevance level; L0 is nonrelevant."
        tables = [table(LevelCount, "levels", about, [*self.levels, total], notes=notes)]
        about = "Judged and relevant documents of each topic, and those at each level."
        columns: list[Part] = [TopicCounts, *(Column(level.name, group="level") for level in self.levels)]
        tables.append(table(columns, "topics", about, [(topic, *topic.per_level) for topic in self.by_topic]))
        if crossed := self.against:
            by_level = zip(crossed.levels, crossed.crossed, crossed.judged_only_there, strict=True)
            rows: list[Sequence[Cell]] = [(name, *row, only) for name, row, only in by_level]
            rows.append((UNJUDGED, *crossed.judged_only_here, None))
            there, here = (
                VersionName(version.judgment_set or OFFICIAL, version.qrels_version) for version in (crossed, self)
            )
            levels = [Column(str(there)), *(Column(name, group=str(here)) for name in (*crossed.levels, UNJUDGED))]
            caption = f"Documents by their levels in qrels {there} (rows) and {here}."
            tables.append(Table("crossed", caption, levels, rows))
        return tables

    def figures(self) -> Sequence[Figure]:
        """Return R by topic, the largest first, with the share of each level."""
        topics = sorted(self.by_topic, key=lambda topic: (-topic.relevant, topic.topic))
        places = list(range(len(topics)))
        levels = self.levels
        series = [
            Series(f"{levels[low].name} or higher", places, [sum(topic.per_level[low:]) for topic in topics])
            for low in range(1, len(levels))
        ]
        axis = Axis("topics, sorted by R", categories=[topic.topic for topic in topics])
        panel = Panel(axis, Axis("relevant documents", limits=(0, None)), series)
        caption = f"Relevant documents of each of {self.topics} topics: at any level (R), and at the higher ones."
        return (Figure("relevant", caption, (panel,)),)


@enter
class JudgmentCounts(Analysis[JudgmentsParams, JudgmentsResult]):
    """Judged and relevant documents by topic and level; with `against`, a table of that version's levels and these.

    Documents below level 0 count as level 0: judged and nonrelevant.
    """

    name = "judgments"
    title = "Judgments in numbers"
    question = "collection"
    needs_judgments = True
    summary = "How many documents were judged at each level, by topic, and what another version changes."

    def __init__(self, matrices: Matrices, params: JudgmentsParams) -> None:
        super().__init__(matrices, params)
        against = params.other()
        self._other = matrices.under(against) if against is not None else None

    def parts(self) -> list[float]:
        judged = [matrices.qrels.judged for matrices in (self.matrices, self._other) if matrices is not None]
        return [sum(judged) * SECONDS_A_JUDGMENT if self._other else 0.001]

    def work(self, part: int) -> Arrays:
        levels = self.matrices.judgments.level_counts.copy()
        levels[:, 0] += self.matrices.judgments.negative_counts
        if self._other is None:
            return {"levels": levels}
        # Documents by level there and here; the last row and column are for documents that the version does not judge.
        unjudged = self.matrices.collection.highest_level + 1
        crossed = np.zeros((unjudged + 1, unjudged + 1), np.int64)
        pairs = compare_levels(self._other.document_levels(), self.matrices.document_levels()).documents
        for (there, here), count in pairs.items():
            row, column = (unjudged if level is None else max(level, 0) for level in (there, here))
            crossed[row, column] += count
        return {"levels": levels, "crossed": crossed}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        levels = findings[0]["levels"]
        relevant = levels[:, 1:].sum(axis=1)
        return {
            "topics": len(levels),
            "judged": int(levels.sum()),
            "relevant": RelevantCounts(
                documents=int(relevant.sum()),
                mean=float(relevant.mean()),
                minimum=self._extreme(relevant, int(relevant.min())),
                maximum=self._extreme(relevant, int(relevant.max())),
            ),
            "levels": [
                LevelCount(level=level, name=self._name(level), documents=int(column.sum()), mean=float(column.mean()))
                for level, column in enumerate(levels.T)
            ],
            "by_topic": [
                TopicCounts(topic=topic, judged=sum(row), relevant=sum(row[1:]), per_level=row)
                for topic, row in zip(self.matrices.topics, levels.tolist(), strict=True)
            ],
            **({"against": self._against(self._other, findings[0]["crossed"])} if self._other else {}),
        }

    def _extreme(self, relevant: Counts, value: int) -> RelevantExtreme:
        topics = [self.matrices.topics[topic] for topic in np.flatnonzero(relevant == value)]
        return RelevantExtreme(relevant=value, topics=topics)

    def _against(self, other: Matrices, crossed: Counts) -> CrossedJudgments:
        here, there = set(self.matrices.topics), set(other.topics)
        both = crossed[:-1, :-1]
        return CrossedJudgments(
            qrels_version=other.qrels.version,
            judgment_set=other.qrels.judgments,
            topics_only_there=[topic for topic in other.topics if topic not in here],
            topics_only_here=[topic for topic in self.matrices.topics if topic not in there],
            levels=[self._name(level) for level in range(len(crossed) - 1)],
            documents=int(both.sum()),
            crossed=both.tolist(),
            there=both.sum(axis=1).tolist(),
            here=both.sum(axis=0).tolist(),
            shares=[_shares(row) for row in both],
            shares_here=_shares(both.sum(axis=0)),
            judged_only_there=crossed[:-1, -1].tolist(),
            judged_only_here=crossed[-1, :-1].tolist(),
        )

    def _name(self, level: int) -> str:
        return self.matrices.collection.level_name(level)


def _shares(counts: Counts) -> list[float | None]:
    """Return the shares of the sum of the counts; None if the sum is 0."""
    total = int(counts.sum())
    return [count / total if total else None for count in counts.tolist()]
