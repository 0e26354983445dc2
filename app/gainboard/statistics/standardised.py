"""Standardised scores: each score by its place among those of reference runs on the same topic."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.effects import TINY

Standardisation = Literal["normal", "linear", "empirical"]
STANDARDISATIONS: tuple[Standardisation, ...] = get_args(Standardisation)
"""The forms of standardised scores, all in [0, 1].

- `normal`: Phi(z) (Webber, Moffat and Zobel, Score standardization for inter-collection comparison, SIGIR 2008).
- `linear`: 0.15 z + 0.5, cut to [0, 1] (Sakai, A simple and effective approach to score standardisation, ICTIR 2016).
- `empirical`: the share of the reference runs with at most this score (Urbano, Lima and Hanjalic, A new perspective on
  score standardization, SIGIR 2019).
"""
DECIMALS = 12


def standardised(scores: Floats, reference: Indices, form: Standardisation) -> Floats:
    """Return standardised scores: float64 [runs, topics] in [0, 1], from `scores` of the same shape without NaN.

    `reference` are the rows of the reference runs, at least two. Their z is (score - mean) / deviation (n - 1).
    A topic on which all reference runs score alike tells no runs apart: under every form its scores are NaN.
    """
    own = scores[reference]
    mean, deviation = own.mean(axis=0), own.std(axis=0, ddof=1)
    spread = np.where(deviation > TINY, deviation, np.nan)
    if form == "empirical":
        return np.where(np.isnan(spread), np.nan, _shares(scores, own))
    z = (scores - mean) / spread
    if form == "linear":
        return np.asarray(np.clip(0.15 * z + 0.5, 0, 1))
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import ndtr  # noqa: PLC0415

    return np.asarray(ndtr(z))


def _shares(scores: Floats, own: Floats) -> Floats:
    """Return the share of the reference scores on each topic that do not exceed each score."""
    rounded, ordered = np.round(scores, DECIMALS), np.sort(np.round(own, DECIMALS), axis=0)
    columns = [
        np.searchsorted(reference, column, side="right") for reference, column in zip(ordered.T, rounded.T, strict=True)
    ]
    return np.ascontiguousarray(np.array(columns).T / len(own))
