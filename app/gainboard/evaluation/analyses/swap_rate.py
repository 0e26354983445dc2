"""Swap rates: how large a difference must be before its direction can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import (
    MOST_KEPT,
    PAIRS,
    blocks_of_pairs,
    require_at_most,
    subsets,
    topics_for_halves,
)
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.draws import Draws, Indices, successive_seeds
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.swap_rates import (
    BIN_EDGES,
    LEAST_COMPARISONS,
    RULES,
    SURE_RATE,
    Rule,
    SwapCounts,
    swap_counts,
)

SECONDS_A_COMPARISON = 1.2e-8
PURPOSE = "swap subsets"


class SwapRate(Analysis):
    """Each metric's swap rate by the size of the difference, and the difference at which it falls to 5 %."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        trials: int,
        subset_size: int | None = None,
        replacement: bool = False,
        strict: bool = True,
        rule: Rule = "first",
        seed: int = 0,
        seeds: int = 1,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.rule, self.seeds = metrics, rule, successive_seeds(seed, seeds)
        self.trials, self.replacement, self.strict = trials, replacement, strict
        self.topics = topics_for_halves(matrices, metrics)
        self.topics.require_drawable(trials, "trials")
        require_at_most(MOST_KEPT, pair_count(matrices.run_count) * len(metrics) * seeds, PAIRS, "runs")
        most = self.topics.count if replacement else self.topics.count // 2
        self.subset_size = self.topics.subset_size(subset_size, most)
        self._seconds_a_pair = trials * SECONDS_A_COMPARISON
        self.blocks = blocks_of_pairs(matrices.run_count, pair_count(matrices.run_count) * self._seconds_a_pair)

    def parts(self) -> list[float]:
        each = [(block.stop - block.start) * self._seconds_a_pair for block in self.blocks]
        return each * (len(self.seeds) * len(self.metrics))

    def work(self, part: int) -> Arrays:
        place, block = divmod(part, len(self.blocks))
        seed, metric = divmod(place, len(self.metrics))
        scores, halves = self.topics.scores(self.metrics[metric]), self._halves(self.seeds[seed])
        counts = swap_counts(scores, *halves, self.strict, self.blocks[block])
        return {
            "comparisons": counts.comparisons,
            "swaps": counts.swaps,
            "by_pair": counts.by_pair,
            "maximum": np.array(counts.maximum),
        }

    def _halves(self, seed: int) -> tuple[Indices, Indices]:
        size, topics = self.subset_size, self.topics.count
        if self.replacement:
            draws = Draws(seed, PURPOSE)
            return draws.resamples(self.trials, topics)[:, :size], draws.resamples(self.trials, topics)[:, :size]
        both = subsets(seed, PURPOSE, self.trials, topics, 2 * size)
        return both[:, :size], both[:, size:]

    def counts(self, found: Sequence[Arrays]) -> list[SwapCounts]:
        """Return the counts of all metrics under each seed in turn, from the findings of all parts."""
        each = len(self.blocks)
        return [_joined(found[first : first + each]) for first in range(0, len(found), each)]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        counts = self.counts(found)
        return {
            **self.topics.described(),
            "seed": self.seeds[0],
            "seeds": len(self.seeds),
            "trials": self.trials,
            "subset_size": self.subset_size,
            "replacement": self.replacement,
            "strict": self.strict,
            "rule": self.rule,
            "metrics": [
                self._metric(label, counts[place :: len(self.metrics)]) for place, label in enumerate(self.metrics)
            ],
        }

    def _metric(self, label: str, under_each_seed: Sequence[SwapCounts]) -> dict[str, Any]:
        counts = under_each_seed[0]
        bins = _bins(counts)
        by_rule = {rule: _required(counts, rule, bins) for rule in RULES}
        by_seed = [each.sensitivity(self.rule)._asdict() for each in under_each_seed]
        chosen = by_seed[0] | by_rule[self.rule]
        return {"metric": label, "bins": bins, **chosen, "by_rule": by_rule, "by_seed": by_seed}


def _joined(blocks: Sequence[Arrays]) -> SwapCounts:
    comparisons, swaps = (np.sum([each[name] for each in blocks], axis=0) for name in ("comparisons", "swaps"))
    by_pair = np.concatenate([each["by_pair"] for each in blocks])
    return SwapCounts(comparisons, swaps, by_pair, max(float(each["maximum"]) for each in blocks))


def _bins(counts: SwapCounts) -> list[dict[str, Any]]:
    columns = (counts.comparisons.tolist(), counts.swaps.tolist(), counts.swap_rate.tolist())
    ends = (*BIN_EDGES[1:], None)
    return [
        {"from": start, "to": end, "comparisons": comparisons, "swaps": swaps, "swap_rate": rate}
        for start, end, comparisons, swaps, rate in zip(BIN_EDGES, ends, *columns, strict=True)
    ]


def _required(counts: SwapCounts, rule: Rule, bins: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns by a rule; either the higher bins that exceed 5 %, or why there is no difference."""
    columns = counts.sensitivity(rule)._asdict()
    del columns["maximum_performance"]  # the same by every rule
    place = counts.deciding_bin(rule)
    exceptions = [bins[each] for each in counts.exceptions(place)] if place is not None else []
    return {
        **columns,
        "no_difference_because": why_none(counts, rule) if place is None else None,
        "exceptions": exceptions,
        "comparisons_in_exceptions": sum(each["comparisons"] for each in exceptions),
    }


def why_none(counts: SwapCounts, rule: Rule) -> str:
    """Return why no bin decides by the rule."""
    # sparse bins decide by this rule alone
    decides = counts.comparisons > 0 if rule == "all-higher" else counts.decides
    low = counts.swap_rate <= SURE_RATE
    if not decides.any():
        return f"every bin has fewer than {LEAST_COMPARISONS} comparisons"
    if not low.any():
        return "no difference brings the swap rate to 5 %"
    if not (low & decides).any():
        return f"only bins with fewer than {LEAST_COMPARISONS} comparisons have a swap rate of at most 5 %"
    return "higher bins exceed 5 %"
