"""Compiled functions that read runs and join them with judgments.

Only `gainboard.trec.compiled_pass` imports this module, if the `fast` extra is installed. A buffer has complete lines.
`tokenise` reads the columns of each line. `join` makes a ranking of each topic's lines and joins it with judgments. Ids
of documents are not copied: a document is its start and stop in the buffer, and its hash. `group` brings the lines of
each topic together, if they are not.

These functions give up on input that the plain reader must read, because of a fault or a rare form. Then their first
result is False, and the arrays that they filled must not be used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gainboard.acceleration import njit
from gainboard.trec.judgments import EMPTY, LEVEL_ZERO, OFFSET_BITS

MOST_DIGITS = 15  # numbers of up to 15 digits, and the powers of ten that divide them, are exact in float64
RANK_DIGITS = 18  # as in `numbers.integer`; 19 digits may not fit in int64
PROBES_A_LINE = 32  # more probes than this are no accident: somebody chose ids whose hashes collide

_TAB, _NEWLINE, _SPACE, _HASH, _LESS = 9, 10, 32, ord("#"), ord("<")
_PLUS, _MINUS, _POINT, _ZERO = ord("+"), ord("-"), ord("."), ord("0")
# 2**64 over the golden ratio, as in Fibonacci hashing; odd, so that no bit is lost
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_POWERS = 10.0 ** np.arange(MOST_DIGITS + 1)


@njit
def _at(data: Any, index: Any) -> Any:
    return data[np.uint64(index)]  # a signed index takes twice the time, because it may be negative


@njit
def _is_text(byte: Any) -> Any:
    # A byte beyond ASCII ends a token, and its line then looks odd. So the plain reader reads it, and checks UTF-8.
    return 0x20 < byte < 0x7F


@njit
def _skip_text(data: Any, at: Any) -> Any:
    # No bound on `at` is needed: every line has a line feed, and that is no text.
    while _is_text(_at(data, at)):
        at += 1
    return at


@njit
def _skip_blanks(data: Any, at: Any, blank: Any) -> Any:
    while _at(data, at) == blank:
        at += 1
    return at


@njit
def _continues(data: Any, at: Any, other: Any, start: Any, stop: Any) -> Any:
    """Return the end of the token at `at` if it equals `other[start:stop]`, else -1."""
    for index in range(start, stop):
        if _at(data, at) != _at(other, index):
            return -1
        at += 1
    return -1 if _is_text(_at(data, at)) else at


@njit
def _mix(hashed: Any) -> Any:
    # Multiplication carries only upwards, and slots are chosen by the low bits, so the high bits must come down.
    return hashed ^ (hashed >> np.uint64(32))


@njit
def _tag(hashed: Any) -> Any:
    # The highest bits, because the lowest ones choose the slot: there, they are alike in all documents.
    return np.int64(hashed >> np.uint64(56))


@njit
def _hash_token(data: Any, at: Any, seed: Any) -> Any:
    """Return the hash of the token at `at`, and the token's end."""
    hashed = seed
    while _is_text(_at(data, at)):
        hashed = (hashed ^ np.uint64(_at(data, at))) * _PRIME
        at += 1
    return _mix(hashed), at


@njit
def _read_rank(data: Any, at: Any) -> Any:
    """Return the integer of the token at `at`, and the token's end, or -1 if `numbers.integer` does not accept it."""
    negative = _at(data, at) == _MINUS
    if negative or _at(data, at) == _PLUS:
        at += 1
    first, value = at, 0
    while 0 <= _at(data, at) - _ZERO <= 9 and at - first < RANK_DIGITS:
        value = 10 * value + (_at(data, at) - _ZERO)
        at += 1
    if at == first or _is_text(_at(data, at)):
        return 0, -1
    return -value if negative else value, at


@njit
def _read_score(data: Any, at: Any) -> Any:
    """Return the number of the token at `at`, and the token's end, or -1 if its digits do not give an exact float64."""
    negative = _at(data, at) == _MINUS
    if negative or _at(data, at) == _PLUS:
        at += 1
    digits, value, point = 0, 0, -1
    while True:
        byte = _at(data, at)
        if 0 <= byte - _ZERO <= 9:
            value = 10 * value + (byte - _ZERO)
            digits += 1
            if digits > MOST_DIGITS:
                return 0.0, -1
        elif byte == _POINT and point < 0:
            point = digits
        else:
            break
        at += 1
    if digits == 0 or _is_text(byte):
        return 0.0, -1
    number = value / _POWERS[digits - point] if point >= 0 else float(value)
    # -0 becomes 0.0, as in `numbers.decimals`: equal scores must have equal bits.
    return -number if negative and value else number, at


@njit
def tokenise(
    data: Any,
    stop: Any,
    longest: Any,
    blank: Any,
    tag: Any,
    seed: Any,
    documents: Any,
    hashes: Any,
    ranks: Any,
    scores: Any,
    odd: Any,
    topics: Any,
) -> Any:
    """Read the lines of `data[:stop]`, which ends in a line feed. Every line must have the run tag `tag`.

    `blank` is the byte that separates columns. Fills arrays by line: `documents` int32 [lines, 2] (start and stop),
    `hashes` uint64, `ranks` int64, `scores` float64. Fills `odd` int32 [scores, 3] with line, start and stop of the
    scores that the caller must read. Fills `topics` int32 [topics, 3] with first line, start and stop; after the last
    topic, the first column is the number of lines.

    Returns whether the data is the common case, the number of odd scores, and the number of topics.
    """
    at, line, odds, topic_count = 0, 0, 0, 0
    name, name_end = 0, 0
    while at < stop:
        begin = at
        # Nearly every line has the topic of the line before, and a comparison reads it only once.
        topic_end = _continues(data, begin, data, name, name_end) if topic_count else -1
        if topic_end < 0:
            topic_end = _skip_text(data, begin)
            name, name_end = begin, topic_end
            topics[topic_count, 0], topics[topic_count, 1], topics[topic_count, 2] = line, name, name_end
            topic_count += 1
            # A comment or markup. What may be skipped, and what is a fault, only the plain reader knows.
            if _at(data, begin) == _HASH or _at(data, begin) == _LESS:
                return False, odds, topic_count
        q0 = _skip_blanks(data, topic_end, blank)
        q0_end = _skip_text(data, q0)
        document = _skip_blanks(data, q0_end, blank)
        hashes[line], document_end = _hash_token(data, document, seed)
        documents[line, 0], documents[line, 1] = document, document_end
        ranks[line], rank_end = _read_rank(data, _skip_blanks(data, document_end, blank))
        # A column is empty, or the rank is no plain integer: nothing here names a fault, the plain reader does.
        if topic_end == begin or q0_end == q0 or document_end == document or rank_end < 0:
            return False, odds, topic_count
        score = _skip_blanks(data, rank_end, blank)
        scores[line], score_end = _read_score(data, score)
        # More digits than one division rounds correctly. Python reads these few, so that both readers give one number.
        if score_end < 0:
            score_end = _skip_text(data, score)
            odd[odds, 0], odd[odds, 1], odd[odds, 2] = line, score, score_end
            odds += 1
        tag_end = _continues(data, _skip_blanks(data, score_end, blank), tag, 0, len(tag))
        if score == rank_end or score_end == score or tag_end < 0:
            return False, odds, topic_count
        at = _skip_blanks(data, tag_end, blank)
        # A seventh column, a carriage return, or a line beyond the limit.
        if _at(data, at) != _NEWLINE or at - begin > longest:
            return False, odds, topic_count
        at += 1
        line += 1
    topics[topic_count, 0] = line
    return True, odds, topic_count


@njit
def group(data: Any, seed: Any, slots: Any, names: Any, ends: Any, topics: Any, out: Any) -> Any:
    """Copy the lines of `data` to `out`, topic by topic. Topics come in the order of their first lines.

    The lines of a topic keep their order. The first column is the topic, whatever follows it. `slots` int32 is a buffer
    for a hash table, filled with -1; its length is a power of two > the number of lines. `ends` must be zeros.

    Fills arrays by topic: `names` int32 [topics, 2] (start and stop in `data`), `ends` int64 (the end of its lines in
    `out`). Fills `topics` int32 [lines] with the index of each line's topic, in the order of `data`.

    Returns whether the data is the common case, and the number of topics.
    """
    # All lines share the probes: a few unlucky lines may take more, as long as the whole stays linear.
    mask, spare = np.uint64(len(slots) - 1), PROBES_A_LINE * len(topics)
    at, topic_count = 0, 0
    for line in range(len(topics)):
        begin = at
        hashed, at = _hash_token(data, begin, seed)
        after, first = _at(data, at), _at(data, begin)
        # A line that is skipped has no topic. Another character after the topic may or may not be part of it.
        if at == begin or first in (_HASH, _LESS) or after not in (_SPACE, _TAB, _NEWLINE):
            return False, topic_count
        slot = hashed & mask
        # There are few topics beside the lines, so their hashes are not kept: the texts are compared.
        while slots[slot] >= 0 and _continues(data, begin, data, names[slots[slot], 0], names[slots[slot], 1]) != at:
            slot = (slot + np.uint64(1)) & mask
            spare -= 1
            if spare < 0:
                return False, topic_count
        if slots[slot] < 0:
            slots[slot] = topic_count
            names[topic_count, 0], names[topic_count, 1] = begin, at
            topic_count += 1
        topics[line] = slots[slot]
        while _at(data, at) != _NEWLINE:
            at += 1
        at += 1
        ends[topics[line]] += at - begin
    # With the sizes known, each line is copied once, to its final place.
    start = 0
    for topic in range(topic_count):
        start, ends[topic] = start + ends[topic], start
    at = 0
    for line in range(len(topics)):
        to = ends[topics[line]]
        while True:
            byte = _at(data, at)
            out[to] = byte
            at, to = at + 1, to + 1
            if byte == _NEWLINE:
                break
        ends[topics[line]] = to
    return True, topic_count


@njit
def _order(data: Any, documents: Any, one: Any, other: Any) -> Any:
    """Compare two ids byte by byte. Return a number below 0 if `one` is before `other`, 0 if equal, else above 0."""
    start, other_start = documents[one, 0], documents[other, 0]
    length, other_length = documents[one, 1] - start, documents[other, 1] - other_start
    for offset in range(min(length, other_length)):
        byte, other_byte = _at(data, start + offset), _at(data, other_start + offset)
        if byte != other_byte:
            return 1 if byte > other_byte else -1
    return length - other_length


@njit
def _precedes(data: Any, documents: Any, keys: Any, one: Any, other: Any) -> Any:
    if keys[one] != keys[other]:
        return keys[one] > keys[other]
    # Descending, too: among equal scores, trec_eval ranks the larger id first.
    return _order(data, documents, one, other) > 0


@njit
def _sort(data: Any, documents: Any, keys: Any, order: Any, aside: Any) -> Any:
    """Sort the lines in `order` by (key, document), descending, unless they are sorted already: a merge sort."""
    count = len(order)
    width = 1
    # Most files are sorted already, and to see that is the cheapest sort.
    for index in range(1, count):
        if not _precedes(data, documents, keys, order[index - 1], order[index]):
            break
    else:
        width = count
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for index in range(start, stop):
                if right < stop and (left == middle or _precedes(data, documents, keys, order[right], order[left])):
                    aside[index] = order[right]
                    right += 1
                else:
                    aside[index] = order[left]
                    left += 1
        for index in range(count):
            order[index] = aside[index]
        width *= 2


@njit
def _have_repetition(data: Any, documents: Any, hashes: Any, first: Any, stop: Any, slots: Any, spare: Any) -> Any:
    """Return whether a document is on two of the lines, or the hashes collide suspiciously often (`spare` probes).

    `slots` int32 is a buffer for a hash table. Its length must be at least 4, and at least the smallest power of two
    >= twice the number of lines.
    """
    size = 4
    while size < 2 * (stop - first):
        size *= 2
    slots[:size] = -1
    mask = np.uint64(size - 1)
    for line in range(first, stop):
        slot = hashes[line] & mask
        while slots[slot] >= 0:
            other = slots[slot]
            if hashes[other] == hashes[line] and _order(data, documents, other, line) == 0:
                return True
            slot = (slot + np.uint64(1)) & mask
            spare -= 1
            # Whoever finds ids that collide could make this loop quadratic. The plain reader's time depends on no hash.
            if spare < 0:
                return True
        slots[slot] = line
    return False


@njit
def fill(records: Any, begins: Any, topics: Any, starts: Any, bases: Any, seed: Any, slots: Any) -> Any:
    """Put judged documents into a hash table for each topic. `JudgedDocuments` describes the arrays.

    `begins` int64 [documents] are the offsets of all records. `topics` int64 [topics + 1] are the indexes in `begins`
    of each topic's first record. `slots` must be filled with EMPTY before.
    """
    for topic in range(len(topics) - 1):
        mask = starts[topic + 1] - starts[topic] - 1
        for document in range(topics[topic], topics[topic + 1]):
            hashed, at = seed, begins[document] + 1
            while records[at] != _NEWLINE:
                hashed = (hashed ^ np.uint64(records[at])) * _PRIME
                at += 1
            hashed = _mix(hashed)
            slot = starts[topic] + (np.int64(hashed) & mask)
            while slots[slot] != EMPTY:
                slot = starts[topic] + ((slot + 1 - starts[topic]) & mask)
            # Eight bits of the hash stand beside the offset: of 256 other documents in a slot, one is read in vain.
            slots[slot] = (_tag(hashed) << OFFSET_BITS) | (begins[document] - bases[topic])


@njit
def _is(records: Any, at: Any, data: Any, start: Any, stop: Any) -> Any:
    # The line feed at the end of a record is in no id, so a shorter record ends the loop, too.
    for index in range(start, stop):
        if _at(records, at) != _at(data, index):
            return False
        at += 1
    return _at(records, at) == _NEWLINE


@njit
def _look_up(
    data: Any,
    documents: Any,
    hashes: Any,
    scores: Any,
    order: Any,
    topic: Any,
    table: Any,
    out: Any,
    at: Any,
    sums: Any,
) -> Any:
    """Join one ranking with the judgments of its topic. Fill `out` from row `at` on, and the four `sums`.

    Return the row after the last one filled.
    """
    out_ranks, out_levels, out_scores = out
    records, starts, bases, slots = table
    start, base = starts[topic], bases[topic]
    mask = starts[topic + 1] - start - 1
    lowest, highest = scores[order[0]], scores[order[0]]
    for index in range(len(order)):
        line = order[index]
        lowest, highest = min(lowest, scores[line]), max(highest, scores[line])
        # These reads only load the records into the cache. They do not depend on each other, so the processor can do
        # them at the same time. Reading from main memory takes most of the time. The values are overwritten below.
        entry = _at(slots, start + (np.int64(hashes[line]) & mask))
        out_levels[at + index] = _at(records, base + (0 if entry == EMPTY else entry & ((1 << OFFSET_BITS) - 1)))
    # The same computation as `metrics.retrieval.min_max`, to the bit.
    unit = 0.5 if np.isinf(highest - lowest) else 1.0
    spread = highest * unit - lowest * unit
    scaled, absolute = 0.0, 0.0
    for index in range(len(order)):
        line = order[index]
        score, tag = scores[line], _tag(hashes[line])
        slot = np.int64(hashes[line]) & mask
        while True:
            entry = np.int64(_at(slots, start + slot))
            if entry == EMPTY:
                scaled += (score * unit - lowest * unit) / spread if spread > 0 else 1.0
                absolute += abs(score)
                break
            record = base + (entry & ((1 << OFFSET_BITS) - 1))
            if entry >> OFFSET_BITS == tag and _is(records, record + 1, data, documents[line, 0], documents[line, 1]):
                out_ranks[at], out_scores[at] = index + 1, score
                out_levels[at] = np.int16(records[record]) - LEVEL_ZERO
                at += 1
                break
            slot = (slot + 1) & mask
    sums[0], sums[1], sums[2], sums[3] = lowest, highest, scaled, absolute
    return at


@njit
def _compare(ranks: Any, keys: Any, order: Any, agreement: Any) -> None:
    """Add the lines of a topic, in order of score, to `agreement`: what `rankings.compare` does."""
    count = len(order)
    tied, example, several, is_reversed = 0, -1, False, True
    # The worst and the best rank of the lines so far, and of those with higher scores.
    last_rank, before = ranks[order[0]], np.int64(-(1 << 63))
    best_rank, best_before = ranks[order[0]], np.int64((1 << 63) - 1)
    for index in range(count):
        line = order[index]
        with_last = index > 0 and keys[order[index - 1]] == keys[line]
        tied += with_last or (index + 1 < count and keys[order[index + 1]] == keys[line])
        if index > 0 and not with_last:
            before, best_before, several = last_rank, best_rank, True
        is_reversed = is_reversed and ranks[line] < best_before
        if ranks[line] < before and example < 0:
            example = line
        last_rank, best_rank = max(last_rank, ranks[line]), min(best_rank, ranks[line])
    agreement[0] += count
    if tied == count and count > 1 and keys[order[0]] == keys[order[count - 1]]:
        agreement[3] += 1
    elif tied:
        agreement[1] += tied
        agreement[2] += 1
    agreement[5] += several
    agreement[6] += several and is_reversed
    if example >= 0:
        agreement[4] += 1
        if agreement[7] < 0:
            agreement[7] = example


@njit
def _leave_out(data: Any, documents: Any, order: Any, start: Any, stop: Any) -> Any:
    """Take out of `order` the lines whose document id is the text from `start` to `stop`. Return how many are left."""
    left = 0
    for line in order:
        if _continues(data, documents[line, 0], data, start, stop) < 0:
            order[left] = line
            left += 1
    return left


@njit
def join(
    data: Any,
    documents: Any,
    hashes: Any,
    ranks: Any,
    scores: Any,
    keys: Any,
    topics: Any,
    rows: Any,
    table: Any,
    ranked: Any,
    without_own: Any,
    depth: Any,
    aside: Any,
    out: Any,
    tops: Any,
    counts: Any,
    sums: Any,
    agreement: Any,
) -> Any:
    """Sort each topic that `tokenise` found, truncate it at `depth`, and join it with the judgments of its row.

    `keys` float64 [lines] are the scores for sorting. `rows` int64 [topics] are the topics' indexes in `table`, or -1.
    `ranked` tells to sort by rank, `without_own` to leave out the document with the topic's id. `aside` are two
    buffers: int32 [2, lines] and int32 [4 * lines + 4].

    Fills `out` by judged document (rank uint32, level int8, score float64), `counts` int64 [topics, 2] (documents,
    judged documents), `sums` float64 [topics, 4] (see `Joined`), and `tops` int32 [lines] with the lines of the
    documents that are kept, topic after topic, best first.

    Fills `agreement` int64 [6] with the counts of `RankAgreement` in their order, and the line of the example, or -1.

    Returns whether the data is the common case.
    """
    lines, slots = aside
    at, filled = 0, 0
    for topic in range(len(rows)):
        first, stop = topics[topic, 0], topics[topic + 1, 0]
        count = stop - first
        if _have_repetition(data, documents, hashes, first, stop, slots, PROBES_A_LINE * count):
            return False
        order = lines[0, :count]
        for index in range(count):
            order[index] = first + index
        # By score first, whatever decides: `_compare` takes the lines in order of score.
        _sort(data, documents, keys, order, lines[1])
        _compare(ranks, keys, order, agreement)
        if ranked:
            # Ranks ascend, but the sort descends. Negation is exact, because ranks have at most 18 digits.
            _sort(data, documents, -ranks, order, lines[1])
            # Two documents at one rank are a fault, which the plain reader names with both lines.
            for index in range(1, count):
                if ranks[order[index - 1]] == ranks[order[index]]:
                    return False
        # Left out and cut only now, because faults and warnings are about all documents.
        if without_own:
            count = _leave_out(data, documents, order, topics[topic, 1], topics[topic, 2])
        kept = min(count, depth)
        counts[topic, 0], before = kept, at
        for index in range(kept):
            tops[filled + index] = order[index]
        filled += kept
        # A topic that nobody judged is counted and not joined: it has no row.
        if rows[topic] >= 0 and kept:
            at = _look_up(data, documents, hashes, scores, order[:kept], rows[topic], table, out, at, sums[topic])
        counts[topic, 1] = at - before
    return True
