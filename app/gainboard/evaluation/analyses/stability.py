"""Stability of metrics: minority rates and proportions of ties over topic subsets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import (
    MOST_KEPT,
    MOST_PAIRS,
    PAIRS,
    blocks_of_pairs,
    named_pairs,
    require_at_most,
    subsets,
    topics_for_halves,
)
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.stability import StabilityCounts, shared_rate, stability_counts, ties_at

SECONDS_A_COMPARISON = 1.2e-9
PURPOSE = "stability subsets"
Shown = Mapping[str, Any]
"""A metric of the result."""


class Stability(Analysis):
    """Each metric's curve of proportion of ties and minority rate, over one family of topic subsets."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        trials: int,
        fuzziness: Sequence[float],
        subset_size: int | None = None,
        seed: int = 0,
        per_pair: bool = False,
    ) -> None:
        super().__init__(matrices)
        self.metrics = metrics
        self.trials, self.seed, self.fuzziness, self.per_pair = trials, seed, sorted(fuzziness), per_pair
        self.topics = topics_for_halves(matrices, metrics)
        self.topics.require_drawable(trials, "trials")
        # Two numbers are kept for each until the result; one by one, they are its JSON.
        counted = pair_count(matrices.run_count) * len(metrics) * len(self.fuzziness)
        require_at_most(MOST_PAIRS if per_pair else MOST_KEPT // 2, counted, f"{PAIRS} and fuzziness values", "runs")
        self.subset_size = self.topics.subset_size(subset_size, most=self.topics.count)

        a_pair = self.trials * (len(self.fuzziness) + 3) * SECONDS_A_COMPARISON
        self.blocks = blocks_of_pairs(matrices.run_count, pair_count(matrices.run_count) * a_pair)
        self._seconds_a_pair = a_pair

    def parts(self) -> list[float]:
        means = self.matrices.run_count * self.trials * self.topics.count * SECONDS_A_COMPARISON
        each = [means + (block.stop - block.start) * self._seconds_a_pair for block in self.blocks]
        return each * len(self.metrics)

    def work(self, part: int) -> Arrays:
        metric, block = divmod(part, len(self.blocks))
        drawn = subsets(self.seed, PURPOSE, self.trials, self.topics.count, self.subset_size)
        scores = self.topics.scores(self.metrics[metric])
        counts = stability_counts(scores, drawn, self.fuzziness, self.blocks[block])
        return {"greater": counts.greater, "less": counts.less}

    def counts(self, found: Sequence[Arrays]) -> list[StabilityCounts]:
        """Return the counts under each metric, from the findings of all parts."""
        each = len(self.blocks)
        return [self._joined(found[first : first + each]) for first in range(0, len(found), each)]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        counts = self.counts(found)
        equal = shared_rate(np.array([each.minority_rate for each in counts]))
        metrics = [self._metric(label, each, equal) for label, each in zip(self.metrics, counts, strict=True)]
        crossed, others = _parted(metrics, lambda metric: metric["crossed"])
        above, below = _parted(others, lambda metric: math.isnan(metric["ties_at_5_percent"]))
        return {
            **self.topics.described(),
            "seed": self.seed,
            "trials": self.trials,
            "subset_size": self.subset_size,
            "metrics": metrics,
            "by_ties_at_5_percent": _sorted(crossed, "ties_at_5_percent"),
            "below_5_percent": [metric["metric"] for metric in below],
            "above_5_percent": [metric["metric"] for metric in above],
            "equal_minority_rate": equal,
            "by_ties_at_equal_rate": _sorted(metrics, "ties_at_equal_rate"),
        }

    def _joined(self, blocks: Sequence[Arrays]) -> StabilityCounts:
        greater, less = (np.concatenate([each[name] for each in blocks], axis=1) for name in ("greater", "less"))
        return StabilityCounts(greater, less, self.trials)

    def _metric(self, label: str, counts: StabilityCounts, equal: float) -> dict[str, Any]:
        rates, ties = counts.minority_rate, counts.proportion_of_ties
        curve = [
            {"fuzziness": fuzziness, "minority_rate": rate, "proportion_of_ties": tied}
            for fuzziness, rate, tied in zip(self.fuzziness, rates.tolist(), ties.tolist(), strict=True)
        ]
        at_5_percent, at_equal = ties_at(rates, ties), ties_at(rates, ties, equal)
        shown = {
            "metric": label,
            "curve": curve,
            "ties_at_5_percent": at_5_percent.proportion,
            "crossed": at_5_percent.crossed,
            "ties_at_equal_rate": at_equal.proportion if at_equal.crossed else math.nan,
        }
        return shown | ({"pairs": self._pairs(counts)} if self.per_pair else {})

    def _pairs(self, counts: StabilityCounts) -> list[dict[str, Any]]:
        columns = zip(counts.greater.T.tolist(), counts.less.T.tolist(), counts.equal.T.tolist(), strict=True)
        return [
            {"runs": pair, "greater": greater, "less": less, "equal": equal}
            for pair, (greater, less, equal) in zip(named_pairs(self.matrices), columns, strict=True)
        ]


def _parted(metrics: Sequence[Shown], is_first: Callable[[Shown], bool]) -> tuple[list[Shown], list[Shown]]:
    return [each for each in metrics if is_first(each)], [each for each in metrics if not is_first(each)]


def _sorted(metrics: Sequence[Shown], column: str) -> list[str]:
    known = [metric for metric in metrics if not math.isnan(metric[column])]
    return [metric["metric"] for metric in sorted(known, key=lambda metric: metric[column])]
