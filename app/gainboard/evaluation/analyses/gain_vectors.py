"""Gain by rank, and precision by recall, of each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import refuse, require_at_most
from gainboard.evaluation.matrices import Matrices

SECONDS_A_TOPIC = 2e-5
MOST_RANKS = 500_000
"""The most ranks x runs in one answer: 30 MB of JSON, and a second to read."""


class GainVectors(Analysis):
    """CG, DCG, nCG and nDCG at every rank, averaged over topics, under the parameters and the cut-off of `metric`."""

    def __init__(self, matrices: Matrices, metric: str) -> None:
        super().__init__(matrices)
        self._metric = matrices.metric(metric)
        self._defined = matrices.defined(metric)
        if not matrices.run_count:
            raise refuse(
                "runs", "too-few-runs", "No runs are selected, so there is nothing to draw. Select at least one run."
            )
        assert isinstance(self._metric.cutoff, int)
        ranks = matrices.run_count * self._metric.cutoff
        require_at_most(MOST_RANKS, ranks, "ranks over all runs, with four numbers each", "cutoff")
        if not self._defined.any():
            raise refuse(
                "gains",
                "too-few-topics",
                f"{metric} is not defined for any topic: none has a relevant document that counts. Choose another "
                "metric or threshold.",
            )

    def parts(self) -> list[float]:
        return [len(self._defined) * SECONDS_A_TOPIC] * self.matrices.run_count

    def work(self, part: int) -> Arrays:
        cutoff = self._metric.cutoff
        assert isinstance(cutoff, int)
        settled = self._metric.parameters
        curves = self.matrices.curves(part, settled["rel"], settled["condensed"])
        gained = curves.gain(settled["gains"], settled["base"], cutoff)
        return {**gained, "precision_recall": curves.precision_recall()}

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        missing = [self.matrices.topics[topic] for topic in np.flatnonzero(~self._defined)]
        assert isinstance(self._metric.cutoff, int)
        return {
            "topics": int(self._defined.sum()),
            "topics_left_out": missing,
            "left_out_because": "nothing relevant, or an ideal ranking that is worth nothing" if missing else None,
            "metric": self._metric.label,
            "ranks": list(range(1, self._metric.cutoff + 1)),
            "runs": [
                {"name": run.name, **{name: values.tolist() for name, values in arrays.items()}}
                for run, arrays in zip(self.matrices.runs, found, strict=True)
            ],
        }
