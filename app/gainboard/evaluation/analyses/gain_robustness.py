"""Robustness to gains: how other gain settings change a metric's stability, swap rate and ranking of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.rank_correlation import RankCorrelation
from gainboard.evaluation.analyses.stability import Stability
from gainboard.evaluation.analyses.swap_rate import SwapRate
from gainboard.evaluation.matrices import Matrices


class GainRobustness(Analysis):
    """Stability and swap rate of each metric under each setting, and its ranking against that of the first one.

    Swap rates are computed under each of the `seeds`, the others under the first.
    `labels` maps each metric to its labels under the settings, in the order of the settings.
    """

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        labels: Mapping[str, Sequence[str]],
        settings: Sequence[str],
        *,
        trials: int,
        fuzziness: Sequence[float],
        subset_size: int | None = None,
        per_pair: bool = False,
        seed: int = 0,
        seeds: int = 1,
    ) -> None:
        super().__init__(matrices)
        self.labels, self.settings = labels, settings
        every = list(dict.fromkeys(label for each in labels.values() for label in each))
        sizes: dict[str, Any] = {"trials": trials, "subset_size": subset_size, "seed": seed}
        self._members: list[Analysis] = [
            Stability(matrices, every, fuzziness=fuzziness, per_pair=per_pair, **sizes),
            SwapRate(matrices, every, seeds=seeds, **sizes),
            *(
                RankCorrelation(matrices, each, coefficients=("kendall", "spearman"), against=each[0])
                for each in map(_distinct, labels.values())
            ),
        ]
        self._ends = list(accumulate(len(member.parts()) for member in self._members))

    def parts(self) -> list[float]:
        return [cost for member in self._members for cost in member.parts()]

    def work(self, part: int) -> Arrays:
        place = next(place for place, end in enumerate(self._ends) if part < end)
        return self._members[place].work(part - self._starts[place])

    @property
    def _starts(self) -> list[int]:
        return [0, *self._ends[:-1]]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        spans = zip(self._members, self._starts, self._ends, strict=True)
        stability, swap_rate, *correlations = (member.result(found[start:end]) for member, start, end in spans)
        shared = ("topics", "topics_left_out", "left_out_because", "seed", "trials", "subset_size")
        return {
            **{name: stability[name] for name in shared},
            "settings": list(self.settings),
            "metrics": [{"metric": metric, "labels": list(labels)} for metric, labels in self.labels.items()],
            "stability": {name: value for name, value in stability.items() if name not in shared},
            "swap_rate": {name: value for name, value in swap_rate.items() if name not in shared},
            "rank_correlation": correlations,
        }


def _distinct(labels: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(labels))
