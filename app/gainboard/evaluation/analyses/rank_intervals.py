"""Rank intervals: how sure each rank is, over samples of topics and by a test of all pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import MOST_KEPT, MOST_PAIRS, refuse, require_at_most
from gainboard.evaluation.analyses.sensitivity import Decision, Sensitivity
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.draws import Draws, Indices
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.multiple_comparisons import differing_pairs
from gainboard.statistics.rank_intervals import rank_sets, resampled_ranks
from gainboard.statistics.significance import Correction

PURPOSE = "rank intervals"
ALPHA = 0.05
SECONDS_A_RANK, SECONDS_A_SCORE = 3e-7, 1e-9


@lru_cache(maxsize=1)
def _resamples(seed: int, count: int, topics: int) -> Indices:
    drawn = Draws(seed, PURPOSE).resamples(count, topics)
    drawn.flags.writeable = False
    return drawn


class RankIntervals(Analysis):
    """Each run's set of ranks by a significance test, and its ranks over bootstrap samples of the topics."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        resamples: int,
        test: str,
        test_resamples: int | None = None,
        correction: Correction = "none",
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.resamples, self.seed = metrics, resamples, seed
        self._tests = Sensitivity(
            matrices, metrics, test=test, alphas=(), resamples=test_resamples, correction=correction, seed=seed
        )
        if correction == "none" and not self._tests.test.is_simultaneous:
            message = (
                f"{test} decides each pair by itself, so the sets of ranks would not hold together. Use "
                '"test": "bootstrap-range", or correct the levels: "correction": "holm".'
            )
            raise refuse("correction", "missing", message)
        self.topics = self._tests.topics
        self.topics.require_drawable(resamples, "resamples")
        runs = matrices.run_count
        require_at_most(MOST_KEPT, resamples * runs, f"ranks ({resamples:,} resamples x {runs:,} runs)", "resamples")
        require_at_most(MOST_PAIRS, runs * len(metrics), "runs over all metrics", "runs")

    def parts(self) -> list[float]:
        each = self.resamples * self.matrices.run_count
        own = each * SECONDS_A_RANK + each * self.topics.count * SECONDS_A_SCORE
        return [own] * len(self.metrics) + self._tests.parts()

    def work(self, part: int) -> Arrays:
        if part >= len(self.metrics):
            return self._tests.work(part - len(self.metrics))
        drawn = _resamples(self.seed, self.resamples, self.topics.count)
        found = resampled_ranks(self.topics.scores(self.metrics[part]), drawn)
        return {"low": found.low, "high": found.high, "expected": found.expected, "share_first": found.share_first}

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        own, tested, metrics, drawn = found[: len(self.metrics)], found[len(self.metrics) :], [], None
        for decision, ranks in zip(self._tests.decisions(tested), own, strict=True):
            metrics.append({"metric": decision.label, "ranks": self._ranks(decision, ranks)})
            drawn = decision.outcome.resamples
        return {
            **self.topics.described(),
            "seed": self.seed,
            "resamples": self.resamples,
            "test": self._tests.test.name,
            "test_resamples": drawn,
            "correction": self._tests.correction,
            "alpha": ALPHA,
            "note": self._tests.note(drawn, [ALPHA]),
            "metrics": metrics,
        }

    def _ranks(self, decision: Decision, found: Arrays) -> list[dict[str, Any]]:
        means = decision.scores.mean(axis=1)
        differs = differing_pairs(decision.asl, len(means), ALPHA)
        columns = [means, competition_ranks(means), rank_sets(means, differs)]
        columns += [found[name] for name in ("low", "high", "expected", "share_first")]
        return [
            {
                "run": run.name,
                "rank": rank,
                "mean": mean,
                "rank_set": places,
                "percentiles": [low, high],
                "expected_rank": expected,
                "share_first": share,
            }
            for run, mean, rank, places, low, high, expected, share in zip(
                self.matrices.runs, *(column.tolist() for column in columns), strict=True
            )
        ]
