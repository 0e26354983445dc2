"""Sensitivity: which pairs of runs a metric tells apart, at which level, and how large a difference that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import (
    MOST_KEPT,
    MOST_PAIRS,
    PAIRS,
    common_topics,
    named_pairs,
    refuse,
    require_at_most,
)
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.statistics.corrections import holm, max_t, needed_resamples
from gainboard.statistics.groups import significance_groups
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.significance import Outcome, Settings, find_test

Correction = Literal["none", "holm", "max-t"]
KEPT = "numbers are kept of all resamples"


@dataclass(frozen=True)
class Decision:
    """What one metric's scores come to."""

    label: str
    scores: Floats
    outcome: Outcome
    asl: Floats
    """[pairs]: corrected, if that was asked for; this is what is compared with alpha."""


class Sensitivity(Analysis):
    """A significance test for every pair of runs and every metric; one set of resamples serves them all."""

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
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.baseline, self.correction = metrics, baseline, correction
        self.test = find_test(test)
        self.settings = Settings(seed=seed, resamples=resamples, alphas=tuple(alphas), largest=correction == "max-t")
        self.topics = common_topics(matrices, metrics)
        self._refuse_what_cannot_be()
        self._blocks = self.test.blocks(matrices.run_count, self.topics.count, resamples)

    def _refuse_what_cannot_be(self) -> None:
        if self.settings.resamples is not None and self.test.default_resamples is None:
            raise refuse("resamples", "not-used", f"{self.test.name} draws no resamples; leave `resamples` out.")
        if self.settings.largest and not self.test.gives_largest:
            raise refuse("correction", "not-available", f"{self.test.name} has no max-t correction; take holm.")
        runs, resamples = self.matrices.run_count, self.settings.resamples
        require_at_most(MOST_KEPT, self.test.numbers_kept(runs, self.topics.count, resamples), KEPT, "resamples")
        require_at_most(MOST_PAIRS, pair_count(runs) * len(self.metrics), PAIRS, "runs", "too-many-pairs")

    def parts(self) -> list[float]:
        # Block by block rather than metric by metric: what a block draws then serves all metrics.
        runs, topics = self.matrices.run_count, self.topics.count
        each = self.test.seconds_of_block(runs, topics, self.settings.resamples)
        return [each] * (self._blocks * len(self.metrics))

    def work(self, part: int) -> Arrays:
        block, metric = divmod(part, len(self.metrics))
        return self.test.work(self.topics.scores(self.metrics[metric]), block, self.settings)

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        decisions = [self._decide(label, found[row :: len(self.metrics)]) for row, label in enumerate(self.metrics)]
        metrics = [self._metric(decision) for decision in decisions]
        resamples = decisions[0].outcome.resamples
        order = sorted(range(len(metrics)), key=lambda row: [-level["sensitivity"] for level in metrics[row]["levels"]])
        pairs = pair_count(self.matrices.run_count)
        return {
            **self.topics.described(),
            "test": self.test.name,
            "seed": self.settings.seed,
            "resamples": resamples,
            "correction": self.correction,
            "resamples_needed": self._needed(pairs) if self.correction == "holm" and resamples is not None else None,
            "alphas": list(self.settings.alphas),
            "baseline": self.baseline,
            "metrics": metrics,
            "by_sensitivity": [self.metrics[row] for row in order],
            "beats_baseline": self._beats_baseline(metrics),
        }

    def _needed(self, pairs: int) -> int:
        return needed_resamples(pairs, min(self.settings.alphas))

    def _decide(self, label: str, found: Sequence[Arrays]) -> Decision:
        scores = self.topics.scores(label)
        outcome = self.test.outcome(scores, found, self.settings)
        asl = outcome.asl
        if self.correction == "holm":
            asl = holm(asl)
        elif self.correction == "max-t":
            assert outcome.observed is not None
            assert outcome.largest is not None
            assert outcome.infinite_counts is not None
            assert outcome.infinite_resamples is not None
            asl = max_t(outcome.observed, outcome.largest, outcome.infinite_counts, outcome.infinite_resamples)
        return Decision(label, scores, outcome, asl)

    def _metric(self, decision: Decision) -> dict[str, Any]:
        return {
            "metric": decision.label,
            "levels": [self._level(decision, row, alpha) for row, alpha in enumerate(self.settings.alphas)],
            "pairs": self._pairs(decision),
            "asl_curve": np.sort(decision.outcome.asl)[::-1].tolist(),
            **self._infinite(decision.outcome),
        }

    def _infinite(self, outcome: Outcome) -> dict[str, int]:
        """Count the resamples in which the t of any pair is infinite; max-T takes them for their own pairs alone."""
        if outcome.any_infinite is None:
            return {}
        return {"resamples_with_infinite_t": int(outcome.any_infinite.sum())}

    def _level(self, decision: Decision, row: int, alpha: float) -> dict[str, Any]:
        significant, pairs = int((decision.asl < alpha).sum()), len(decision.asl)
        estimated = decision.outcome.estimated_differences
        difference = float(estimated[row].max()) if estimated is not None else None
        level: dict[str, Any] = {
            "alpha": alpha,
            "significant_pairs": significant,
            "pairs": pairs,
            "sensitivity": significant / pairs,
            "estimated_difference": difference,
            "estimated_difference_printed": f"{difference:.2f}" if difference is not None else None,
        }
        if self.test.name == "randomised-tukey-hsd":
            # Only where a larger difference is never less significant are groups runs that stand side by side.
            groups = significance_groups(decision.scores.mean(axis=1), decision.asl, alpha)
            level["groups"] = {run.name: own for run, own in zip(self.matrices.runs, groups, strict=True)}
        return level

    def _pairs(self, decision: Decision) -> list[dict[str, Any]]:
        effects = self.test.effects(decision.scores)
        columns = {
            "difference": effects.difference.tolist(),
            "asl": decision.outcome.asl.tolist(),
            **({"asl_corrected": decision.asl.tolist()} if self.correction != "none" else {}),
            "effect_size": effects.size.tolist(),
            "interval": np.stack((effects.low, effects.high), axis=1).tolist(),
        }
        return [
            {"runs": pair, **dict(zip(columns, values, strict=True))}
            for pair, values in zip(named_pairs(self.matrices), zip(*columns.values(), strict=True), strict=True)
        ]

    def _beats_baseline(self, metrics: Sequence[dict[str, Any]]) -> list[str]:
        """The metrics that are more sensitive than the baseline at every level."""
        by_label = {metric["metric"]: metric["levels"] for metric in metrics}
        if self.baseline not in by_label:
            return []
        return [
            label
            for label, levels in by_label.items()
            if all(
                own["significant_pairs"] > other["significant_pairs"]
                for own, other in zip(levels, by_label[self.baseline], strict=True)
            )
        ]
