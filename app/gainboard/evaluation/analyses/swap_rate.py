"""Swap rates: how large a difference must be before its direction can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import MOST_KEPT, PAIRS, require_at_most, subsets, topics_for_halves
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.draws import Draws, Indices
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.swap_rates import BIN_EDGES, SwapCounts, swap_counts

SECONDS_A_COMPARISON = 1.2e-8
PURPOSE = "swap subsets"


class SwapRate(Analysis):
    """Each metric's swap rate by the size of the difference, and the difference at which it falls to 5 %."""

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        trials: int,
        subset_size: int | None = None,
        replacement: bool = False,
        strict: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        self.metrics = metrics
        self.trials, self.replacement, self.strict, self.seed = trials, replacement, strict, seed
        self.topics = topics_for_halves(matrices, metrics)
        self.topics.require_drawable(trials, "trials")
        require_at_most(MOST_KEPT, pair_count(matrices.run_count) * len(metrics), PAIRS, "runs")
        most = self.topics.count if replacement else self.topics.count // 2
        self.subset_size = self.topics.subset_size(subset_size, most)

    def parts(self) -> list[float]:
        comparisons = pair_count(self.matrices.run_count) * self.trials
        return [comparisons * SECONDS_A_COMPARISON] * len(self.metrics)

    def work(self, part: int) -> Arrays:
        counts = swap_counts(self.topics.scores(self.metrics[part]), *self._halves(), self.strict)
        return {
            "comparisons": counts.comparisons,
            "swaps": counts.swaps,
            "by_pair": counts.by_pair,
            "maximum": np.array(counts.maximum),
        }

    def _halves(self) -> tuple[Indices, Indices]:
        size, topics = self.subset_size, self.topics.count
        if self.replacement:
            draws = Draws(self.seed, PURPOSE)
            return draws.resamples(self.trials, topics)[:, :size], draws.resamples(self.trials, topics)[:, :size]
        both = subsets(self.seed, PURPOSE, self.trials, topics, 2 * size)
        return both[:, :size], both[:, size:]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        return {
            **self.topics.described(),
            "seed": self.seed,
            "trials": self.trials,
            "subset_size": self.subset_size,
            "replacement": self.replacement,
            "strict": self.strict,
            "metrics": [self._metric(*each) for each in zip(self.metrics, found, strict=True)],
        }

    def _metric(self, label: str, arrays: Arrays) -> dict[str, Any]:
        counts = SwapCounts(arrays["comparisons"], arrays["swaps"], arrays["by_pair"], float(arrays["maximum"]))
        columns = (counts.comparisons.tolist(), counts.swaps.tolist(), counts.swap_rate.tolist())
        ends = (*BIN_EDGES[1:], None)
        bins = [
            {"from": start, "to": end, "comparisons": comparisons, "swaps": swaps, "swap_rate": rate}
            for start, end, comparisons, swaps, rate in zip(BIN_EDGES, ends, *columns, strict=True)
        ]
        return {"metric": label, "bins": bins, **counts.sensitivity()._asdict()}
