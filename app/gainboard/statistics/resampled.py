"""Every bootstrap's summary of its resamples: counts, the differences of the k-th largest, the largest of all.

Resamples are compared by a *ratio* that grows with |t| and stays finite: `n * mean**2 / (mean**2 + variance)`, where
n is the number of topics and the variance divides by n; 0 where t is, n where t is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.corrections import NEAR
from gainboard.statistics.draws import Floats, Found, Indices


def verdict(
    ratios: Floats,
    observed: Floats,
    mean_at: Callable[[Indices], Floats],
    alphas: Sequence[float] = (),
    *,
    topics: int,
    largest: bool = False,
) -> Found:
    """Return the fields of a test's outcome, for pairs with these `ratios` [pairs, resamples] and `observed` [pairs].

    `mean_at` gives the pairs' mean differences in the resamples [alphas, pairs] that it is told. `topics` is the
    ratio of an infinite t.
    """
    found: dict[str, NDArray[Any]] = {"asl": achieved_levels(ratios, observed), "observed": observed}
    if alphas:
        places = [max(1, math.ceil(ratios.shape[1] * alpha - NEAR)) for alpha in alphas]
        found["estimated_differences"] = np.abs(mean_at(at_places(ratios, places)))
    if largest:
        found |= _for_max_t(ratios, observed, topics)
    return found


def _for_max_t(ratios: Floats, observed: Floats, topics: int) -> Found:
    """Return what `max_t` compares, and `any_infinite` [resamples]: whether the t of any of these pairs is infinite.

    The infinite ones are stored as lists: few pairs have any, and a table of all pairs and resamples would be large.
    Those are left out in which a finite t of these pairs is large enough already: they count without a list.
    """
    is_infinite = ratios >= topics * (1 - NEAR)
    largest = np.where(is_infinite, 0.0, ratios).max(axis=0)
    counts_alone = is_infinite & (largest < observed[:, np.newaxis] * (1 - NEAR))
    return {
        "largest": largest,
        "any_infinite": is_infinite.any(axis=0),
        "infinite_counts": counts_alone.sum(axis=1, dtype=np.int32),
        "infinite_resamples": np.nonzero(counts_alone)[1].astype(np.int32),
    }


def achieved_levels(ratios: Floats, observed: Floats) -> Floats:
    """The share of resamples that reach what was observed: float64 [pairs].

    `ratios` is [pairs, resamples], `observed` [pairs]. Where the observed t is 0 every resample reaches it.
    """
    reached = ratios >= observed[:, np.newaxis] * (1 - NEAR)
    levels: Floats = np.add.reduce(reached, axis=1, dtype=np.int32) / ratios.shape[1]  # twice as fast as to intp
    return levels


def at_places(ratios: Floats, places: Sequence[int]) -> Indices:
    """Which resample has each of these places, counted from 1, by decreasing ratio: intp [places, pairs].

    Ratios that are equal but for rounding are ties, and of those the resample drawn first comes first.
    """
    values, resamples = _candidates(ratios, max(places))
    ordered = -np.sort(-values, axis=1)
    return np.stack([_at_place(values, resamples, ordered, place) for place in places])


def _at_place(values: Floats, resamples: Indices, ordered: Floats, place: int) -> Indices:
    there = ordered[:, place - 1, np.newaxis]
    slack = NEAR * (1 + there)
    above = values > there + slack
    tied = (values >= there - slack) & ~above
    before = place - above.sum(axis=1, keepdims=True)
    found = (tied & (tied.cumsum(axis=1) == before)).argmax(axis=1)
    places: Indices = resamples[np.arange(len(resamples)), found]
    return places


def _candidates(ratios: Floats, place: int) -> tuple[Floats, Indices]:
    """Each pair's ratios down to the one at `place`, and a few more, in the order drawn; filled up with -1."""
    # Sorting a thousand numbers a pair would cost more than drawing the bootstrap. But at least `place` of them
    # reach the place-th largest of the maxima of groups, and hardly more do.
    groups = max(place, min(2 * place, ratios.shape[1]))
    maxima = ratios[:, : ratios.shape[1] // groups * groups].reshape(len(ratios), -1, groups).max(axis=1)
    bound = np.partition(maxima, groups - place, axis=1)[:, groups - place, np.newaxis]
    pair, resample = np.divmod(np.flatnonzero(ratios >= bound - NEAR * (1 + bound)), ratios.shape[1])
    number = np.bincount(pair, minlength=len(ratios))
    column = np.arange(len(pair)) - np.repeat(number.cumsum() - number, number)
    values, resamples = np.full((len(ratios), number.max()), -1.0), np.zeros((len(ratios), number.max()), np.intp)
    values[pair, column] = ratios[pair, resample]
    resamples[pair, column] = resample
    return values, resamples
