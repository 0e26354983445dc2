"""Reading a run file: TREC's six columns in, one ranking for each topic out, and every fault with its line.

Files of three columns are read, too, if all lines at their beginning have three: topic, document id, retrieval score
(BEIR), or topic, document id, rank (MS MARCO) if ranks order the run. They have no run tag.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO

from gainboard.trec.findings import (
    DEFAULT_LIMITS,
    Faults,
    FileLimits,
    FileWarning,
    cause_in_run,
    columns_in_words,
    quoted,
)
from gainboard.trec.lines import EVERY_LINE, SKIPPED, Block, Text
from gainboard.trec.numbers import decimal, integer
from gainboard.trec.rankings import RankAgreement, Ranking, make_ranking
from gainboard.trec.topics import LineColumns, gather_topics, split_topics
from gainboard.vocabulary import OrderBy

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
            table = None if self._plain else self._text.table(block, WIDTH)
            columns = (
                self._read_plain_columns(block) if table is None else _slice_columns(table, WIDTH + 1, block.numbers)
            )
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
        self._note_ranks(topics, values)
        return LineColumns(numbers, topics, documents, [_NO_RANK] * len(values), values, [])

    def _note_ranks(self, topics: list[bytes], values: list[bytes]) -> None:
        """Note whether the third column still counts up from 1 in each topic."""
        if not self._counts_up:
            return
        for topic, value in zip(topics, values, strict=True):
            rank = self._next.get(topic, 1)
            if value != b"%d" % rank:
                self._counts_up = False
                return
            self._next[topic] = rank + 1

    @property
    def _is_ranked(self) -> bool:
        return self._counts_up and max(self._next.values(), default=0) > 2

    def _read_plain_columns(self, block: Block) -> LineColumns:
        numbers: list[int] = []
        tokens: list[bytes] = []
        for number, row in self._text.rows(block):
            if len(row) == WIDTH:
                numbers.append(number)
                tokens += row
            else:
                problem = f"the line has {columns_in_words(len(row))} instead of {WIDTH}: {COLUMNS}{cause_in_run(row)}"
                self._text.faults.add("bad-columns", problem, number)
        return _slice_columns(tokens, WIDTH, numbers)


def _is_score(token: bytes) -> bool:
    return integer(token) is None and decimal(token) is not None


_NO_RANK = b"-"
"""The rank of a document in a file without ranks. It is no integer, so ranks are not compared with scores."""


def _slice_columns(tokens: list[bytes], stride: int, numbers: Sequence[int]) -> LineColumns:
    topics, documents, ranks, scores, tags = (tokens[column::stride] for column in (0, 2, 3, 4, 5))
    return LineColumns(numbers, topics, documents, ranks, scores, tags)
