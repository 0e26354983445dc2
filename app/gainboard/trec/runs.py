"""Reading a run file: TREC's six columns in, one ranking for each topic out, and every fault with its line.

Files of three columns are read, too, if all lines at their beginning have three: topic, document id, retrieval score
(BEIR), or topic, document id, rank (MS MARCO) if ranks order the run. They have no run tag.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.findings import (
    DEFAULT_LIMITS,
    Faults,
    FileLimits,
    FileWarning,
    cause_by_header,
    cause_in_run,
    columns_in_words,
    note_reserved,
    quoted,
)
from gainboard.trec.lines import EVERY_LINE, SKIPPED, Block, Text
from gainboard.trec.numbers import decimal, decimals, integer, integers
from gainboard.trec.topics import LineColumns, TopicLines, gather_topics, split_topics
from gainboard.vocabulary import OrderBy

T = TypeVar("T")
Order = NDArray[np.intp] | slice
_AS_IT_IS = slice(None)
TieOrder = Literal["descending", "ascending", "file"]


class Ranking(NamedTuple):
    """The ranking of a topic in a run, best document first, truncated to the collection's depth.

    `documents` are distinct ids, as bytes. `scores` are their retrieval scores, float64 of the same length.
    """

    topic: str
    documents: list[bytes]
    scores: NDArray[np.float64]


def make_ranking(
    lines: TopicLines,
    order_by: OrderBy,
    depth: int,
    faults: Faults,
    ignore_identical_ids: bool = False,
    ties: TieOrder = "descending",
) -> tuple[Ranking, RankAgreement] | None:
    """Return the ranking of a topic, and how its ranks and scores agree. Return None if there are faults.

    Faults are noted in `faults`. `score` orders by descending score; equal scores are ordered by document id, in
    descending byte order. `score32` does the same with scores in single precision. `rank` orders by ascending rank;
    the rank column must then hold distinct integers.

    A rank column that holds anything but integers is not compared. `ignore_identical_ids` leaves out the document that
    is named like the topic, once its line was checked. Other tools order `ties` in other ways.
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
    by_score = _best_first(keys, lines.documents, ties)
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


def _best_first(keys: NDArray[Any], documents: list[bytes], ties: TieOrder = "descending") -> Order:
    """Return an index that sorts by descending key, and equal keys by document: descending, unless `ties` differ."""
    # Most topics are sorted already. Ids are compared only where scores do not show it.
    in_doubt = np.flatnonzero(keys[:-1] <= keys[1:]).tolist()
    if ties == "descending" and all((keys[at], documents[at]) > (keys[at + 1], documents[at + 1]) for at in in_doubt):
        return _AS_IT_IS
    # NumPy sorts the scores. Ids are objects of Python, so only those of equal scores are compared.
    order = np.argsort(-keys, kind="stable")
    if ties == "file":
        return order
    ordered = keys[order]
    same = np.concatenate(([False], ordered[1:] == ordered[:-1], [False]))
    for begin, last in np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2).tolist():
        equal = order[begin : last + 1]
        equal[:] = sorted(equal.tolist(), key=documents.__getitem__, reverse=ties == "descending")
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


COLUMNS = "topic, Q0, document id, rank, score, run tag"
WIDTH = 6
NARROW_COLUMNS = "topic, document id, score"
NARROW_WIDTH = 3
TAGS_COUNTED = 1000  # a tag of its own on each line must not fill the memory


class RunReader:
    """A reader of a run. It reads chunks of any size once, and yields each ranking when its topic ends.

    Args:
        order_by: the order of a ranking: `score`, `score32` (scores in single precision) or `rank`.
        ignore_identical_ids: leave out lines whose document id is the topic's, before ranks and depth. They are
            checked as all others are.
        depth: the number of documents kept for each topic. Faults are reported for all documents.
        gather: hold the whole file in memory, and yield the topics at the end, in the order of their first lines.
        plain: read every block line by line. This is slower, with the same result, and defines the format.
        numbers: the line numbers, if the chunks are some lines of a file.
        faults: the faults found in other lines of the file, to which this reader adds its own.

    Iteration raises:
        FaultyFile: at the end, with all faults of the file. Discard the rankings yielded before.
        TooLarge: as soon as a limit is exceeded.
        TopicsInterleaved: when a topic continues after another one, unless `gather` is set.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        *,
        order_by: OrderBy = "score",
        ignore_identical_ids: bool = False,
        depth: int = 1000,
        limits: FileLimits = DEFAULT_LIMITS,
        gather: bool = False,
        plain: bool = False,
        numbers: Sequence[int] = EVERY_LINE,
        faults: Faults | None = None,
    ) -> None:
        self._text, self._limits = Text(chunks, limits, numbers, faults), limits
        self._order_by, self._depth, self._gather, self._plain = order_by, depth, gather, plain
        self._ignore_identical_ids = ignore_identical_ids
        self._width = WIDTH if numbers is not EVERY_LINE else 0
        """The number of columns, or 0 until a line with data was seen. Pieces of a file are of TREC's columns."""
        self._counts_up, self._next = True, dict[bytes, int]()
        self._has_scores = False
        """True once the third column of three, which should be ranks, has a number that is not an integer."""
        self._tags: set[bytes] = set()
        self._agreement = RankAgreement()
        self.tag = ""
        """The run tag of the first line; empty if the file has none."""
        self.example = ""
        """The document id of the first line."""
        self.lines: TopicLines | None = None
        """The lines of the ranking that was yielded last, from which other orders follow."""
        self.topics = 0
        """The number of topics with at least one document."""
        self.retrieved = 0
        """The number of documents of all topics, before truncation."""
        self.warnings: list[FileWarning] = []

    @property
    def tags(self) -> int:
        """The number of distinct run tags, counted up to 1,000."""
        return min(len(self._tags), TAGS_COUNTED)

    def __iter__(self) -> Iterator[Ranking]:
        yield from self._rankings()
        faults = self._text.faults
        if not faults and self._width == NARROW_WIDTH and self._order_by != "rank" and self._is_ranked:
            problem = (
                "The third column counts up from 1 in each topic: it looks like the rank, as in MS MARCO's runs, which "
                "have no retrieval scores. Read the file with order_by=rank"
            )
            faults.add("no-scores", problem)
        if self._has_scores:
            problem = (
                "The third column has decimal numbers: they look like retrieval scores, as in BEIR's runs, which have "
                "no ranks. Read the file with order_by=score"
            )
            faults.add("no-ranks", problem)
        if not faults and not self.retrieved:
            faults.add("empty-file", f"The file has no lines of the form: {COLUMNS} (such as 51 Q0 doc-17 1 12.5 bm25)")
        if faults:
            raise faults.error()
        self.warnings = self._text.warnings((self._width,))
        if self.tags > 1:
            message = f"The file has several run tags; the first is {quoted(self.tag.encode())}"
            self.warnings.append(FileWarning("mixed-tags", message, self.tags))
        self.warnings += self._agreement.warnings(self._order_by)

    def note_faults(self) -> None:
        """Read only to add to `faults`, which the caller holds. Raises FaultyFile if `faults` is full, and TooLarge."""
        deque(self._rankings(), maxlen=0)

    def _rankings(self) -> Iterator[Ranking]:
        faults = self._text.faults
        by_topic = gather_topics if self._gather else split_topics
        topics = by_topic(self._columns(), self._limits)
        for lines in topics:
            self.topics += 1
            self.retrieved += len(lines.documents)
            ranking = make_ranking(lines, self._order_by, self._depth, faults, self._ignore_identical_ids)
            # After a fault, nothing of the file is used. Reading goes on to find the other faults.
            if ranking and not faults:
                self._agreement.add(ranking[1])
                self.lines = lines
                yield ranking[0]

    def first_document(self) -> str:
        """Return the document id of the first line, in place of reading the run; empty if there is none."""
        next(self._columns(), None)
        return self.example

    def _columns(self) -> Iterator[LineColumns]:
        for columns in self._read_columns():
            self.example = self.example or columns.documents[0].decode()
            yield columns

    def _read_columns(self) -> Iterator[LineColumns]:
        for block in self._text.blocks():
            self._width = self._width or self._find_width(block)
            if self._width == NARROW_WIDTH:
                if (narrow := self._read_narrow_columns(block)).topics:
                    yield narrow
                continue
            if not self._plain and (table := self._text.table(block, WIDTH)) is not None:
                columns = _slice_columns(table, WIDTH + 1, block.numbers)
            else:
                numbers: list[int] = []
                tokens: list[bytes] = []
                for number, row in self._text.rows(block):
                    if len(row) == WIDTH:
                        numbers.append(number)
                        tokens += row
                    else:
                        width = columns_in_words(len(row))
                        problem = f"the line has {width} instead of {WIDTH}: {COLUMNS}{cause_in_run(row)}"
                        self._text.faults.add("bad-columns", problem, number)
                columns = _slice_columns(tokens, WIDTH, numbers)
            if not columns.topics:
                continue
            tags = columns.tags
            if not self._tags:
                self.tag = tags[0].decode()
            # Counting one tag takes less time than a set of all of them, and most files have one.
            is_new = tags[0] not in self._tags or tags.count(tags[0]) < len(tags)
            if is_new and len(self._tags) < TAGS_COUNTED:
                self._tags.update(tags)
            yield columns

    def _find_width(self, block: Block) -> int:
        """Return the width of the file whose first data are in this block; 0 if it has no line with data."""
        width = 0
        for line in BytesIO(block.data):
            if not line.startswith(SKIPPED) and (columns := line.split()):
                if len(columns) != NARROW_WIDTH:
                    return WIDTH
                width = NARROW_WIDTH
        return width

    def _read_narrow_columns(self, block: Block) -> LineColumns:
        """Return lines of three columns as if they had six. Only one of rank and score is known."""
        numbers: list[int] = []
        topics: list[bytes] = []
        documents: list[bytes] = []
        values: list[bytes] = []
        for number, row in self._text.rows(block):
            if len(row) != NARROW_WIDTH:
                problem = f"the line has {columns_in_words(len(row))} instead of {NARROW_WIDTH}: {NARROW_COLUMNS}"
                self._text.faults.add("bad-columns", f"{problem}, as the lines before it", number)
                continue
            numbers.append(number)
            for column, token in zip((topics, documents, values), row, strict=True):
                column.append(token)
        if self._order_by == "rank":
            self._has_scores = self._has_scores or any(map(_is_score, values))
            if self._has_scores:  # one fault of the file says so, in place of one for each line
                return LineColumns(numbers, topics, documents, [b"%d" % number for number in numbers], values, [])
            # A rank at fault is reported as such, so its score only has to be a number.
            scores = [b"%d" % -rank if (rank := integer(token)) is not None else b"0" for token in values]
            return LineColumns(numbers, topics, documents, values, scores, [])
        # Ranks, as long as the third column counts up from 1 in each topic.
        for topic, value in zip(topics, values, strict=True) if self._counts_up else ():
            rank = self._next.get(topic, 1)
            if value != b"%d" % rank:
                self._counts_up = False
                break
            self._next[topic] = rank + 1
        return LineColumns(numbers, topics, documents, [_NO_RANK] * len(values), values, [])

    @property
    def _is_ranked(self) -> bool:
        return self._counts_up and max(self._next.values(), default=0) > 2


def _is_score(token: bytes) -> bool:
    return integer(token) is None and decimal(token) is not None


_NO_RANK = b"-"
"""The rank of a document in a file without ranks. It is no integer, so ranks are not compared with scores."""


def _slice_columns(tokens: list[bytes], stride: int, numbers: Sequence[int]) -> LineColumns:
    topics, documents, ranks, scores, tags = (tokens[column::stride] for column in (0, 2, 3, 4, 5))
    return LineColumns(numbers, topics, documents, ranks, scores, tags)
