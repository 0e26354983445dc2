"""Rank intervals: how sure each rank is, over samples of topics and by a test of all pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import MOST_KEPT, MOST_PAIRS, require_at_most
from gainboard.evaluation.analyses.sensitivity import Decision, Sensitivity
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics.draws import Draws, Indices
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.rank_intervals import rank_sets, resampled_ranks
from gainboard.statistics.tukey import RandomisedTukey

PURPOSE = "rank intervals"
SECONDS_A_RANK, SECONDS_A_SCORE = 3e-7, 1e-9


@lru_cache(maxsize=1)
def _resamples(seed: int, count: int, topics: int) -> Indices:
    drawn = Draws(seed, PURPOSE).resamples(count, topics)
    drawn.flags.writeable = False
    return drawn


class RankIntervals(Analysis):
    """Each run's set of ranks by the randomised Tukey test, and its ranks over bootstrap samples of the topics."""

    compares_pairs = True

    def __init__(
        self, matrices: Matrices, metrics: Sequence[str], *, resamples: int, permutations: int, seed: int = 0
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.resamples, self.permutations, self.seed = metrics, resamples, permutations, seed
        # Exactly the levels from which the groups of a leaderboard are made.
        self._tests = Sensitivity(
            matrices, metrics, test=RandomisedTukey.name, alphas=(), resamples=permutations, seed=seed
        )
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
        own, tested = found[: len(self.metrics)], found[len(self.metrics) :]
        return {
            **self.topics.described(),
            "seed": self.seed,
            "resamples": self.resamples,
            "permutations": self.permutations,
            "metrics": [
                {"metric": decision.label, "ranks": self._ranks(decision, ranks)}
                for decision, ranks in zip(self._tests.decisions(tested), own, strict=True)
            ],
        }

    def _ranks(self, decision: Decision, found: Arrays) -> list[dict[str, Any]]:
        means = decision.scores.mean(axis=1)
        columns = [means, competition_ranks(means), rank_sets(means, decision.asl)]
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
