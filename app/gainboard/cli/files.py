"""Run and qrels files named on the command line: plain, gzip or zstd, and `-` for standard input."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast, get_args

from gainboard.cli.options import STANDARD_INPUT
from gainboard.cli.parallel import Count, PlainCount
from gainboard.errors import BadSetting
from gainboard.evaluation.judging import QrelsIndex
from gainboard.evaluation.reading import NO_LIMITS, Chunks, RunFile, read_judgments, read_run, read_run_file
from gainboard.evaluation.ties import RunTies
from gainboard.trec import INTENT_LAYOUT, Limits, OrderBy, QrelsFile, Ranking, decompressed
from gainboard.trec.layouts import LAYOUTS

MOST_LEVELS = 127
_SUFFIXES = (".gz", ".zst")
_LEVEL_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}")


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how files are read. A collection of the service has them as settings."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--levels",
        type=_levels,
        metavar="LEVELS",
        help="names, lowest first (B,A,S), or their number (default: from the judgments)",
    )
    group.add_argument(
        "--intents", action="store_true", help="the qrels are by intent (subtopic): topic, intent, document, level"
    )
    group.add_argument(
        "--iprob",
        metavar="FILE",
        help="the probabilities of intents: topic, intent, probability (default: equal ones); implies --intents",
    )
    group.add_argument(
        "--columns", choices=(*LAYOUTS, INTENT_LAYOUT), help="the layout of the qrels (default: by its lines)"
    )
    group.add_argument(
        "--depth", type=_depth, default=1000, help="the number of ranks of a run that are scored (default: 1000)"
    )
    group.add_argument(
        "--order-by", choices=get_args(OrderBy), default="score", help="what determines a rank (default: score)"
    )


@dataclass(frozen=True)
class FileReader:
    """A reader of run and qrels files within limits, as set by `reading_options`."""

    levels: Sequence[str] | int | None
    columns: str | None
    depth: int
    order_by: OrderBy
    limits: Limits
    intents: bool = False
    probabilities: str | None = None
    """The file with the probabilities of intents."""

    @classmethod
    def of(cls, parsed: argparse.Namespace, limits: Limits) -> FileReader:
        """Return the reader for a command line."""
        by_intent = parsed.intents or parsed.iprob is not None
        return cls(parsed.levels, parsed.columns, parsed.depth, parsed.order_by, limits, by_intent, parsed.iprob)

    def run(self, name: str, index: QrelsIndex | None, count: Count) -> RunFile:
        """Read a run file, joined with the judgments if there are any. Raise GainboardError, also BadSetting."""
        with self._opened(name, count) as chunks:
            return read_run_file(chunks, self.order_by, self.depth, self.limits, index)

    def tied_run(self, name: str, index: QrelsIndex, count: Count) -> tuple[RunFile, RunTies]:
        """Read a run file joined with the judgments, and again for its ties. Raise what `run` raises."""
        with self._opened(name, count) as chunks:
            file = read_run_file(chunks, self.order_by, self.depth, self.limits, index)

            def consume(rankings: Iterable[Ranking]) -> RunTies:
                return RunTies.of(rankings, self.order_by, self.depth)

            # One document more than is kept shows whether ties go on beyond the depth.
            return file, read_run(chunks, self.order_by, self.depth + 1, self.limits, consume)[1]

    @contextmanager
    def _opened(self, name: str, count: Count) -> Iterator[Chunks]:
        with open_counted(name, count) as file:

            def chunks() -> Iterator[bytes]:
                file.seek(0)
                return decompressed(file, None, self.limits)

            yield chunks

    def qrels(self, name: str, count: Count) -> QrelsFile:
        """Read a qrels file.

        Without names of levels, any numbered levels are allowed. Raise GainboardError, also BadSetting.
        """
        levels = self.levels or MOST_LEVELS
        with ExitStack() as stack:
            names = [each for each in (name, self.probabilities) if each is not None]
            files = [decompressed(stack.enter_context(open_counted(each, count)), None, self.limits) for each in names]
            return read_judgments(_end_to_end(files), levels, self.intents, self.columns, self.limits)

    def index(self, file: QrelsFile) -> QrelsIndex:
        """Return the judgments of a file, indexed for the join with runs."""
        return QrelsIndex.of(file, self.highest_level(file))

    def highest_level(self, file: QrelsFile) -> int:
        """Return the highest of the given levels, else the highest judged level, and 1 if none is above 0."""
        if self.levels is not None:
            return self.levels if isinstance(self.levels, int) else len(self.levels)
        return max(1, *file.judgments.count_levels())


def read_end_to_end(names: Sequence[str]) -> bytes:
    """Return the contents of several files as one, decompressed. Raise GainboardError, also BadSetting."""
    with ExitStack() as stack:
        files = [stack.enter_context(open_counted(name, PlainCount())) for name in names]
        return b"".join(_end_to_end([decompressed(file, None, NO_LIMITS) for file in files]))


def _end_to_end(files: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield the contents of several files as one, each of which begins on a line of its own."""
    last = b""
    for file in files:
        if last and not last.endswith(b"\n"):
            yield b"\n"
        for chunk in file:
            last = chunk or last
            yield chunk


@contextmanager
def open_counted(name: str, count: Count) -> Iterator[BinaryIO]:
    """Open a file that can be read again from its start, and count the bytes read. Raise BadSetting."""
    try:
        with sys.stdin.buffer if name == STANDARD_INPUT else open(name, "rb") as file:
            if file.seekable():
                yield cast(BinaryIO, _CountedFile(file, count))
                return
            with TemporaryFile() as copy:  # a pipe can be read only once, so its content is copied
                shutil.copyfileobj(file, copy)
                copy.seek(0)
                yield cast(BinaryIO, _CountedFile(copy, count))
    except OSError as error:
        raise BadSetting(f"Cannot be read: {error.strerror or error}") from error


class _CountedFile:
    """A file that counts the bytes read since its start."""

    def __init__(self, file: BinaryIO, count: Count) -> None:
        self._file, self._count, self._read = file, count, 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._add(len(data))
        return data

    def seek(self, offset: int) -> int:
        self._add(-self._read)
        return self._file.seek(offset)

    def _add(self, read: int) -> None:
        self._read += read
        self._count.value += read


def total_size(names: Sequence[str]) -> int:
    """Return the bytes of all files together, as far as they are known before reading."""
    sizes = (os.stat(name).st_size for name in names if name != STANDARD_INPUT and os.path.isfile(name))
    return sum(sizes)


def text_size(names: Sequence[str]) -> int:
    """Return about how many bytes of text the files hold: a compressed file counts as four times its size."""
    return total_size(names) + 3 * total_size([name for name in names if name.endswith(_SUFFIXES)])


def short_names(names: Sequence[str]) -> list[str]:
    """Return short names for the runs: file names without folders and suffixes, if these are distinct."""
    short = [without_suffix(Path(name).name) for name in names]
    times = Counter(short)
    return [brief if times[brief] == 1 else name for brief, name in zip(short, names, strict=True)]


def without_suffix(name: str) -> str:
    """Return a file's name without the suffix of its kind or of its compression."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


def _levels(text: str) -> Sequence[str] | int:
    if text.isdecimal() and 1 <= int(text) <= MOST_LEVELS:
        return int(text)
    names = text.split(",")
    if text.isdecimal() or len(set(names)) < len(names) or not all(map(_LEVEL_NAME.fullmatch, names)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of names such as B,A,S, nor a number from 1 to {MOST_LEVELS}"
        )
    return names


def _depth(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid depth. Use a whole number from 1 to 1,000,000, for example 1000"
        )
    return int(text)
