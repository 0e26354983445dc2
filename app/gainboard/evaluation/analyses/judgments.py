"""The content of a qrels version: its topics and levels, and what another version says about the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.corrections import corrections
from gainboard.evaluation.matrices import Matrices
from gainboard.store.records import VersionName

SECONDS_A_JUDGMENT = 5e-6
Counts = NDArray[np.int64]


class JudgmentCounts(Analysis):
    """Judged and relevant documents by topic and level; with `against`, a table of that version's levels and these.

    Documents below level 0 count as level 0: judged and nonrelevant.
    """

    def __init__(self, matrices: Matrices, against: VersionName | None = None) -> None:
        super().__init__(matrices)
        self._other = matrices.under(against) if against is not None else None

    def parts(self) -> list[float]:
        judged = [each.qrels.judged for each in (self.matrices, self._other) if each is not None]
        return [sum(judged) * SECONDS_A_JUDGMENT if self._other else 0.001]

    def work(self, part: int) -> Arrays:
        levels = _by_level(self.matrices)
        return {"levels": levels, **({"crossed": self._crossed(self._other)} if self._other else {})}

    def _crossed(self, other: Matrices) -> Counts:
        """Return the documents by level in both versions: int64 [h+2, h+2], last row and column for unjudged."""
        unjudged = self.matrices.collection.highest_level + 1
        crossed = np.zeros((unjudged + 1, unjudged + 1), np.int64)
        pairs = corrections(other.document_levels(), self.matrices.document_levels()).documents
        for (there, here), count in pairs.items():
            row, column = (unjudged if level is None else max(level, 0) for level in (there, here))
            crossed[row, column] += count
        return crossed

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        levels = found[0]["levels"]
        return {
            "topics": len(levels),
            "judged": int(levels.sum()),
            "relevant": self._relevant(levels[:, 1:].sum(axis=1)),
            "levels": [
                {
                    "level": level,
                    "name": self._name(level),
                    "documents": int(column.sum()),
                    "mean": float(column.mean()),
                }
                for level, column in enumerate(levels.T)
            ],
            "by_topic": [
                {"topic": topic, "judged": sum(row), "relevant": sum(row[1:]), "per_level": row}
                for topic, row in zip(self.matrices.topics, levels.tolist(), strict=True)
            ],
            **({"against": self._against(self._other, found[0]["crossed"])} if self._other else {}),
        }

    def _relevant(self, relevant: Counts) -> dict[str, Any]:
        """Return R, the number of relevant documents of each topic, at any level."""
        return {
            "documents": int(relevant.sum()),
            "mean": float(relevant.mean()),
            "minimum": self._extreme(relevant, int(relevant.min())),
            "maximum": self._extreme(relevant, int(relevant.max())),
        }

    def _extreme(self, relevant: Counts, value: int) -> dict[str, Any]:
        topics = [self.matrices.topics[topic] for topic in np.flatnonzero(relevant == value)]
        return {"relevant": value, "topics": topics}

    def _against(self, other: Matrices, crossed: Counts) -> dict[str, Any]:
        here, there = set(self.matrices.topics), set(other.topics)
        both = crossed[:-1, :-1]
        return {
            "qrels_version": other.qrels.version,
            "judgment_set": other.qrels.judgments,
            "topics_only_there": [topic for topic in other.topics if topic not in here],
            "topics_only_here": [topic for topic in self.matrices.topics if topic not in there],
            "levels": [self._name(level) for level in range(len(crossed) - 1)],
            "documents": int(both.sum()),
            "crossed": both.tolist(),
            "there": both.sum(axis=1).tolist(),
            "here": both.sum(axis=0).tolist(),
            "shares": [_shares(row) for row in both],
            "shares_here": _shares(both.sum(axis=0)),
            "judged_only_there": crossed[:-1, -1].tolist(),
            "judged_only_here": crossed[-1, :-1].tolist(),
        }

    def _name(self, level: int) -> str:
        return self.matrices.collection.level_name(level)


def _by_level(matrices: Matrices) -> Counts:
    """Return the number of judged documents of each topic by level: int64 [topics, h+1]."""
    levels = matrices.judgments.level_counts.copy()
    levels[:, 0] += matrices.judgments.negative_counts
    return levels


def _shares(counts: Counts) -> list[float | None]:
    """Return the shares of the sum of the counts; None if the sum is 0."""
    total = int(counts.sum())
    return [count / total if total else None for count in counts.tolist()]
