"""Scoring, compiled: one call scores many metrics of one run. Imported by `app.metrics.twin` alone, where the `fast`
extra is.

A metric is a row of numbers, which `twin` writes (see its `Field`). Metrics that read a run alike share what is read:
rows by relevance threshold, ranks by condensed or not, gains by gain setting. Those that differ in the cut-off alone
share a column of values by row too, of which each sums as much as it wants. The definitions are those of the
decorated functions, whose docstrings say them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from app.compiled import njit
from app.metrics.twin import (
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

# As plain numbers, for the compiler knows the members of an enumeration only as such.
_AP, _RPREC, _P, _RECALL, _RR, _Q, _RMEASURE, _O, _PMEASURE, _PPLUS = (int(kind) for kind in list(Kind)[:10])
_AWP, _RWP, _GENAP, _GENP, _CG, _NCG, _ANCG, _WRR, _NWRR, _ADM = (int(kind) for kind in list(Kind)[10:])
_PRECISION, _BLENDED, _WEIGHTED, _AVERAGE, _GAINED, _BONUS, _NONE = range(7)
_TOPMOST = (_RR, _O, _WRR, _NWRR, _PMEASURE, _PPLUS)
_LOGS = np.log(np.maximum(np.arange(4096.0), 1.0))
_SHALLOW = 1 << 16
_FEW = 8  # rows, of which to cut out a part takes longer than to add them up
_FLOOR = 1e-5


class Run(NamedTuple):
    """The columns of `JudgedRun` and `Judgments`; of `RetrievalScores` those by row, and [4, topics] in its order."""

    starts: Any
    rank: Any
    level: Any
    retrieved: Any
    counts: Any
    judged: Any
    scores: Any
    by_topic: Any


class _Rows(NamedTuple):
    """The rows that count as relevant from some level on; `first` [topics + 1] is where those of each topic begin."""

    rel: Any
    first: Any
    row: Any
    level: Any
    count: Any


class _Ideal(NamedTuple):
    """By topic and level: gain, step to it, and last rank in the ideal ranking; by topic, R and the whole gain."""

    gain: Any
    step: Any
    last: Any
    relevant: Any
    total: Any
    deepest: Any


class _View(NamedTuple):
    """By row: rank, gain, cumulative gain and that of the ideal ranking; which topics are undefined."""

    rank: Any
    gain: Any
    gained: Any
    ideal_gained: Any
    undefined: Any


@njit
def _sum(values: Any) -> Any:
    # Four sums at once, for each addition waits for the one before it.
    a = b = c = d = 0.0
    whole = len(values) // 4 * 4
    for place in range(0, whole, 4):
        a += values[place]
        b += values[place + 1]
        c += values[place + 2]
        d += values[place + 3]
    for place in range(whole, len(values)):
        a += values[place]
    return (a + b) + (c + d)


@njit
def _distance(scores: Any, lowest: Any, unit: Any) -> Any:
    """The sum of |score * unit - lowest|."""
    a = b = c = d = 0.0
    whole = len(scores) // 4 * 4
    for place in range(0, whole, 4):
        a += abs(scores[place] * unit - lowest)
        b += abs(scores[place + 1] * unit - lowest)
        c += abs(scores[place + 2] * unit - lowest)
        d += abs(scores[place + 3] * unit - lowest)
    for place in range(whole, len(scores)):
        a += abs(scores[place] * unit - lowest)
    return (a + b) + (c + d)


@njit
def _log(rank: Any) -> Any:
    return _LOGS[rank] if rank < len(_LOGS) else np.log(float(rank))


@njit
def _weight(rank: Any, base: Any, shift: Any) -> Any:
    return 1.0 if base == np.inf else 1.0 / max(1.0, _log(rank + shift) / np.log(base))


@njit
def _fill_weights(base: Any, shift: Any, weights: Any) -> None:
    """Fills in the weights of the ranks from 1 on."""
    weights[:] = 1.0
    if base == np.inf:
        return
    per_base = 1.0 / np.log(base)
    whole = min(len(weights), len(_LOGS) - shift)
    logs, shallow = _LOGS[shift:], weights[:whole]
    for rank in range(1, whole):
        shallow[rank] = 1.0 / max(1.0, logs[rank] * per_base)
    for rank in range(whole, len(weights)):
        weights[rank] = _weight(rank, base, shift)


@njit
def _relevant(run: Any, rel: Any) -> Any:
    """The rows of level >= `rel`."""
    topics = len(run.retrieved)
    first, row = np.empty(topics + 1, np.int64), np.empty(len(run.level) + 1, np.int64)
    found = np.uint64(0)
    for topic in range(topics):
        first[topic], start = found, run.starts[topic]
        levels = run.level[start : run.starts[topic + 1]]
        for place in range(len(levels)):
            # Without a branch, which could not be foreseen.
            row[found] = start + place
            found += np.uint64(levels[place] >= rel)
    first[topics] = found
    row = row[: np.int64(found)]
    level, count = np.empty(len(row), np.int64), np.empty(len(row))
    for place in range(len(row)):
        level[place] = run.level[np.uint64(row[place])]
    for topic in range(topics):
        counts = count[first[topic] : first[topic + 1]]
        for place in range(len(counts)):
            counts[place] = place + 1
    return _Rows(rel, first, row, level, count)


@njit
def _above(rows: Any, rel: Any) -> Any:
    """Those of the rows whose level is >= `rel`."""
    if rel == rows.rel:
        return rows
    first, row, level, count = rows.first.copy(), rows.row.copy(), rows.level.copy(), rows.count.copy()
    found = 0
    for topic in range(len(first) - 1):
        first[topic] = found
        for place in range(rows.first[topic], rows.first[topic + 1]):
            if rows.level[place] >= rel:
                row[found], level[found], count[found] = rows.row[place], rows.level[place], found - first[topic] + 1
                found += 1
    first[len(first) - 1] = found
    return _Rows(rel, first, row[:found], level[:found], count[:found])


@njit
def _same(one: Any, other: Any, start: Any, stop: Any) -> Any:
    for place in range(start, stop):  # noqa: SIM110 (generators are not compiled)
        if one[place] != other[place]:
            return False
    return True


@njit
def _leaders(plan: Any, levels: Any) -> Any:
    """For each metric: the first that reads the run under the same threshold, ranks and gains."""
    leaders = np.arange(len(plan))
    for each in range(len(plan)):
        for before in range(each):
            if leaders[before] == before and _same(plan[before], plan[each], REL, FIXED + levels):
                leaders[each] = before
                break
    return leaders


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
    if kind in (_WRR, _NWRR):
        return _BONUS
    return _NONE


@njit
def _shares_column(kind: Any, one: Any, other: Any, levels: Any) -> Any:
    """Whether two metrics that read a run alike sum the same values by row, which are of this `kind` for the first."""
    if _column_of(int(other[KIND])) != kind:
        return False
    if kind == _BLENDED:
        return one[BETA] == other[BETA]
    if kind == _GAINED:
        return _same(one, other, BASE, SHIFT + 1)
    return kind != _BONUS or _same(one, other, FIXED + levels, len(one))


@njit
def _fill(column: Any, kind: Any, metric: Any, rows: Any, view: Any, weights: Any) -> None:
    """The values by row."""
    count, rank, gained, ideal = rows.count, view.rank, view.gained, view.ideal_gained
    if kind == _PRECISION:
        for row in range(len(column)):
            column[row] = count[row] / rank[row]
    elif kind == _BLENDED:
        beta = metric[BETA]
        for row in range(len(column)):
            column[row] = (beta * gained[row] + count[row]) / (beta * ideal[row] + rank[row])
    elif kind == _WEIGHTED:
        for row in range(len(column)):
            column[row] = gained[row] / ideal[row]
    elif kind == _AVERAGE:
        for row in range(len(column)):
            column[row] = gained[row] / rank[row]
    elif kind == _GAINED:
        _fill_gains(column, view, metric, weights)
    elif kind == _BONUS:
        bonus = metric[len(metric) // 2 + FIXED // 2 :]
        for row in range(len(column)):
            column[row] = 1.0 / (rank[row] - bonus[np.uint64(rows.level[row] - 1)])


@njit
def _fill_gains(column: Any, view: Any, metric: Any, weights: Any) -> None:
    """The discounted gains by row."""
    base, shift = metric[BASE], int(metric[SHIFT])
    for row in range(len(column)):
        place = int(view.rank[row])
        weight = weights[np.uint64(place)] if place < len(weights) else _weight(place, base, shift)
        column[row] = view.gain[row] * weight


@njit
def _ideal(metric: Any, rel: Any, counts: Any) -> Any:
    """The ideal rankings as the metric reads them."""
    topics, levels = len(counts), counts.shape[1] - 1
    gain, step = np.zeros((topics, levels + 1)), np.zeros((topics, levels + 1))
    last, whole, relevant_count = np.zeros((topics, levels + 1), np.int64), np.zeros(topics), np.zeros(topics, np.int64)
    adjusted, deepest = metric[ADJUSTED] != 0, 0
    for topic in range(topics):
        relevant = 0
        for level in range(levels, rel - 1, -1):
            relevant += counts[topic, level]
            last[topic, level] = relevant
        below = plain_below = total = 0.0
        for level in range(rel, levels + 1):
            own = plain = metric[FIXED + level - 1]
            if adjusted and counts[topic, level] != relevant:
                own = plain - counts[topic, level] / relevant * (plain - plain_below)
            gain[topic, level], step[topic, level] = own, own - below
            total += (own - below) * last[topic, level]
            below, plain_below = own, plain
        whole[topic], relevant_count[topic] = total, relevant
        deepest = max(deepest, relevant)
    return _Ideal(gain, step, last, relevant_count, whole, deepest)


@njit
def _read(run: Any, rows: Any, metric: Any, ideal: Any) -> Any:
    """The run as the metric reads it."""
    graded, condensed = metric[GRADED] != 0, metric[CONDENSED] != 0
    found = len(rows.row)
    rank, gain, gained, ideal_gained = np.empty(found), np.zeros(found), np.zeros(found), np.zeros(found)
    if condensed:
        for topic in range(len(run.retrieved)):
            for row in range(rows.first[topic], rows.first[topic + 1]):
                rank[row] = rows.row[row] - run.starts[topic] + 1
    else:
        for row in range(found):
            rank[row] = run.rank[np.uint64(rows.row[row])]
    if graded:
        for topic in range(len(run.retrieved)):
            start, stop = rows.first[topic], rows.first[topic + 1]
            _cumulate(
                rows.level[start:stop],
                rank[start:stop],
                ideal.gain[topic],
                ideal.step[topic],
                ideal.last[topic],
                gain[start:stop],
                gained[start:stop],
                ideal_gained[start:stop],
            )
    undefined = np.empty(len(run.retrieved), np.bool_)
    for topic in range(len(undefined)):
        undefined[topic] = (ideal.total[topic] if graded else ideal.relevant[topic]) == 0
    return _View(rank, gain, gained, ideal_gained, undefined)


@njit
def _cumulate(level: Any, rank: Any, gains: Any, step: Any, last: Any, gain: Any, gained: Any, ideal: Any) -> None:
    """Fills in the gains of one topic's rows, the cumulative ones and those of the ideal ranking."""
    running = 0.0
    for row in range(len(level)):
        gain[row] = gains[np.uint64(level[row])]
        running += gain[row]
        gained[row] = running
    for height in range(1, len(step)):
        each, deepest = step[height], float(last[height])
        if each != 0:
            for row in range(len(level)):
                ideal[row] += each * min(rank[row], deepest)


@njit
def _stops(rows: Any, rank: Any, cutoff: Any, stops: Any) -> None:
    """Fills in after which row each topic's ranking is cut."""
    for topic in range(len(stops)):
        start, stop = rows.first[topic], rows.first[topic + 1]
        if stop > start and rank[np.uint64(stop - 1)] > cutoff[topic]:
            limit, stop = cutoff[topic], start
            while rank[np.uint64(stop)] <= limit:
                stop += 1
        stops[topic] = stop


@njit
def _ideal_gain(ideal: Any, topic: Any, cutoff: Any, sums: Any) -> Any:
    """The discounted gain of the first ranks of the ideal ranking."""
    gain = 0.0
    for level in range(1, ideal.step.shape[1]):
        gain += ideal.step[topic, level] * sums[np.uint64(min(ideal.last[topic, level], cutoff))]
    return gain


@njit
def _average_precision_sum(ideal: Any, topic: Any, harmonic: Any) -> Any:
    """The sum over the ranks of the ideal ranking of cg_I(r)/r."""
    step, last, gain = ideal.step[topic], ideal.last[topic], 0.0
    for level in range(1, len(step)):
        gain += step[level] * (last[level] + last[level] * (harmonic[ideal.relevant[topic]] - harmonic[last[level]]))
    return gain


@njit
def _averaged(ideal: Any, topic: Any, cutoff: Any, rank: Any, column: Any, weights: Any, reciprocals: Any) -> Any:
    """The sum over ranks r <= `cutoff` of normalised gain, of the rows at these ranks and with these gains."""
    gain, last = ideal.gain[topic], ideal.last[topic]
    depth = min(ideal.relevant[topic], cutoff)
    running = summed = reciprocals[0] = 0.0
    place = 1
    for level in range(len(gain) - 1, 0, -1):
        upto = min(last[level], depth) + 1
        each = gain[level]
        for here in range(place, upto):
            running += each * weights[np.uint64(here)]
            summed += 1.0 / running
            reciprocals[np.uint64(here)] = summed
        place = max(place, upto)
    each, total = 1.0 / running, 0.0
    whole = summed + (cutoff - depth) * each
    for row in range(len(column)):
        above = int(rank[row]) - 1
        inside = min(above, depth)
        total += column[row] * (whole - reciprocals[np.uint64(inside)] - (above - inside) * each)
    return total


@njit
def _preferred(levels: Any) -> Any:
    """The topmost of the rows of the highest level."""
    best = 0
    for row in range(1, len(levels)):
        if levels[row] > levels[best]:
            best = row
    return best


@njit
def _average_distance(metric: Any, run: Any, topic: Any, row: Any, gain: Any, total: Any) -> Any:
    options, condensed, levels = int(metric[OPTIONS]), metric[CONDENSED] != 0, run.counts.shape[1] - 1
    begin, end = run.starts[topic], run.starts[topic + 1]
    scores, lowest, highest = run.scores[begin:end], run.by_topic[0, topic], run.by_topic[1, topic]
    if condensed and end > begin:
        lowest = highest = scores[0]
        for score in scores:
            lowest, highest = min(lowest, score), max(highest, score)
    unit = 0.5 if np.isinf(highest - lowest) else 1.0
    shift, spread = lowest * unit, highest * unit - lowest * unit
    if options & RAW_SCORES:
        unit, shift, spread = 1.0, 0.0, 1.0
    flat, whole_gain = not spread > 0, 1.0 if options & RAW_GAINS else metric[FIXED + levels - 1]
    distance, missed = float(end - begin) if flat else _distance(scores, shift, unit) / spread, total
    for each in range(len(row)):
        system = 1.0 if flat else (scores[row[each] - begin] * unit - shift) / spread
        distance += abs(system - gain[each] / whole_gain) - abs(system)
        missed -= gain[each]
    distance += missed / whole_gain
    documents = run.judged[topic]
    if not condensed:
        distance += run.by_topic[3 if options & RAW_SCORES else 2, topic]
        documents += run.retrieved[topic] - (end - begin)
    return 1.0 - distance / documents


@njit
def _sums(rows: Any, stops: Any, column: Any, out: Any) -> None:
    for topic in range(len(out)):
        start, stop = rows.first[topic], stops[topic]
        if stop - start > _FEW:
            out[topic] = _sum(column[start:stop])
        else:
            total = 0.0
            for row in range(start, stop):
                total += column[np.uint64(row)]
            out[topic] = total


@njit
def _topmost(kind: Any, metric: Any, run: Any, rows: Any, view: Any, stops: Any, column: Any, out: Any) -> None:
    """Metrics that one document settles."""
    bonus = metric[len(metric) // 2 + FIXED // 2 :]
    for topic in range(len(out)):
        start, stop = rows.first[topic], stops[topic]
        if start == stop:
            out[topic] = 0.0
        elif kind == _RR:
            out[topic] = 1.0 / view.rank[start]
        elif kind == _NWRR:
            top = len(bonus)
            while top > 1 and run.counts[topic, top] == 0:
                top -= 1
            out[topic] = column[start] * (1.0 - bonus[top - 1])
        elif kind == _PMEASURE:
            out[topic] = column[start + _preferred(rows.level[start:stop])]
        elif kind == _PPLUS:
            upto = start + _preferred(rows.level[start:stop]) + 1
            out[topic] = _sum(column[start:upto]) / (upto - start)
        else:
            out[topic] = column[start]


@njit
def _score(
    metric: Any,
    run: Any,
    rows: Any,
    ideal: Any,
    view: Any,
    stops: Any,
    column: Any,
    weights: Any,
    tables: Any,
    out: Any,
) -> None:
    """Fills in one metric's scores, but for the topics that are undefined or missing."""
    kind, cutoff = int(metric[KIND]), int(metric[CUTOFF])
    if kind == _ANCG:
        for topic in range(len(out)):
            start, stop, summed = rows.first[topic], stops[topic], 0.0
            if stop > start:
                summed = _averaged(ideal, topic, cutoff, view.rank[start:stop], column[start:stop], weights, tables[0])
            out[topic] = summed / cutoff
    elif kind == _ADM:
        for topic in range(len(out)):
            start, stop, total = rows.first[topic], stops[topic], ideal.total[topic]
            out[topic] = _average_distance(metric, run, topic, rows.row[start:stop], view.gain[start:stop], total)
    elif kind in _TOPMOST:
        _topmost(kind, metric, run, rows, view, stops, column, out)
    else:
        if _column_of(kind) != _NONE:
            _sums(rows, stops, column, out)
        _normalise(kind, metric, rows, ideal, stops, tables, out)


@njit
def _normalise(kind: Any, metric: Any, rows: Any, ideal: Any, stops: Any, tables: Any, out: Any) -> None:
    """From sums over rows to scores."""
    cutoff, beta, relevant, first = int(metric[CUTOFF]), metric[BETA], ideal.relevant, rows.first
    most = cutoff if int(metric[OPTIONS]) & CUT_RECALL else NO_CUTOFF
    for topic in range(len(out)):
        if stops[topic] == first[topic]:
            out[topic] = 0.0
        elif kind == _NCG:
            out[topic] /= _ideal_gain(ideal, topic, cutoff, tables[1])
        elif kind == _P:
            out[topic] = (stops[topic] - first[topic]) / cutoff
        elif kind in (_RPREC, _RECALL):
            out[topic] = (stops[topic] - first[topic]) / relevant[topic]
        elif kind == _GENAP:
            out[topic] /= _average_precision_sum(ideal, topic, tables[2])
        elif kind == _GENP:
            out[topic] /= cutoff
        elif kind == _RWP:
            out[topic] /= ideal.total[topic]
        elif kind == _RMEASURE:
            blended = beta * out[topic] + (stops[topic] - first[topic])
            out[topic] = blended / (beta * ideal.total[topic] + relevant[topic])
        elif kind != _CG:
            out[topic] /= min(relevant[topic], most)


@njit
def _tables(ideal: Any, weights: Any, tables: Any) -> None:
    """Fills in the running sums of weights and of 1/r; what is before them is for sums of reciprocals."""
    for rank in range(1, ideal.deepest + 1):
        tables[1, rank] = tables[1, rank - 1] + weights[rank]
        tables[2, rank] = tables[2, rank - 1] + 1.0 / rank


@njit
def _limit(metric: Any, ideal: Any, limits: Any) -> Any:
    """The cut-off, by which metrics share their stops, and fills in that of each topic; -1 stands for R."""
    kind = int(metric[KIND])
    at_relevant = kind in (_RPREC, _RMEASURE, _RWP)
    for topic in range(len(limits)):
        limits[topic] = ideal.relevant[topic] if at_relevant else int(metric[CUTOFF])
    return -1 if at_relevant else int(metric[CUTOFF])


@njit
def _score_view(plan: Any, members: Any, run: Any, rows: Any, table: Any) -> None:
    """Scores the metrics that are `members`, all of which read the run as the first of them does."""
    topics, levels = len(run.retrieved), run.counts.shape[1] - 1
    leader = 0
    while not members[leader]:
        leader += 1
    ideal = _ideal(plan[leader], rows.rel, run.counts)
    view = _read(run, rows, plan[leader], ideal)
    widest = ideal.deepest
    for row in range(len(rows.row)):
        widest = max(widest, min(int(view.rank[row]), _SHALLOW))
    column, weights, tables = np.empty(len(rows.row)), np.ones(widest + 1), np.zeros((3, ideal.deepest + 1))
    _tables(ideal, weights, tables)
    known, cuts, limits = 0, np.empty(len(plan), np.int64), np.empty(topics, np.int64)
    stops = np.empty((len(plan), topics), np.int64)
    for head in range(leader, len(plan)):
        if not members[head]:
            continue
        kind = _column_of(int(plan[head, KIND]))
        if kind == _GAINED:
            _fill_weights(plan[head, BASE], int(plan[head, SHIFT]), weights)
            _tables(ideal, weights, tables)
        _fill(column, kind, plan[head], rows, view, weights)
        for each in range(head, len(plan)):
            if not members[each] or not _shares_column(kind, plan[head], plan[each], levels):
                continue
            members[each] = False
            cut, slot = _limit(plan[each], ideal, limits), 0
            while slot < known and cuts[slot] != cut:
                slot += 1
            if slot == known:
                known, cuts[slot] = known + 1, cut
                _stops(rows, view.rank, limits, stops[slot])
            _score(plan[each], run, rows, ideal, view, stops[slot], column, weights, tables, table[each])
            _settle(view, run, table[each])


@njit
def _settle(view: Any, run: Any, out: Any) -> None:
    """A topic that the run lacks scores 0, and an undefined one nothing."""
    for topic in range(len(out)):
        if view.undefined[topic]:
            out[topic] = np.nan
        elif run.retrieved[topic] == 0:
            out[topic] = 0.0


@njit
def score(
    plan: Any,
    starts: Any,
    rank: Any,
    level: Any,
    retrieved: Any,
    counts: Any,
    judged: Any,
    scores: Any,
    by_topic: Any,
    table: Any,
) -> None:
    """Fills `table` float64 [metrics, topics] with the scores of `plan` float64 [metrics, fields] of a `Run`."""
    run = Run(starts, rank, level, retrieved, counts, judged, scores, by_topic)
    levels = counts.shape[1] - 1
    leaders = _leaders(plan, levels)
    rows = _relevant(run, 1)
    for rel in range(1, levels + 1):
        for leader in range(len(plan)):
            if leaders[leader] == leader and plan[leader, REL] == rel:
                _score_view(plan, leaders == leader, run, _above(rows, rel), table)


@njit
def mean(geometric: Any, table: Any, means: Any) -> None:
    """Fills `means` float64 [metrics, runs] from `table` float64 [metrics, runs, topics]."""
    for metric in range(table.shape[0]):
        for run in range(table.shape[1]):
            scores, kept, defined = table[metric, run], np.zeros(table.shape[2]), 0
            for topic in range(len(scores)):
                if not np.isnan(scores[topic]):
                    kept[topic] = np.log(max(scores[topic], _FLOOR)) if geometric[metric] else scores[topic]
                    defined += 1
            mean = _sum(kept) / defined
            means[metric, run] = np.exp(mean) if geometric[metric] else mean
