"""Scoring, compiled: one call scores many metrics of one run.

Imported by `gainboard.metrics.twin` alone, where the `fast` extra is.

A metric is a row of numbers, whose fields `twin` names. Metrics under the same relevance threshold and
gains share what is read of the run. Those that differ in the cut-off alone share a column of values by row too, of
which each sums as much as it wants. What the qrels alone decide is worked once for each class of topics, as `columns`
has them, and so are the rows: a row 0 of zeros is there for topics that have none. The definitions are those of the
decorated functions, whose docstrings say them.

What is called for every metric takes no more arrays than it needs, for each takes 20 ns to hand over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np

from gainboard.compiled import njit
from gainboard.metrics.columns import CONDENSED_SCALE, RAW_SCALE
from gainboard.metrics.twin import (
    ADJUSTED,
    BASE,
    BETA,
    CONDENSED,
    CUT_RECALL,
    CUTOFF,
    FIXED,
    GRADED,
    KIND,
    NO_CUTOFF,
    OPTIONS,
    RAW_GAINS,
    RAW_SCORES,
    REL,
    SHIFT,
    Kind,
)

F = TypeVar("F", bound=Callable[..., Any])

# As plain numbers, for the compiler knows the members of an enumeration only as such.
_AP, _RPREC, _P, _RECALL, _RR, _Q, _RMEASURE, _O, _PMEASURE, _PPLUS = (int(kind) for kind in list(Kind)[:10])
_AWP, _RWP, _GENAP, _GENP, _CG, _NCG, _ANCG, _WRR, _NWRR, _ADM = (int(kind) for kind in list(Kind)[10:])
_COUNT, _PRECISION, _BLENDED, _WEIGHTED, _AVERAGE, _GAINED, _DISTANCE = range(7)
_DEEPEST = (1 << 16) - 1  # rank that two bytes hold
_FREE = -(1 << 62)  # no key
_IDEAL = 2  # behind the ranks of the run, and condensed
_RUN = 2  # behind the ideal ranking at the ranks of the run, and condensed
_LOGS = np.log(np.maximum(np.arange(4096.0), 1.0))
_FEW = 8  # rows, of which to cut out a part takes longer than to add them up
_LONG = 4  # rows a topic from which sums are faster topic by topic than as running sums of all rows
_FLOOR = 1e-5


class Run(NamedTuple):
    """The fields of `RelevantColumns` and `DistanceColumns`."""

    first: Any
    topic: Any
    row_class: Any
    level: Any
    rank: Any
    counted: Any
    topic_class: Any
    counts: Any
    deepest: Any
    system: Any
    distance: Any
    documents: Any
    scales: Any


class _Ideal(NamedTuple):
    """`gain` by class and level. By level and class: `step` to that gain, and the `last` rank in the ideal ranking.
    By class: R, the whole gain, and the `unit`, which is 1, or NaN where nothing is defined. And the largest R."""

    gain: Any
    step: Any
    last: Any
    relevant: Any
    total: Any
    unit: Any
    deepest: Any


class _Work(NamedTuple):
    """What is written over again and again, for memory that was just used is the fastest.

    For the metrics of one threshold and gain setting, by row: the gain; and the cumulative gain [3, rows] of the ideal
    ranking, condensed in the second place, and of the run, each once it is `known`. For those of one column: by row,
    its values and their running sums; by rank, the weight and its running sum; by class, where reciprocals begin, and
    what each rank below the ideal ranking adds to them. For each: a row by topic, and the scale by class.
    """

    gain: Any
    gained: Any
    known: Any
    column: Any
    running: Any
    weight: Any
    summed: Any
    starts: Any
    beyond: Any
    place: Any
    scale: Any


def _reordered(function: F) -> F:
    """numba's decorator where the compiler may choose the order of additions, for each waits for the one before it."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})(function)
    return compiled


@_reordered
def _sum(values: Any) -> Any:
    total = 0.0
    for place in range(len(values)):
        total += values[place]
    return total


@njit
def _fill_weights(base: Any, shift: Any, weight: Any, summed: Any) -> None:
    """Fills in the weights of the ranks from 1 on, and their running sums."""
    weight[:] = 1.0
    if base != np.inf:
        per_base = 1.0 / np.log(base)
        whole = min(len(weight), len(_LOGS) - shift)
        logs, shallow = _LOGS[shift:], weight[:whole]
        for rank in range(1, whole):
            shallow[rank] = 1.0 / max(1.0, logs[rank] * per_base)
        for rank in range(whole, len(weight)):
            weight[rank] = 1.0 / max(1.0, np.log(float(rank + shift)) * per_base)
    summed[0] = 0.0
    for rank in range(1, len(summed)):
        summed[rank] = summed[rank - 1] + weight[rank]


@njit
def _same(plan: Any, one: Any, other: Any, start: Any, stop: Any) -> Any:
    """Whether two metrics have these fields in common."""
    for field in range(start, stop):  # noqa: SIM110 (generators are not compiled)
        if plan[one, field] != plan[other, field]:
            return False
    return True


@njit
def _column_of(kind: Any) -> Any:
    if kind == _AP:
        return _PRECISION
    if kind in (_Q, _O, _PMEASURE, _PPLUS):
        return _BLENDED
    if kind == _AWP:
        return _WEIGHTED
    if kind == _GENAP:
        return _AVERAGE
    if kind in (_CG, _NCG, _ANCG, _RWP, _GENP, _RMEASURE):
        return _GAINED
    return _DISTANCE if kind == _ADM else _COUNT


@njit
def _shares_column(plan: Any, kind: Any, one: Any, other: Any) -> Any:
    """Whether two metrics that read gains alike sum the same values by row, which are of this `kind` for the first."""
    if _column_of(int(plan[other, KIND])) != kind or plan[one, CONDENSED] != plan[other, CONDENSED]:
        return False
    if kind == _BLENDED:
        return plan[one, BETA] == plan[other, BETA]
    if kind == _GAINED:
        return _same(plan, one, other, BASE, SHIFT + 1)
    return kind != _DISTANCE or plan[one, OPTIONS] == plan[other, OPTIONS]


@njit
def _accumulate(values: Any, topic: Any, running: Any) -> None:
    """Fills in the running sums of each topic's rows."""
    running[0] = total = 0.0
    for row in range(1, len(values)):
        before = total if topic[row] == topic[row - 1] else 0.0
        total = before + values[row]
        running[row] = total


@njit
def _find_ideal(metric: Any, counts: Any) -> Any:
    """The ideal rankings as the metric reads them."""
    classes, levels, rel = len(counts), counts.shape[1] - 1, int(metric[REL])
    gain, step = np.zeros((classes, levels + 1)), np.zeros((levels + 1, classes))
    last, whole, unit = np.zeros((levels + 1, classes), np.int64), np.zeros(classes), np.ones(classes)
    graded, adjusted, deepest = metric[GRADED] != 0, metric[ADJUSTED] != 0, 0
    for each in range(classes):
        relevant = 0
        for level in range(levels, rel - 1, -1):
            relevant += counts[each, level]
            last[level, each] = relevant
        below = plain_below = total = 0.0
        for level in range(rel, levels + 1):
            own = plain = metric[FIXED + level - 1]
            if adjusted and counts[each, level] != relevant:
                own = plain - counts[each, level] / relevant * (plain - plain_below)
            gain[each, level], step[level, each] = own, own - below
            total += (own - below) * last[level, each]
            below, plain_below = own, plain
        whole[each], deepest = total, max(deepest, relevant)
        if (total if graded else relevant) == 0:
            unit[each] = np.nan
    return _Ideal(gain, step, last, last[rel], whole, unit, deepest)


@njit
def _read_gains(ideal: Any, adjusted: Any, row_class: Any, level: Any, gain: Any) -> None:
    """Fills in the gains by row."""
    gain[0] = 0.0
    if adjusted:
        for row in range(1, len(gain)):
            gain[row] = ideal.gain[row_class[row], level[row]]
    else:
        gains = ideal.gain[0]
        for row in range(1, len(gain)):
            gain[row] = gains[level[row]]


@njit
def _gather(step: Any, adjusted: Any, rel: Any, row_class: Any, counted: Any, gained: Any) -> None:
    """Fills in by row the cumulative gain of as many documents as are `counted` of each level or a higher one."""
    gained[:] = 0.0
    for level in range(rel, len(step)):
        count, steps = counted[level - 1], step[level]
        if adjusted:
            for row in range(1, len(gained)):
                gained[row] += steps[row_class[row]] * count[row]
        elif steps[0] != 0:
            each = steps[0]
            for row in range(1, len(gained)):
                gained[row] += each * count[row]


@njit
def _fill_ratios(column: Any, kind: Any, beta: Any, count: Any, rank: Any, gained: Any, ideal_gained: Any) -> None:
    """The values by row of metrics that sum ratios."""
    column[0] = 0.0
    if kind == _PRECISION:
        for row in range(1, len(column)):
            column[row] = count[row] / rank[row]
    elif kind == _BLENDED:
        for row in range(1, len(column)):
            column[row] = (beta * gained[row] + count[row]) / (beta * ideal_gained[row] + rank[row])
    elif kind == _WEIGHTED:
        for row in range(1, len(column)):
            column[row] = gained[row] / ideal_gained[row]
    else:
        for row in range(1, len(column)):
            column[row] = gained[row] / rank[row]


@njit
def _fill_discounted(column: Any, gain: Any, rank: Any, weight: Any) -> None:
    for row in range(len(column)):
        column[row] = gain[row] * weight[rank[row]]


@njit
def _fill_nearer(column: Any, gain: Any, unit: Any, system: Any) -> None:
    """By how much each row's gain changes the distance of its system score from nothing, and that of all gains."""
    for row in range(len(column)):
        user = gain[row] / unit
        column[row] = abs(system[row] - user) - abs(system[row]) - user


@njit
def _clear(column: Any, level: Any, rel: Any) -> None:
    """Makes the values of the rows below the threshold 0."""
    for row in range(len(column)):
        column[row] = column[row] if level[row] >= rel else 0.0


@njit
def _user_unit(plan: Any, metric: Any, levels: Any) -> Any:
    """The gain that is a user score of 1."""
    return 1.0 if int(plan[metric, OPTIONS]) & RAW_GAINS else plan[metric, FIXED + levels - 1]


@njit
def _scale_of(plan: Any, metric: Any) -> Any:
    """The number of the scale of system scores that it reads."""
    raw = RAW_SCALE if int(plan[metric, OPTIONS]) & RAW_SCORES else 0
    return raw + (CONDENSED_SCALE if plan[metric, CONDENSED] else 0)


@njit
def _slot(keys: Any, key: Any) -> Any:
    """Where a key is, or may be put."""
    slot = 0
    while keys[slot] != key and keys[slot] != _FREE:
        slot += 1
    return slot


@njit
def _find_last(run: Any, rank: Any, limit: Any, last: Any) -> None:
    """Fills in the last row of each topic at a rank <= the `limit` of its class; 0 where there is none."""
    if len(rank) < _LONG * len(last):
        last[:] = 0
        for row in range(1, len(rank)):
            # Without a branch, which could not be foreseen.
            here = run.topic[row]
            last[here] = row if rank[row] <= limit[run.row_class[row]] else last[here]
    else:
        for topic in range(len(last)):
            start, stop = np.int64(run.first[topic]), np.int64(run.first[np.uint64(topic + 1)])
            found = _count_upto(rank, start, stop, limit[run.topic_class[topic]])
            last[topic] = start + found - 1 if found else 0


@njit
def _count_upto(rank: Any, start: Any, stop: Any, limit: Any) -> Any:
    """How many of these rows are at ranks <= the limit."""
    # No rank is less than its place. To look at all is faster than to search, of which no step could be foreseen.
    found, most = 0, np.uint16(min(limit, _DEEPEST))
    for place in range(start, min(stop, start + limit)):
        found += rank[np.uint64(place)] <= most
    return found


@njit
def _find_first(first: Any, level: Any, rel: Any, last: Any, place: Any) -> None:
    """Fills in the first relevant row of each topic up to the `last`; 0 where there is none."""
    for topic in range(len(place)):
        place[topic] = first[topic] if last[topic] else 0
    if rel > 1:
        for topic in range(len(place)):
            row = np.uint64(place[topic])
            while row < last[topic] and level[row] < rel:
                row += np.uint64(1)
            place[topic] = row if level[row] >= rel else 0


@njit
def _find_preferred(first: Any, level: Any, rel: Any, last: Any, place: Any) -> None:
    """Fills in the topmost of the relevant rows of the highest level of each topic up to the `last`; 0 for none."""
    for topic in range(len(place)):
        best = np.uint64(0)
        if last[topic]:
            for row in range(np.int64(first[topic]), np.int64(last[topic]) + 1):
                best = np.uint64(row) if level[np.uint64(row)] > level[best] else best
        place[topic] = best if level[best] >= rel else np.uint64(0)


@njit
def _take(values: Any, place: Any, topic_class: Any, scale: Any, out: Any) -> None:
    """The values of one row a topic, scaled by class."""
    for topic in range(len(out)):
        out[topic] = values[place[topic]] * scale[topic_class[topic]]


@njit
def _add(column: Any, running: Any, first: Any, last: Any, topic_class: Any, scale: Any, out: Any) -> None:
    """The sums of the topics' values up to the `last` row, scaled by class; of running sums where there are any."""
    if len(running):
        _take(running, last, topic_class, scale, out)
        return
    for topic in range(len(out)):
        start, stop, total = np.int64(first[topic]), np.int64(last[topic]) + 1, 0.0
        if stop - start > _FEW:
            total = _sum(column[start:stop])
        elif stop > 1:
            for row in range(start, stop):
                total += column[np.uint64(row)]
        out[topic] = total * scale[topic_class[topic]]


@njit
def _invert(rank: Any, level: Any, bonus: Any, place: Any, topic_class: Any, scale: Any, out: Any) -> None:
    """The reciprocal rank of one row a topic, less what a bonus by level takes off it, scaled by class."""
    for topic in range(len(out)):
        row, each = place[topic], scale[topic_class[topic]]
        if row:
            out[topic] = each / (rank[row] - bonus[np.uint64(level[row] - 1)])
        else:
            out[topic] = 0.0 * each


@njit
def _blend(beta: Any, gained: Any, count: Any, last: Any, topic_class: Any, scale: Any, out: Any) -> None:
    for topic in range(len(out)):
        row = last[topic]
        out[topic] = (beta * gained[row] + count[row]) * scale[topic_class[topic]]


@njit
def _share(count: Any, place: Any, out: Any) -> None:
    """From sums up to a row of each topic to means over the relevant rows so far."""
    for topic in range(len(out)):
        out[topic] /= max(count[place[topic]], 1.0)


@njit
def _divide(unit: Any, base: Any) -> None:
    for each in range(len(base)):
        base[each] = unit[each] / base[each]


@njit
def _fill_base(kind: Any, cutoff: Any, beta: Any, relevant: Any, total: Any, base: Any) -> None:
    """By class: what scores are shares of, where that takes no sum over ranks."""
    if kind in (_P, _GENP, _ANCG):
        base[:] = cutoff
    elif kind in (_RPREC, _RECALL):
        base[:] = relevant
    elif kind in (_AP, _Q, _AWP):
        for each in range(len(base)):
            base[each] = min(relevant[each], cutoff)
    elif kind == _RWP:
        base[:] = total
    elif kind == _RMEASURE:
        for each in range(len(base)):
            base[each] = beta * total[each] + relevant[each]
    else:
        base[:] = 1.0


@njit
def _fill_ideal_gain(step: Any, last: Any, cutoff: Any, summed: Any, gained: Any) -> None:
    """By class: the discounted gain of the first ranks of the ideal ranking."""
    gained[:] = 0.0
    for level in range(1, len(step)):
        for each in range(len(gained)):
            gained[each] += step[level, each] * summed[np.uint64(min(last[level, each], cutoff))]


@njit
def _fill_average_precision(ideal: Any, gained: Any) -> None:
    """By class: the sum over the ranks of the ideal ranking of cg_I(r)/r."""
    harmonic = np.zeros(ideal.deepest + 1)
    for rank in range(1, len(harmonic)):
        harmonic[rank] = harmonic[rank - 1] + 1.0 / rank
    gained[:] = 0.0
    for level in range(1, len(ideal.step)):
        for each in range(len(gained)):
            last = ideal.last[level, each]
            rest = harmonic[np.uint64(ideal.relevant[each])] - harmonic[np.uint64(last)]
            gained[each] += ideal.step[level, each] * (last + last * rest)


@njit
def _fill_best_reciprocal(bonus: Any, counts: Any, best: Any) -> None:
    """By class: the weighted reciprocal rank of a document of the highest level there is, on top."""
    for each in range(len(best)):
        top = len(bonus)
        while top > 1 and counts[each, top] == 0:
            top -= 1
        best[each] = 1.0 / (1.0 - bonus[top - 1])


@njit
def _fill_reciprocals(ideal: Any, deepest: Any, summed: Any, starts: Any, beyond: Any) -> Any:
    """The running sums over ranks of 1 / ideal gain, one class after the other from its start on, to the `deepest`
    rank that is asked for; `beyond` is filled with what each rank below the ideal ranking adds."""
    starts[0] = 0
    for each in range(len(beyond)):
        starts[each + 1] = starts[each] + min(ideal.relevant[each], deepest) + 1
    reciprocals = np.empty(starts[len(beyond)])
    for each in range(len(beyond)):
        table, place, above, total = reciprocals[starts[each] : starts[each + 1]], 1, 0.0, 0.0
        table[0] = 0.0
        for level in range(len(ideal.step) - 1, 0, -1):
            upto, gain = min(ideal.last[level, each] + 1, len(table)), ideal.gain[each, level]
            for rank in range(place, upto):
                # The steps down from the levels above, and this level's gain at all ranks so far.
                total += 1.0 / (above + gain * summed[rank])
                table[rank] = total
            place = max(place, upto)
            above += ideal.step[level, each] * summed[ideal.last[level, each]]
        beyond[each] = 1.0 / above
    return reciprocals


@njit
def _average(
    cutoff: Any,
    rank: Any,
    column: Any,
    first: Any,
    last: Any,
    topic_class: Any,
    scale: Any,
    starts: Any,
    beyond: Any,
    reciprocals: Any,
    out: Any,
) -> None:
    """The sums over ranks up to the cut-off of normalised gain, of a column of discounted gains."""
    for topic in range(len(out)):
        each, total = topic_class[topic], 0.0
        if last[topic]:
            start, below = starts[each], beyond[each]
            depth = starts[each + np.uint64(1)] - start - 1
            inside = min(cutoff, depth)
            whole = reciprocals[np.uint64(start + inside)] + (cutoff - inside) * below
            for place in range(np.int64(first[topic]), np.int64(last[topic]) + 1):
                row = np.uint64(place)
                above = np.int64(rank[row]) - 1
                inside = min(above, depth)
                rest = whole - reciprocals[np.uint64(start + inside)] - (above - inside) * below
                total += column[row] * rest
        out[topic] = total * scale[each]


@njit
def _measure_distance(run: Any, system: Any, unit: Any, ideal: Any, out: Any) -> None:
    """From what the relevant documents retrieved change of the distance to scores."""
    for topic in range(len(out)):
        each, documents = run.topic_class[topic], run.documents[system, topic]
        distance = run.distance[system, topic] + ideal.total[each] / unit + out[topic]
        out[topic] = (0.0 if documents == 0 else 1.0 - distance / documents) * ideal.unit[each]


@njit
def _find_work(run: Any, topics: Any) -> Any:
    rows, classes, deepest = len(run.topic), len(run.counts), run.deepest[_IDEAL]
    by_row = np.empty(rows), np.empty((3, rows)), np.empty(3, np.bool_), np.empty(rows)
    running = np.empty(rows if rows < _LONG * topics else 0)
    by_rank = np.empty(max(deepest, run.deepest[0]) + 1), np.empty(deepest + 1)
    starts, beyond = np.empty(classes + 1, np.int64), np.empty(classes)
    return _Work(*by_row, running, *by_rank, starts, beyond, np.empty(topics, np.uint32), np.empty(classes))


@njit
def _find_cuts(plan: Any, members: Any, run: Any, relevant: Any, cuts: Any, lasts: Any) -> Any:
    """By member: where the last row of each topic that it looks at stands in `lasts`, which are found by `cuts`."""
    slots = np.empty(len(plan), np.int64)
    for each in range(len(plan)):
        if not members[each]:
            continue
        condensed, at_relevant = int(plan[each, CONDENSED]), int(plan[each, KIND]) in (_RPREC, _RMEASURE, _RWP)
        # No cut-off is 0, so those below it stand for R under each threshold.
        cutoff = -int(plan[each, REL]) if at_relevant else min(int(plan[each, CUTOFF]), run.deepest[condensed])
        key = 2 * cutoff + condensed
        slots[each] = slot = _slot(cuts, key)
        if cuts[slot] == _FREE:
            cuts[slot] = key
            limit = relevant if at_relevant else np.full(len(run.counts), cutoff)
            _find_last(run, run.rank[condensed], limit, lasts[slot])
    return slots


@njit
def _reads_gained(kind: Any, is_flat: Any, whose: Any) -> Any:
    """Whether a column is made of the cumulative gains of the run, or of the ideal ranking."""
    return kind in (_BLENDED, _WEIGHTED) or (whose == _RUN and (is_flat or kind == _AVERAGE))


@njit
def _deepest_average(plan: Any, members: Any, kind: Any, head: Any) -> Any:
    """The largest cut-off of the averages over ranks of one column; 0 if there are none."""
    deepest = 0
    if kind == _GAINED:
        for each in range(head, len(plan)):
            if members[each] and int(plan[each, KIND]) == _ANCG and _shares_column(plan, kind, head, each):
                deepest = max(deepest, int(plan[each, CUTOFF]))
    return deepest


@njit
def _score_columns(
    plan: Any, members: Any, leader: Any, run: Any, ideal: Any, work: Any, slots: Any, lasts: Any, table: Any
) -> None:
    """Scores the members, those together that sum the same values by row."""
    # All in one function: the parts of a loop over metrics would have to be handed everything every time.
    rel, adjusted, levels = int(plan[leader, REL]), plan[leader, ADJUSTED] != 0, run.counts.shape[1] - 1
    first, level, topic_class, count = run.first, run.level, run.topic_class, run.counted[_RUN, rel - 1]
    column, place, scale, own_gained, work.known[:] = work.column, work.place, work.scale, work.gained[_RUN], False
    if plan[leader, GRADED] != 0:
        _read_gains(ideal, adjusted, run.row_class, level, work.gain)
    for head in range(leader, len(plan)):
        if not members[head]:
            continue
        kind, condensed = _column_of(int(plan[head, KIND])), int(plan[head, CONDENSED])
        is_flat, deepest = kind == _GAINED and plan[head, BASE] == np.inf, _deepest_average(plan, members, kind, head)
        sums, reciprocals, rank = work.running, work.beyond, run.rank[condensed]
        for whose in (condensed, _RUN):
            if _reads_gained(kind, is_flat, whose) and not work.known[whose]:
                work.known[whose] = True
                counted, gained = run.counted[whose], work.gained[whose]
                _gather(ideal.step, adjusted, rel, run.row_class, counted, gained)
        if kind == _GAINED:
            _fill_weights(plan[head, BASE], int(plan[head, SHIFT]), work.weight, work.summed)
            _fill_discounted(column, work.gain, rank, work.weight)
        elif kind == _DISTANCE:
            unit, system = _user_unit(plan, head, levels), _slot(run.scales, _scale_of(plan, head))
            _fill_nearer(column, work.gain, unit, run.system[system])
        elif kind != _COUNT:
            _fill_ratios(column, kind, plan[head, BETA], count, rank, own_gained, work.gained[condensed])
        if rel > 1 and kind != _COUNT:
            _clear(column, level, rel)
        if is_flat:
            sums = own_gained
        elif kind != _COUNT and len(work.running):
            _accumulate(column, run.topic, work.running)
        if deepest:
            reciprocals = _fill_reciprocals(ideal, deepest, work.summed, work.starts, work.beyond)
        for each in range(head, len(plan)):
            if not members[each] or not _shares_column(plan, kind, head, each):
                continue
            members[each] = False
            own, cutoff, last, out = int(plan[each, KIND]), int(plan[each, CUTOFF]), lasts[slots[each]], table[each]
            if own == _NCG:
                _fill_ideal_gain(ideal.step, ideal.last, cutoff, work.summed, scale)
            elif own == _GENAP:
                _fill_average_precision(ideal, scale)
            elif own == _NWRR:
                _fill_best_reciprocal(plan[each, FIXED + levels :], run.counts, scale)
            else:
                most = cutoff if own in (_P, _GENP, _ANCG) or int(plan[each, OPTIONS]) & CUT_RECALL else NO_CUTOFF
                _fill_base(own, most, plan[each, BETA], ideal.relevant, ideal.total, scale)
            _divide(ideal.unit, scale)
            if own in (_RR, _O, _WRR, _NWRR):
                _find_first(first, level, rel, last, place)
            elif own in (_PMEASURE, _PPLUS):
                _find_preferred(first, level, rel, last, place)
            if own in (_RR, _WRR, _NWRR):
                _invert(rank, level, plan[each, FIXED + levels :], place, topic_class, scale, out)
            elif own in (_O, _PMEASURE):
                _take(column, place, topic_class, scale, out)
            elif own == _PPLUS:
                _add(column, sums, first, place, topic_class, scale, out)
                _share(count, place, out)
            elif own == _ANCG:
                starts, beyond = work.starts, work.beyond
                _average(cutoff, rank, column, first, last, topic_class, scale, starts, beyond, reciprocals, out)
            elif own in (_P, _RPREC, _RECALL):
                _take(count, last, topic_class, scale, out)
            elif own == _RMEASURE:
                _blend(plan[each, BETA], own_gained, count, last, topic_class, scale, out)
            else:
                _add(column, sums, first, last, topic_class, scale, out)
            if own == _ADM:
                _measure_distance(run, system, unit, ideal, out)


@njit
def score(
    plan: Any,
    first: Any,
    topic: Any,
    row_class: Any,
    level: Any,
    rank: Any,
    counted: Any,
    topic_class: Any,
    counts: Any,
    deepest: Any,
    system: Any,
    distance: Any,
    documents: Any,
    scales: Any,
    table: Any,
) -> None:
    """Fills `table` float64 [metrics, topics] with the scores of `plan` float64 [metrics, fields] of a `Run`."""
    relevant = first, topic, row_class, level, rank, counted, topic_class, counts, deepest
    run = Run(*relevant, system, distance, documents, scales)
    metrics, topics = table.shape
    work = _find_work(run, topics)
    lasts, cuts = np.empty((metrics, topics), np.uint32), np.full(metrics, _FREE)
    left, members = np.ones(metrics, np.bool_), np.empty(metrics, np.bool_)
    for leader in range(metrics):
        if left[leader]:
            for each in range(metrics):
                members[each] = left[each] and _reads_alike(plan, leader, each, counts.shape[1] - 1)
                left[each] = left[each] and not members[each]
            ideal = _find_ideal(plan[leader], counts)
            slots = _find_cuts(plan, members, run, ideal.relevant, cuts, lasts)
            _score_columns(plan, members, leader, run, ideal, work, slots, lasts, table)


@njit
def _reads_alike(plan: Any, one: Any, other: Any, levels: Any) -> Any:
    """Whether two metrics are under the same threshold and gain setting."""
    return plan[one, REL] == plan[other, REL] and _same(plan, one, other, ADJUSTED, FIXED + levels)


@njit
def mean(geometric: Any, table: Any, means: Any) -> None:
    """Fills `means` float64 [metrics, runs] from `table` float64 [metrics, runs, topics]."""
    kept = np.empty(table.shape[2])
    for metric in range(table.shape[0]):
        for run in range(table.shape[1]):
            scores, defined = table[metric, run], 0
            for topic in range(len(kept)):
                score = scores[topic]
                defined += score == score
                kept[topic] = score if score == score else 0.0
            if geometric[metric]:
                for topic in range(len(kept)):
                    kept[topic] = np.log(max(scores[topic], _FLOOR)) if scores[topic] == scores[topic] else 0.0
            mean = _sum(kept) / defined
            means[metric, run] = np.exp(mean) if geometric[metric] else mean
