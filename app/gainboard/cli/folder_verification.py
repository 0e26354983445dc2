"""The folder of a release, beside the same folder made again of its judgments, runs and uploaded scores."""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, Literal, TextIO, get_args

from gainboard.cli.folders import DOCUMENT, SUMS, pack_files, read_json
from gainboard.cli.options import environment_here
from gainboard.cli.printing import printable
from gainboard.cli.progress import ProgressLine
from gainboard.errors import BadInput, BadSetting, Refused

LISTING: Final = ("index.html", "ro-crate-metadata.json")
"""The files that list others."""
SHOWN: Final = (".html", ".css", ".js", "check.py", "schema.json", "ro-crate-metadata.json")
"""The ends of files of which another version of Gainboard may write others for the same numbers."""
MOST_SHOWN: Final = 80
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")

Outcome = Literal["identical", "equal", "differs", "not compared"]


@dataclass(frozen=True)
class FileComparison:
    """A file of a folder beside the one that it should be."""

    path: str
    outcome: Outcome
    why: str = ""

    def __str__(self) -> str:
        joint = ", because " if self.outcome == "not compared" else ": "
        return printable(f"{self.path}: {self.outcome}{joint if self.why else ''}{self.why}")


def compare_file(path: str, there: bytes, expected: bytes) -> FileComparison:
    """Compare two contents of a file. They are equal if only the last digits of numbers differ (1e-12 relative)."""
    if there == expected:
        return FileComparison(path, "identical")
    try:
        texts = there.decode(), expected.decode()
    except UnicodeDecodeError:
        at = next(
            (number for number, pair in enumerate(zip(there, expected, strict=False)) if pair[0] != pair[1]), None
        )
        at = min(len(there), len(expected)) if at is None else at
        return FileComparison(path, "differs", f"from byte {at + 1} on")
    ours, theirs = map(_NUMBER.split, texts)
    if len(ours) == len(theirs) and all(map(_is_close, ours, theirs)):
        return FileComparison(path, "equal", "only last digits of numbers differ, by at most 1e-12 relative")
    return FileComparison(path, "differs", _json_difference(*texts) or _line_difference(*texts))


def _is_close(one: str, other: str) -> bool:
    if one == other:
        return True
    # Counts and names have no last digits.
    if not all("." in text and _NUMBER.fullmatch(text) for text in (one, other)):
        return False
    numbers = float(one), float(other)
    return all(map(math.isfinite, numbers)) and math.isclose(*numbers, rel_tol=1e-12, abs_tol=0)


def _json_difference(there: str, expected: str) -> str:
    """Return the first place where two values of JSON differ; empty if they are no JSON, or equal values."""
    from gainboard.analyses.verify import compare  # noqa: PLC0415

    try:
        differences = compare(json.loads(there), json.loads(expected)).differences
    except (ValueError, RecursionError):
        return ""
    return next(
        (f"{it.place}: expected {_cut(repr(it.computed))}, found {_cut(repr(it.stored))}" for it in differences), ""
    )


def _line_difference(there: str, expected: str) -> str:
    lines, wanted = there.splitlines(keepends=True), expected.splitlines(keepends=True)
    number = next((at for at, pair in enumerate(zip(lines, wanted, strict=False)) if pair[0] != pair[1]), None)
    if number is None:
        number = min(len(lines), len(wanted))
        ours, theirs = (texts[number] if number < len(texts) else "no line" for texts in (lines, wanted))
    else:
        ours, theirs = lines[number], wanted[number]
    first = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, first - MOST_SHOWN // 2) if max(len(ours), len(theirs)) > MOST_SHOWN else 0
    return f"line {number + 1}: expected {_cut(repr(theirs[start:]))}, found {_cut(repr(ours[start:]))}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


@dataclass(frozen=True)
class ReleaseFolder:
    """The folder of a release. `runs` are files by their SHA-256, where the folder has none."""

    path: Path
    runs: Mapping[str, Path]
    temporary: Path

    @property
    def log(self) -> str | None:
        """The place of its history, or in older folders of the audit log; None if it has neither."""
        from gainboard.evaluation.releases.releases import HISTORY, WHOLE_LOG  # noqa: PLC0415  # noqa: PLC0415

        return next((name for name in (HISTORY, WHOLE_LOG) if (self.path / name).is_file()), None)

    def compare(self) -> Iterator[FileComparison]:
        """Make the folder again, and yield the comparison of each file. Raise BadSetting if that is impossible."""
        from gainboard import acceleration  # noqa: PLC0415
        from gainboard.dashboard.archives import Archive  # noqa: PLC0415  # imports all that computes
        from gainboard.evaluation.access.principals import Sender  # noqa: PLC0415
        from gainboard.jobs.remaking import make_again  # noqa: PLC0415
        from gainboard.main import open_workspace  # noqa: PLC0415
        from gainboard.settings import Settings  # noqa: PLC0415

        document, token = read_json(self.path / DOCUMENT), secrets.token_urlsafe()
        log = (self.path / self.log).read_bytes() if self.log else None
        settings = Settings.read(environment_here(), data=self.temporary / "data", admin_token=token)
        if settings.fast == "on":
            acceleration.load_kept()
        workspace, _ = open_workspace(settings)
        try:
            with self._packed(document).open("rb") as packed, ProgressLine("computing") as progress:
                written = (self.path / DOCUMENT).read_bytes()
                again = make_again(workspace, Sender.of(token), packed, written, log, settings.slots, progress.at)
            # A service without the `figures` extra draws none.
            drawn = any(self.path.glob("data/results/*/figures/*"))
            archive = Archive(workspace, again.collection, again.release, log=self.log, has_figures=drawn)
            with archive.write() as written_again:
                yield from self._compare_all(written_again, document, again.not_made)
        except BadSetting:
            raise
        except (BadInput, Refused) as error:
            raise BadSetting(f"{self.path} cannot be made again: {error.message}") from error
        finally:
            workspace.database.close()

    def _packed(self, document: Mapping[str, Any]) -> Path:
        """Write what the release is made of, without results, as a folder to import. Raise BadSetting if it differs."""
        files = dict(self._inputs(document))
        wrong = []
        for path, (sha256, file) in files.items():
            there = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
            if there != sha256 and file not in self.runs.values():
                wrong.append(path)
                was = f"was changed: its SHA-256 is {there}, and" if there else "is missing:"
                print(printable(f"{path} {was} {DOCUMENT} says {sha256}"), file=sys.stderr)
        if wrong:
            raise BadSetting(
                f"{len(wrong)} of {len(files)} files that the release was made of are not there, such as {wrong[0]}. "
                "Nothing was computed. Copy the folder again, or name missing runs: --runs FILE..."
            )
        runs = []
        for run in document["runs"]:
            is_described = (self.path / f"data/runs/{run['name']}.ir_metadata.yml").is_file()
            runs.append({**run, "metadata_sha256": run.get("metadata_sha256") if is_described else None})
        plain = {**document, "runs": runs, "results": [], "reports": [], "boards": [], "scores": {}, "topics": []}
        plain["release"] = {**document["release"], "run_files": True}
        packed: dict[str, Path | bytes] = {path: file for path, (_, file) in files.items()}
        return pack_files({**packed, DOCUMENT: json.dumps(plain).encode()}, self.temporary / "release.tar")

    def _inputs(self, document: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Path]]]:
        """Yield the path of each file of which the release was made, with its SHA-256 and where it is."""
        named = [(f"data/qrels/{it['judgments']}-{it['version']}.txt", it["sha256"]) for it in document["judgments"]]
        matrices = document.get("score_matrices", ())
        named += [(f"data/score-matrices/{it['name']}-{it['version']}.csv", it["csv_sha256"]) for it in matrices]
        named += [(f"data/nuggets/{it['version']}.jsonl", it["sha256"]) for it in document.get("nuggets", ())]
        # The systems of a collection of scores have no files.
        for run in document["runs"] if document["settings"].get("kind") != "scores" else ():
            named.append((f"data/runs/{run['name']}.txt", run["sha256"]))
            if document["release"]["run_files"] and run.get("metadata_sha256"):
                named.append((f"data/runs/{run['name']}.ir_metadata.yml", run["metadata_sha256"]))
        for path, sha256 in named:
            file = self.path / path
            yield path, (sha256, file if file.is_file() else self.runs.get(sha256, file))

    def _compare_all(
        self, again: IO[bytes], document: Mapping[str, Any], not_made: Mapping[str, str]
    ) -> Iterator[FileComparison]:
        there = {path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file()}
        excuses, seen = Excuses(document, not_made, there), {SUMS, self.log}
        with tarfile.open(fileobj=again) as archive:
            for entry in archive:
                if entry.name in seen:
                    continue
                seen.add(entry.name)
                expected = archive.extractfile(entry)
                assert expected is not None, "an archive has files alone"
                if entry.name in there:
                    content = (self.path / entry.name).read_bytes()
                    yield excuses.excuse(compare_file(entry.name, content, expected.read()))
                else:
                    yield excuses.excuse(FileComparison(entry.name, "differs", "the file is missing"))
        for path in sorted(there - seen):
            yield excuses.excuse(FileComparison(path, "differs", "a release has no such file"))
        yield self._compare_log(document)
        hashes = {path: hashlib.sha256((self.path / path).read_bytes()).hexdigest() for path in there - {SUMS}}
        sums = "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))
        yield compare_file(SUMS, (self.path / SUMS).read_bytes(), sums.encode())

    def _compare_log(self, document: Mapping[str, Any]) -> FileComparison:
        from gainboard.evaluation.audit import read_line, verify  # noqa: PLC0415
        from gainboard.evaluation.releases.releases import HISTORY, WHOLE_LOG, read_history  # noqa: PLC0415  # noqa: PLC0415

        if self.log is None:
            return FileComparison(HISTORY, "not compared", "the folder has no history")
        text = (self.path / self.log).read_text("utf-8", "replace")
        try:
            entries = list(read_history(text, document))
        except ValueError as error:
            return FileComparison(self.log, "differs", str(error))
        if self.log == WHOLE_LOG and (fault := verify(map(read_line, text.splitlines()), has_gaps=True).fault):
            return FileComparison(self.log, "differs", fault)
        sha256 = hashlib.sha256((self.path / DOCUMENT).read_bytes()).hexdigest()
        if not entries or entries[-1]["sha256"] != sha256:
            return FileComparison(
                self.log, "differs", f"its last entry is not about {DOCUMENT} with the SHA-256 {sha256}"
            )
        named = document["audit"] if document["form"] > 1 else None
        if named and all(entry["hash"] != named["hash"] for entry in entries):
            return FileComparison(self.log, "differs", f"no entry has the hash {named['hash']}, which {DOCUMENT} names")
        return FileComparison(
            self.log, "not compared", "nobody can make it again. Its last entry is about this release"
        )


class Excuses:
    """The reasons for which files of a folder cannot be compared, though they differ."""

    def __init__(self, document: Mapping[str, Any], not_made: Mapping[str, str], there: set[str]) -> None:
        from gainboard.jobs.verification import environment  # noqa: PLC0415

        self._by_start = {
            start: why
            for key, why in not_made.items()
            for start in (f"data/results/{key}/", f"results/{key[:16]}.html")
        }
        self._listing = f"it lists a result that was not compared: {next(iter(not_made.values()))}" if not_made else ""
        made_by, here = str(document["made_by"]["environment"]), environment()
        self._libraries = "" if made_by == here else f"it was made by {made_by}, and here is {here}"
        self._version = self._libraries if made_by.partition(",")[0] != here.partition(",")[0] else ""
        is_drawn = find_spec("matplotlib") is not None or not any(path.endswith(".svg") for path in there)
        self._drawing = "" if is_drawn else "no figures are drawn here. Install the `figures` extra"

    def excuse(self, compared: FileComparison) -> FileComparison:
        """Return the comparison, or that of a file that cannot be compared."""
        if compared.outcome != "differs" or not (why := self._why(compared.path)):
            return compared
        return FileComparison(compared.path, "not compared", why)

    def _why(self, path: str) -> str:
        for start, why in self._by_start.items():
            if path.startswith(start):
                return why
        if self._listing and path in LISTING:
            return self._listing
        if self._drawing and (path.endswith(".svg") or path.startswith("results/") or path == LISTING[1]):
            return self._drawing
        if path.endswith(".svg"):
            return self._libraries
        return self._version if path.endswith(SHOWN) else ""


def tell(compared: Sequence[FileComparison], stream: TextIO | None = None) -> int:
    """Print the comparison of each file, and what they come to. Return the exit code: 1 if a file differs."""
    for comparison in compared:
        print(comparison, file=stream)
    counts = {outcome: sum(comparison.outcome == outcome for comparison in compared) for outcome in get_args(Outcome)}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    print(f"{len(compared)} files: {told}", file=sys.stderr)
    return 1 if counts["differs"] else 0
