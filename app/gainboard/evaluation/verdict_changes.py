"""The pairs of runs about which a test says something else: before and after a change of judgments or of a setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.means import verdicts
from gainboard.statistics.pairs import pair_indices
from gainboard.statistics.significance import SignificanceSettings, find_test

Floats = NDArray[np.float64]
TEST = "t-test"
"""This test draws nothing, so verdicts change only because of the change, never because of another draw."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A pair of runs whose verdict changed. `better_*` is None if the runs did not differ."""

    runs: tuple[str, str]
    asl_before: float
    asl_after: float
    better_before: str | None
    better_after: str | None


@dataclass(frozen=True)
class Significance:
    """The verdicts of a test on all pairs, before and after, and the number of topics afterwards."""

    topics: int
    counts: Mapping[str, int]
    """Numbers of pairs by verdict: `same_better`, `no_difference`, or now `appears`, `disappears`, `reverses`."""
    flips: Sequence[Flip]


def changed_verdicts(names: Sequence[str], before: Floats, after: Floats, alpha: float) -> Significance:
    """Return the verdicts of `TEST` before and after, from scores float64 [runs, topics] of the same runs and topics.

    There must be at least two runs and two topics.
    """
    asls = [find_test(TEST).decide(scores, SignificanceSettings()).asl for scores in (before, after)]
    says = [verdicts(scores.mean(axis=1), asl, alpha) for scores, asl in zip((before, after), asls, strict=True)]
    return compared_verdicts(names, before.shape[1], asls, says)


def compared_verdicts(
    names: Sequence[str], topics: int, asls: Sequence[Floats], says: Sequence[NDArray[np.int8]]
) -> Significance:
    """Compare verdicts before and after, [pairs] each, that belong to these two `asls` [pairs]."""
    return Significance(topics, _counts(*says), list(_flips(names, asls, says)))


def _counts(was: NDArray[np.int8], now: NDArray[np.int8]) -> dict[str, int]:
    kinds = {
        "same_better": (was == now) & (was != 0),
        "no_difference": (was == 0) & (now == 0),
        "appears": (was == 0) & (now != 0),
        "disappears": (was != 0) & (now == 0),
        "reverses": was * now == -1,
    }
    return {kind: int(pairs.sum()) for kind, pairs in kinds.items()}


def _flips(names: Sequence[str], asls: Sequence[Floats], says: Sequence[NDArray[np.int8]]) -> Iterator[Flip]:
    first, second = pair_indices(len(names))
    for pair in np.flatnonzero(says[0] != says[1]).tolist():
        one, other = names[first[pair]], names[second[pair]]
        was, now = ({1: one, -1: other, 0: None}[int(each[pair])] for each in says)
        yield Flip((one, other), float(asls[0][pair]), float(asls[1][pair]), was, now)
