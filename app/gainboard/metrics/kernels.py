"""Computation of programs by one compiled loop, for a few rankings at a time, so that all values stay in the cache.

Only `gainboard.metrics.scoring` imports this module, if the `fast` extra is installed. `plain` defines the operations
and computes the same bits: every operation here rounds as NumPy does, and sums have the order of `np.add.reduceat`.
This module contains no formula of a metric, so a new metric needs no change here.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gainboard.acceleration import njit

_OPERATIONS: Final = (
    *("add", "subtract", "multiply", "divide", "minimum", "maximum", "floor", "absolute"),
    *("number", "levels", "gains", "relevant_count", "at_highest_level"),
    *("ideal_total", "ideal_precisions", "ideal_gain", "ideal_stopping", "ideal_stopping_weight"),
    *("by_level", "weight", "weight_at", "cumulative_gain", "ideal_cumulative_gain"),
    *("product_above", "reciprocals", "relevant_only", "system_score", "by_ranking"),
    *("all_rows", "rows_upto", "sum", "weighted_sum", "largest", "at_last", "at_first", "at_preferred", "score"),
    *("spread number", "spread topic", "spread ranking"),
)
CODES: Final = {name: number for number, name in enumerate(_OPERATIONS)}
"""The codes of the operations. "spread" has a code for each space that it spreads from."""
OPERATION, SPACE, TARGET, OPERAND, SETTING, FIXED = 0, 1, 2, 3, 5, 7
"""The first indexes of the fields of an instruction. Operands, settings and fixed numbers have two indexes each."""

# Codes as module constants, which the compiler treats as constants. They must be defined in this file, because compiled
# code is renewed only if its own file changes.
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = (CODES[name] for name in ("add", "subtract", "multiply", "divide"))
_MINIMUM, _MAXIMUM, _FLOOR, _ABSOLUTE = (CODES[name] for name in ("minimum", "maximum", "floor", "absolute"))
_NUMBER, _LEVELS, _GAINS = (CODES[name] for name in ("number", "levels", "gains"))
_SPREAD_NUMBER, _SPREAD_TOPIC, _SPREAD_RANKING = (CODES[f"spread {name}"] for name in ("number", "topic", "ranking"))
_RELEVANT_COUNT, _AT_HIGHEST_LEVEL = CODES["relevant_count"], CODES["at_highest_level"]
_IDEAL_TOTAL, _IDEAL_PRECISIONS, _IDEAL_GAIN = (CODES[f"ideal_{name}"] for name in ("total", "precisions", "gain"))
_IDEAL_STOPPING, _IDEAL_STOPPING_WEIGHT = CODES["ideal_stopping"], CODES["ideal_stopping_weight"]
_BY_LEVEL, _WEIGHT, _WEIGHT_AT = (CODES[name] for name in ("by_level", "weight", "weight_at"))
_CUMULATIVE_GAIN, _IDEAL_CUMULATIVE_GAIN = CODES["cumulative_gain"], CODES["ideal_cumulative_gain"]
_PRODUCT_ABOVE, _RECIPROCALS, _RELEVANT_ONLY = (
    CODES[name] for name in ("product_above", "reciprocals", "relevant_only")
)
_SYSTEM_SCORE, _BY_RANKING = CODES["system_score"], CODES["by_ranking"]
_ALL_ROWS, _ROWS_UPTO = CODES["all_rows"], CODES["rows_upto"]
_SUM, _WEIGHTED_SUM, _LARGEST, _SCORE = (CODES[name] for name in ("sum", "weighted_sum", "largest", "score"))
_AT_LAST, _AT_FIRST, _AT_PREFERRED = (CODES[f"at_{name}"] for name in ("last", "first", "preferred"))
_LEVEL, _TOPIC, _RANKING, _ROW = 1, 2, 3, 4
COUNTS: Final = 3
"""The number of ranks after the registers by row, as in `Rankings.ranks`. Counts for each level follow them."""
_TOGETHER = 4096
"""The largest number of rows, and of rankings, that are computed at once, unless one ranking has more rows."""


# As named tuples, because compiled functions take no other records.
class Runs(NamedTuple):
    """The chosen rankings of `JudgedRuns`.

    By ranking: the `first` row, the number of rows (`size`), and whether it is `missing`. By row: `rank` [2 or 3, rows]
    and `level`. By topic: its class.
    """

    first: Any
    size: Any
    missing: Any
    rank: Any
    level: Any
    topic_class: Any


class Topics(NamedTuple):
    """Fields of `TopicClasses`."""

    last: Any
    best_level: Any
    harmonic: Any


class Tables(NamedTuple):
    """The settings as arrays. The first index of most of them is the number of the setting.

    - `numbers`: settings that are numbers.
    - `gain` and `step` [settings, classes, levels], and `rel`, the lowest relevant level: gain settings.
    - `levels` [settings, levels]: settings by level.
    - `weights` and `sums` [settings, ranks]: the weights of ranks, and their sums.
    - `starts`, `depth` [sums, classes] and `sizes` [sums]: the ideal ranks for sums of reciprocals, as in `IdealRanks`.
    - `recipes`: the settings of sums of reciprocals, as in `Instructions`.
    - `system` [scales, rows]: the runs' own scores by scale, as in `SystemColumns`.
    - `computed` [operations, rankings]: values by ranking that NumPy has computed.
    """

    numbers: Any
    gain: Any
    step: Any
    rel: Any
    levels: Any
    weights: Any
    sums: Any
    starts: Any
    depth: Any
    sizes: Any
    recipes: Any
    system: Any
    computed: Any


@njit
def _pairwise(values: Any, start: Any, count: Any) -> Any:
    """Return the sum in NumPy's order: in turn for less than 8 numbers, in eight sums up to 128, else by halves."""
    if count < 8:
        total = 0.0
        for number in range(start, start + count):
            total += values[number]
        return total
    if count > 128:
        half = count // 2
        half -= half % 8
        return _pairwise(values, start, half) + _pairwise(values, start + half, count - half)
    # Unsigned indexes are faster, because they cannot be negative.
    at, whole, end = np.uint64(start), np.uint64(start + count - count % 8), np.uint64(start + count)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    five, six, seven, eight = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    a, b, c, d = values[at], values[at + one], values[at + two], values[at + three]
    e, f, g, h = values[at + four], values[at + five], values[at + six], values[at + seven]
    at += eight
    while at < whole:
        a += values[at]
        b += values[at + one]
        c += values[at + two]
        d += values[at + three]
        e += values[at + four]
        f += values[at + five]
        g += values[at + six]
        h += values[at + seven]
        at += eight
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while at < end:
        total += values[at]
        at += one
    return total


@njit
def _combine(operation: Any, one: Any, other: Any, out: Any, count: Any) -> None:
    """Compute an arithmetic operation, number by number."""
    if operation == _ADD:
        for number in range(count):
            out[number] = one[number] + other[number]
    elif operation == _SUBTRACT:
        for number in range(count):
            out[number] = one[number] - other[number]
    elif operation == _MULTIPLY:
        for number in range(count):
            out[number] = one[number] * other[number]
    elif operation == _DIVIDE:
        for number in range(count):
            out[number] = one[number] / other[number]
    elif operation == _MINIMUM:
        for number in range(count):
            # A NaN is passed on, as by NumPy. A comparison alone would drop it.
            out[number] = one[number] if one[number] <= other[number] or one[number] != one[number] else other[number]
    elif operation == _MAXIMUM:
        for number in range(count):
            out[number] = one[number] if one[number] >= other[number] or one[number] != one[number] else other[number]
    elif operation == _FLOOR:
        for number in range(count):
            out[number] = np.floor(one[number])
    else:
        for number in range(count):
            out[number] = abs(one[number])


@njit
def _worth(step: Any, rel: Any, counts: Any) -> Any:
    """Return the gain of `counts` documents of each level or a higher one, added with the lowest level first."""
    # From the lowest level up, as `LevelGains.worth` adds: another order would give other last bits.
    total = step[rel] * counts[rel]
    for level in range(rel + 1, len(step)):
        total += step[level] * counts[level]
    return total


@njit
def _fill_ideal_gain(step: Any, rel: Any, topics: Any, upto: Any, sums: Any, out: Any) -> None:
    for topic_class in range(len(out)):
        last = topics.last[topic_class]
        total = step[topic_class, rel] * sums[min(last[rel], upto)]
        for level in range(rel + 1, len(last)):
            total += step[topic_class, level] * sums[min(last[level], upto)]
        out[topic_class] = total


@njit
def _fill_ideal_precisions(step: Any, rel: Any, topics: Any, out: Any) -> None:
    sums = topics.harmonic
    for topic_class in range(len(out)):
        # If x documents have a level or a higher one, count(r)/r is 1 at the first x ranks and x/r at deeper ones. So
        # the harmonic sums are enough, and no loop over ranks is needed.
        last, total = topics.last[topic_class], 0.0
        for level in range(rel, len(last)):
            upto = last[level]
            total += step[topic_class, level] * (upto + upto * (sums[last[rel]] - sums[upto]))
        out[topic_class] = total


@njit
def _fill_ideal_stopping(stop: Any, topics: Any, upto: Any, weights: Any, out: Any) -> None:
    """Fill the sums of P_stop(r)/r over the first `upto` ranks of each ideal ranking. `stop` is by class and level.

    With `weights` by rank, it is that of P_stop(r) times the weight. Without, they are empty.
    """
    width = topics.last.shape[1]
    for topic_class in range(len(out)):
        # The ideal ranking is walked level by level, because ranks of one level stop users with one probability.
        rank, above, total = 1, 1.0, 0.0
        for level in range(width - 1, 0, -1):
            stops = stop[topic_class * width + level]
            while rank <= min(topics.last[topic_class, level], upto):
                total += stops * above * weights[rank] if len(weights) else stops * above / rank
                above *= 1.0 - stops
                rank += 1
        out[topic_class] = total


@njit
def _fill_reciprocals(gain: Any, weights: Any, topics: Any, starts: Any, depth: Any, table: Any, beyond: Any) -> None:
    """Fill the sums over ranks of 1 / ideal gain, from the start of each class, and the term of each deeper rank."""
    highest = gain.shape[1] - 1
    for topic_class in range(len(beyond)):
        start, rank, gained, total = starts[topic_class], 1, 0.0, 0.0
        table[start] = 0.0
        for level in range(highest, 0, -1):
            while rank <= min(topics.last[topic_class, level], depth[topic_class]):
                gained += gain[topic_class, level] * weights[rank]
                total += 1.0 / gained
                table[start + rank] = total
                rank += 1
        beyond[topic_class] = 1.0 / gained


@njit
def _take_first(
    steps: Any, topics: Any, tables: Any, numbers: Any, levels: Any, classes: Any, table: Any, beyond: Any
) -> None:
    """Do the steps for single numbers, by level and by class of topics."""
    count, width = len(topics.last), topics.last.shape[1]
    for recipe in range(len(tables.recipes)):
        gains, discount = tables.recipes[recipe, 0], tables.recipes[recipe, 1]
        _fill_reciprocals(
            tables.gain[gains],
            tables.weights[discount],
            topics,
            tables.starts[recipe],
            tables.depth[recipe],
            table[recipe],
            beyond[recipe],
        )
    for step in steps:
        operation, target, setting = step[OPERATION], step[TARGET], step[SETTING]
        # The codes of arithmetic come first, so one comparison tells it from all other operations.
        if operation <= _ABSOLUTE:
            if step[SPACE] == _LEVEL:
                one, other = levels[step[OPERAND]], levels[step[OPERAND + 1]]
                _combine(operation, one, other, levels[target], count * width)
            elif step[SPACE] == _TOPIC:
                one, other = classes[step[OPERAND]], classes[step[OPERAND + 1]]
                _combine(operation, one, other, classes[target], count)
            else:
                # Slices, so that one compiled function serves single numbers, too.
                _combine(operation, numbers[step[OPERAND] :], numbers[step[OPERAND + 1] :], numbers[target:], 1)
        elif operation == _NUMBER:
            numbers[target] = tables.numbers[setting]
        elif operation == _SPREAD_NUMBER:
            if step[SPACE] == _LEVEL:
                levels[target] = numbers[step[OPERAND]]
            else:
                classes[target] = numbers[step[OPERAND]]
        elif operation == _LEVELS:
            for topic_class in range(count):
                levels[target, topic_class * width] = 0.0
                for level in range(1, width):
                    levels[target, topic_class * width + level] = tables.levels[setting, level]
        elif operation == _GAINS:
            for topic_class in range(count):
                for level in range(width):
                    levels[target, topic_class * width + level] = tables.gain[setting, topic_class, level]
        elif operation == _RELEVANT_COUNT:
            for topic_class in range(count):
                classes[target, topic_class] = topics.last[topic_class, step[FIXED]]
        elif operation == _AT_HIGHEST_LEVEL:
            for topic_class in range(count):
                classes[target, topic_class] = levels[
                    step[OPERAND], topic_class * width + topics.best_level[topic_class]
                ]
        elif operation == _IDEAL_TOTAL:
            for topic_class in range(count):
                classes[target, topic_class] = _worth(
                    tables.step[setting, topic_class], tables.rel[setting], topics.last[topic_class]
                )
        elif operation == _IDEAL_PRECISIONS:
            _fill_ideal_precisions(tables.step[setting], tables.rel[setting], topics, classes[target])
        elif operation == _IDEAL_STOPPING:
            _fill_ideal_stopping(
                levels[step[OPERAND]], topics, step[FIXED], tables.weights[setting, :0], classes[target]
            )
        elif operation == _IDEAL_STOPPING_WEIGHT:
            _fill_ideal_stopping(levels[step[OPERAND]], topics, step[FIXED], tables.weights[setting], classes[target])
        elif operation == _IDEAL_GAIN:
            sums = tables.sums[step[SETTING + 1]]
            _fill_ideal_gain(tables.step[setting], tables.rel[setting], topics, step[FIXED], sums, classes[target])


# The functions below do all rankings of a batch, and take whole arrays: for each slice of one, a counter is changed
# twice under a lock, which takes longer than the numbers of a short ranking.


@njit
def _read_rows(runs: Any, begin: Any, at: Any, rankings: Any, kinds: Any, rank: Any, level: Any) -> None:
    """Copy the ranks and levels of all rows, converted to the types that steps read."""
    for ranking in range(rankings):
        # Unsigned indexes are faster, because they cannot be negative.
        first, to = np.uint64(runs.first[begin + ranking]), np.uint64(at[ranking])
        count = np.uint64(at[ranking + 1]) - to
        for kind in range(kinds):
            # Without levels below 0, the third kind of rank is the second one.
            source = min(kind, len(runs.rank) - 1)
            for row in range(count):
                rank[kind, to + row] = runs.rank[source, first + row]
        for row in range(count):
            level[to + row] = runs.level[first + row]


@njit
def _fill(out: Any, start: Any, stop: Any, number: Any) -> None:
    for index in range(np.uint64(start), np.uint64(stop)):
        out[index] = number


@njit
def _fill_counts(level: Any, at: Any, rankings: Any, levels_counted: Any, so_far: Any, counts: Any) -> None:
    """Fill, by row, the number of documents of each level or a higher one down to this row of the ranking."""
    if levels_counted > 1:
        # Every row has level 1 or a higher one, so its place is its count.
        for ranking in range(rankings):
            begin = np.uint64(at[ranking])
            for position in range(np.uint64(at[ranking + 1]) - begin):
                counts[1, begin + position] = np.int32(position) + 1
    for least in range(2, levels_counted, 2):
        # Two sums at once take hardly longer than one. They are integers, which are converted afterwards: each addition
        # waits for the one before, conversions do not.
        for ranking in range(rankings):
            one, other = np.int32(0), np.int32(0)
            for row in range(np.uint64(at[ranking]), np.uint64(at[ranking + 1])):
                row_level = level[row]
                one += np.int32(row_level >= least)
                other += np.int32(row_level > least)
                so_far[0, row] = one
                so_far[1, row] = other
        for row in range(np.uint64(at[rankings])):
            counts[least, row] = so_far[0, row]
        if least + 1 < levels_counted:
            for row in range(np.uint64(at[rankings])):
                counts[least + 1, row] = so_far[1, row]


@njit
def _fill_gained(step: Any, rel: Any, counts: Any, ranking_class: Any, at: Any, rankings: Any, out: Any) -> None:
    """Fill, by row, the gain of `counts` documents of each level or a higher one, lowest level first."""
    for ranking in range(rankings):
        topic_class, begin, end = ranking_class[ranking], np.uint64(at[ranking]), np.uint64(at[ranking + 1])
        level = rel + 1
        if level + 1 < step.shape[1]:
            # Most judgments have three levels, which are added in one pass.
            one, two, three = step[topic_class, rel], step[topic_class, level], step[topic_class, level + 1]
            for row in range(begin, end):
                out[row] = one * counts[rel, row] + two * counts[level, row] + three * counts[level + 1, row]
            level += 2
        else:
            worth = step[topic_class, rel]
            for row in range(begin, end):
                out[row] = worth * counts[rel, row]
        for higher in range(level, step.shape[1]):
            worth = step[topic_class, higher]
            for row in range(begin, end):
                out[row] += worth * counts[higher, row]


@njit
def _fill_ideal_gained(
    step: Any, rel: Any, last: Any, rank: Any, ranking_class: Any, at: Any, rankings: Any, out: Any
) -> None:
    """Fill, by row, the ideal gain at the row's rank, added with the lowest level first."""
    for ranking in range(rankings):
        topic_class, begin, end = ranking_class[ranking], np.uint64(at[ranking]), np.uint64(at[ranking + 1])
        level = rel + 1
        if level + 1 < step.shape[1]:
            one, two, three = step[topic_class, rel], step[topic_class, level], step[topic_class, level + 1]
            first, second, third = last[topic_class, rel], last[topic_class, level], last[topic_class, level + 1]
            for row in range(begin, end):
                row_rank = rank[row]
                out[row] = one * min(row_rank, first) + two * min(row_rank, second) + three * min(row_rank, third)
            level += 2
        else:
            worth, until = step[topic_class, rel], last[topic_class, rel]
            for row in range(begin, end):
                out[row] = worth * min(rank[row], until)
        for higher in range(level, step.shape[1]):
            worth, until = step[topic_class, higher], last[topic_class, higher]
            for row in range(begin, end):
                out[row] += worth * min(rank[row], until)


@njit
def _look_up(values: Any, indexes: Any, rows: Any, out: Any) -> None:
    for row in range(np.uint64(rows)):
        out[row] = values[np.uint64(indexes[row])]


@njit
def _look_up_levels(values: Any, width: Any, level: Any, ranking_class: Any, at: Any, rankings: Any, out: Any) -> None:
    """Fill the number of each row's level in its ranking's class. `values` is by class and level."""
    for ranking in range(rankings):
        start = np.uint64(ranking_class[ranking] * width)
        for row in range(np.uint64(at[ranking]), np.uint64(at[ranking + 1])):
            out[row] = values[start + np.uint64(level[row])]


@njit
def _fill_product_above(
    values: Any, rel: Any, level: Any, ranking_class: Any, at: Any, rankings: Any, powers: Any, out: Any
) -> None:
    """Fill the products of the numbers of the documents above each row: powers from a table, lowest level first."""
    width = powers.shape[0]
    above = np.zeros(width, np.int64)
    for ranking in range(rankings):
        begin, end = at[ranking], at[ranking + 1]
        for factor_level in range(rel, width):
            factor = values[ranking_class[ranking] * width + factor_level]
            powers[factor_level, 0] = 1.0
            # As products, one after the other, as `np.cumprod` in `plain` makes them: a power would round otherwise.
            for number in range(1, end - begin + 1):
                powers[factor_level, number] = powers[factor_level, number - 1] * factor
            above[factor_level] = 0
        for row in range(begin, end):
            product = 1.0
            for factor_level in range(rel, width):
                product *= powers[factor_level, above[factor_level]]
            out[row] = product
            above[level[row]] += 1


@njit
def _look_up_reciprocals(
    table: Any,
    starts: Any,
    depth: Any,
    beyond: Any,
    rank: Any,
    upto: Any,
    ranking_class: Any,
    at: Any,
    rankings: Any,
    out: Any,
) -> None:
    """Fill, by row at a rank <= `upto`, the sum from its rank to that one. The other rows are in no sum."""
    for ranking in range(rankings):
        topic_class = ranking_class[ranking]
        start, inside, added = starts[topic_class], depth[topic_class], beyond[topic_class]
        whole = _sum_of_reciprocals(table, start, inside, added, upto)
        row, end = np.uint64(at[ranking]), np.uint64(at[ranking + 1])
        while row < end and rank[row] <= upto:
            out[row] = whole - _sum_of_reciprocals(table, start, inside, added, int(rank[row]) - 1)
            row += np.uint64(1)


@njit
def _sum_of_reciprocals(table: Any, start: Any, depth: Any, beyond: Any, rank: Any) -> Any:
    inside = min(rank, depth)
    total = table[np.uint64(start + inside)]
    return total + (rank - inside) * beyond if rank > inside else total + 0.0


@njit
def _count_upto(rank: Any, at: Any, rankings: Any, limits: Any, out: Any) -> None:
    """Fill, by ranking, the number of rows at ranks <= the limit of the ranking."""
    for ranking in range(rankings):
        # Row i has at least rank i + 1, so `limit` rows are enough. A loop over them is faster than a binary search,
        # whose branches the processor cannot predict.
        limit, begin, count = limits[ranking], np.uint64(at[ranking]), 0
        for row in range(begin, min(np.uint64(at[ranking + 1]), begin + np.uint64(limit))):
            count += rank[row] <= limit
        out[ranking] = count


@njit
def _select_row(operation: Any, level: Any, rel: Any, top: Any, begin: Any, count: Any) -> Any:
    """Return the row that the operation selects among the first `count` rows of a ranking; -1 if there is none."""
    if operation == _AT_LAST:
        return begin + count - 1 if count else -1
    best, highest = -1, rel - 1
    for row in range(begin, begin + count):
        if level[row] > highest:
            best, highest = row, level[row]
            if operation == _AT_FIRST or highest == top:
                break
    return best


@njit
def _take_rest(
    steps: Any,
    runs: Any,
    topics: Any,
    tables: Any,
    numbers: Any,
    levels: Any,
    classes: Any,
    sums: Any,
    beyond: Any,
    registers: Any,
    table: Any,
) -> None:
    """Do the steps by ranking and by row, for a few rankings at a time."""
    all_rankings, most = len(runs.size), _TOGETHER
    for size in runs.size:
        most = max(most, size)
    width, topic_count = topics.last.shape[1], len(runs.topic_class)
    by_row, by_ranking = np.empty((registers[1] + COUNTS + width, most)), np.empty((registers[0], _TOGETHER))
    # Steps read ranks and counts as registers, without a copy. Only those that are read are filled.
    rank, counts = by_row[registers[1] :], by_row[registers[1] + COUNTS :]
    kinds, levels_counted = registers[2], min(width, registers[3])
    level, powers = np.empty(most, np.int32), np.empty((width, most + 1))
    # As float64, like the ranks that they are compared with: else each row would convert them.
    last, so_far = topics.last.astype(np.float64), np.empty((2, most), np.int32)
    ranking_class, at = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER + 1, np.int64)
    begin = 0
    while begin < all_rankings:
        end, rows = begin, 0
        # Whole rankings, because every sum is over a ranking. One that alone has more rows is a batch.
        while end < all_rankings and end - begin < _TOGETHER and (end == begin or rows + runs.size[end] <= _TOGETHER):
            at[end - begin], ranking_class[end - begin] = rows, runs.topic_class[end % topic_count]
            rows += runs.size[end]
            end += 1
        rankings = end - begin
        at[rankings] = rows
        _read_rows(runs, begin, at, rankings, kinds, rank, level)
        _fill_counts(level, at, rankings, levels_counted, so_far, counts)
        for step in steps:
            operation, target, setting = step[OPERATION], step[TARGET], step[SETTING]
            if operation <= _ABSOLUTE:
                if step[SPACE] == _ROW:
                    _combine(operation, by_row[step[OPERAND]], by_row[step[OPERAND + 1]], by_row[target], rows)
                else:
                    one, other = by_ranking[step[OPERAND]], by_ranking[step[OPERAND + 1]]
                    _combine(operation, one, other, by_ranking[target], rankings)
            elif operation == _SUM:
                values, row_counts, out = by_row[step[OPERAND]], by_ranking[step[OPERAND + 1]], by_ranking[target]
                for ranking in range(rankings):
                    first, count = at[ranking], int(row_counts[ranking])
                    # `reduceat` keeps the first number apart, and adds the pairwise sum of the rest to it.
                    out[ranking] = values[first] + _pairwise(values, first + 1, count - 1) if count else 0.0
            elif operation == _WEIGHTED_SUM:
                values, row_counts, out = by_row[step[OPERAND]], by_ranking[step[OPERAND + 1]], by_ranking[target]
                weights, ranks, products = tables.weights[setting], rank[step[FIXED]], by_row[step[FIXED + 1]]
                for ranking in range(rankings):
                    first, count = at[ranking], int(row_counts[ranking])
                    for row in range(np.uint64(first), np.uint64(first + count)):
                        products[row] = values[row] * weights[np.uint64(ranks[row])]
                    out[ranking] = products[first] + _pairwise(products, first + 1, count - 1) if count else 0.0
            elif operation == _LARGEST:
                values, row_counts, out = by_row[step[OPERAND]], by_ranking[step[OPERAND + 1]], by_ranking[target]
                for ranking in range(rankings):
                    first, count = at[ranking], int(row_counts[ranking])
                    out[ranking] = values[first : first + count].max() if count else 0.0
            elif operation in (_AT_LAST, _AT_FIRST, _AT_PREFERRED):
                values, row_counts, out = by_row[step[OPERAND]], by_ranking[step[OPERAND + 1]], by_ranking[target]
                for ranking in range(rankings):
                    row = _select_row(operation, level, step[FIXED], width - 1, at[ranking], int(row_counts[ranking]))
                    out[ranking] = values[row] if row >= 0 else 0.0
            elif operation == _SPREAD_NUMBER:
                if step[SPACE] == _ROW:
                    _fill(by_row[target], 0, rows, numbers[step[OPERAND]])
                else:
                    _fill(by_ranking[target], 0, rankings, numbers[step[OPERAND]])
            elif operation == _SPREAD_TOPIC:
                values = classes[step[OPERAND]]
                for ranking in range(rankings):
                    if step[SPACE] == _ROW:
                        _fill(by_row[target], at[ranking], at[ranking + 1], values[ranking_class[ranking]])
                    else:
                        by_ranking[target, ranking] = values[ranking_class[ranking]]
            elif operation == _SPREAD_RANKING:
                values = by_ranking[step[OPERAND]]
                for ranking in range(rankings):
                    _fill(by_row[target], at[ranking], at[ranking + 1], values[ranking])
            elif operation == _BY_LEVEL:
                _look_up_levels(levels[step[OPERAND]], width, level, ranking_class, at, rankings, by_row[target])
            elif operation == _WEIGHT:
                _look_up(tables.weights[setting], rank[step[FIXED]], rows, by_row[target])
            elif operation == _WEIGHT_AT:
                _look_up(tables.weights[setting], by_row[step[OPERAND]], rows, by_row[target])
            elif operation == _CUMULATIVE_GAIN:
                gains, lowest = tables.step[setting], tables.rel[setting]
                _fill_gained(gains, lowest, counts, ranking_class, at, rankings, by_row[target])
            elif operation == _IDEAL_CUMULATIVE_GAIN:
                gains, lowest = tables.step[setting], tables.rel[setting]
                _fill_ideal_gained(gains, lowest, last, rank[step[FIXED]], ranking_class, at, rankings, by_row[target])
            elif operation == _PRODUCT_ABOVE:
                values = levels[step[OPERAND]]
                _fill_product_above(values, step[FIXED], level, ranking_class, at, rankings, powers, by_row[target])
            elif operation == _RECIPROCALS:
                values, further, upto = sums[setting], beyond[setting], step[FIXED + 1]
                starts, depth, ranks = tables.starts[setting], tables.depth[setting], rank[step[FIXED]]
                _look_up_reciprocals(
                    values, starts, depth, further, ranks, upto, ranking_class, at, rankings, by_row[target]
                )
            elif operation == _RELEVANT_ONLY:
                values = by_row[step[OPERAND]]
                least = step[FIXED]
                for row in range(np.uint64(rows)):
                    by_row[target, row] = values[row] if level[row] >= least else 0.0
            elif operation == _SYSTEM_SCORE:
                for ranking in range(rankings):
                    first, start = np.uint64(runs.first[begin + ranking]), np.uint64(at[ranking])
                    for position in range(np.uint64(runs.size[begin + ranking])):
                        by_row[target, start + position] = tables.system[setting, first + position]
            elif operation == _BY_RANKING:
                by_ranking[target, :rankings] = tables.computed[setting, begin:end]
            elif operation == _ALL_ROWS:
                for ranking in range(rankings):
                    by_ranking[target, ranking] = runs.size[begin + ranking]
            elif operation == _ROWS_UPTO:
                limits = by_ranking[step[OPERAND]]
                _count_upto(rank[step[FIXED]], at, rankings, limits, by_ranking[target])
            elif operation == _SCORE:
                values, worth = by_ranking[step[OPERAND]], classes[step[OPERAND + 1]]
                for ranking in range(rankings):
                    score = float(step[FIXED + 1]) if runs.missing[begin + ranking] else values[ranking]
                    defined = worth[ranking_class[ranking]] != 0.0
                    table[step[FIXED], begin + ranking] = score if defined else np.nan
        begin = end


@njit
def score(
    first_steps: Any,
    rest_steps: Any,
    registers: Any,
    first: Any,
    size: Any,
    missing: Any,
    rank: Any,
    level: Any,
    topic_class: Any,
    last: Any,
    best_level: Any,
    harmonic: Any,
    numbers: Any,
    gain: Any,
    step: Any,
    rel: Any,
    by_level: Any,
    weights: Any,
    sums: Any,
    starts: Any,
    depth: Any,
    sizes: Any,
    recipes: Any,
    system: Any,
    computed: Any,
    table: Any,
) -> None:
    """Fill `table` float64 [metrics, rankings] with the scores of a program, which is in the form of `Instructions`.

    The arguments are its steps and registers, then the fields of `Runs`, `Topics` and `Tables`.
    """
    runs, topics = Runs(first, size, missing, rank, level, topic_class), Topics(last, best_level, harmonic)
    tables = Tables(numbers, gain, step, rel, by_level, weights, sums, starts, depth, sizes, recipes, system, computed)
    single, levels = np.empty(registers[0]), np.empty((registers[_LEVEL], last.size))
    classes = np.empty((registers[_TOPIC], len(last)))
    # A loop, because `max` of an array fails if there are no sums.
    most = 1
    for length in sizes:
        most = max(most, length)
    reciprocals, beyond = np.empty((len(recipes), most)), np.empty((len(recipes), len(last)))
    _take_first(first_steps, topics, tables, single, levels, classes, reciprocals, beyond)
    counts = registers[_RANKING:]
    _take_rest(rest_steps, runs, topics, tables, single, levels, classes, reciprocals, beyond, counts, table)
