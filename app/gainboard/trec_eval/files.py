"""The qrels and results files, read as trec_eval reads them: it ignores what it does not need.

`gainboard.trec` reads the same files strictly, for the service.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.trec_eval.parameters import number, whole_number

Floats = NDArray[np.float64]
BLOCK: Final = 1 << 17
"""Bytes that are split at once. Their words take about twenty times as much memory, which should stay in the cache."""
UNPOOLED, UNJUDGED = -1, -2
"""The levels of documents that are not in the qrels, and of those with a level below 0 there."""
HIGHEST: Final = 1_000_000
"""The highest level. Documents are counted by level, so a level takes memory for all below it."""


class FileError(Exception):
    """A file that trec_eval does not read. The message is trec_eval's."""


class LevelTooLarge(Exception):
    """A judgment with a level above HIGHEST. trec_eval has no message for it: it ends when its memory does."""


class DuplicateDocuments(Exception):
    """A document that is judged or retrieved twice for a topic. The message is trec_eval's."""


class DocumentLevels:
    """The judgments of one topic.

    - `levels`: the level of each document, or UNJUDGED.
    - `highest`: the highest level, also below 0.
    - `above_0`: the number of lines with a level above 0.
    - `twice`: the first document, by its bytes, that is judged twice.
    """

    def __init__(self) -> None:
        self.levels: dict[bytes, int] = {}
        self.highest, self.above_0 = -sys.maxsize, 0
        self.twice: bytes | None = None

    def add(self, documents: Sequence[bytes], levels: Sequence[int]) -> None:
        """Add the levels of documents, as they are in the file."""
        self.highest = max(self.highest, max(levels))
        self.above_0 += sum(map((0).__lt__, levels))
        if min(levels) < 0:
            levels = [level if level >= 0 else UNJUDGED for level in levels]
        new = dict(zip(documents, levels, strict=True))
        if len(new) < len(documents) or not new.keys().isdisjoint(self.levels.keys()):
            # Few topics repeat a document, so only these are counted.
            times = Counter(documents)
            twice = [document for document, count in times.items() if count > 1 or document in self.levels]
            self.twice = min(twice if self.twice is None else [*twice, self.twice])
        self.levels.update(new)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of documents with each level from 0 up, int64 [highest level + 1]."""
        levels = np.fromiter(self.levels.values(), np.int64, len(self.levels))
        return np.bincount(levels[levels >= 0]).astype(np.int64)


class Retrieved:
    """The documents that a run retrieved for one topic, and their scores in pieces, in the order of the file."""

    def __init__(self) -> None:
        self.documents: list[bytes] = []
        self.scores: list[Floats] = []

    def rank_documents(self, most: int) -> NDArray[np.intp]:
        """Return the positions of at most so many documents by descending score; equal ones by descending id, in bytes.

        Raise DuplicateDocuments if one of these documents is there twice.
        """
        scores = np.concatenate(self.scores)
        if (scores[1:] <= scores[:-1]).all():  # as in most files; sorting takes a sixth of the time of a run
            order = np.arange(len(scores))
        else:
            order = np.argsort(-scores, kind="stable")
            scores = scores[order]
        same = np.concatenate(([False], scores[1:] == scores[:-1], [False])).astype(np.int8)
        changes = np.diff(same)  # 1 where a group of successive equal scores begins, -1 before its last one
        begins, lasts = (np.flatnonzero(changes == change).tolist() for change in (1, -1))
        for begin, last in zip(begins, lasts, strict=True):
            equal = order[begin : last + 1]
            equal[:] = sorted(equal.tolist(), key=self.documents.__getitem__, reverse=True)
        order = order[: max(most, 0)]
        if len(set(self.documents)) < len(self.documents):
            times = Counter(self.documents[index] for index in order)
            if twice := sorted(document for document, count in times.items() if count > 1):
                raise DuplicateDocuments(f"trec_eval.form_res_qrels: duplicate docs {_show(twice[0])}")
        return order


def levels_by_rank(retrieved: Retrieved | None, judgments: DocumentLevels, most: int) -> NDArray[np.int64]:
    """Return the levels by rank of at most so many documents, int64 [documents].

    Raise DuplicateDocuments if the topic judges one twice, or one is retrieved twice.
    """
    order = retrieved.rank_documents(most) if retrieved else None
    if judgments.twice is not None:
        raise DuplicateDocuments(f"trec_eval.form_res_rels: duplicate docs {_show(judgments.twice)}")
    if not retrieved:
        return np.array([UNPOOLED])  # as in trec_eval, where such a topic has one document that nobody knows
    documents = retrieved.documents
    levels = np.fromiter(map(judgments.levels.get, documents, repeat(UNPOOLED)), np.int64, len(documents))
    return levels[order]


def read_qrels(data: bytes) -> dict[bytes, DocumentLevels]:
    """Return the judgments of each topic.

    Raise FileError at the first malformed line, where a blank line is one, and LevelTooLarge at a level above HIGHEST.
    """
    judgments: dict[bytes, DocumentLevels] = {}
    for topics, _, documents, levels in _read_columns(data, 4, "trec_eval.get_qrels", is_strict=True):
        values = _read_whole_numbers(levels)
        if max(values) > HIGHEST:
            index = next(index for index, level in enumerate(values) if level > HIGHEST)
            where = f"document {_show(documents[index])} of topic {_show(topics[index])}"
            problem = f"the level of {where} is too large: at most {HIGHEST} is supported"
            raise LevelTooLarge(f"trec_eval.get_qrels: {problem}")
        for topic, begin, end in _group_lines(topics):
            judgments.setdefault(topic, DocumentLevels()).add(documents[begin:end], values[begin:end])
    return judgments


def read_results(data: bytes) -> tuple[dict[bytes, Retrieved], bytes]:
    """Return what each topic retrieved, and the run's name, which is that of the last line.

    Raise FileError at the first malformed line. Blank lines, comments and what follows the name are skipped.
    """
    by_topic: dict[bytes, Retrieved] = {}
    run = b""
    for topics, _, documents, _, scores, names in _read_columns(data, 6, "trec_eval.get_results", is_strict=False):
        values = _read_numbers(scores)
        for topic, begin, end in _group_lines(topics):
            retrieved = by_topic.setdefault(topic, Retrieved())
            retrieved.documents += documents[begin:end]
            retrieved.scores.append(values[begin:end])
        # What follows the name on a line is a part of the last column.
        run = names[-1].split(None, 1)[0]
    return by_topic, run


def _read_whole_numbers(texts: Sequence[bytes]) -> list[int]:
    # Faster than `whole_number`, and the same here except where it fails, or reads an underscore.
    try:
        if not _have_underscores(texts):
            return list(map(int, texts))
    except ValueError:
        pass
    return list(map(whole_number, texts))


def _read_numbers(texts: Sequence[bytes]) -> Floats:
    try:
        if not _have_underscores(texts):
            return np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        pass
    return np.fromiter(map(number, texts), np.float64, len(texts))


def _have_underscores(texts: Sequence[bytes]) -> bool:
    """Return whether a text has an underscore: Python reads `1_0` as 10, and C reads 1."""
    return b"_" in b"".join(texts)


def _group_lines(topics: Sequence[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """Yield each topic with the begin and the end of its successive lines."""
    begin = 0
    for topic, lines in groupby(topics):
        end = begin + len(list(lines))
        yield topic, begin, end
        begin = end


def _read_columns(data: bytes, columns: int, reader: str, *, is_strict: bool) -> Iterator[Sequence[Sequence[bytes]]]:
    """Yield the columns of the lines, some lines at once. What follows the last column belongs to it, unless strict."""
    before = 0
    for block in _split_blocks(data):
        if _is_regular(block, columns):
            words = block.split()
            yield [words[column::columns] for column in range(columns)]
            before += len(words) // columns
        else:
            lines = block.split(b"\n")[: -1 if block.endswith(b"\n") else None]
            rows = (line.split(None, columns - 1) for line in lines)
            wanted = list(_keep_rows(rows, columns, f"{reader}: Malformed line", before, is_strict))
            before += len(wanted)
            if wanted:
                yield list(zip(*wanted, strict=True))


def _is_regular(block: bytes, columns: int) -> bool:
    """Return whether each line has exactly these columns, and no line may be a comment."""
    # A `#` may begin a comment or stand in an id. Only the slow way tells.
    if b"#" in block or not block.endswith(b"\n"):
        return False
    text = np.frombuffer(block, np.uint8)
    is_blank = (text == 32) | ((text >= 9) & (text <= 13))  # as C's `isspace`
    words = np.flatnonzero(np.concatenate(([not is_blank[0]], ~is_blank[1:] & is_blank[:-1])))
    ends = np.flatnonzero(text == 10)
    if len(words) != columns * len(ends):
        return False
    # The number of words may be right although one line has a word too few and the next one too many.
    return bool((words[columns - 1 :: columns] < ends).all() and (words[columns::columns] > ends[:-1]).all())


def _keep_rows(
    rows: Iterable[list[bytes]], columns: int, fault: str, before: int, is_strict: bool
) -> Iterator[list[bytes]]:
    """Yield the rows without comments; without blank lines, too, and with a rest, unless strict.

    Raise FileError with the number of the malformed line, which counts the rows alone.
    """
    for row in rows:
        if row and row[0].startswith(b"#"):
            continue
        if not row and not is_strict:
            continue
        if len(row) < columns or (is_strict and len(row[-1].split()) > 1):
            raise FileError(f"{fault} {before + 1}")
        before += 1
        yield row


def _split_blocks(data: bytes) -> Iterator[bytes]:
    """Yield whole lines, some at once."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin + BLOCK - 1)
        end = len(data) if end < 0 else end + 1
        yield data[begin:end]
        begin = end


def _show(name: bytes) -> str:
    return name.decode("utf-8", "replace")
