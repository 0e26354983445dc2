"""The place where strings end: runs and qrels become arrays here, once, at upload.

No metric ever sees a document id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics import (
    UNJUDGED,
    Annotations,
    AttributeSet,
    Intents,
    JudgedRun,
    Judgments,
    RetrievalScores,
    min_max,
)
from gainboard.store.arrays import pack, pack_names, unpack, unpack_names
from gainboard.trec import (
    READING,
    IntentQrels,
    Joined,
    JudgedDocuments,
    PackedJudgments,
    QrelsFile,
    Ranking,
    TopicIntents,
    judged_documents,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedTopics:
    """The topics of a qrels version, in byte order of their names, and the number of judged documents at each level.

    If these are some of the version's topics, `places` intp [n] are their places among all, which `whole` has.
    """

    topics: list[str]
    judgments: Judgments
    whole: JudgedTopics | None = None
    places: NDArray[np.intp] | None = None

    def only(self, wanted: Collection[str]) -> JudgedTopics:
        """Return those of the topics that are wanted."""
        names = frozenset(wanted)
        places = np.array([row for row, topic in enumerate(self.topics) if topic in names], np.intp)
        return JudgedTopics([self.topics[row] for row in places], self.judgments.only(places), self, places)

    @classmethod
    def of(
        cls, file: PackedJudgments, highest_level: int, intents: Mapping[str, TopicIntents] | None = None
    ) -> JudgedTopics:
        """Count the judgments of a qrels file, which may be by intent."""
        topics = sorted(file, key=str.encode)
        counts = np.zeros((len(topics), highest_level + 1), np.int64)
        negative = np.zeros(len(topics), np.int64)
        for row, topic in enumerate(topics):
            judged = file.packed[topic].as_levels()
            counts[row] = np.bincount(judged[judged >= 0], minlength=highest_level + 1)
            negative[row] = np.count_nonzero(judged < 0)
        if intents is None:
            return cls(topics, Judgments(counts, negative, None))
        by_topic = [intents[topic] for topic in topics]
        documents = np.array([len(file.packed[topic].levels) for topic in topics], np.int64)
        sizes = np.array([len(topic.probability) for topic in by_topic], np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        joined = Intents(
            starts=starts,
            probability=np.concatenate([topic.probability for topic in by_topic]),
            documents=np.concatenate([[0], np.cumsum(documents)]).astype(np.int64),
            # Numbered through, because an intent belongs to one topic, whatever its name is.
            intent=np.concatenate([topic.intent + start for topic, start in zip(by_topic, starts[:-1], strict=True)]),
            document=np.concatenate([topic.document for topic in by_topic]),
            level=np.concatenate([topic.level for topic in by_topic]),
        )
        return cls(topics, Judgments(counts, negative, joined))

    def packed(self) -> bytes:
        """Return the bytes for the store; `unpacked` reads them."""
        counts: dict[str, NDArray[Any]] = {
            "topics": np.frombuffer(pack_names(self.topics), np.uint8),
            "level_counts": self.judgments.level_counts.ravel(),
            "negative_counts": self.judgments.negative_counts,
        }
        if (intents := self.judgments.intents) is not None:
            counts |= {f"intents/{column.name}": getattr(intents, column.name) for column in fields(Intents)}
        if (known := self.judgments.annotations) is not None:
            counts |= {f"annotations/{name}": getattr(known, name) for name in _COLUMNS}
            counts |= {f"sets/{kind:d}/{name}": np.vstack((target, rows)) for name, kind, target, rows in known.sets}
        return pack(counts)

    @classmethod
    def unpacked(cls, packed: bytes) -> JudgedTopics:
        """Return the topics from the bytes that `packed` returned."""
        arrays = unpack(packed)
        topics = unpack_names(arrays["topics"].tobytes())
        counts = arrays["level_counts"].reshape(len(topics), -1)
        of_intents = {column.name: arrays.get(f"intents/{column.name}") for column in fields(Intents)}
        intents = Intents(**of_intents) if of_intents["starts"] is not None else None  # type: ignore[arg-type]
        annotations = None
        if "annotations/starts" in arrays:
            sets = ((key.split("/", 2), array) for key, array in arrays.items() if key.startswith("sets/"))
            named = [AttributeSet(name, kind == "1", array[0], array[1:]) for (_, kind, name), array in sets]
            starts, level, stratum = (arrays[f"annotations/{name}"] for name in _COLUMNS)
            annotations = Annotations(starts, level, stratum, tuple(named))
        return cls(topics, Judgments(counts, arrays["negative_counts"], intents, annotations))


_COLUMNS: Final = ("starts", "level", "stratum")


def annotations_of(file: QrelsFile, annotated: Mapping[str, Sequence[bytes]]) -> Annotations:
    """Return what a file says of the annotated documents of each topic."""
    level, stratum = list[int](), list[int]()
    for topic, documents in annotated.items():
        judged, strata = file.judgments[topic], file.strata.get(topic, {})
        level += [judged.get(document, UNJUDGED) for document in documents]
        stratum += [strata.get(document, -1) for document in documents]
    sets = []
    for each in file.sets:
        nothing = (np.nan,) * len(each.target)
        of_topics = ((each.vectors.get(topic, {}), documents) for topic, documents in annotated.items())
        rows = [vectors.get(document, nothing) for vectors, documents in of_topics for document in documents]
        vectors = np.array(rows, np.float64).reshape(-1, len(each.target))
        sets.append(AttributeSet(each.name, each.is_ordinal, np.array(each.target), vectors))
    starts = np.cumsum([0, *map(len, annotated.values())])
    return Annotations(starts, np.array(level, np.int8), np.array(stratum, np.int64), tuple(sets))


@dataclass(frozen=True)
class QrelsIndex:
    """A qrels version prepared for the join: from topic and document to relevance level."""

    judgments: PackedJudgments
    topics: JudgedTopics
    annotated: Mapping[str, Sequence[bytes]] | None = None
    """The documents of each topic of which more is known than a level, in the order of `Annotations`."""

    @classmethod
    def of(cls, file: QrelsFile, highest_level: int) -> QrelsIndex:
        """Prepare the judgments of a qrels file."""
        intents, annotated = file.intents if isinstance(file, IntentQrels) else None, file.annotated
        topics = JudgedTopics.of(file.judgments, highest_level, intents)
        topics.judgments.annotations = None if annotated is None else annotations_of(file, annotated)
        return cls(file.judgments, topics, annotated)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is made from these three is large, and another process can make it again.
        return QrelsIndex, (self.judgments, self.topics, self.annotated)

    @cached_property
    def levels(self) -> Mapping[str, Mapping[bytes, int]]:
        """The level of each judged document by topic and id, unpacked once for many lookups."""
        return dict(self.judgments)

    @property
    def judged(self) -> int:
        """The number of judgments."""
        return int(self.topics.judgments.judged_count.sum())

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[bytes, int]] | None:
        """The number of each judged document by topic and id, as in `Intents`; None without judgments by intent."""
        if self.topics.judgments.intents is None:
            return None
        return {
            topic: {document: number for number, document in enumerate(sorted(levels, reverse=True))}
            for topic, levels in self.levels.items()
        }

    @cached_property
    def annotated_numbers(self) -> Mapping[str, Mapping[bytes, int]]:
        """The number of each annotated document by topic and id."""
        return {
            topic: {document: at for at, document in enumerate(ids)} for topic, ids in (self.annotated or {}).items()
        }

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The number of each topic, from 0."""
        return {topic: row for row, topic in enumerate(self.topics.topics)}

    @property
    def documents(self) -> JudgedDocuments | None:
        """The same judgments for the compiled join; None while it is not loaded."""
        # The compiled join does not tell which document was found, as is needed by intent and for annotations.
        is_enough = self.topics.judgments.intents is None and self.annotated is None
        return self._documents if READING.get() and is_enough else None

    @cached_property
    def _documents(self) -> JudgedDocuments | None:
        return judged_documents([self.judgments.packed[topic] for topic in self.topics.topics])


_OF_ROWS: Final = ("starts", "rank", "level", "retrieved", "document")


class JudgedFile(NamedTuple):
    """A run joined with a qrels version, and what the join found."""

    run: JudgedRun
    unjudged: int
    topics_unknown: int

    def row(self) -> dict[str, Any]:
        """Return the columns of `store.runs.add_judged`, without the ids."""
        run = self.run
        columns = {"starts": run.starts, "rank": run.rank, "level": run.level, "retrieved": run.retrieved}
        if run.document is not None:
            columns["document"] = run.document
        # Packed apart from the ranks and levels, because only metrics of retrieval scores read them.
        names = [column.name for column in fields(RetrievalScores)] if run.retrieval_scores else []
        scores = {name: getattr(run.retrieval_scores, name) for name in names}
        if run.annotated is not None:
            scores |= {f"annotated/{name}": getattr(run.annotated, name) for name in _OF_ROWS}
        return {
            "rankings": pack(columns),
            "retrieval_scores": pack(scores),
            "retrieved": int(run.retrieved.sum()),
            "unjudged": self.unjudged,
            "topics_missing": int(np.count_nonzero(run.retrieved == 0)),
            "topics_unknown": self.topics_unknown,
        }


def judge(rankings: Iterable[Ranking], index: QrelsIndex) -> JudgedFile:
    """Join a run's rankings, each best first, with the judgments."""
    rows = {topic: _TopicRow.empty() for topic in index.topics.topics}
    annotated: dict[str, _TopicRow] = {}
    unknown = 0
    for ranking in rankings:
        levels = index.levels.get(ranking.topic)
        if levels is None:
            unknown += 1
        # None is left if the only one was named like the topic.
        elif ranking.documents:
            numbers = index.numbers[ranking.topic] if index.numbers is not None else None
            rows[ranking.topic] = _judge_topic(ranking, levels, numbers)
            if (known := index.annotated_numbers.get(ranking.topic)) is not None:
                annotated[ranking.topic] = _judge_topic(ranking, dict.fromkeys(known, 0), known)
    run = _assemble(list(rows.values()), index.numbers is not None)
    if index.annotated is not None:
        run = replace(run, annotated=_assemble([annotated.get(topic, _TopicRow.empty()) for topic in rows], True))
    return JudgedFile(run, sum(row.unjudged for row in rows.values()), unknown)


def assemble_joined(joined: Joined, topics: int) -> JudgedFile:
    """Return the findings of the compiled pass, with topics in the order of the `topics` that are judged."""
    judged_rows = np.flatnonzero(joined.rows >= 0)
    judged_rows = judged_rows[np.argsort(joined.rows[judged_rows])]
    rows = joined.rows[judged_rows]

    def by_row(values: NDArray[Any]) -> NDArray[Any]:
        placed = np.zeros(topics, values.dtype)
        placed[rows] = values[judged_rows]
        return placed

    starts = np.concatenate([[0], np.cumsum(by_row(joined.judged))]).astype(np.int64)
    taken: NDArray[np.intp] | slice = slice(None)
    # Topics without judgments have no judged documents, so nothing is skipped unless the order differs.
    if (np.diff(judged_rows) < 0).any():
        counts = joined.judged[judged_rows]
        before = np.cumsum(joined.judged) - joined.judged
        shifts = before[judged_rows] - (np.cumsum(counts) - counts)
        taken = np.repeat(shifts, counts) + np.arange(counts.sum())
    lowest, highest, scaled, absolute = (by_row(column) for column in joined.sums.T)
    run = JudgedRun(
        starts=starts,
        rank=narrow(joined.rank[taken]),
        level=joined.level[taken],
        retrieved=by_row(joined.retrieved),
        retrieval_scores=RetrievalScores(joined.score[taken], lowest, highest, scaled, absolute),
    )
    unjudged = int((joined.retrieved - joined.judged)[judged_rows].sum())
    return JudgedFile(run, unjudged, len(joined.rows) - len(judged_rows))


def make_empty_run(topics: int) -> JudgedRun:
    """Return a run that misses every topic."""
    return _assemble([_TopicRow.empty()] * topics)


class _TopicRow(NamedTuple):
    rank: NDArray[np.int64]
    level: NDArray[np.int8]
    scores: Floats
    retrieved: int
    lowest: float = 0.0
    highest: float = 0.0
    unjudged_scaled: float = 0.0
    unjudged_absolute: float = 0.0
    document: NDArray[np.uint32] = np.zeros(0, np.uint32)

    @classmethod
    def empty(cls) -> _TopicRow:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0), 0)

    @property
    def unjudged(self) -> int:
        return self.retrieved - len(self.rank)


_FEW = 4
"""So many judged documents for each one retrieved are few."""


def _judge_topic(ranking: Ranking, levels: Mapping[bytes, int], numbers: Mapping[bytes, int] | None) -> _TopicRow:
    count, scores = len(ranking.documents), ranking.scores
    if len(levels) < _FEW * count:
        # Reading all ids in their order brings them into the processor's cache. To wait for one after another in the
        # order of the run would take longer: a tenth of the time of reading a run.
        list(levels)
    level = np.fromiter(map(levels.get, ranking.documents, repeat(UNJUDGED)), np.int8, count)
    document = [numbers[retrieved] for retrieved in ranking.documents if retrieved in numbers] if numbers else []
    judged = level != UNJUDGED
    lowest, highest = float(scores.min()), float(scores.max())
    rest = scores[~judged]
    return _TopicRow(
        rank=np.flatnonzero(judged) + 1,
        level=level[judged],
        scores=scores[judged],
        retrieved=count,
        lowest=lowest,
        highest=highest,
        unjudged_scaled=_sum_in_order(min_max(rest, lowest, highest)),
        unjudged_absolute=_sum_in_order(np.abs(rest)),
        document=np.array(document, np.uint32),
    )


def _sum_in_order(values: Floats) -> float:
    """Return the sum in order, as the compiled join adds: NumPy's `sum` has another order, and so other last bits."""
    # Huge scores may add up to infinity, in compiled code, too, which gives no warning.
    with np.errstate(over="ignore"):
        return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _assemble(rows: list[_TopicRow], by_intent: bool = False) -> JudgedRun:
    retrieved = np.array([row.retrieved for row in rows], np.int64)
    scores = RetrievalScores(
        judged=np.concatenate([row.scores for row in rows]),
        lowest=np.array([row.lowest for row in rows]),
        highest=np.array([row.highest for row in rows]),
        unjudged_scaled=np.array([row.unjudged_scaled for row in rows]),
        unjudged_absolute=np.array([row.unjudged_absolute for row in rows]),
    )
    return JudgedRun(
        starts=np.concatenate([[0], np.cumsum([len(row.rank) for row in rows])]).astype(np.int64),
        rank=narrow(np.concatenate([row.rank for row in rows])),
        level=np.concatenate([row.level for row in rows]),
        retrieved=retrieved,
        retrieval_scores=scores,
        document=np.concatenate([row.document for row in rows]) if by_intent else None,
    )


def narrow(ranks: NDArray[Any]) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return the ranks in two bytes each, which are enough except for very deep runs."""
    return ranks.astype(np.uint16) if ranks.max(initial=0) < 1 << 16 else ranks.astype(np.uint32)


def unpack_run(rankings: bytes, retrieval_scores: bytes | None = None) -> JudgedRun:
    """Return the judged run that `JudgedFile.row` packed, with its retrieval scores if they are given."""
    columns: dict[str, Any] = unpack(rankings)
    if retrieval_scores is None:
        return JudgedRun(**columns)
    arrays = unpack(retrieval_scores)
    rows: dict[str, Any] = {name: arrays.pop(f"annotated/{name}") for name in _OF_ROWS if f"annotated/{name}" in arrays}
    annotated = JudgedRun(**rows) if rows else None
    return JudgedRun(**columns, retrieval_scores=RetrievalScores(**arrays), annotated=annotated)
