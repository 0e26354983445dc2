"""The folder of a release, in an archive whose author is a stranger: whole, bounded, with a document that is one."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from gainboard.analyses.bootstrap_sensitivity import SensitivityResult
from gainboard.analyses.pair_tests import ComparedPairs
from gainboard.analyses.result_models import JobResult
from gainboard.errors import FaultyFile, InvalidRequest
from gainboard.evaluation.judgments.nuggets import MOST_BYTES
from gainboard.evaluation.releases.document import Archived, FrozenNuggets, FrozenScores
from gainboard.evaluation.releases.releases import HISTORY, WHOLE_LOG, line_of, read_history
from gainboard.evaluation.runs.intake import Body, apart
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.notation.texts import is_slug, read_number, read_time
from gainboard.store.arrays import arrays_of
from gainboard.trec import FileLimits, decompress_body
from gainboard.trec.bodies import PIECE, ZSTD, require_plain_tar
from gainboard.trec.nuggets import read_nuggets
from gainboard.vocabulary import LEAVE_OUT

SUMS: Final = "SHA256SUMS"
DOCUMENT: Final = "data/release.json"
MOST_SUMS: Final = 64 << 20
MOST_DOCUMENT: Final = 256 << 20
MOST_SCORES: Final = 256 << 20
"""The most bytes of what is read into memory at once."""


class Extent(NamedTuple):
    """The part of an archive that is the content of a file, in bytes."""

    start: int
    size: int


@dataclass(frozen=True)
class Folder:
    """The folder of a release, in a tar archive that is not compressed: a whole one, as `opened` returns it."""

    packed: BinaryIO
    extents: Mapping[str, Extent]
    document: Archived

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield the content of a file. Raise InvalidRequest if there is none."""
        if path not in self.extents:
            raise unusable(f"it has no file {path}")
        yield from _pieces(self.packed, self.extents[path])

    def read(self, path: str, most: int) -> bytes:
        """Return the content of a file of at most so many bytes. Raise InvalidRequest."""
        _require_bounded(self.extents, path, most)
        return b"".join(self.pieces(path))

    def read_log(self, document: bytes) -> bytes:
        """Return the entries of the log in the folder, one a line; nothing if it has none. Raise InvalidRequest."""
        path = next((name for name in (HISTORY, WHOLE_LOG) if name in self.extents), None)
        if path is None:
            return b""
        try:
            text = self.read(path, MOST_DOCUMENT).decode()
            return "".join(map(line_of, read_history(text, json.loads(document)))).encode()
        except ValueError as error:
            raise unusable(f"{path}: {error}") from error

    def read_pairs(self, identity: str, read: JobResult) -> list[ComparedPairs]:
        """Return the pairs of runs that a result has tested, from the files beside it."""
        if not isinstance(read, SensitivityResult):
            return []
        tested = []
        for number, metric in enumerate(read.metrics):
            path = f"data/results/{identity}/pairs/{number}"
            try:
                levels, scores = self._arrays(f"{path}/levels"), self._arrays(f"{path}/scores")["scores"]
                corrected = levels["corrected"] if read.correction != "none" else None
                pairs = ComparedPairs(
                    metric.metric, read.test, read.resamples, read.runs, scores, levels["levels"], corrected
                )
                pairs.require_whole(read.topics)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise unusable(f"{path} has not the pairs of its result: {error}") from error
            # The pairs are there twice, and a stranger wrote both.
            if metric.pairs is not None and metric.pairs != [pair.as_json(pairs.is_corrected) for pair in pairs]:
                raise unusable(f"{path} has other pairs than its result")
            tested.append(pairs)
        return tested

    def _arrays(self, path: str) -> dict[str, NDArray[Any]]:
        packed = io.BytesIO(self.read(path, MOST_SCORES))
        limits = replace(NO_LIMITS, decompressed_bytes=MOST_SCORES)
        return arrays_of(b"".join(decompress_body(packed, ZSTD.name, limits)))

    def read_nuggets(self, frozen: FrozenNuggets) -> bytes:
        """Return a file of nuggets, which has no faults."""
        path = f"data/nuggets/{frozen.version}.jsonl"
        content = self.read(path, MOST_BYTES)
        require_same(path, hashlib.sha256(content).hexdigest(), frozen.sha256)
        try:
            read_nuggets([content], NO_LIMITS, stray="count")
        except FaultyFile as error:
            raise unusable(f"{path} is no file of nuggets: {error.message}") from error
        return content

    def read_score_matrix(self, frozen: FrozenScores) -> tuple[list[str], list[str], NDArray[np.float64]]:
        """Return the runs, the topics and the scores of a score matrix."""
        path = f"data/score-matrices/{frozen.name}-{frozen.version}.csv"
        body = self.read(path, MOST_SCORES)
        require_same(path, hashlib.sha256(body).hexdigest(), frozen.csv_sha256)
        try:
            (_, *topics), *rows = csv.reader(io.StringIO(body.decode(), newline=""), strict=True)
            names = [row[0] for row in rows]
            # A score may be missing where the matrix says so.
            has_gaps = frozen.missing == LEAVE_OUT or any(run.system for run in self.document.runs)
            gap = {"": math.nan} if has_gaps else {}  # replicates may be fewer on a topic
            scores = np.array([[gap.get(cell) or read_number(cell) for cell in row[1:]] for row in rows], np.float64)
        except (ValueError, csv.Error, IndexError) as error:
            raise unusable(f"{path} is no score matrix: {error}") from error
        run_names = {run.name for run in self.document.runs}
        if self.document.settings.kind == "scores":
            run_names |= {name for name in names if is_slug(name)}  # a system that the newest version lacks is gone
        if scores.shape != (len(names), len(topics)) or not scores.size or not set(names) <= run_names:
            raise unusable(f"{path} has not one score for each of its topics and runs, or runs that are not there")
        if len(set(names)) < len(names) or len(set(topics)) < len(topics) or np.isinf(scores).any():
            raise unusable(f"{path} has a run or topic twice, or a score that is not finite")
        return names, topics, scores


def opened(body: Body, packed: BinaryIO, limits: FileLimits, require_client: Callable[[], None]) -> Folder:
    """Return the folder in a body, whose author is a stranger, once it is decompressed into `packed`.

    The folder has plain files alone: no links, no sparse files, no name twice. So none is larger than the archive,
    which is bounded. What is read at once has bounds of its own. A large body is read in a process of its own, which
    ends with what `require_client` raises.

    Raise InvalidRequest unless the folder is whole, and TooLarge.
    """
    if not body.is_large:
        return Folder(packed, *_read(body, packed, limits))
    files = body.file.fileno(), packed.fileno()
    extents, document = apart(_read_there, *files, body.encoding, limits, files=files, require_client=require_client)
    return Folder(packed, extents, document)


def _read_there(body: int, packed: int, encoding: str | None, limits: FileLimits) -> tuple[dict[str, Extent], Archived]:
    with os.fdopen(body, "rb") as file, os.fdopen(packed, "w+b") as unpacked:
        return _read(Body(file, encoding), unpacked, limits)


def _read(body: Body, packed: BinaryIO, limits: FileLimits) -> tuple[dict[str, Extent], Archived]:
    body.file.seek(0)
    packed.writelines(decompress_body(body.file, body.encoding, limits))
    packed.flush()
    extents = _extents(packed)
    _check_sums(packed, extents)
    _require_bounded(extents, DOCUMENT, MOST_DOCUMENT)
    try:
        return extents, Archived.model_validate_json(b"".join(_pieces(packed, extents[DOCUMENT])))
    except ValidationError as error:
        raise unusable(f"{DOCUMENT} is not as a release has it: {first_faults(error)}") from error


def _extents(packed: BinaryIO) -> dict[str, Extent]:
    try:
        require_plain_tar(packed)
        with tarfile.open(fileobj=packed, mode="r:") as archive:
            files = [member for member in archive.getmembers() if not member.isdir()]
    except (tarfile.TarError, OSError, ValueError) as error:
        raise unusable(f"it is no tar archive: {error}") from error
    # Files are read from their place in the archive, where links and sparse files do not have their content.
    if strange := [member for member in files if not member.isreg() or member.issparse()]:
        raise unusable(f"{strange[0].name} is a link, a sparse file or a device. Pack plain files alone")
    extents = {member.name: Extent(member.offset_data, member.size) for member in files}
    if len(extents) < len(files):
        twice = next(name for name, times in Counter(member.name for member in files).items() if times > 1)
        raise unusable(f"it has {twice} twice")
    return extents


def _check_sums(packed: BinaryIO, extents: Mapping[str, Extent]) -> None:
    _require_bounded(extents, SUMS, MOST_SUMS)
    sums = b"".join(_pieces(packed, extents[SUMS]))
    if sums.count(b"\n") > len(extents):  # lines take more memory than their text
        raise unusable(f"{SUMS} has more lines than there are files. Copy the folder again")
    lines = sums.decode("utf-8", "replace").splitlines()
    named = {path: sha256 for sha256, _, path in (line.partition("  ") for line in lines)}
    if strange := sorted(named.keys() ^ (extents.keys() - {SUMS})):
        how = "which is not there" if strange[0] in named else "which it does not name"
        raise unusable(f"{SUMS} and the files differ in {strange[0]}, {how}. Copy the folder again")
    for path, sha256 in named.items():
        digest = hashlib.sha256()
        for piece in _pieces(packed, extents[path]):
            digest.update(piece)
        if digest.hexdigest() != sha256:
            raise unusable(f"{path} was changed: its SHA-256 is not that of {SUMS}. Copy the folder again")


def _require_bounded(extents: Mapping[str, Extent], path: str, most: int) -> None:
    if path not in extents:
        raise unusable(f"it has no file {path}")
    if extents[path].size > most:
        raise unusable(f"{path} has more than {most:,} bytes")


def _pieces(packed: BinaryIO, extent: Extent) -> Iterator[bytes]:
    at, left = extent
    while left:
        packed.seek(at)
        piece = packed.read(min(left, PIECE))
        if not piece:
            raise unusable("it ends in the middle of a file")
        yield piece
        at, left = at + len(piece), left - len(piece)


def first_faults(error: ValidationError) -> str:
    """Return where the first faults of a document are, and what is wrong there."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}" for fault in faults[:3]]
    return "; ".join(told) + (f" (and {len(faults) - 3} more)" if len(faults) > 3 else "")


def unusable(why: str) -> InvalidRequest:
    """Return the error that says why a folder cannot be imported."""
    message = f"This folder is not as `gainboard export` has written it: {why}. Nothing was imported."
    return InvalidRequest.at("body", "bad-folder", message)


def require_same(path: str, there: str, frozen: str) -> None:
    """Raise InvalidRequest unless a file has the SHA-256 that the document says."""
    if there != frozen:
        raise unusable(f"{path} has the SHA-256 {there}, but {DOCUMENT} says {frozen}")


def time_of(text: str | None) -> Any:
    """Return a time of a document, which may be undefined."""
    return read_time(text) if text is not None else None
