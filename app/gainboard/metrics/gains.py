"""Gain settings, the gain of each relevance level, and discounts, the weight of a gain at each rank.

The ideal ranking of a topic has all its relevant documents, highest gain first, then ranks without gain. Topics with
the same number of documents at each relevance level have equal ideal rankings. They form a class, so that values that
depend only on the qrels are computed once for each class.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadGains
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Number

FORMS: Final = (
    "a ratio with one value per level, highest level first (3:2:1), a ratio inside adjust(...), linear, exp or flat"
)
# The product of a gain and a parameter, of which none is larger, is finite. That of two gains is not 0.
_SMALLEST, _LARGEST = 1e-100, 1e100
_RULES: Final[Mapping[str, Callable[[int], float]]] = {
    "linear": float,
    "exp": lambda level: 2.0**level - 1.0,
    "flat": lambda level: 1.0,
}


@dataclass(frozen=True, slots=True)
class GainSetting:
    """A gain for each relevance level of one scale.

    `values` are the gains of levels 1, 2, ..., h, before adjustment. The gain of level 0 is 0. `label` is the canonical
    text, from which `parse_gains` makes an equal setting.
    """

    label: str
    values: tuple[float, ...]
    adjusted: bool = False

    def __hash__(self) -> int:
        return hash(self.label)

    @property
    def highest(self) -> float:
        """The gain of the scale's highest level, before adjustment. ERR and ADM scale gains by it."""
        return self.values[-1]

    def at(self, level: int) -> float:
        """Return the gain of a level, before adjustment. Settings that are rules, such as `exp`, have it for any level.

        Raises BadGains if the setting has no gain for the level.
        """
        if self.label in _RULES:
            return _RULES[self.label](level)
        if level > len(self.values):
            raise BadGains(
                f"gains={self.label} has no gain for level {level}: its highest level is {len(self.values)}. "
                "Use linear, exp or flat"
            )
        return self.values[level - 1]

    def by_class(self, counts: NDArray[np.int64], rel: int) -> NDArray[np.float64]:
        """Return the gain of each level: float64 [1, h+1], or [c, h+1] with adjustment. Gains below level `rel` are 0.

        `counts` int64 [c, h+1] is the number of documents at each level in each class of topics. With adjustment, the
        gain g(X) of level X becomes g(X) - R(X)/R * (g(X) - g(X-1)), so that levels with many documents are worth
        less. R(X) is the number of documents at level X, and R is the number of relevant documents. If all relevant
        documents are at one level, g(X) stays as it is (Sakai, Average gain ratio, SIGIR 2003).
        """
        gains = np.zeros((1, counts.shape[1]))
        gains[0, rel:] = self.values[rel - 1 :]
        if not self.adjusted:
            return gains
        total = counts[:, rel:].sum(axis=1, keepdims=True)
        share = counts / np.maximum(total, 1)
        below = np.concatenate((np.zeros((1, 1)), gains[:, :-1]), axis=1)
        return np.asarray(np.where(counts == total, gains, gains - share * (gains - below)))


FLAT: Final = GainSetting("1", (1.0,))
"""The setting of a scale with one level above 0. Metrics without gains are read with it."""


def linear_ratio(highest_level: int) -> str:
    """Return the usual setting of a scale, such as 3:2:1 for three levels: the gain of a level is its number."""
    return ":".join(map(str, range(highest_level, 0, -1)))


def steep(highest_level: int) -> str:
    """Return the steep setting of the papers for three levels, 10:5:1, and for other scales `exp`, which is similar."""
    return "10:5:1" if highest_level == 3 else "exp"


# Clients choose the text, so the number of settings must be bounded.
@lru_cache(maxsize=256)
def parse_gains(text: str, highest_level: int) -> GainSetting:
    """Return the gain setting that `text` describes, on a scale of levels 0 to `highest_level` (>= 1).

    Raises BadGains if `text` is not a gain setting, if its number of values is not the number of levels above 0, if a
    value is out of range, or if a higher level has a lower value than the level below.
    """
    text = text.strip()
    if text in _RULES:
        return GainSetting(text, tuple(_RULES[text](level) for level in range(1, highest_level + 1)))
    adjusted = re.fullmatch(r"adjust\((.*)\)", text)
    parts = (adjusted[1] if adjusted else text).split(":")
    ratio = [value for part in parts if (value := read_number(part)) is not None]
    if len(ratio) < len(parts):
        raise BadGains(f"gains={text} is not a gain setting. Use {FORMS}")
    if len(ratio) != highest_level:
        raise BadGains(
            f"gains={text} has {len(ratio)} values, but there are {highest_level} levels above level 0. "
            f"Give one value per level, such as {linear_ratio(highest_level)}"
        )
    if any(higher < lower for higher, lower in pairwise(ratio)):
        raise BadGains(
            f"gains={text} gives a higher level a lower value. Write the value of the highest level first, "
            f"such as {linear_ratio(highest_level)}"
        )
    if any(value < 0 or (value and not _SMALLEST <= value <= _LARGEST) for value in ratio):
        raise BadGains(f"gains={text}: each value must be 0 or between {_SMALLEST:g} and {_LARGEST:g}")
    label = ":".join(format_number(value) for value in ratio)
    values = tuple(reversed(ratio))
    return GainSetting(f"adjust({label})", values, adjusted=True) if adjusted else GainSetting(label, values)


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """Return the number in `text`, or None. `inf`, `nan`, `1_000` and digits of other scripts are not accepted."""
    return float(text) + 0.0 if _NUMBER.fullmatch(text) else None  # adding 0 makes -0 a plain 0


def format_number(value: float) -> str:
    """Return the shortest text that reads back as `value`. Whole numbers are written without `.0`."""
    return repr(float(value)).removesuffix(".0").replace("e+", "e")


_SHALLOW: Final = 1 << 16
"""Weights of ranks below this are looked up in a table (half a megabyte for a discount). Others are computed."""


class Discount(NamedTuple):
    """The weight `1 / max(1, log_base(rank + shift))` of a rank >= 1.

    The formula covers three discounts. Base a with shift 0 is that of Jarvelin and Kekalainen (TOIS 2002), which does
    not discount ranks up to a. Base 2 with shift 1 is the "Microsoft" discount (Burges et al., ICML 2005). An infinite
    base discounts nothing. `base` is a float, except in formulas of metrics, where it may be a parameter.
    """

    base: Number
    shift: int = 0

    def at(self, ranks: NDArray[np.intp], deepest: int | None = None) -> Scores:
        """Return the weight at each of `ranks` (intp of any shape, 1 to `deepest` if that is given), float64."""
        deepest = int(ranks.max(initial=0)) if deepest is None else deepest
        if deepest < _SHALLOW:
            return self.weights(deepest).take(ranks)
        logs = np.fromiter(map(math.log, (ranks + self.shift).ravel().tolist()), np.float64)
        return self._of(logs.reshape(ranks.shape))

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0, 1, ..., `deepest`: float64 [deepest + 1]. Rank 0 has weight 0."""
        # Tables have 1,024 ranks or a higher power of two, so that requests to many depths share them.
        return _weights(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks: float64 [deepest + 1]."""
        return _sums(self, max(10, deepest.bit_length()))[: deepest + 1]

    def _of(self, logs: Scores) -> Scores:
        """Return the weights of ranks from the logarithms of the shifted ranks."""
        weights: Scores = 1.0 / np.maximum(1.0, logs / math.log(cast("float", self.base)))
        return weights


class Geometric(NamedTuple):
    """The weight `ratio ** (rank - 1)` of a rank >= 1, with 0 < ratio < 1. It has the methods of `Discount`."""

    ratio: Number

    def at(self, ranks: NDArray[np.intp], deepest: int | None = None) -> Scores:
        """Return the weight at each of `ranks` (intp of any shape, 1 to `deepest` if that is given), float64."""
        return self.weights(int(ranks.max(initial=0)) if deepest is None else deepest).take(ranks)

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0, 1, ..., `deepest`: float64 [deepest + 1]. Rank 0 has weight 0."""
        return _powers(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks: float64 [deepest + 1]."""
        return np.cumsum(self.weights(deepest))


NO_DISCOUNT: Final = Discount(base=math.inf)
MICROSOFT: Final = Discount(base=2.0, shift=1)


# Clients choose the base, so the number of tables must be bounded.
@lru_cache(maxsize=8)
def _weights(discount: Discount, bits: int) -> Scores:
    weights = discount._of(_logs(bits + 1)[discount.shift : discount.shift + (1 << bits)])
    weights[0] = 0.0
    return weights


@lru_cache(maxsize=8)
def _powers(discount: Geometric, bits: int) -> Scores:
    # As products, because NumPy's powers differ between processors.
    powers = np.full(1 << bits, discount.ratio, np.float64)
    powers[0], powers[1] = 0.0, 1.0
    np.cumprod(powers[1:], out=powers[1:])
    return powers


@lru_cache(maxsize=8)
def _sums(discount: Discount, bits: int) -> Scores:
    # A running sum has the same bits however far it goes. Those of `np.sum` depend on the number of ranks.
    return np.cumsum(_weights(discount, bits))


@lru_cache(maxsize=4)
def _logs(bits: int) -> Scores:
    """Return the logarithms of 0 (taken as 1), 1, 2, ..., 2**bits - 1: float64 [2**bits]."""
    # From `math`, because NumPy's logarithms differ between processors: one table for all ways of computing a score.
    return np.fromiter((math.log(max(1, rank)) for rank in range(1 << bits)), np.float64)


class TopicClasses:
    """The classes of topics, and the last rank of each level in their ideal rankings.

    `topic_class` intp [n] is the class of each topic. `counts` int64 [c, h+1] is the number of documents judged at each
    level; it is 0 at level 0, which is never relevant. `last` int64 [c, h+1] is the number of documents of each level
    or a higher one. This is the rank of the level's last document in the ideal ranking.
    """

    def __init__(self, level_counts: NDArray[np.int64]) -> None:
        """Find the classes of topics. `level_counts` int64 [n, h+1] is the number of documents by topic and level."""
        relevant = level_counts.copy()
        relevant[:, 0] = 0
        self.counts, topic_class = np.unique(relevant, axis=0, return_inverse=True)
        self.topic_class = np.asarray(topic_class.ravel(), np.intp)
        # Contiguous, because the kernels are compiled for such arrays. A reversed view would have them compiled again.
        self.last: NDArray[np.int64] = np.ascontiguousarray(self.counts[:, ::-1].cumsum(axis=1)[:, ::-1])
        # Caches of this object. A cache of the method would keep every object alive.
        self.ranks = lru_cache(maxsize=4)(self._ranks)
        self.starts_of = lru_cache(maxsize=4)(self._starts_of)

    @property
    def highest_level(self) -> int:
        return int(self.counts.shape[1]) - 1

    @cached_property
    def deepest(self) -> int:
        """The largest R of all classes. No ideal ranking has gains at deeper ranks."""
        return int(self.last[:, 1:].max(initial=0))

    @cached_property
    def best_level(self) -> NDArray[np.intp]:
        """The highest level of a judged document, intp [c]; 0 if no document is judged above 0."""
        levels = np.where(self.counts > 0, np.arange(self.counts.shape[1]), 0)
        return np.asarray(levels.max(axis=1, initial=0), np.intp)

    @cached_property
    def harmonic(self) -> Scores:
        """The sums of 1/r over the first 0, 1, ..., deepest ranks: float64 [deepest + 1]."""
        return np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, self.deepest + 1))))

    def _ranks(self, upto: int) -> IdealRanks:
        upto = min(upto, self.deepest)
        # All classes share a table if its padding at most doubles the work. Otherwise, those with R between the same
        # powers of two do.
        depth = np.minimum(self.last[:, 1], upto)
        if len(depth) * depth.max(initial=0) <= 2 * depth.sum():
            widths = np.zeros(len(depth), np.int64)
        else:
            widths = np.ceil(np.log2(np.maximum(depth, 1))).astype(np.int64)
        starts, size, tables = np.zeros(len(depth), np.int64), 1, []
        for width in sorted(set(widths[depth > 0].tolist())):  # np.unique imports masked arrays
            classes = ((widths == width) & (depth > 0)).nonzero()[0]
            deepest = int(depth[classes].max())
            holds = np.arange(1, deepest + 1) <= self.last[classes, 1:, np.newaxis]
            last = np.arange(len(classes)) * deepest + np.minimum(self.last[classes, 1], deepest) - 1
            table = RankTable(classes, deepest, size, holds.sum(axis=1, dtype=np.int8), last)
            starts[classes] = size + np.arange(len(classes)) * (table.width + 1)
            size = table.stop
            tables.append(table)
        return IdealRanks(tuple(tables), starts, depth, size)

    def _starts_of(self, depths: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return arrays of `IdealRanks` for these depths: int64 `starts` and `depth` [depths, c], `size` [depths]."""
        ideal_ranks, shape = [self.ranks(upto) for upto in depths], (len(depths), len(self.counts))
        starts, depth = ([ranks.starts for ranks in ideal_ranks], [ranks.depth for ranks in ideal_ranks])
        sizes = np.array([ranks.size for ranks in ideal_ranks], np.int64)
        return np.array(starts, np.int64).reshape(shape), np.array(depth, np.int64).reshape(shape), sizes


class RankTable(NamedTuple):
    """The ranks 1 to `width` of the ideal rankings of some `classes`.

    `level` int8 [classes, width] is the level of the document at each rank, 0 if there is none. `last` intp [classes]
    are the places of the last ranks of each class in such a table, row by row. Values computed from these ranks are
    stored with those of all tables in one array. `start` is their first index there. The values of each class begin
    with one 0.
    """

    classes: NDArray[np.intp]
    width: int
    start: int
    level: NDArray[np.int8]
    last: NDArray[np.intp]

    @property
    def stop(self) -> int:
        """The index at which the values of the next table start."""
        return self.start + len(self.classes) * (self.width + 1)


class IdealRanks(NamedTuple):
    """The first ranks of the ideal rankings, in several tables.

    Values computed from them are an array of `size` numbers. The values of each class start at `starts` int64 [c].
    `depth` int64 [c] is the number of ranks of each class.
    """

    tables: tuple[RankTable, ...]
    starts: NDArray[np.int64]
    depth: NDArray[np.int64]
    size: int


class LevelGains(NamedTuple):
    """The gains of the levels in each class under one gain setting. Levels below `rel` have gain 0.

    `gain` float64 [c, h+1] is the gain of each level. `step` float64 [c, h+1] is the gain minus the gain of the level
    below, never negative. Both have one row, [1, h+1], if the classes do not differ.

    The total gain of some ranks is a sum over levels, lowest first: the step of the level times the number of ranks
    with a document of this level or a higher one. So no table by rank is needed, and no term of the sum is negative.
    """

    gain: Scores
    step: Scores
    rel: int

    @classmethod
    def of(cls, setting: tuple[GainSetting, int], classes: TopicClasses) -> LevelGains:
        """Return the gains of a setting. `setting` is the gain setting and the lowest relevant level."""
        gains, rel = setting
        gain = gains.by_class(classes.counts, rel)
        step = gain.copy()
        step[:, 1:] -= gain[:, :-1]
        return cls(gain, step, rel)

    def worth(self, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
        """Return the total gain of ranks, float64 [c].

        `counts` [c, h+1] is the number of ranks with a document of each level or a higher one. For discounted gain, it
        is the sum of the weights of these ranks. Several of such tables at once, [..., c, h+1], give float64 [..., c].
        """
        worth = self.step * counts
        # Level by level, as the kernels add. `np.sum` chooses an order of its own for each shape.
        total: Scores = worth[..., self.rel]
        for level in range(self.rel + 1, counts.shape[-1]):
            total = total + worth[..., level]
        return total

    def ideal_gain(self, classes: TopicClasses, upto: int, discount: Discount) -> Scores:
        """Return the discounted gain of the first `upto` ranks of each class's ideal ranking, float64 [c]."""
        return self.worth(discount.sums(classes.deepest).take(np.minimum(classes.last, upto)))

    def ideal_precisions(self, classes: TopicClasses) -> Scores:
        """Return the sum of cg_I(r)/r over the ranks r = 1..R, float64 [c]. It is the denominator of genAP."""
        # If x documents have a level or a higher one, count(r)/r is 1 at the first x ranks and x/r at deeper ranks r.
        sums, last = classes.harmonic, classes.last
        return self.worth(last + last * (sums[last[:, self.rel, np.newaxis]] - sums[last]))

    def above(self, least: float) -> LevelGains:
        """Return the part of each gain that is above `least`, as gains."""
        gain = np.maximum(self.gain - least, 0.0)
        return LevelGains(gain, np.diff(gain, axis=1, prepend=0.0), self.rel)

    def falls(self, classes: TopicClasses) -> NDArray[np.bool_]:
        """Return whether the ideal gain falls after the last document of each level or a higher one: bool [c, h+1]."""
        counts = classes.counts
        are_falls, below = np.zeros_like(counts, np.bool_), np.zeros(len(counts))
        gain = np.broadcast_to(self.gain, counts.shape)
        for level in range(self.rel, counts.shape[1]):
            are_falls[:, level] = (counts[:, level] > 0) & (gain[:, level] > below)
            below = np.where(are_falls[:, level], gain[:, level], below)
        return are_falls

    def reciprocals_at_falls(self, classes: TopicClasses, discount: Discount) -> Scores:
        """Return 1/cg_I(i) at the rank i of each level's last document: float64 [c, h+1], 0 where no gain falls."""
        sums, last = discount.sums(classes.deepest), classes.last
        # By level, float64 [c]: the gain down to its last document.
        ends = (last[:, [level]] for level in range(last.shape[1]))
        gained = [self.worth(sums.take(np.minimum(last, end))) for end in ends]
        with np.errstate(divide="ignore"):  # where no gain falls, the quotient is not used
            return np.where(self.falls(classes), 1.0 / np.transpose(gained), 0.0)

    def gain_by_rank(
        self, classes: TopicClasses, chosen: NDArray[np.intp], ranks: NDArray[np.intp], discount: Discount
    ) -> Scores:
        """Return the discounted gain of the first r ranks of the ideal ranking: float64 [chosen, ranks].

        Rows are the `chosen` classes, intp [chosen]. Columns are the values of r in `ranks`, intp [ranks].
        """
        sums = discount.sums(max(classes.deepest, int(ranks.max(initial=0))))
        step = np.broadcast_to(self.step, classes.counts.shape)[chosen]
        gained = np.zeros((len(chosen), len(ranks)))
        for level in range(self.rel, step.shape[1]):
            held = np.minimum(ranks, classes.last[chosen, level, np.newaxis])
            gained += step[:, level, np.newaxis] * sums.take(held)
        return gained


class ReciprocalSums(NamedTuple):
    """H(r), the sum of 1/cg_I(i) over the ranks i = 1..r of each class's ideal ranking; cg_I(i) is discounted.

    `table` holds H(r) for r from 0 to the depth of `ranks`. At ranks deeper than R, the ideal gain is constant, and
    each rank adds `beyond` float64 [c].
    """

    ranks: IdealRanks
    table: Scores
    beyond: Scores

    @classmethod
    def of(cls, gains: LevelGains, classes: TopicClasses, discount: Discount, upto: int) -> ReciprocalSums:
        """Return the sums for r <= `upto`."""
        ranks = classes.ranks(upto)
        values, beyond = np.zeros(ranks.size), np.full(len(ranks.depth), np.inf)
        for table in ranks.tables:
            if len(gains.gain) == 1:
                gain = gains.gain[0].take(table.level)
            else:
                gain = gains.gain[table.classes[:, np.newaxis], table.level]
            terms = 1.0 / (gain * discount.weights(table.width)[1:]).cumsum(axis=1)
            sums = values[table.start : table.stop].reshape(len(table.classes), -1)[:, 1:]
            terms.cumsum(axis=1, out=sums)
            beyond[table.classes] = terms.take(table.last)
        return cls(ranks, values, beyond)

    def at(self, ranks: int | NDArray[np.intp], spread: Callable[[NDArray[Any]], NDArray[Any]] | None = None) -> Scores:
        """Return H at one rank of all classes, float64 [c], or at `ranks` intp [m], float64 [m].

        `spread` turns an array by class into one with the number of the class of each of `ranks`. H is NaN where no
        document has a gain.
        """
        depth, starts, beyond = self.ranks.depth, self.ranks.starts, self.beyond
        if spread is not None:
            depth, starts, beyond = spread(depth), spread(starts), spread(beyond)
        inside = np.minimum(ranks, depth)
        total: Scores = self.table.take(starts + inside)
        total += (ranks - inside) * beyond
        return total
