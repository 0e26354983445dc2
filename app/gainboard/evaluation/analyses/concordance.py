"""Concordance of metrics: on how many pairs of runs two metrics agree, and both find the difference significant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import refuse
from gainboard.evaluation.analyses.sensitivity import Sensitivity
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.concordance import CLASSES, concordance_counts, consistency
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.significance import Correction


class Concordance(Analysis):
    """The classes of all pairs of runs under each two of the metrics, with one significance test."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        test: str,
        alpha: float,
        resamples: int | None = None,
        correction: Correction = "none",
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        if len(metrics) < 2:
            message = (
                f"The request names one metric, {metrics[0]}, in one or several ways. Name another one to compare it "
                'with, for example ["AP", "Q"].'
            )
            raise refuse("metrics", "too-few-metrics", message)
        self.metrics, self.alpha, self.correction = metrics, alpha, correction
        # Exactly the levels of a job of that kind with the same seed.
        self._tests = Sensitivity(
            matrices, metrics, test=test, alphas=(), resamples=resamples, correction=correction, seed=seed
        )

    def parts(self) -> list[float]:
        return self._tests.parts()

    def work(self, part: int) -> Arrays:
        return self._tests.work(part)

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        means, significant, resamples = [], [], None
        for decision in self._tests.decisions(found):
            means.append(decision.scores.mean(axis=1))
            significant.append(decision.asl < self.alpha)
            resamples = decision.outcome.resamples
        counts = concordance_counts(np.array(means), np.array(significant))
        return {
            **self._tests.topics.described(),
            "test": self._tests.test.name,
            "alpha": self.alpha,
            "correction": self.correction,
            "seed": self._tests.settings.seed,
            "resamples": resamples,
            "note": self._tests.note(resamples, [self.alpha]),
            "pairs": pair_count(self.matrices.run_count),
            "metrics": [
                {"metric": label, "significant_pairs": int(row.sum())}
                for label, row in zip(self.metrics, significant, strict=True)
            ],
            "comparisons": [self._comparison(counts[row, column], row, column) for row, column in self._each_two()],
            "consistency": consistency(counts).tolist(),
        }

    def _each_two(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.metrics)), 2))

    def _comparison(self, counts: Any, row: int, column: int) -> dict[str, Any]:
        pairs = int(counts.sum())
        return {
            "metrics": [self.metrics[row], self.metrics[column]],
            "counts": dict(zip(CLASSES, counts.tolist(), strict=True)),
            "shares": dict(zip(CLASSES, (counts / pairs).tolist(), strict=True)),
            "consistency": float(consistency(counts)),
        }
