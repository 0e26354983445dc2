"""Variance components of runs x topics, how well the runs' means generalise to other topics, and topics one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import TINY


@dataclass(frozen=True)
class VarianceComponents:
    """The components of a two-way random layout without replication; negative estimates are 0.

    `is_negative` says which of runs and topics had one. `generalisability` is E rho^2, with the ends of its 95 %
    interval, and `dependability` is Phi. Both are NaN if there is no variance at all.
    """

    runs: float
    topics: float
    residual: float
    is_negative: tuple[bool, bool]
    generalisability: float
    low: float
    high: float
    dependability: float

    def shares(self) -> dict[str, float]:
        """Return the share of each component in their sum; NaN if nothing varies."""
        total = self.runs + self.topics + self.residual
        own = {"runs": self.runs, "topics": self.topics, "residual": self.residual}
        return {name: value / total if total else np.nan for name, value in own.items()}


def variance_components(scores: Floats) -> VarianceComponents:
    """Return the components of `scores`, float64 [runs, topics] without NaN, at least two of each.

    The mean squares are those of the two-way analysis of variance. E rho^2 = V_runs / (V_runs + V_residual / topics) is
    Cronbach's alpha, and its interval that of Feldt (The approximate sampling distribution of Kuder-Richardson
    reliability coefficient twenty, Psychometrika 30, 1965). Phi = V_runs / (V_runs + (V_topics + V_residual) / topics)
    (Bodoff and Li, Test theory for assessing IR test collections, SIGIR 2007).
    """
    runs, topics = scores.shape
    of_runs, of_topics, residual = _mean_squares(scores)
    raw_runs, raw_topics = (of_runs - residual) / topics, (of_topics - residual) / runs
    own, other = max(raw_runs, 0.0), max(raw_topics, 0.0)
    low, high = _interval(of_runs, residual, runs, topics)
    return VarianceComponents(
        runs=own,
        topics=other,
        residual=residual,
        is_negative=(raw_runs < 0, raw_topics < 0),
        generalisability=_share(own, residual / topics),
        low=low,
        high=high,
        dependability=_share(own, (other + residual) / topics),
    )


def _mean_squares(scores: Floats) -> tuple[float, float, float]:
    """Return the mean squares of runs, of topics and of the residuals; those of rounding errors are 0."""
    runs, topics = scores.shape
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0)
    mean = scores.mean()
    residuals = scores - rows - columns + mean
    squares = (
        topics * float(((rows - mean) ** 2).sum()) / (runs - 1),
        runs * float(((columns - mean) ** 2).sum()) / (topics - 1),
        float((residuals**2).sum()) / ((runs - 1) * (topics - 1)),
    )
    first, second, third = (square if square > TINY**2 else 0.0 for square in squares)
    return first, second, third


def _share(own: float, error: float) -> float:
    return own / (own + error) if own + error > 0 else np.nan


def _interval(of_runs: float, residual: float, runs: int, topics: int) -> tuple[float, float]:
    """Return the ends of E rho^2's 95 % interval: 1 - F.975 / F and 1 - F.025 / F, where F = MS_runs / MS_residual."""
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import fdtri  # noqa: PLC0415

    if of_runs == 0:
        return np.nan, np.nan
    freedom = (runs - 1, (runs - 1) * (topics - 1))
    low, high = (1 - float(fdtri(*freedom, share)) * residual / of_runs for share in (0.975, 0.025))
    return low, high


def discriminations(scores: Floats) -> Floats:
    """Return the correlation of each topic's scores with the runs' means over the other topics: float64 [topics].

    `scores` is float64 [runs, topics] without NaN, at least two topics. The correlation is Pearson's; it is NaN if
    either side is constant, or for fewer than three runs.
    """
    runs, topics = scores.shape
    if runs < 3:
        return np.full(topics, np.nan)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (topics - 1)
    own, rest = _centred(scores), _centred(others)
    scale = np.sqrt((own**2).sum(axis=0) * (rest**2).sum(axis=0))
    is_constant = _is_constant(own) | _is_constant(rest)
    # Rounding errors must not take a correlation beyond 1.
    return np.asarray(np.clip((own * rest).sum(axis=0) / np.where(is_constant, np.nan, scale), -1, 1))


def _centred(columns: Floats) -> Floats:
    return np.asarray(columns - columns.mean(axis=0))


def _is_constant(centred: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(centred).max(axis=0) <= TINY)
