"""Topic set size: how rankings and significant pairs depend on the number of topics, and how many topics are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import LEAST_TO_HALVE, blocks_of_trials, common_topics, refuse, subsets
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.statistics.effects import TINY
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.subsampling import paired_taus, significant_share, spread_of, taus_with
from gainboard.statistics.topic_set_size import (
    Design,
    anova_design,
    interval_design,
    one_way_variance,
    residual_variance,
    t_test_design,
)

PURPOSE = "topic set sizes"
FOUND = ("tau", "disjoint", "sensitivity")
SECONDS_A_SUBSET, SECONDS_A_PAIR, SECONDS_A_PRODUCT = 1e-4, 1.2e-7, 1e-10
STEP, MOST_STEPS = 5, 20
"""Sizes grow by default by 5 topics; by a multiple of 5 if that is more than 20 sizes."""


class TopicSetSize(Analysis):
    """Each metric's curve over subsets of the topics, its variances, and the topics for a wanted difference."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        trials: int,
        sizes: Sequence[int] | None = None,
        alpha: float = 0.05,
        power: float = 0.8,
        difference: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.trials, self.alpha, self.seed = metrics, trials, alpha, seed
        self.power, self.difference = power, difference
        self.topics = common_topics(matrices, metrics, LEAST_TO_HALVE)
        self.topics.require_drawable(trials, "trials")
        self.sizes = sorted(set(sizes)) if sizes else _default_sizes(self.topics.count)
        if self.sizes[-1] > self.topics.count:
            message = f"A size is {self.sizes[-1]}, but there are {self.topics.count} topics. Leave larger sizes out."
            raise refuse("sizes", "out-of-range", message)

        blocks = blocks_of_trials(trials, trials * self._seconds_a_trial(self.sizes[-1]))
        self._blocks = [(metric, size, block) for metric in metrics for size in self.sizes for block in blocks]

    def _seconds_a_trial(self, size: int) -> float:
        runs = self.matrices.run_count
        return SECONDS_A_SUBSET + pair_count(runs) * SECONDS_A_PAIR + size * runs**2 * SECONDS_A_PRODUCT

    def parts(self) -> list[float]:
        return [(block.stop - block.start) * self._seconds_a_trial(size) for _, size, block in self._blocks]

    def work(self, part: int) -> Arrays:
        label, size, block = self._blocks[part]
        scores = self.topics.scores(label)
        # One shuffle of all topics per trial: a subset is its first topics, and a disjoint one the topics after them.
        orders = subsets(self.seed, PURPOSE, self.trials, self.topics.count, self.topics.count)[block]
        means = np.empty((len(orders), len(scores)))
        disjoint = np.empty((len(orders) if 2 * size <= self.topics.count else 0, len(scores)))
        shares = np.empty(len(orders))
        for trial, order in enumerate(orders):
            subset = np.ascontiguousarray(scores[:, order[:size]])
            means[trial], shares[trial] = subset.mean(axis=1), significant_share(subset, self.alpha)
            if len(disjoint):
                disjoint[trial] = scores[:, order[size : 2 * size]].mean(axis=1)
        tau = taus_with(scores.mean(axis=1), means)
        found = (tau, paired_taus(means[: len(disjoint)], disjoint), shares)
        return dict(zip(FOUND, found, strict=True))

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        joined: dict[tuple[str, int], list[Arrays]] = {}
        for (label, size, _), arrays in zip(self._blocks, found, strict=True):
            joined.setdefault((label, size), []).append(arrays)
        return {
            **self.topics.described(),
            "seed": self.seed,
            "trials": self.trials,
            "alpha": self.alpha,
            "power": self.power,
            "difference": self.difference,
            "sizes": self.sizes,
            "metrics": [
                self._metric(label, [self._point(size, joined[label, size]) for size in self.sizes])
                for label in self.metrics
            ],
        }

    def _metric(self, label: str, curve: Sequence[dict[str, Any]]) -> dict[str, Any]:
        scores = self.topics.scores(label)
        variance = one_way_variance(scores)
        return {
            "metric": label,
            "curve": list(curve),
            "variance": variance,
            "degrees_of_freedom": len(scores) * (self.topics.count - 1),
            "residual_variance": (residual := residual_variance(scores)),
            "designs": self._designs(scores, variance) if self.difference is not None else None,
            "paired_designs": self._paired_designs(residual) if self.difference is not None else None,
        }

    def _point(self, size: int, found: Sequence[Arrays]) -> dict[str, Any]:
        tau, disjoint, sensitivity = (np.concatenate([each[name] for each in found]) for name in FOUND)
        return {
            "topics": size,
            "tau": spread_of(tau)._asdict(),
            "tau_of_disjoint": spread_of(disjoint)._asdict() if len(disjoint) else None,
            "sensitivity": spread_of(sensitivity)._asdict(),
        }

    def _designs(self, scores: Floats, variance: float) -> dict[str, Any]:
        """Return the topics of each design; null if more than a million are needed, or if nothing varies."""
        assert self.difference is not None
        if math.sqrt(variance) <= TINY:
            return dict.fromkeys(("t-test", "anova", "interval"))
        anova = anova_design(self.difference, variance, len(scores), self.alpha, self.power)
        return self._paired_designs(variance) | {"anova": _topics(anova)}

    def _paired_designs(self, variance: float) -> dict[str, Any]:
        """Return the designs for two runs, whose differences vary twice as much as `variance`.

        The mean over all pairs is twice the residual variance, because two runs share the hard and the easy topics.
        """
        assert self.difference is not None
        if math.sqrt(variance) <= TINY:
            return dict.fromkeys(("t-test", "interval"))
        return {
            "t-test": _topics(t_test_design(self.difference, 2 * variance, self.alpha, self.power)),
            "interval": _topics(interval_design(self.difference, 2 * variance, self.alpha)),
        }


def _topics(design: Design | None) -> int | None:
    return design.topics if design is not None else None


def _default_sizes(topics: int) -> list[int]:
    step = STEP * math.ceil(topics / (STEP * MOST_STEPS))
    return sorted({*range(step, topics + 1, step), topics})
