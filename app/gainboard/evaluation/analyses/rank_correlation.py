"""Rank correlation: how similar the rankings are that different metrics make of the same runs."""

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
    CommonTopics,
    common_topics,
    refuse,
    require_at_most,
)
from gainboard.evaluation.analyses.mixed import MixedMatrices
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.statistics.correlation import (
    discordant_pairs,
    kendall_asls,
    kendall_matrix,
    resampled_taus,
    spearman_asls,
    spearman_matrix,
    tau_accuracy,
)
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import round_means, tied_pairs
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.top_weighted import rbo_matrix, tau_ap_matrix

Coefficient = Literal["kendall", "kendall_a", "spearman", "tau_ap", "rbo"]
BLOCK = 100
"""The number of resamples in one part of the accuracy."""
MOST_TAUS = 20_000_000
"""The most metrics x metrics x resamples of the accuracy, which are kept until the result."""
SECONDS_A_SCORE = 2e-7
SECONDS_AN_ASL = 5e-4


@dataclass(frozen=True)
class ParameterSweep:
    """One metric under several values of a parameter, to be correlated with other metrics."""

    metric: str
    parameter: str
    values: Sequence[str | float]
    labels: Sequence[str]
    against: Sequence[str]


class RankCorrelation(Analysis):
    """Coefficients between all metrics, swops against one metric, the curve of a swept parameter, and accuracy.

    The label of a metric may name a qrels version, as `on_version` writes it.
    """

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        coefficients: Sequence[Coefficient],
        against: str | None = None,
        sweep: ParameterSweep | None = None,
        accuracy: bool = False,
        resamples: int = 1000,
        p: float = 0.9,
        tau_ap_ties: Literal["b"] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.coefficients, self.against, self.sweep = metrics, coefficients, against, sweep
        self.p, self.tau_ap_ties, self.seed = p, tau_ap_ties, seed
        self.resamples = resamples if accuracy else None
        swept = [*sweep.labels, *sweep.against] if sweep else []
        self._labels = list(dict.fromkeys([*metrics, *swept]))
        self._scored = MixedMatrices(matrices, self._labels)
        self._require_rankings()
        if against:
            # At worst every pair is swopped, and the answer names each swop.
            require_at_most(MOST_PAIRS, pair_count(matrices.run_count) * len(metrics), PAIRS, "against")
        self._topics: CommonTopics | None = self._topics_of_accuracy() if accuracy else None

    def _require_rankings(self) -> None:
        if self.matrices.run_count < 2:
            message = f"Selected runs: {self.matrices.run_count}. A ranking needs at least 2."
            raise refuse("runs", "too-few-runs", message)
        if not self._scored.topics:
            message = (
                f"No topic is judged by all of the qrels versions {', '.join(map(str, self._scored.version_names))}. "
                "Choose versions that share topics."
            )
            raise refuse("metrics", "too-few-topics", message)
        for label in self._labels:
            if not self._scored.defined(label).any():
                raise refuse(
                    "metrics",
                    "too-few-topics",
                    f"{label} is not defined for any topic, so it cannot rank the runs. Choose another metric.",
                )

    def _topics_of_accuracy(self) -> CommonTopics:
        assert self.resamples is not None
        if (taus := len(self.metrics) ** 2 * self.resamples) > MOST_TAUS:
            message = (
                f"{len(self.metrics)} metrics squared x {self.resamples} resamples are {taus:,} taus. Choose fewer "
                "metrics or resamples: at most "
            )
            raise refuse("accuracy", "too-many", f"{message}{MOST_TAUS:,}.")
        scores = len(self.metrics) * self.matrices.run_count * len(self._scored.topics)
        require_at_most(MOST_KEPT, scores, "scores (metrics x runs x topics) are resampled together", "accuracy")
        return common_topics(self._scored, self.metrics)

    def parts(self) -> list[float]:
        matrix = self.matrices.run_count * len(self._scored.topics)
        first = len(self._labels) * (matrix * SECONDS_A_SCORE + len(self._labels) / 2 * SECONDS_AN_ASL)
        if self.resamples is None:
            return [first]
        signs = len(self.metrics) * self.matrices.run_count**2 / 2
        scores = len(self.metrics) * matrix
        block = BLOCK * (5e-5 + signs * (3e-9 + len(self.metrics) * 4e-11) + scores * 2e-10)
        return [first] + [block] * -(-self.resamples // BLOCK)

    def work(self, part: int) -> Arrays:
        if part > 0:
            return {"taus": self._resampled(part - 1)}
        means = np.array([self._scored.means(label) for label in self._labels])
        own = means[: len(self.metrics)]
        asls = {"kendall": kendall_asls, "spearman": spearman_asls}
        wanted = {name: level(own) for name, level in asls.items() if name in self.coefficients}
        return {"means": means, **{f"asl {name}": found for name, found in wanted.items()}}

    def _resampled(self, block: int) -> Floats:
        assert self._topics is not None
        assert self.resamples is not None
        size = min(BLOCK, self.resamples - block * BLOCK)
        drawn = Draws(self.seed, "rank-correlation", block).resamples(size, self._topics.count)
        tables = np.array([self._topics.scores(label) for label in self.metrics])
        return resampled_taus(tables, resample_counts(drawn, self._topics.count))

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        means = found[0]["means"]
        own = means[: len(self.metrics)]
        names = [run.name for run in self.matrices.runs]
        order = sorted(range(len(names)), key=lambda run: (-round_means(own[0])[run], names[run]))
        asls = {name: found[0][f"asl {name}"].tolist() for name in ("kendall", "spearman") if name in self.coefficients}
        return {
            "runs": [names[run] for run in order],
            **self._scored.described(),
            "seed": self.seed,
            "resamples": self.resamples,
            "metrics": list(self.metrics),
            "coefficients": {name: self._matrix(name, own).tolist() for name in self.coefficients},
            "p_values": asls,
            "ties": dict(zip(self.metrics, tied_pairs(own).tolist(), strict=True)),
            "means": {label: row[order].tolist() for label, row in zip(self.metrics, own, strict=True)},
            **({"p": self.p} if "rbo" in self.coefficients else {}),
            **(self._swops(own, names) if self.against else {}),
            **(self._sweep(means) if self.sweep else {}),
            **(self._accuracy(found[1:]) if self._topics else {}),
        }

    def _matrix(self, name: Coefficient, means: Floats) -> Floats:
        if name == "kendall":
            return kendall_matrix(means)
        if name == "kendall_a":
            return kendall_matrix(means, "a")
        if name == "spearman":
            return spearman_matrix(means)
        if name == "tau_ap":
            return tau_ap_matrix(means, self.tau_ap_ties)
        return rbo_matrix(means, self.p)

    def _swops(self, means: Floats, names: Sequence[str]) -> dict[str, Any]:
        assert self.against is not None
        reference = means[list(self.metrics).index(self.against)]
        swops = {label: discordant_pairs(reference, row) for label, row in zip(self.metrics, means, strict=True)}
        return {
            "against": self.against,
            "swops": {label: [[names[x], names[y]] for x, y in found.pairs] for label, found in swops.items()},
            "half_ties": {label: found.half_ties for label, found in swops.items()},
        }

    def _sweep(self, means: Floats) -> dict[str, Any]:
        assert self.sweep is not None
        place = {label: row for row, label in enumerate(self._labels)}
        swept = [place[label] for label in self.sweep.labels]
        matrices = {name: self._matrix(name, means) for name in self.coefficients}
        against = {
            label: {name: matrix[place[label], swept].tolist() for name, matrix in matrices.items()}
            for label in self.sweep.against
        }
        shown = {"metric": self.sweep.metric, "parameter": self.sweep.parameter, "values": list(self.sweep.values)}
        return {"sweep": {**shown, "labels": list(self.sweep.labels), "against": against}}

    def _accuracy(self, found: Sequence[Arrays]) -> dict[str, Any]:
        assert self._topics is not None
        accuracy = tau_accuracy(np.concatenate([part["taus"] for part in found]))
        shown = {name: matrix.tolist() for name, matrix in accuracy._asdict().items()}
        return {"accuracy": {**self._topics.described(), **shown}}
