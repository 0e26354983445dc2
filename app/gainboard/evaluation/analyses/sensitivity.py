"""Sensitivity: which pairs of runs a metric separates, at which level, and how large the difference must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import (
    MOST_KEPT,
    MOST_TESTED_PAIRS,
    PAIRS,
    common_topics,
    refuse,
    require_at_most,
)
from gainboard.evaluation.analyses.compared_pairs import ComparedPairs, as_counts, as_levels
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.statistics.draws import Indices, successive_seeds
from gainboard.statistics.multiple_comparisons import differing_pairs, needed_resamples, significance_groups
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.significance import (
    Correction,
    Outcome,
    SignificanceSettings,
    find_test,
    uncertain_pairs,
)

KEPT = "numbers are kept of all resamples"
MOST_POINTS = 2_000
"""The most points that an ASL curve lists: more than a reader can see."""


@dataclass(frozen=True)
class Decision:
    """The findings about one metric's scores."""

    label: str
    scores: Floats
    outcome: Outcome
    asl: Floats
    """[pairs]: corrected if that was asked for. These levels are compared with alpha."""


def curve_points(pairs: int) -> Indices:
    """Return which points of a curve over all pairs are listed: all, or `MOST_POINTS` of them: intp [points]."""
    if pairs <= MOST_POINTS:
        return np.arange(pairs)
    return np.rint(np.linspace(0, pairs - 1, MOST_POINTS)).astype(np.intp)


class Sensitivity(Analysis):
    """A significance test for every pair of runs and every metric. One set of resamples serves all metrics."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        test: str,
        alphas: Sequence[float],
        resamples: int | None = None,
        correction: Correction = "none",
        baseline: str | None = None,
        seed: int = 0,
        seeds: int = 1,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.baseline, self.correction = metrics, baseline, correction
        self.test = find_test(test)
        self.settings = SignificanceSettings(
            seed=seed, resamples=resamples, alphas=tuple(alphas), largest=correction == "max-t"
        )
        # Under further seeds, only pairs are counted.
        self._further = [replace(self.settings, seed=each, alphas=()) for each in successive_seeds(seed, seeds)[1:]]
        self.topics = common_topics(matrices, metrics)
        self._refuse_what_cannot_be()
        self._blocks = self.test.blocks(matrices.run_count, self.topics.count, resamples)

    def _refuse_what_cannot_be(self) -> None:
        if self.topics.count < self.test.least_topics:
            message = (
                f"{self.test.name} needs at least {self.test.least_topics} topics. {self.topics.count} have a score "
                'under every metric. Judge more topics, or choose "test": "t-test" with "correction": "holm".'
            )
            raise refuse("test", "too-few-topics", message)
        if self.settings.resamples is not None and self.test.default_resamples is None:
            raise refuse("resamples", "not-used", f"{self.test.name} draws no resamples. Leave `resamples` out.")
        if self.settings.largest and not self.test.gives_largest:
            raise refuse(
                "correction", "not-available", f'{self.test.name} has no max-t correction. Use "correction": "holm".'
            )
        runs, resamples = self.matrices.run_count, self.settings.resamples
        require_at_most(MOST_KEPT, self.test.numbers_kept(runs, self.topics.count, resamples), KEPT, "resamples")
        tested = pair_count(runs) * len(self.metrics) * (1 + len(self._further))
        require_at_most(MOST_TESTED_PAIRS, tested, PAIRS, "runs", "too-many-pairs")

    def parts(self) -> list[float]:
        # The parts are blocks of resamples, not metrics, because all metrics use the resamples that a block draws.
        runs, topics = self.matrices.run_count, self.topics.count
        each = self.test.seconds_of_block(runs, topics, self.settings.resamples)
        return [each] * (self._parts_a_seed * (1 + len(self._further)))

    @property
    def _parts_a_seed(self) -> int:
        return self._blocks * len(self.metrics)

    def work(self, part: int) -> Arrays:
        seed, rest = divmod(part, self._parts_a_seed)
        block, metric = divmod(rest, len(self.metrics))
        settings = (self.settings, *self._further)[seed]
        return self._compact(self.test.work(self.topics.scores(self.metrics[metric]), block, settings))

    def _compact(self, found: Arrays) -> Arrays:
        """Return the findings of a block without what the result does not need: two bytes per pair for most tests."""
        kept = {name: array for name, array in found.items() if name != "observed" or self.settings.largest}
        if "asl" in kept:
            kept["asl"] = as_counts(kept["asl"], self._drawn)
        if "count" in kept:
            kept["count"] = kept["count"].astype(np.min_scalar_type(int(kept["count"].max(initial=0))))
        if "estimated_differences" in kept:
            kept["estimated_differences"] = kept["estimated_differences"].max(axis=-1, keepdims=True)
        return kept

    @property
    def _drawn(self) -> int | None:
        return self.test.drawn(self.settings.resamples) or None

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        metrics, resamples = [], None
        # One metric at a time: the arrays for half a million pairs need much memory while they are computed.
        for row, label in enumerate(self.metrics):
            decision = self._decide(label, self._found(found, 0, row), self.settings)
            further = [
                self._decide(label, self._found(found, seed, row), settings).asl
                for seed, settings in enumerate(self._further, start=1)
            ]
            metrics.append(self._metric(decision, further))
            resamples = decision.outcome.resamples
        beating = [self._beats_baseline(metrics, seed) for seed in range(1 + len(self._further))]
        pairs = pair_count(self.matrices.run_count)
        return {
            **self.topics.described(),
            "test": self.test.name,
            "seed": self.settings.seed,
            "seeds": 1 + len(self._further),
            "resamples": resamples,
            "correction": self.correction,
            **self._holm(resamples),
            "alphas": list(self.settings.alphas),
            "baseline": self.baseline,
            "metrics": metrics,
            **({"asl_curve_ranks": (curve_points(pairs) + 1).tolist()} if pairs > MOST_POINTS else {}),
            "by_sensitivity": self._by_sensitivity(metrics, 0),
            "first_by_seed": [self._by_sensitivity(metrics, seed)[0] for seed in range(1 + len(self._further))],
            "beats_baseline": beating[0],
            "uncertain_marks": [
                label for label in self.metrics if len({label in under_seed for under_seed in beating}) > 1
            ],
        }

    def decisions(self, found: Sequence[Arrays]) -> Iterator[Decision]:
        """Yield the findings about each metric under the first seed, from the findings of all parts."""
        for row, label in enumerate(self.metrics):
            yield self._decide(label, self._found(found, 0, row), self.settings)

    def _found(self, found: Sequence[Arrays], seed: int, metric: int) -> Sequence[Arrays]:
        """Return the findings about a metric under one of the seeds, block by block."""
        start = seed * self._parts_a_seed
        return found[start + metric : start + self._parts_a_seed : len(self.metrics)]

    def _by_sensitivity(self, metrics: Sequence[dict[str, Any]], seed: int) -> list[str]:
        counts = [[-level["significant_pairs_by_seed"][seed] for level in metric["levels"]] for metric in metrics]
        return [self.metrics[row] for row in sorted(range(len(metrics)), key=counts.__getitem__)]

    def _holm(self, resamples: int | None) -> dict[str, Any]:
        """Return the resamples that Holm's correction needs, and what follows if there are fewer."""
        if self.correction != "holm" or resamples is None:
            return {"resamples_needed": None, "note": None}
        pairs = pair_count(self.matrices.run_count)
        return {
            "resamples_needed": needed_resamples(pairs, min(self.settings.alphas)),
            "note": self.note(resamples, self.settings.alphas),
        }

    def note(self, resamples: int | None, alphas: Sequence[float]) -> str | None:
        """Return a sentence for readers if there are too few resamples for Holm's correction, and it is wanted."""
        if self.correction != "holm":
            return None
        return self.test.holm_note(resamples, pair_count(self.matrices.run_count), self.topics.count, alphas)

    def _decide(self, label: str, found: Sequence[Arrays], settings: SignificanceSettings) -> Decision:
        scores = self.topics.scores(label)
        whole = [{**part, "asl": as_levels(part["asl"], self._drawn)} if "asl" in part else part for part in found]
        outcome = self.test.outcome(scores, whole, settings)
        return Decision(label, scores, outcome, self.test.corrected(outcome, self.correction))

    def _metric(self, decision: Decision, further: Sequence[Floats]) -> dict[str, Any]:
        outcome = decision.outcome
        corrected = as_counts(decision.asl, outcome.resamples) if self.correction != "none" else None
        levels = as_counts(outcome.asl, outcome.resamples)
        names = [run.name for run in self.matrices.runs]
        curve = np.sort(outcome.asl)[::-1]
        return {
            "metric": decision.label,
            "levels": [self._level(decision, further, row, alpha) for row, alpha in enumerate(self.settings.alphas)],
            "pairs": ComparedPairs(
                decision.label, self.test.name, outcome.resamples, names, decision.scores, levels, corrected
            ),
            "asl_curve": curve[curve_points(len(curve))].tolist(),
            **self._infinite(outcome),
        }

    def _infinite(self, outcome: Outcome) -> dict[str, int]:
        """Count the resamples in which the t of any pair is infinite; max-T uses them only for the pairs themselves."""
        if outcome.any_infinite is None:
            return {}
        return {"resamples_with_infinite_t": int(outcome.any_infinite.sum())}

    def _level(self, decision: Decision, further: Sequence[Floats], row: int, alpha: float) -> dict[str, Any]:
        significant, pairs = int((decision.asl < alpha).sum()), len(decision.asl)
        estimated = decision.outcome.estimated_differences
        by_share = estimated[row].max(axis=-1).tolist() if estimated is not None else None
        difference = by_share[0] if by_share is not None else None
        level: dict[str, Any] = {
            "alpha": alpha,
            "significant_pairs": significant,
            "pairs": pairs,
            "sensitivity": significant / pairs,
            "significant_pairs_by_seed": [significant, *(int((asl < alpha).sum()) for asl in further)],
            **self._uncertain(decision, alpha),
            "estimated_difference": difference,
            "estimated_difference_range": [min(by_share), max(by_share)] if by_share is not None else None,
            "estimated_difference_printed": f"{difference:.2f}" if difference is not None else None,
        }
        if self.test.is_simultaneous:
            differs = differing_pairs(decision.asl, self.matrices.run_count, alpha)
            groups = significance_groups(decision.scores.mean(axis=1), differs)
            level["groups"] = {run.name: own for run, own in zip(self.matrices.runs, groups, strict=True)}
        return level

    def _uncertain(self, decision: Decision, alpha: float) -> dict[str, Any]:
        """Return the number of uncertain pairs, and the count of significant ones without and with them.

        Both are undefined with Holm's correction, which multiplies the error of the levels.
        """
        resamples = None if self.test.is_exact(self.topics.count) else decision.outcome.resamples
        if self.correction == "holm" and resamples is not None:
            return {"uncertain_pairs": None, "significant_range": None}
        uncertain = uncertain_pairs(decision.asl, alpha, resamples)
        sure, count = int(((decision.asl < alpha) & ~uncertain).sum()), int(uncertain.sum())
        return {"uncertain_pairs": count, "significant_range": [sure, sure + count]}

    def _beats_baseline(self, metrics: Sequence[dict[str, Any]], seed: int) -> list[str]:
        """Return the metrics that are more sensitive than the baseline at every level, under one of the seeds."""
        by_label = {
            metric["metric"]: [level["significant_pairs_by_seed"][seed] for level in metric["levels"]]
            for metric in metrics
        }
        if self.baseline not in by_label:
            return []
        return [
            label
            for label, counts in by_label.items()
            if all(own > other for own, other in zip(counts, by_label[self.baseline], strict=True))
        ]
