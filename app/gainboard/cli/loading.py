"""Files loaded into a service of this command alone, for commands that otherwise need a server."""

from __future__ import annotations

import bz2
import lzma
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, cast

from gainboard.cli.command import Option, Told, refuse
from gainboard.cli.connecting import OneCollection, tell_of_refusal
from gainboard.cli.options import REPLICATES, read_version
from gainboard.cli.printing import fault_lines, list_faults, printable
from gainboard.cli.progress import ProgressLine
from gainboard.cli.submissions import NO_DETAILS, is_table, read_table
from gainboard.errors import BadInput, BadSetting, FaultyFile, TooLarge
from gainboard.notation.sources import NamedRun, Source, as_qrels, name_runs, run_name
from gainboard.notation.texts import read_number, without_signs
from gainboard.vocabulary import OFFICIAL, Direction, Stray

if TYPE_CHECKING:
    from gainboard.client.gainboard import Gainboard, LocalGainboard
    from gainboard.trec.score_matrices import ScoresFile

NAME = "files"
"""The name of the collection, unless -c gives another one: results have it."""
BZIP2: Final = b"BZh"
XZ: Final = b"\xfd7zXZ\x00"
UNREADABLE = (
    *(tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, OSError, EOFError),
    *(RuntimeError, NotImplementedError, ValueError),
)
"""The errors of reading a damaged or strange archive."""


QRELS: Final = Option(
    "the number of a version (default: the published one); with --runs, a file: then no server is needed",
    metavar="QRELS",
)
RUNS: Final = Option(
    "runs: files, folders, patterns, zip or tar archives, and a CSV as `submit` takes: run,team",
    metavar="FILE",
    nargs="+",
)


_scores = partial(Option, group="scores that were computed elsewhere")


def _read_columns(text: str) -> Mapping[str, str]:
    """Read `system=NAME,topic=NAME`, for argparse."""
    pairs = [pair.split("=", 1) for pair in text.split(",")]
    if any(len(pair) < 2 or pair[0] not in ("system", "topic", "metric", "value", "replicate") for pair in pairs):
        refuse(f"{text!r} does not name columns. Write for example system=model,topic=question,value=accuracy")
    return dict(pairs)


def _read_missing(text: str) -> float | str:
    try:
        return text if text in ("leave-out", "refuse") else read_number(text)
    except ValueError:
        refuse(f"{text!r} is not a score. Use a number such as 0, `leave-out` or `refuse`")


@dataclass(frozen=True)
class ScoreFiles:
    """Files of scores of any systems on any topics, in place of judgments and runs."""

    scores: Annotated[
        Sequence[str],
        _scores(
            "files or folders of scores by system and topic, in place of runs; with --nuggets, of verdicts on answers",
            "--scores",
            "--answers",
            metavar="FILE",
            nargs="+",
        ),
    ] = ()
    nuggets: Annotated[
        str | None, _scores("a file of nuggets, by which --answers are scored: JSON Lines", metavar="FILE")
    ] = None
    stray: Annotated[
        Stray, _scores("count: labels of nuggets and verdicts that are none of the known ones count as nothing")
    ] = "refuse"
    score_columns: Annotated[
        Mapping[str, str] | None,
        _scores(
            "the columns of a CSV: system=NAME,topic=NAME,metric=NAME,value=NAME,replicate=NAME (default: by name)",
            metavar="COLUMNS",
            read=_read_columns,
        ),
    ] = None
    measure: Annotated[str | None, _scores("the only metric that is read; MTEB's is main_score")] = None
    direction: Annotated[
        Direction,
        _scores("down: lower scores are better", read=lambda text: {"lower": "down", "higher": "up"}.get(text, text)),
    ] = "up"
    missing: Annotated[
        Any,
        _scores(
            "a missing score: a number; leave-out: a mean is over the scores that are there (default); or refuse",
            metavar="SCORE",
            read=_read_missing,
        ),
    ] = "leave-out"
    is_sample: bool = False
    """True if topics without a verdict were not judged, as people judge a sample of them."""

    def __post_init__(self) -> None:
        if self.nuggets and not self.scores:
            raise BadSetting("--nuggets scores answers, and none are named. Add them: --answers FILE")

    def read(self) -> ScoresFile:
        """Return the scores of all files. Faults are printed, and raise Told; raise BadInput for anything else."""
        from gainboard.evaluation.scoring.score_files import read_score_files  # noqa: PLC0415 (with NumPy)

        try:
            return read_score_files(
                list(self.scores),
                columns=self.score_columns,
                measure=self.measure,
                nuggets=self.nuggets,
                stray=self.stray,
                sample=self.is_sample,
            )
        except FaultyFile as error:
            for line in fault_lines("scores", *list_faults(error)):
                print(printable(line), file=sys.stderr)
            raise Told from error

    def metrics(self, named: Sequence[str]) -> list[str]:
        """Return the names that metrics have in a collection of these scores; of a server, as they are."""
        return [without_signs(name) or "score" if self.scores else name for name in named]

    @contextmanager
    def loaded(
        self, collection: str, data: Path | None = None, *, for_browsers: bool = False
    ) -> Iterator[LocalGainboard]:
        """Start a service with a collection of these scores, and end it."""
        from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415
        from gainboard.exhibits import csv_line  # noqa: PLC0415

        file = self.read()
        for note in file.notes:
            print(f"note: {note}", file=sys.stderr)
        names = self.metrics(list(file.scores))
        if len(set(names)) < len(names):
            raise BadSetting(
                f"Some metrics have names that differ by signs alone: {', '.join(file.scores)}. Use --measure."
            )
        missing = None if self.missing == "refuse" else str(self.missing)
        with LocalGainboard(data, for_browsers=for_browsers) as gainboard:
            gainboard.create_collection(collection, kind="scores")
            for name, table in zip(names, file.scores.values(), strict=True):
                lines = [csv_line(("system", "replicate", *file.topics))]
                for system, row in zip(file.systems, table.tolist(), strict=True):
                    lines.append(csv_line((*file.replicates.get(system, (system, "")), *row)))
                text = "".join(lines).encode()
                gainboard.put_score_matrix(collection, name, text, direction=self.direction, missing=missing)
            yield gainboard


@dataclass(frozen=True)
class CampaignOrFiles(OneCollection):
    """A collection of a server, or files that are loaded into a service of this command alone."""

    qrels: Annotated[str | None, QRELS] = None
    runs: Annotated[Sequence[str], RUNS] = ()
    replicates: Annotated[str | None, REPLICATES] = None
    of_scores: ScoreFiles = field(default_factory=ScoreFiles)
    corrected_by: str | None = None
    """A file of judgments on some of the topics, which becomes another judgment set (see `set_name`)."""

    @property
    def collection(self) -> str:
        """Return the name of the collection, also of one of files. Raise BadSetting if none is named."""
        return (self.named or NAME) if self.runs or self.of_scores.scores else super().collection

    @property
    def version(self) -> int | None:
        """Return the version of the judgments that is named. Raise BadSetting for a file without runs."""
        if self.runs or self.qrels is None:
            return None
        if (version := read_version(self.qrels)) is None:
            raise BadSetting(
                f"--qrels {self.qrels!r} is not the number of a version. To score files, name runs with --runs."
            )
        return version

    @contextmanager
    def connect(self) -> Iterator[Gainboard]:
        """Connect to the server, or to a service of its own into which the files are loaded.

        Raise BadSetting for files that cannot be used, and what `OneServer.connect` raises.
        """
        if self.of_scores.scores:
            if self.runs or self.qrels:
                raise BadSetting("Scores stand in place of judgments and runs. Leave out --qrels and --runs.")
            with self.of_scores.loaded(self.collection) as gainboard:
                yield gainboard
            return
        if not self.runs:
            with super().connect() as gainboard:
                yield gainboard
            return
        if self.qrels is None:
            raise BadSetting("Give both --qrels and --runs, or neither: then a collection of a server is meant.")
        with loaded(self.collection, self.qrels, self.runs, trusted=self.corrected_by, by=self.replicates) as gainboard:
            yield gainboard


@contextmanager
def loaded(
    name: str,
    qrels: str,
    runs: Sequence[str],
    data: Path | None = None,
    *,
    trusted: str | None = None,
    for_browsers: bool = False,
    by: str | None = None,
) -> Iterator[LocalGainboard]:
    """Start a service with a collection of these files, and end it. Its database is temporary, or in the folder `data`.

    `trusted` is a file of judgments on some of the topics, which becomes another judgment set (see `set_name`).

    Faulty runs are named on standard error and left out; at the end, they raise Told, but not for browsers. Raise
    BadSetting if a file is missing, the judgments are
    faulty, or no run is left.
    """
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="gainboard-") as unpacked:
        named = _find_runs(runs, Path(unpacked))
        for number, run in enumerate(named):
            system, replicate = run.split(by)
            team = system if run.team == run.name else run.team
            named[number] = replace(run, team=team, system=system, replicate=replicate) if replicate else run
        judgments = as_qrels(qrels)  # a dataset's are read once
        for file in ([Path(judgments)] if isinstance(judgments, str) else []) + [
            cast(Path, run.table) for run in named
        ]:
            if not file.exists():
                raise BadSetting(f"There is no file {file}. Check the name.")
        with LocalGainboard(data, for_browsers=for_browsers) as gainboard:
            left_out = _load(gainboard, name, qrels, judgments, named, trusted)
            yield gainboard
    if left_out and not for_browsers:
        raise Told  # of the faulty runs, before the answer


def set_name(file: str) -> str:
    """Return the name of the judgment set of a file, which is not that of the official one."""
    (named,) = name_runs([Path(file)])
    return f"{named.name}-set" if named.name == OFFICIAL else named.name


def _load(
    gainboard: LocalGainboard, name: str, qrels: str, source: Source, runs: Sequence[NamedRun], trusted: str | None
) -> int:
    """Load judgments and runs, and return how many faulty runs are left out."""
    from gainboard.client.errors import Problem  # noqa: PLC0415

    sets: list[tuple[str, Source, str | None]] = [(qrels, source, None)]
    sets += [(trusted, trusted, set_name(trusted))] if trusted else []
    reading, levels = qrels, 1
    try:
        for file, source, _ in sets:
            reading = file
            # The trusted judgments may have levels that the cheap ones never give.
            levels = max(levels, gainboard.survey(source).levels)
        gainboard.create_collection(name, levels)
        for file, source, judgments in sets:
            reading = file
            gainboard.put_qrels(name, source, judgments=judgments)
    except Problem as problem:
        tell_of_refusal(reading, problem)
        raise BadSetting("Nothing was loaded. Correct the judgments, or name another collection with -c.") from problem
    except OSError as error:
        raise BadSetting(f"Cannot read {reading}: {error.strerror or error}.") from error
    left_out = 0
    with ProgressLine("loading") as progress:
        for number, (run, added) in enumerate(gainboard.add(name, runs), start=1):
            progress.at(number, len(runs), run.name)
            if not isinstance(added, str):
                progress.clear()
                left_out += 1
                file = str(cast(Path, run.table))
                if isinstance(added, OSError):
                    print(printable(f"{file}: cannot be read: {added.strerror or added}"), file=sys.stderr)
                else:
                    tell_of_refusal(file, added)
    if left_out == len(runs):
        raise BadSetting("No run was loaded. Correct them, and try again.")
    if left_out:
        print(f"gainboard: {len(runs) - left_out} of {len(runs)} runs loaded, the others are faulty", file=sys.stderr)
    return left_out


def find_files(names: Sequence[str], unpacked: Path) -> list[Path]:
    """Return the files that `--runs` names; those of archives are unpacked into a folder. Raise BadSetting if none."""
    return [cast(Path, run.table) for run in _find_runs(names, unpacked)]


def _find_runs(names: Sequence[str], unpacked: Path) -> list[NamedRun]:
    plain: list[Any] = []
    for number, name in enumerate(names):
        path = Path(name)
        if path.is_file() and (_is_zip_of_files(path) or _is_tar(path)):
            plain += _unpack(path, unpacked / str(number))
        elif not (is_table(name) and path.exists()):
            plain.append(path)
    # A file at the top of an archive is in no folder that could name a team.
    tops = {unpacked / str(number) for number in range(len(names))}
    runs = [replace(run, team=run.name) if Path(str(run.table)).parent in tops else run for run in name_runs(plain)]
    for name in filter(is_table, names):
        rows = read_table(name, NO_DETAILS, [str(run.table) for run in runs])
        files = {row.file for row in rows}
        listed = name_runs([{row.name or run_name(Path(row.file)): Path(row.file)} for row in rows])
        runs = [run for run in runs if str(run.table) not in files]
        for run, row in zip(listed, rows, strict=True):
            team = row.team or row.system or run.team
            runs.append(replace(run, team=team, system=row.system, replicate=row.replicate))
    if not runs:
        raise BadSetting("No run is named. Name files, folders or archives of runs.")
    return runs


def _is_zip_of_files(path: Path) -> bool:
    # Workbooks are zips, too, and their refusal says what they are.
    if not zipfile.is_zipfile(path):
        return False
    from gainboard.trec.bodies import document_in_zip  # noqa: PLC0415 (with NumPy, and few runs are in a zip  # noqa: PLC0415 (with NumPy, and few runs are in a zip)

    with path.open("rb") as file:
        return document_in_zip(file.read(1 << 16)) is None


def _is_tar(path: Path) -> bool:
    """Return whether the file begins as a tar archive does. A run that is compressed is no archive."""
    block = b""
    try:
        with path.open("rb") as file:
            for piece in _pieces(file):
                block += piece
                if len(block) >= tarfile.BLOCKSIZE:
                    break
        tarfile.TarInfo.frombuf(block[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except (*UNREADABLE, BadInput):
        return False
    return True


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file, decompressed if it is compressed. Raise TooLarge."""
    from gainboard.cli.files import unpacked  # noqa: PLC0415 (with NumPy)
    from gainboard.trec.bodies import PIECE  # noqa: PLC0415 (as above)

    head = file.read(len(XZ))
    file.seek(0)
    other = bz2.open(file) if head.startswith(BZIP2) else lzma.open(file) if head == XZ else None  # noqa: SIM115
    if other is None:
        yield from unpacked(file)
        return
    size = 0
    with other:
        while piece := other.read(PIECE):
            size += len(piece)
            _require_bounded(size, file.tell())
            yield piece


def _require_bounded(content: int, packed: int) -> None:
    """Raise TooLarge if so many bytes unpack to more than a limit."""
    from gainboard.cli.files import limits_here, too_large  # noqa: PLC0415 (with NumPy)

    limits = limits_here()
    if content > limits.decompressed_bytes:
        raise too_large("GAINBOARD_MAX_DECOMPRESSED_BYTES", limits.decompressed_bytes)
    if content > limits.ratio_after + limits.ratio * packed:
        raise too_large("GAINBOARD_MAX_RATIO", limits.ratio)


def _unpack(archive: Path, to: Path) -> list[Path]:
    """Return the files of an archive, unpacked into a folder. Raise BadSetting, before a limit is exceeded."""
    from gainboard.trec.bodies import extract, require_plain_tar  # noqa: PLC0415 (with NumPy)

    to.mkdir()
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                # No member gives more than it says.
                _require_bounded(sum(member.file_size for member in zipped.infolist()), archive.stat().st_size)
                zipped.extractall(to)  # which leaves out `..` and roots
        else:
            with archive.open("rb") as file, tempfile.TemporaryFile(dir=to) as plain:
                plain.writelines(_pieces(file))
                require_plain_tar(plain)
                with tarfile.open(fileobj=plain, mode="r:") as tarred:
                    extract(tarred, to)
    except TooLarge as error:
        raise BadSetting(f"Cannot unpack {archive}. {error.message}") from error
    except (*UNREADABLE, BadInput) as error:
        raise BadSetting(f"Cannot unpack {archive}: {error}.") from error
    files = sorted(path for path in to.rglob("*") if path.is_file() and not path.name.startswith((".", "__MACOSX")))
    if not files:
        raise BadSetting(f"The archive {archive} has no files. Name one with runs.")
    return files
