"""Agreement of three tests on the most surely different pairs of runs: sign test, minority rate, swap rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import refuse, topics_for_halves
from gainboard.evaluation.analyses.stability import Stability
from gainboard.evaluation.analyses.swap_rate import SwapRate
from gainboard.evaluation.matrices import Matrices
from gainboard.statistics import find_test
from gainboard.statistics.correlation import agreements
from gainboard.statistics.significance import SignificanceSettings

SIGN = "sign"
LEAST_RUNS = 3
"""Two runs make only one pair, and a correlation needs at least two."""


class Agreement(Analysis):
    """Kendall's tau-b between each two of the three lists of run pairs, for each metric."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        trials: int,
        fuzziness: float,
        subset_size: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        if matrices.run_count < LEAST_RUNS:
            message = f"Selected runs: {matrices.run_count}. Lists of their pairs need at least {LEAST_RUNS} runs."
            raise refuse("runs", "too-few-runs", message)
        self.metrics, self.fuzziness, self.trials, self.seed = metrics, fuzziness, trials, seed
        self.topics = topics_for_halves(matrices, metrics)
        sizes: dict[str, Any] = {"trials": trials, "subset_size": subset_size, "seed": seed}
        # These are exactly the counts of jobs of those kinds with the same seed.
        self._swaps = SwapRate(matrices, metrics, **sizes)
        self._minority = Stability(matrices, metrics, fuzziness=[fuzziness], **sizes)

        self._ends = list(accumulate(len(member.parts()) for member in (self._swaps, self._minority)))

    def parts(self) -> list[float]:
        test = find_test(SIGN)
        sizes = (self.matrices.run_count, self.topics.count)
        sign = test.blocks(*sizes) * test.seconds_of_block(*sizes)
        return [*self._swaps.parts(), *self._minority.parts(), *([sign] * len(self.metrics))]

    def work(self, part: int) -> Arrays:
        swaps, minority = self._ends
        if part < swaps:
            return self._swaps.work(part)
        if part < minority:
            return self._minority.work(part - swaps)
        scores = self.topics.scores(self.metrics[part - minority])
        return {"asl": find_test(SIGN).decide(scores, SignificanceSettings()).asl}

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        swaps, minority = self._ends
        columns = (self._swaps.counts(found[:swaps]), self._minority.counts(found[swaps:minority]), found[minority:])
        taus = [
            agreements(signs["asl"], stable.minority[0], swapped.by_pair)
            for swapped, stable, signs in zip(*columns, strict=True)
        ]
        return {
            **self.topics.described(),
            "seed": self.seed,
            "trials": self.trials,
            "subset_size": self._swaps.subset_size,
            "fuzziness": self.fuzziness,
            "metrics": [
                {"metric": label, "kendall": {name: float(tau) for name, tau in each.items()}}
                for label, each in zip(self.metrics, taus, strict=True)
            ],
        }
