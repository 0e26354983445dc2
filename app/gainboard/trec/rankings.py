"""The ranking of one topic of a run: made from the topic's lines, with the faults of these lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.agreement import RankAgreement, compare
from gainboard.trec.findings import Faults, note_reserved, quoted
from gainboard.trec.numbers import decimal, decimals, integer, integers
from gainboard.trec.topics import TopicLines

OrderBy = Literal["score", "score32", "rank"]
T = TypeVar("T")
Order = NDArray[np.intp] | slice
_AS_IT_IS = slice(None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of a topic in a run, best document first, truncated to the collection's depth.

    `documents` are distinct ids, as bytes. `scores` are their retrieval scores, float64 of the same length.
    """

    topic: str
    documents: list[bytes]
    scores: NDArray[np.float64]


def make_ranking(
    lines: TopicLines, order_by: OrderBy, depth: int, faults: Faults
) -> tuple[Ranking, RankAgreement] | None:
    """Return the ranking of a topic, and how its ranks and scores agree. Return None if there are faults.

    Faults are noted in `faults`. `score` orders by descending score; equal scores are ordered by document id, in
    descending byte order. `score32` does the same with scores in single precision. `rank` orders by ascending rank;
    the rank column must then hold distinct integers.

    A rank column that holds anything but integers is not compared.
    """
    scores, ranks = decimals(lines.scores), integers(lines.ranks)
    ranked = order_by == "rank"
    before = faults.total
    note_reserved(lines.topic, next(lines.line_numbers()), faults)
    if scores is None or (ranked and ranks is None):
        _note_bad_tokens(lines, ranked, faults)
    _note_repetitions(lines, ranked, faults)
    if scores is None or faults.total > before:
        return None
    keys = single_precision(scores) if order_by == "score32" else scores
    by_score = _best_first(keys, lines.documents)
    agreement, place = compare(keys[by_score], None if ranks is None else ranks[by_score])
    if place is not None:
        at = place if isinstance(by_score, slice) else int(by_score[place])
        agreement.example = next(islice(lines.line_numbers(), at, None))
    order = _best_first(-ranks, lines.documents) if ranked and ranks is not None else by_score
    return Ranking(lines.topic.decode(), _take(lines.documents, order)[:depth], scores[order][:depth]), agreement


def _best_first(keys: NDArray[Any], documents: list[bytes]) -> Order:
    """Return an index that sorts keys and documents by (key, document), descending."""
    in_doubt = np.flatnonzero(keys[:-1] <= keys[1:]).tolist()
    if all((keys[at], documents[at]) > (keys[at + 1], documents[at + 1]) for at in in_doubt):
        return _AS_IT_IS
    best = sorted(zip(keys.tolist(), documents, range(len(keys)), strict=True), reverse=True)
    return np.fromiter((place for *_, place in best), np.intp, len(best))


def _take(documents: list[bytes], order: Order) -> list[bytes]:
    return documents[order] if isinstance(order, slice) else [documents[place] for place in order.tolist()]


def single_precision(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the scores in single precision, for `score32`."""
    with np.errstate(over="ignore"):  # scores beyond single precision become infinite and equal, as in trec_eval 9
        return scores.astype(np.float32)


def _note_bad_tokens(lines: TopicLines, ranked: bool, faults: Faults) -> None:
    columns = zip(lines.line_numbers(), lines.documents, lines.ranks, lines.scores, strict=True)
    for number, document, rank, score in columns:
        if ranked and integer(rank) is None:
            problem = f"rank {quoted(rank)} of document {quoted(document)} is not an integer"
            faults.add("bad-rank", problem, number, topic=lines.topic)
        elif decimal(score) is None:
            problem = f"score {quoted(score)} of document {quoted(document)} is not a finite decimal number"
            faults.add("bad-number", f"{problem} such as 12.5 or -1.5e-3", number, topic=lines.topic)


def _note_repetitions(lines: TopicLines, ranked: bool, faults: Faults) -> None:
    for first, second, document in _find_repetitions(lines.documents, lines):
        problem = f"document {quoted(document)} is already on line {first} for this topic. Keep one of the two lines"
        faults.add("duplicate-document", problem, first, second, topic=lines.topic)
    if ranked:
        for first, second, rank in _find_repetitions([integer(token) for token in lines.ranks], lines):
            problem = f"rank {rank} is already on line {first}. The ranks of a topic must be distinct"
            faults.add("bad-rank", problem, first, second, topic=lines.topic)


def _find_repetitions(values: Sequence[T], lines: TopicLines) -> Iterator[tuple[int, int, T]]:
    """Yield each repeated value, after its first line and its own line. None is never a repetition."""
    if len(set(values)) == len(values):
        return
    first_lines: dict[T, int] = {}
    for number, value in zip(lines.line_numbers(), values, strict=True):
        first = first_lines.setdefault(value, number)
        if first != number and value is not None:
            yield first, number, value
