"""Mean scores of runs: ties, ranks, comparisons and confidence intervals, and how large differences of them are.

Pairs of runs are all i < j, in the order (0, 1), (0, 2), ..., (1, 2), ..., and are divided into pieces.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices
from gainboard.vocabulary import DECIMALS, Standardisation

NUMBERS_AT_ONCE = 1 << 22
"""The most float64 in one piece of work: 32 MB."""


def pair_count(runs: int) -> int:
    return runs * (runs - 1) // 2


def pair_indices(runs: int, which: slice | Indices = slice(None)) -> tuple[Indices, Indices]:
    """Return the first and the second run of some pairs: two intp [pairs].

    `which` is a slice of all pairs, or their numbers, intp [pairs].
    """
    pairs = np.arange(*which.indices(pair_count(runs))) if isinstance(which, slice) else which
    # Only the pairs of the slice are built: work in blocks would otherwise list all pairs for each block.
    begins = _begins(np.arange(runs), runs)
    first = np.searchsorted(begins, pairs, side="right") - 1
    return first, pairs - begins[first] + first + 1


def pair_number(runs: int, first: Indices, second: Indices) -> Indices:
    """Return the numbers of pairs with these `first` and `second` runs: intp [pairs] each, first < second."""
    return _begins(first, runs) + second - first - 1


def _begins(first: Indices, runs: int) -> Indices:
    """Return the number of the first pair of each first run."""
    return first * (2 * runs - first - 1) // 2


def pair_differences(scores: Floats, which: slice | Indices = slice(None)) -> Floats:
    """Return the first run's scores minus the second's, for the pairs that `which` selects as in `pair_indices`.

    `scores` has the runs on its first axis, and any others after it: float64 [runs, ...] becomes [pairs, ...].
    """
    first, second = pair_indices(len(scores), which)
    return scores[first] - scores[second]


def pieces(whole: slice, most: int) -> Iterator[slice]:
    """Cut `whole` (with a start and a stop) into consecutive slices of at most `most`, which is taken as 1 if less."""
    step = max(most, 1)
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))


_VALUES = 1 << 15
"""Small enough for a core's cache and for memory that the allocator keeps: two to four times as fast as megabytes."""


def pair_pieces(runs: int, width: int, which: slice = slice(None)) -> Iterator[slice]:
    """Return slices of some pairs of runs, for which a float64 [pairs, width] takes about 256 kB.

    They are places among the pairs that `which` selects, by default all.
    """
    return pieces(slice(0, len(range(*which.indices(pair_count(runs))))), _VALUES // max(1, width))


def pair_blocks(runs: int, cost: float, most: float) -> list[slice]:
    """Cut the pairs of runs into blocks of nearly equal size that cost at most `most` each, all of them `cost`.

    A block has at least one pair.
    """
    pairs = pair_count(runs)
    blocks = max(1, min(pairs, math.ceil(cost / most)))
    parts = (numbers_of_block(pairs, block, blocks) for block in range(blocks))
    return [slice(part.start, part.stop) for part in parts]


def numbers_of_block(whole: int, block: int, blocks: int) -> range:
    """Return the numbers 0 .. whole - 1 that are in a block, counted from 0, of `blocks` of nearly equal size."""
    return range(whole * block // blocks, whole * (block + 1) // blocks)


TINY = 1e-12
"""Means and standard deviations up to this are rounding errors and count as 0, if scores are near 1."""


def unit_of(scores: Floats) -> float:
    """Return the power of two by which scores are divided before tests that take `TINY` for a rounding error.

    It is 1 for scores that are near 1, as those of metrics are. Uploaded scores may be of any size, and would all be
    rounding errors, or none of them. Such a division is exact.
    """
    largest = float(np.nanmax(np.abs(scores), initial=0.0))  # a missing score is NaN
    return 1.0 if largest == 0.0 or 2.0**-10 <= largest <= 2.0**10 else 2.0 ** math.frexp(largest)[1]


def round_scores(scores: Floats) -> Floats:
    """Return scores, or means or differences of them, as they are compared: see `DECIMALS`. Equal ones are ties."""
    # `round` multiplies first, which turns the largest uploaded scores into infinity. They have no decimals to round.
    with np.errstate(over="ignore"):
        rounded = np.round(scores, DECIMALS)
    return np.where(np.isinf(rounded), scores, rounded)


def tied_pairs(means: Floats) -> NDArray[np.int64]:
    """Return how many pairs of runs each metric ties: int64 [metrics] from float64 [metrics, runs]."""
    groups = [np.unique(row, return_counts=True)[1] for row in round_scores(means)]
    return np.array([(size * (size - 1) // 2).sum() for size in groups], dtype=np.int64)


def competition_ranks(means: Floats) -> NDArray[np.int64]:
    """Return each run's rank, int64 [runs], from `means` [runs]: 1 plus the number of better runs; ties share a rank.

    Runs without a mean (NaN) come last.
    """
    keys = np.where(np.isnan(means), np.inf, -round_scores(means))
    return np.searchsorted(np.sort(keys), keys).astype(np.int64) + 1


def verdicts(means: Floats, asl: Floats, alpha: float) -> NDArray[np.int8]:
    """Return for each pair of runs 1 if the first is better, -1 if the second is, 0 if they do not differ.

    They differ where their `asl` [pairs] is below `alpha`; then `means` [runs] tell the better one.
    """
    return np.where(asl < alpha, np.sign(pair_differences(means)), 0).astype(np.int8)


def collapse(table: Floats, groups: Indices | None) -> Floats:
    """Return the scores of systems, each the mean of the replicates that are there: float64 [..., systems, topics].

    `table` is float64 [..., rows, topics], NaN where a replicate has no score. `groups` is intp [rows]: the system of
    each row, from 0 on and without gaps. A topic without any replicate of a system stays NaN. Each topic counts once in
    a mean over topics, however many replicates it has, and to draw topics is to draw whole clusters of replicates.
    `groups` is None if each row is a system: the answer is then the table itself.
    """
    if groups is None:
        return table
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ordered = table[..., order, :]
    is_there = ~np.isnan(ordered)
    count = np.add.reduceat(is_there, starts, axis=-2, dtype=np.intp)
    sums = np.add.reduceat(np.where(is_there, ordered, 0.0), starts, axis=-2)
    means: Floats = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return means


def group_rows(systems: Sequence[Hashable]) -> Indices:
    """Return the system of each row by its number, counted in the order of first rows: intp [rows]."""
    number = {system: place for place, system in enumerate(dict.fromkeys(systems))}
    return np.array([number[system] for system in systems], np.intp)


def lacks_beside_others(missing: NDArray[np.bool_], groups: Indices) -> NDArray[np.bool_]:
    """Return which scores a replicate lacks that others of its system have: bool [rows, topics], as `missing`."""
    return missing & (collapse(missing.astype(np.float64), groups) < 1)[groups]


def noise_of_replicates(rows: Floats, groups: Indices) -> Floats:
    """Return how much each system's mean varies if its replicates on each topic are drawn anew: float64 [..., systems].

    `rows` and `groups` are as for `collapse`. A topic with m replicates gives their squared deviations from their mean,
    summed, divided by the squares of m and of the number of topics: the variance of a bootstrap within topics.
    """
    systems = collapse(rows, groups)
    squares = collapse((rows - systems[..., groups, :]) ** 2, groups)
    number = collapse((~np.isnan(rows)).astype(np.float64), groups) * np.bincount(groups)[:, np.newaxis]
    topics = np.count_nonzero(~np.isnan(systems), axis=-1)
    by_topic = np.divide(squares, number, out=np.zeros_like(squares), where=number > 0)
    variances: Floats = by_topic.sum(axis=-1) / np.maximum(topics, 1) ** 2
    return variances


def widen(differences: Floats, noise: Floats) -> Floats:
    """Return differences [pairs, topics], moved away from their means until these vary by `noise` [pairs] more.

    Student's t then counts what `noise_of_replicates` adds. Equal differences become evenly spaced ones.
    """
    topics, means = differences.shape[1], differences.mean(axis=1, keepdims=True)
    variances = differences.var(axis=1, ddof=1, keepdims=True)
    moved = np.where(variances > TINY**2, differences - means, np.arange(topics) - (topics - 1) / 2)
    wider = (variances + topics * noise[:, np.newaxis]) / moved.var(axis=1, ddof=1, keepdims=True)
    return np.asarray(means + moved * np.sqrt(wider))


def mean_intervals(scores: Floats, confidence: float = 0.95, noise: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of Student's t interval for each run's mean score over topics.

    `noise` [...] is added to the variance of each mean (`noise_of_replicates`).

    `scores` is float64 [..., topics], NaN if a topic has no defined score; such topics are left out. `confidence` is in
    (0, 1). Ends are float64 [...], NaN if fewer than two topics are defined, because there is no variance then.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    is_defined = ~np.isnan(scores)
    if (topics := scores.shape[-1]) > 1 and is_defined.all():  # as below, without what only undefined scores need
        mean = scores.sum(axis=-1) / topics
        squares = (scores - mean[..., np.newaxis]) ** 2
        variance = squares.sum(axis=-1) / (topics - 1) / topics
        half = stdtrit(topics - 1.0, 0.5 + confidence / 2) * np.sqrt(variance + noise)
        return mean - half, mean + half
    count = is_defined.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # fewer than two topics give NaN
        mean = np.where(is_defined, scores, 0.0).sum(axis=-1) / count
        squares = np.where(is_defined, scores - mean[..., np.newaxis], 0.0) ** 2
        error = np.sqrt(squares.sum(axis=-1) / (count - 1) / count + noise)
        half = np.where(count > 1, stdtrit(count - 1.0, 0.5 + confidence / 2) * error, np.nan)
    return mean - half, mean + half


STANDARDISATIONS: tuple[Standardisation, ...] = get_args(Standardisation)
"""The forms of standardised scores, all in [0, 1].

- `normal`: Phi(z) (Webber, Moffat and Zobel, Score standardization for inter-collection comparison, SIGIR 2008).
- `linear`: 0.15 z + 0.5, cut to [0, 1] (Sakai, A simple and effective approach to score standardisation, ICTIR 2016).
- `empirical`: the share of the reference runs with at most this score (Urbano, Lima and Hanjalic, A new perspective on
  score standardization, SIGIR 2019).
"""


def standardise_scores(scores: Floats, reference: Indices, form: Standardisation) -> Floats:
    """Return standardised scores: float64 [runs, topics] in [0, 1], from `scores` of the same shape without NaN.

    `reference` are the rows of the reference runs, at least two. Their z is (score - mean) / deviation (n - 1).
    A topic on which all reference runs score alike tells no runs apart: under every form its scores are NaN.
    """
    referred = scores[reference]
    mean, deviation = referred.mean(axis=0), referred.std(axis=0, ddof=1)
    spread = np.where(deviation > TINY, deviation, np.nan)
    if form == "empirical":
        rounded, ordered = round_scores(scores), np.sort(round_scores(referred), axis=0)
        reached = [np.searchsorted(topic, row, side="right") for topic, row in zip(ordered.T, rounded.T, strict=True)]
        return np.where(np.isnan(spread), np.nan, np.ascontiguousarray(np.array(reached).T / len(referred)))
    z = (scores - mean) / spread
    if form == "linear":
        return np.asarray(np.clip(0.15 * z + 0.5, 0, 1))
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import ndtr  # noqa: PLC0415

    return np.asarray(ndtr(z))


def midranks(values: Floats) -> Floats:
    """Return the rank of each value within its row, the lowest first: float64, as `values` [rows, items] without NaN.

    Equal values have the mean of their ranks. SciPy's `rankdata` does the same, and takes seconds to import.
    """
    order = np.argsort(values, axis=1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=1)
    indexes = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    differs = ascending[:, 1:] != ascending[:, :-1]
    edge = np.ones((len(values), 1), np.bool_)
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), indexes, 0), axis=1)
    last = np.where(np.hstack([differs, edge]), indexes, values.shape[1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


@dataclass(frozen=True)
class Effects:
    """The effects of all pairs, float64 [pairs] each.

    `difference` is the mean difference. `size` is the same in standard deviations, NaN if there is no spread. `low` and
    `high` are the ends of the 95 % interval of the mean difference.
    """

    difference: Floats
    size: Floats
    low: Floats
    high: Floats


def paired_effects(scores: Floats, numbers: Indices | None = None) -> Effects:
    """Return the effects of all pairs of `scores` [runs, topics], or of the pairs with these numbers, intp [pairs].

    Sizes are in standard deviations of the pair's differences.

    The interval is Student's, with topics - 1 degrees of freedom (Sakai, Statistical reform in information retrieval?,
    SIGIR Forum, 2014).
    """
    runs, topics = scores.shape
    wanted = np.arange(pair_count(runs)) if numbers is None else numbers
    blocks = pieces(slice(0, len(wanted)), NUMBERS_AT_ONCE // 4 // topics)
    parts = [_measure_effects(pair_differences(scores, wanted[block])) for block in blocks]
    return Effects(*np.concatenate(parts, axis=-1)) if parts else Effects(*np.empty((4, 0)))


def effects_of(differences: Floats) -> Effects:
    """Return the effects of pairs with these `differences`, float64 [pairs, topics], as `paired_effects` does."""
    return Effects(*_measure_effects(differences))


def residual_effects(scores: Floats, numbers: Indices | None = None) -> Effects:
    """Return the same as `paired_effects`, with sizes in residual standard deviations of all runs and topics together.

    The residuals are those of the two-way analysis of variance without replication, with (runs - 1) * (topics - 1)
    degrees of freedom: the effect size that belongs to Tukey's HSD.
    """
    paired = paired_effects(scores, numbers)
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0)
    residuals = scores - rows - columns + scores.mean()
    spread = np.sqrt((residuals**2).sum() / max(1, (len(rows) - 1) * (len(columns) - 1)))
    size = paired.difference / spread if spread > TINY else np.full_like(paired.difference, np.nan)
    return Effects(paired.difference, size, paired.low, paired.high)


def _measure_effects(differences: Floats) -> Floats:
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    low, high = mean_intervals(differences)
    size = mean / np.where(spread > TINY, spread, np.nan)
    return np.stack((mean, size, low, high))


def tost_levels(differences: Floats, margin: float) -> Floats:
    """Return the levels of the paired TOST on `differences` [pairs, topics], at least two topics: float64 [pairs].

    The hypothesis is that the mean difference is at least `margin` > 0 in size, in the units of the metric. The level
    is the larger one of two one-sided t-tests, against -margin and against +margin (Schuirmann, A comparison of the two
    one-sided tests procedure and the power approach, J. Pharmacokinetics and Biopharmaceutics 15, 1987). Without any
    spread, the level is 0 if the difference is smaller than the margin, and else 1. It is NaN if no topic differs: such
    runs may be one run, about whose differences nothing is known.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr  # noqa: PLC0415

    topics = differences.shape[1]
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    error = np.where(spread > TINY, spread, np.nan) / np.sqrt(topics)
    above, below = stdtr(topics - 1, -(mean + margin) / error), stdtr(topics - 1, (mean - margin) / error)
    certain = np.where(np.abs(mean) < margin - TINY, 0.0, 1.0)
    certain[np.abs(differences).max(axis=1) <= TINY] = np.nan
    levels: Floats = np.where(spread > TINY, np.maximum(above, below), certain)
    return levels


def reproduced_effect(advanced: tuple[float, float], baseline: tuple[float, float]) -> tuple[float, float]:
    """Return the effect ratio and the delta relative improvement, from the original and the reproduced mean of each.

    They are NaN where they divide by 0 (Breuer et al., How to measure the reproducibility of ... IR, SIGIR 2020).
    """
    gain, gain_again = (better - worse for better, worse in zip(advanced, baseline, strict=True))
    by, original, reproduced = (divisor if abs(divisor) > TINY else np.nan for divisor in (gain, *baseline))
    return gain_again / by, gain / original - gain_again / reproduced
