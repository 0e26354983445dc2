"""How accurate a tau is: its bootstrap standard error over topics (Sakai, SIGIR 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.correlation import kendall_matrix
from gainboard.statistics.draws import Floats


class TauAccuracy(NamedTuple):
    """Of the tau of each two metrics, [metrics, metrics] each.

    `standard_error` is the standard deviation (n - 1) over the resamples where tau is defined, NaN for fewer than two;
    `low` and `high` are the 2.5th and 97.5th percentiles of the same, NaN without any; `dropped` counts the others.
    """

    standard_error: Floats
    low: Floats
    high: Floats
    dropped: NDArray[np.int64]


def resampled_taus(tables: Floats, counts: Floats) -> Floats:
    """Tau-b of each two metrics on each of a block of resamples: float64 [block, metrics, metrics], NaN if undefined.

    `tables` float64 [metrics, runs, topics] holds scores without NaN, which are averaged arithmetically; `counts`
    float64 [block, topics] says how often a resample, shared by all metrics, holds each topic.
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    taus = np.empty((len(counts), len(tables), len(tables)))
    for tau, share in zip(taus, shares, strict=True):
        tau[:] = kendall_matrix(tables @ share)
    return taus


def tau_accuracy(taus: Floats) -> TauAccuracy:
    """What the taus of all resamples, float64 [resamples, metrics, metrics], say together."""
    # NaN sorts last: the defined ones are the first of each column.
    ordered = np.sort(taus, axis=0)
    defined = np.count_nonzero(~np.isnan(ordered), axis=0)
    kept = np.arange(len(taus))[:, np.newaxis, np.newaxis] < defined
    mean = ordered.sum(axis=0, where=kept) / np.where(defined > 0, defined, np.nan)
    squares = np.square(ordered - mean).sum(axis=0, where=kept)
    error = np.sqrt(squares / np.where(defined > 1, defined - 1, np.nan))
    return TauAccuracy(
        error, _percentile(ordered, defined, 0.025), _percentile(ordered, defined, 0.975), len(taus) - defined
    )


def _percentile(ordered: Floats, defined: NDArray[np.int64], share: float) -> Floats:
    """The linear interpolation between the two nearest of the `defined` first values, as NumPy's own."""
    place = share * np.maximum(defined - 1, 0)
    low, high = (
        np.take_along_axis(ordered, at.astype(np.intp)[None], 0)[0] for at in (np.floor(place), np.ceil(place))
    )
    return np.asarray(low + place % 1 * (high - low))
