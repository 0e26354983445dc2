"""The ranking of one topic of a run: made from the topic's lines, with the faults of these lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.findings import Faults, FileWarning, cause_by_header, note_reserved, quoted
from gainboard.trec.numbers import decimal, decimals, integer, integers
from gainboard.trec.topics import TopicLines
from gainboard.vocabulary import OrderBy

T = TypeVar("T")
Order = NDArray[np.intp] | slice
_AS_IT_IS = slice(None)


class Ranking(NamedTuple):
    """The ranking of a topic in a run, best document first, truncated to the collection's depth.

    `documents` are distinct ids, as bytes. `scores` are their retrieval scores, float64 of the same length.
    """

    topic: str
    documents: list[bytes]
    scores: NDArray[np.float64]


def make_ranking(
    lines: TopicLines, order_by: OrderBy, depth: int, faults: Faults, ignore_identical_ids: bool = False
) -> tuple[Ranking, RankAgreement] | None:
    """Return the ranking of a topic, and how its ranks and scores agree. Return None if there are faults.

    Faults are noted in `faults`. `score` orders by descending score; equal scores are ordered by document id, in
    descending byte order. `score32` does the same with scores in single precision. `rank` orders by ascending rank;
    the rank column must then hold distinct integers.

    A rank column that holds anything but integers is not compared. `ignore_identical_ids` leaves out the document that
    is named like the topic, once its line was checked.
    """
    scores, ranks = decimals(lines.scores), integers(lines.ranks)
    ranked = order_by == "rank"
    before = faults.total
    note_reserved(lines.topic, next(lines.line_numbers()), faults)
    if scores is None or (ranked and ranks is None):
        _note_bad_tokens(lines, ranked, faults)
    for first, second, document in _find_repetitions(lines.documents, lines):
        problem = f"document {quoted(document)} is already on line {first} for this topic. Keep one of the two lines"
        faults.add("duplicate-document", problem, first, second, topic=lines.topic)
    for first, second, rank in _find_repetitions(list(map(integer, lines.ranks)), lines) if ranked else ():
        problem = f"rank {rank} is already on line {first}. The ranks of a topic must be distinct"
        faults.add("bad-rank", problem, first, second, topic=lines.topic)
    if scores is None or faults.total > before:
        return None
    keys = single_precision(scores) if order_by == "score32" else scores
    by_score = _best_first(keys, lines.documents)
    agreement, contradiction = compare(keys[by_score], None if ranks is None else ranks[by_score])
    if contradiction is not None:
        at = contradiction if isinstance(by_score, slice) else int(by_score[contradiction])
        agreement.example = next(islice(lines.line_numbers(), at, None))
    order = _best_first(-ranks, lines.documents) if ranked and ranks is not None else by_score
    if isinstance(order, slice):
        documents = lines.documents[order]
    else:
        documents = list(map(lines.documents.__getitem__, order.tolist()))
    scores = scores[order]
    # Left out only now, because faults and warnings are about all documents.
    if ignore_identical_ids and lines.topic in documents:
        identical = documents.index(lines.topic)
        documents, scores = documents[:identical] + documents[identical + 1 :], np.delete(scores, identical)
    return Ranking(lines.topic.decode(), documents[:depth], scores[:depth]), agreement


def _best_first(keys: NDArray[Any], documents: list[bytes]) -> Order:
    """Return an index that sorts keys and documents by (key, document), descending."""
    # Most topics are sorted already. Ids are compared only where scores do not show it.
    in_doubt = np.flatnonzero(keys[:-1] <= keys[1:]).tolist()
    if all((keys[at], documents[at]) > (keys[at + 1], documents[at + 1]) for at in in_doubt):
        return _AS_IT_IS
    # NumPy sorts the scores. Ids are objects of Python, so only those of equal scores are compared.
    order = np.argsort(-keys, kind="stable")
    ordered = keys[order]
    same = np.concatenate(([False], ordered[1:] == ordered[:-1], [False]))
    for begin, last in np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2).tolist():
        equal = order[begin : last + 1]
        equal[:] = sorted(equal.tolist(), key=documents.__getitem__, reverse=True)
    return order


def single_precision(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the scores in single precision, for `score32`."""
    with np.errstate(over="ignore"):  # scores beyond single precision become infinite and equal, as in trec_eval 9
        return scores.astype(np.float32)


def _note_bad_tokens(lines: TopicLines, ranked: bool, faults: Faults) -> None:
    columns = zip(lines.line_numbers(), lines.documents, lines.ranks, lines.scores, strict=True)
    for number, document, rank, score in columns:
        if ranked and integer(rank) is None:
            problem = f"rank {quoted(rank)} of document {quoted(document)} is not an integer"
            problem += cause_by_header(number, [document, rank, score])
            faults.add("bad-rank", problem, number, topic=lines.topic)
        elif decimal(score) is None:
            problem = f"score {quoted(score)} of document {quoted(document)} is not a finite decimal number"
            cause = cause_by_header(number, [document, rank, score])
            faults.add("bad-number", f"{problem} such as 12.5 or -1.5e-3{cause}", number, topic=lines.topic)


def _find_repetitions(values: Sequence[T], lines: TopicLines) -> Iterator[tuple[int, int, T]]:
    """Yield each repeated value, after its first line and its own line. None is never a repetition."""
    if len(set(values)) == len(values):
        return
    first_lines: dict[T, int] = {}
    for number, value in zip(lines.line_numbers(), values, strict=True):
        first = first_lines.setdefault(value, number)
        if first != number and value is not None:
            yield first, number, value


@dataclass(slots=True)
class RankAgreement:
    """Counts over the topics of a run.

    A document is tied if another document of its topic has the same score. The ranks of a topic contradict its scores
    if a document has a better rank than another one with a higher score; how equal scores are ranked does not matter.
    """

    documents: int = 0
    """All documents."""
    tied: int = 0
    """Tied documents of topics with several scores."""
    with_ties: int = 0
    """Topics with several scores, some of them equal."""
    all_equal: int = 0
    """Topics of at least two documents, all with the same score."""
    contradicting: int = 0
    """Topics whose ranks contradict the scores."""
    ranked: int = 0
    """Topics with several scores, and with integers in the rank column."""
    reversed: int = 0
    """Topics of `ranked` whose document with the lower of two different scores always has the better rank."""
    example: int | None = None
    """The line of the first document, in order of score, that is ranked above one with a higher score."""

    def add(self, other: RankAgreement) -> None:
        """Add the counts of topics that come later in the file."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.example is None:
            self.example = other.example

    def warnings(self, order_by: str) -> Iterator[FileWarning]:
        """Yield the warnings, each with the number of topics. Ties do not matter to an order by ranks."""
        if order_by != "rank" and self.with_ties:
            share = f"{100 * self.tied / self.documents:.1f} % of the documents"
            message = f"{share} have the same score as another one of their topic. Document ids decide their order"
            yield FileWarning("tied-scores", message, self.with_ties, is_slight=100 * self.tied < self.documents)
        if order_by != "rank" and self.all_equal:
            message = "All documents of a topic have the same score. Document ids alone decide their order"
            yield FileWarning("all-scores-equal", message, self.all_equal)
        if order_by != "rank" and 0 < self.ranked == self.reversed:
            message = (
                "In every topic the retrieval scores rise with the rank column. Are they distances? The document with "
                "the highest score is ranked first here: change the sign of the scores, or use order_by=rank"
            )
            yield FileWarning("rising-scores", message, self.reversed)
        if self.contradicting:
            used, other = ("ranks", "score") if order_by == "rank" else ("scores", "rank")
            message = (
                f"A document has a better rank than another one with a higher score, first on line {self.example}. "
                f"The {used} are used; a collection with order_by={other} would use the {other}s"
            )
            yield FileWarning("rank-contradicts-score", message, self.contradicting)


_COUNTS = tuple(field.name for field in fields(RankAgreement) if field.name != "example")


def compare(keys: NDArray[Any], ranks: NDArray[np.int64] | None) -> tuple[RankAgreement, int | None]:
    """Compare the scores of one topic, best first, with the ranks of the same documents.

    `keys` are the scores as they are compared, [documents]. `ranks` int64 [documents] is None if the rank column holds
    anything but integers. Return the counts of the topic, and the place of the example for `Agreement.example`.
    """
    agreement = RankAgreement(documents=len(keys))
    same = keys[1:] == keys[:-1]
    if same.any():
        agreement.all_equal = int(same.all())
        if not agreement.all_equal:
            agreement.with_ties = 1
            agreement.tied = int(np.count_nonzero(np.concatenate((same, [False])) | np.concatenate(([False], same))))
    if ranks is None:
        return agreement, None
    agreement.ranked = int(not same.all())
    if not (ranks[1:] < ranks[:-1]).any():
        return agreement, None
    # Of each group of equal scores, the worst and the best rank of the documents above it.
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    sizes = np.diff(starts, append=len(ranks))
    # The first group has nothing above it. No rank is below the least integer or above the largest.
    none = np.iinfo(np.int64)
    worst_before = np.repeat(np.concatenate(([none.min], np.maximum.accumulate(ranks)[starts[1:] - 1])), sizes)
    best_before = np.repeat(np.concatenate(([none.max], np.minimum.accumulate(ranks)[starts[1:] - 1])), sizes)
    contradictions = np.flatnonzero(ranks < worst_before)
    agreement.reversed = int(agreement.ranked and (ranks < best_before).all())
    agreement.contradicting = int(bool(contradictions.size))
    return agreement, int(contradictions[0]) if contradictions.size else None
