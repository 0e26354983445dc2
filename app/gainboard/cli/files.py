"""Run and qrels files named on the command line: plain, gzip or zstd, and `-` for standard input."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from glob import glob
from pathlib import Path
from typing import Annotated, BinaryIO, Final, cast

from gainboard.cli.command import Option, count, refuse
from gainboard.cli.options import STANDARD_INPUT, AttributeFiles, FileBehind
from gainboard.cli.parallel import Count
from gainboard.cli.printing import list_faults
from gainboard.errors import BadInput, BadSetting, Fault, FaultyFile, GainboardError, TooLarge
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import (
    NO_LIMITS,
    Chunks,
    RunFile,
    TopDocuments,
    read_judgments,
    read_run,
    read_run_file,
    read_top_documents,
)
from gainboard.evaluation.scoring.ties import RunTies
from gainboard.notation.sources import DATASET, MOST_LEVELS, as_utf8, qrels_of_dataset, run_files
from gainboard.trec import INTENT_LAYOUT, FileLimits, QrelsFile, Ranking, decompress_body
from gainboard.trec.bodies import is_compressed
from gainboard.trec.layouts import LAYOUTS
from gainboard.vocabulary import OrderBy, RunOrder

_SUFFIXES = (".gz", ".zst")
_HEAD = 16
_LEVEL_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}")


RUN_FILES: Final = Option("run files, folders or patterns, in place of arguments", metavar="RUN_FILE", nargs="+")
_reading = partial(Option, group="reading")


def _read_levels(text: str) -> Sequence[str] | int:
    is_number = text.isascii() and text.isdecimal()
    if is_number and 1 <= int(text) <= MOST_LEVELS:
        return int(text)
    names = text.split(",")
    if is_number or len(set(names)) < len(names) or not all(map(_LEVEL_NAME.fullmatch, names)):
        refuse(f"{text!r} is not a list of names such as B,A,S, nor a number from 1 to {MOST_LEVELS}")
    return names


@dataclass(frozen=True)
class Reading:
    """The options that say how files are read. A collection of the service has them as settings."""

    levels: Annotated[
        Sequence[str] | int | None,
        _reading("names, lowest first (B,A,S), or their number (default: from the judgments)", read=_read_levels),
    ] = None
    intents: Annotated[bool, _reading("the qrels are by intent (subtopic): topic, intent, document, level")] = False
    iprob: Annotated[
        str | None,
        _reading(
            "the probabilities of intents: topic, intent, probability (default: equal ones); implies --intents",
            metavar="FILE",
        ),
    ] = None
    attributes: AttributeFiles = field(default_factory=AttributeFiles)
    columns: Annotated[
        str | None, _reading("the layout of the qrels (default: by its lines)", choices=(*LAYOUTS, INTENT_LAYOUT))
    ] = None
    depth: Annotated[
        int,
        _reading(
            "the number of ranks of a run that are scored (default: 1000)",
            read=count("a number of ranks", 1, 1_000_000, 1000),
        ),
    ] = 1000
    order_by: Annotated[OrderBy, _reading("what determines a rank (default: score)")] = "score"
    ignore_identical_ids: Annotated[
        bool, _reading("leave out lines of runs whose document id is their topic's, as BEIR does (ArguAna, Quora)")
    ] = False


@dataclass(frozen=True)
class FileReader:
    """A reader of run and qrels files within limits."""

    levels: Sequence[str] | int | None
    columns: str | None
    depth: int
    order: RunOrder
    limits: FileLimits
    intents: bool = False
    behind: Sequence[FileBehind] = ()
    """The files that follow the judgments: the probabilities of intents, or memberships with their targets."""

    @classmethod
    def of(cls, said: Reading, limits: FileLimits) -> FileReader:
        """Return the reader for a command line."""
        order = RunOrder(said.order_by, said.ignore_identical_ids)
        by_intent = said.intents or said.iprob is not None
        behind = [FileBehind(said.iprob)] if said.iprob else said.attributes.behind()
        return cls(said.levels, said.columns, said.depth, order, limits, by_intent, behind)

    def run(self, name: str, index: QrelsIndex | None, count: Count) -> RunFile:
        """Read a run file, joined with the judgments if there are any. Raise GainboardError, also BadSetting."""
        with self.opened(name, count) as chunks:
            return read_run_file(chunks, self.order, self.depth, self.limits, index)

    def top(self, name: str, count: Count) -> TopDocuments:
        """Read a run file, and return its first documents. Raise GainboardError, also BadSetting."""
        with self.opened(name, count) as chunks:
            return read_top_documents(chunks, self.order, self.depth, self.limits)

    def tied_run(self, name: str, index: QrelsIndex, count: Count) -> tuple[RunFile, RunTies]:
        """Read a run file joined with the judgments, and again for its ties. Raise what `run` raises."""
        with self.opened(name, count) as chunks:
            file = read_run_file(chunks, self.order, self.depth, self.limits, index)

            def consume(rankings: Iterable[Ranking]) -> RunTies:
                return RunTies.of(rankings, self.order.order_by, self.depth)

            # One document more than is kept shows whether ties go on beyond the depth.
            return file, read_run(chunks, self.order, self.depth + 1, self.limits, consume)[1]

    @contextmanager
    def opened(self, name: str, count: Count) -> Iterator[Chunks]:
        """Yield what reads the file from its start. Raise BadSetting."""
        with open_counted(name, count) as file:

            def chunks() -> Iterator[bytes]:
                file.seek(0)
                return unpacked(file, self.limits)

            yield chunks

    def qrels(self, name: str, count: Count) -> QrelsFile:
        """Read a qrels file.

        Without names of levels, any numbered levels are allowed. Raise GainboardError, also BadSetting.
        """
        levels = self.levels or MOST_LEVELS
        if not self.behind:
            with open_counted(name, count) as file:
                chunks = unpacked(file, self.limits)
                return read_judgments(chunks, levels, self.intents, self.columns, self.limits)
        both = JoinedFiles(name, self.behind)
        try:
            return read_judgments(both.chunks(self.limits, count), levels, self.intents, self.columns, self.limits)
        except FaultyFile as error:
            raise FaultyFile(both.located(error.faults), error.total, is_minimum=error.is_minimum) from error

    def index(self, file: QrelsFile) -> QrelsIndex:
        """Return the judgments of a file, indexed for the join with runs."""
        return QrelsIndex.of(file, self.highest_level(file))

    def highest_level(self, file: QrelsFile) -> int:
        """Return the highest of the given levels, else the highest judged level, and 1 if none is above 0."""
        if self.levels is not None:
            return self.levels if isinstance(self.levels, int) else len(self.levels)
        return max([1, *file.judgments.count_levels()])


class JoinedFiles:
    """Files that are read as one: qrels, and what follows them, such as probabilities, each from a line of its own."""

    def __init__(self, first: str, behind: Sequence[FileBehind]) -> None:
        self._parts = [FileBehind(first), *behind]
        self._starts: list[int] = []
        """The lines before each file, as far as they were read."""

    def chunks(self, limits: FileLimits, count: Count) -> Iterator[bytes]:
        """Yield the contents of all files, decompressed.

        Raise what reading the first file raises, and for others FaultyFile with their names.
        """
        self._starts, lines = [], 0
        for part in self._parts:
            self._starts.append(lines)
            last = b"\n"
            try:
                content = nullcontext(io.BytesIO(part.line)) if part.line else open_counted(part.name, count)
                with content as file:
                    for chunk in unpacked(file, limits):
                        lines, last = lines + chunk.count(b"\n"), chunk[-1:] or last
                        yield chunk
            except GainboardError as error:
                if part is self._parts[0]:
                    raise
                faults, total, is_minimum = list_faults(error)
                named = [replace(fault, file=part.name) for fault in faults]
                raise FaultyFile(named, total, is_minimum=is_minimum) from error
            if last != b"\n":
                lines += 1
                yield b"\n"

    def located(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return faults of the whole by the names and lines of the files. Call this after reading."""
        return [located for fault in faults for located in self._located(fault)]

    def _located(self, fault: Fault) -> Iterator[Fault]:
        """Yield the fault in its file, or in each file if it is in lines of several."""
        if fault.line is None:
            is_of_last = fault.code == "bad-probability"
            yield replace(fault, file=self._parts[-1].name) if is_of_last else fault
            return
        end = fault.last_line or fault.line
        for place, before in enumerate(self._starts):
            line, last = max(fault.line - before, 1), min([end, *self._starts[place + 1 : place + 2]]) - before
            if line > last:
                continue
            message, lines = fault.message, None
            if fault.lines is not None:
                first = fault.lines[0]
                of = bisect_left(self._starts, first) - 1
                lines = (first - before, line) if of == place else None
                where = f"line {first - self._starts[of]}" + ("" if of == place else f" of {self._parts[of].name}")
                message = message.replace(f"on line {first}.", f"on {where}.", 1)
            name = self._parts[place].name if place else None
            yield replace(
                fault, message=message, line=line, lines=lines, last_line=last if last > line else None, file=name
            )


def limits_here() -> FileLimits:
    """Return the limits that a server in this environment would have. Raise BadSetting."""
    if not any(name.startswith("GAINBOARD_MAX_") for name in os.environ):
        return FileLimits()
    from gainboard.settings import Settings  # noqa: PLC0415 (it takes as long to import as all the rest)

    return Settings.read(os.environ).limits


def unpacked(file: BinaryIO, limits: FileLimits = NO_LIMITS) -> Iterator[bytes]:
    """Return the content of a file, read from its start: without limits, a plain file of any size.

    A compressed file may be a few kilobytes of what fills the disk or the memory, so the limits of a server count
    for it. Raise TooLarge as soon as it has more, and what `decompress_body` raises.
    """
    if limits != NO_LIMITS:
        yield from decompress_body(file, None, limits)
        return
    is_packed = is_compressed(file.read(_HEAD), None)
    file.seek(0)
    here = limits_here() if is_packed else limits
    bounds = {name: getattr(here, name) for name in ("decompressed_bytes", "ratio", "ratio_after")}
    try:
        yield from decompress_body(file, None, replace(limits, **bounds))
    except TooLarge as error:
        if "setting" not in error.details:
            raise
        raise too_large(error.details["setting"], error.details["limit"]) from error


def too_large(setting: str, limit: int) -> TooLarge:
    """Return the error for a file that unpacks to more than a limit, which a setting raises."""
    what = f"{limit:,} times its size" if setting.endswith("RATIO") else f"{limit:,} bytes"
    return TooLarge(
        f"It unpacks to more than {what}, so the rest was not unpacked. If it is your file, raise the limit: "
        f"{setting}={4 * limit} gainboard ...",
        limit=limit,
        setting=setting,
    )


@contextmanager
def open_counted(name: str, count: Count) -> Iterator[BinaryIO]:
    """Open a file that can be read again from its start, and count the bytes read. Raise BadSetting."""
    if name.startswith(DATASET):
        try:
            content = qrels_of_dataset(as_utf8(name.removeprefix(DATASET)))
        except BadInput as error:
            raise BadSetting(str(error)) from error
        yield io.BytesIO(content)
        return
    try:
        with sys.stdin.buffer if name == STANDARD_INPUT else open(name, "rb") as file:
            if file.seekable():
                yield cast(BinaryIO, _CountedFile(file, count))
                return
            from tempfile import TemporaryFile  # noqa: PLC0415 (few files are pipes)

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


def expand_patterns(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, with a pattern such as `runs/*` replaced by the files that it fits."""
    for name in names:
        # A shell expands patterns, unless they are quoted or it is that of Windows.
        yield from [name] if os.path.exists(name) else sorted(glob(name)) or [name]


def expand_folders(names: Sequence[str], qrels: str | None = None) -> list[str]:
    """Return the names of run files, with patterns and folders replaced by their files, of which `qrels` is none.

    Raise BadSetting for a folder without run files.
    """
    expanded: list[str] = []
    for name in expand_patterns(names):
        if not os.path.isdir(name):
            expanded.append(name)
            continue
        has_qrels = qrels is not None and os.path.isfile(qrels)
        files = [path for path in run_files(Path(name)) if not (has_qrels and os.path.samefile(path, str(qrels)))]
        if not files:
            raise BadSetting(f"The folder {name} has no run files. Name run files, or a folder with some.")
        expanded += map(str, files)
    return list(dict.fromkeys(expanded))


def total_size(names: Sequence[str]) -> int:
    """Return the bytes of all files together, as far as they are known before reading."""
    sizes = (os.stat(name).st_size for name in names if name != STANDARD_INPUT and os.path.isfile(name))
    return sum(sizes)


def text_size(names: Sequence[str]) -> int:
    """Return about how many bytes of text the files hold: a compressed file counts as four times its size."""
    return total_size(names) + 3 * total_size([name for name in names if name.endswith(_SUFFIXES)])


def short_names(names: Sequence[str]) -> list[str]:
    """Return short names for the runs: file names without folders and suffixes, if these are distinct."""
    whole = [as_utf8(name) for name in names]
    short = [without_suffix(Path(name).name) for name in whole]
    times = Counter(short)
    return [brief if times[brief] == 1 else name for brief, name in zip(short, whole, strict=True)]


def without_suffix(name: str) -> str:
    """Return a file's name without the suffix of its kind or of its compression."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
