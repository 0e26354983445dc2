"""The runs to submit: files, the files of a folder, or the rows of a CSV with each run's team and name."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gainboard.errors import BadSetting, Fault, FaultyFile
from gainboard.notation.sources import find_described_run, run_name
from gainboard.notation.texts import is_slug

COLUMNS = ("file", "team", "name", "description", "type", "pooled", "priority")
"""The columns of a CSV. Only `file` is needed, or `run`, which is the name of a file beside the CSV."""
_PRIORITY = re.compile(r"[1-9][0-9]{0,3}\Z")
_POOLED = {"yes": True, "no": False}


@dataclass(frozen=True)
class Submission:
    """A run file with the details that are sent with it; None leaves a detail to the service."""

    file: str
    team: str | None
    name: str | None
    description: str | None
    type: str | None
    pooled: bool | None
    priority: int | None = None
    metadata: str | None = None
    """A file of ir_metadata beside it."""


NO_DETAILS = Submission("", None, None, None, None, None)


def read_submissions(names: Sequence[str], default: Submission) -> list[Submission]:
    """Return the runs that files, folders and CSVs name. What a row of a CSV leaves empty is as in `default`.

    A file of ir_metadata goes with the run that it is named like: `bm25.ir_metadata.yml`, or `ir_metadata.yml` with the
    only run of its folder. Raise FaultyFile with all faults of all CSVs, and BadSetting for a folder without files, or
    for such a file without a run.
    """
    found: list[Submission] = []
    beside: list[Path] = []
    faults: list[Fault] = []
    for name in names:
        for file in _files(Path(name)) if Path(name).is_dir() else [Path(name)]:
            if find_described_run(file) is not None:
                beside.append(file)
            elif not is_table(name):
                found.append(replace(default, file=str(file) if Path(name).is_dir() else name))
    for name in filter(is_table, names):
        try:
            rows = read_table(name, default, [each.file for each in found])
        except FaultyFile as error:
            faults += [replace(fault, file=name) for fault in error.faults]
        else:
            files = {each.file for each in rows}
            found = [*(each for each in found if each.file not in files), *rows]
    if faults:
        raise _faulty(faults)
    return _with_metadata(found, beside)


def _with_metadata(runs: Sequence[Submission], given: Sequence[Path]) -> list[Submission]:
    """Return the runs with the files of ir_metadata that were given, or that are beside them under their names."""
    of_file = {each.file: each.metadata for each in runs}
    for file in given:
        own = [each.file for each in runs if Path(each.file).parent == file.parent]
        if key := find_described_run(file):
            own = [run for run in own if key in (Path(run).name, run_name(Path(run)))]
        if len(own) != 1:
            raise BadSetting(
                f"{file} does not tell which run it is about. Call it RUN.ir_metadata.yml, after the file of the run, "
                "or name it for one run: --metadata FILE. Nothing was sent."
            )
        of_file[own[0]] = str(file)
    for each in runs:
        path = Path(each.file)
        names = [f"{name}.ir{sign}metadata.yml" for name in (path.name, run_name(path)) for sign in "_-"]
        there = (str(path.with_name(name)) for name in names if path.with_name(name).is_file())
        of_file[each.file] = of_file[each.file] or next(there, None)
    return [replace(each, metadata=of_file[each.file]) for each in runs]


def read_table(name: str, default: Submission, beside: Sequence[str] = ()) -> list[Submission]:
    """Return the runs that a CSV names: files, or with the column `run` in place of `file`, some of those `beside` it.

    Raise FaultyFile with all faults.
    """
    path, named = Path(name), _by_name(beside)
    rows = [(line, _with_file(path, row, named)) for line, row in _rows(path)]
    if not rows:
        raise _faulty([Fault("empty-file", "The CSV names no file. Write one line for each run below the columns", 1)])
    faults = [*(fault for line, row in rows for fault in _faults(path, line, row)), *_repeated(rows)]
    if faults:
        raise _faulty(sorted(faults, key=lambda fault: fault.line or 0))
    return [_submission(row, default) for _, row in rows]


def is_table(name: str) -> bool:
    """Return whether this is the name of a CSV of runs."""
    return name.lower().endswith(".csv")


def _by_name(files: Sequence[str]) -> dict[str, str]:
    """Return files by their names without folders and suffixes, as the column `run` has them, if these are distinct."""
    times = Counter(run_name(Path(file)) for file in files)
    return {name: file for file in files if times[name := run_name(Path(file))] == 1}


def _files(folder: Path) -> list[Path]:
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
    except OSError as error:
        raise BadSetting(f"Cannot read {folder}: {error.strerror or error}.") from error
    if not files:
        raise BadSetting(f"The folder {folder} has no files. Name a folder with run files.")
    return files


def _with_file(path: Path, row: dict[str, str], beside: Mapping[str, str]) -> dict[str, str]:
    """Return a row with the whole path of its file. The run of a file beside the CSV is named as in the CSV."""
    if run := row.get("run"):
        return {**row, "file": beside[run], "name": row.get("name") or run} if run in beside else row
    return {**row, "file": str(path.parent / row["file"])} if row.get("file") else row


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the cells of each row by column, with the number of the line on which the row begins."""
    try:
        # Spreadsheet programs put a byte order mark before UTF-8.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            headings = [heading.strip() for heading in next(reader, [])]
            known = {"file", "run"} & set(headings)
            if len(known) != 1 or not set(headings) <= {*COLUMNS, "run"} or len(set(headings)) < len(headings):
                message = f"The first line must name the columns: file or run, and any of {', '.join(COLUMNS[1:])}"
                raise _faulty([Fault("bad-columns", f"{message}. It is {','.join(headings)!r}", 1)])
            line = reader.line_num + 1
            for cells in reader:
                if len(cells) > len(headings):
                    yield line, {"": f"The row has {len(cells)} cells, but there are {len(headings)} columns"}
                elif any(map(str.strip, cells)):
                    yield line, dict(zip(headings, map(str.strip, cells), strict=False))
                line = reader.line_num + 1
    except csv.Error as error:
        raise _faulty([Fault("bad-columns", f"The CSV cannot be read: {error}", reader.line_num)]) from error
    except UnicodeError as error:
        raise _faulty([Fault("bad-encoding", "The CSV is not in UTF-8. Save it in UTF-8")]) from error
    except OSError as error:
        raise BadSetting(f"Cannot read {path}: {error.strerror or error}.") from error


def _submission(row: Mapping[str, str], default: Submission) -> Submission:
    return Submission(
        row["file"],
        row.get("team") or default.team,
        row.get("name") or default.name,
        row.get("description") or default.description,
        row.get("type") or default.type,
        _POOLED.get(row.get("pooled", ""), default.pooled),
        int(row["priority"]) if row.get("priority") else default.priority,
    )


def _faults(path: Path, line: int, row: Mapping[str, str]) -> Iterator[Fault]:
    if "" in row:
        yield Fault("bad-columns", f"{row['']}. Put a cell with a comma into double quotes", line)
        return
    if not (file := row.get("file")):
        if run := row.get("run"):
            message = f"No file, or more than one, is called {run!r}. Name the runs with the table: runs/* {path}"
        else:
            message = "The row names no file"
        yield Fault("no-file", message, line)
    elif not Path(file).is_file():
        yield Fault("no-file", f"There is no file {file!r}. Paths begin at the CSV's folder", line)
    for column in ("team", "name"):
        if (given := row.get(column)) and not is_slug(given):
            allowed = "letters, digits, `.`, `_` and `-`, at most 128, first a letter or digit"
            yield Fault(f"bad-{column}", f"{given!r} is not a {column}. Use {allowed}", line)
    if (given := row.get("pooled")) and given not in _POOLED:
        yield Fault("bad-pooled", f"{given!r} is neither yes nor no", line)
    if (given := row.get("priority")) and not _PRIORITY.match(given):
        yield Fault("bad-priority", f"{given!r} is not a whole number from 1, such as 2", line)


def _repeated(rows: Sequence[tuple[int, Mapping[str, str]]]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for line, row in rows:
        if (name := row.get("name")) and first.setdefault(name, line) != line:
            message = f"The name {name!r} is in line {first[name]}, too. Names are unique in a collection"
            yield Fault("repeated-name", message, line)


def _faulty(faults: Sequence[Fault]) -> FaultyFile:
    return FaultyFile(faults, len(faults))
