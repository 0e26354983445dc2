"""The runs to submit: files, the files of a folder, or the rows of a CSV with each run's team and name."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gainboard.cli.options import readable
from gainboard.errors import BadSetting, Fault, FaultyFile
from gainboard.notation.sources import find_described_run, run_name
from gainboard.notation.texts import is_slug

COLUMNS = ("file", "team", "name", "description", "type", "pooled", "priority", "system", "replicate", "family")
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
    system: str | None = None
    replicate: str | None = None
    family: str | None = None


NO_DETAILS = Submission("", None, None, None, None, None)


def read_submissions(names: Sequence[str], default: Submission) -> list[Submission]:
    """Return the runs that files, folders and CSVs name. What a row of a CSV leaves empty is as in `default`.

    A file of ir_metadata goes with the run that it is named like: `bm25.ir_metadata.yml`, or `ir_metadata.yml` with the
    only run of its folder. Raise FaultyFile with all faults of all CSVs, and BadSetting for a folder without files, or
    for such a file without a run.
    """
    runs: list[Submission] = []
    beside: list[Path] = []
    faults: list[Fault] = []
    for name in names:
        for file in _list_files(Path(name)) if Path(name).is_dir() else [Path(name)]:
            if find_described_run(file) is not None:
                beside.append(file)
            elif not is_table(name):
                runs.append(replace(default, file=str(file) if Path(name).is_dir() else name))
    # Tables come last, because they may be about files that are named after them.
    for name in filter(is_table, names):
        try:
            rows = read_table(name, default, [run.file for run in runs])
        except FaultyFile as error:
            faults += [replace(fault, file=name) for fault in error.faults]
        else:
            listed = {row.file for row in rows}
            runs = [*(run for run in runs if run.file not in listed), *rows]
    if faults:
        raise FaultyFile(faults, len(faults))
    return _add_metadata(runs, beside)


def _list_files(folder: Path) -> list[Path]:
    with readable(folder):
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise BadSetting(f"The folder {folder} has no files. Name a folder with run files.")
    return files


def _add_metadata(runs: Sequence[Submission], described: Sequence[Path]) -> list[Submission]:
    """Return the runs with the files of ir_metadata that are named, or that are beside them under their names."""
    by_run = {run.file: run.metadata for run in runs}
    for file in described:
        fitting = [run.file for run in runs if Path(run.file).parent == file.parent]
        if key := find_described_run(file):
            fitting = [run for run in fitting if key in (Path(run).name, run_name(Path(run)))]
        if len(fitting) != 1:
            raise BadSetting(
                f"{file} does not tell which run it is about. Call it RUN.ir_metadata.yml, after the file of the run, "
                "or name it for one run: --metadata FILE. Nothing was sent."
            )
        by_run[fitting[0]] = str(file)
    for run in runs:
        path = Path(run.file)
        names = [f"{name}.ir{sign}metadata.yml" for name in (path.name, run_name(path)) for sign in "_-"]
        there = (str(path.with_name(name)) for name in names if path.with_name(name).is_file())
        by_run[run.file] = by_run[run.file] or next(there, None)
    return [replace(run, metadata=by_run[run.file]) for run in runs]


def read_table(name: str, default: Submission, beside: Sequence[str] = ()) -> list[Submission]:
    """Return the runs that a CSV names: files, or with the column `run` in place of `file`, some of those `beside` it.

    Raise FaultyFile with all faults.
    """
    path, rows = Path(name), list(_read_rows(Path(name)))
    if not rows:
        raise _fault("empty-file", "The CSV names no file. Write one line for each run below the columns", 1)
    times = Counter(run_name(Path(file)) for file in beside)
    by_name = {run: file for file in beside if times[run := run_name(Path(file))] == 1}
    faults: list[Fault] = []
    first: dict[str, int] = {}
    for line, row in rows:
        if key := row.get("run"):
            row |= {"file": by_name[key], "name": row.get("name") or key} if key in by_name else {}
        elif row.get("file"):
            row["file"] = str(path.parent / row["file"])
        faults += _find_faults(path, line, row)
        if (unique := row.get("name")) and first.setdefault(unique, line) != line:
            message = f"The name {unique!r} is in line {first[unique]}, too. Names are unique in a collection"
            faults.append(Fault("repeated-name", message, line))
    if faults:
        raise FaultyFile(faults, len(faults))
    return [
        Submission(
            row["file"],
            row.get("team") or default.team,
            row.get("name") or default.name,
            row.get("description") or default.description,
            row.get("type") or default.type,
            _POOLED.get(row.get("pooled", ""), default.pooled),
            int(row["priority"]) if row.get("priority") else default.priority,
            system=row.get("system") or default.system,
            replicate=row.get("replicate") or default.replicate,
            family=row.get("family") or default.family,
        )
        for _, row in rows
    ]


def is_table(name: str) -> bool:
    """Return whether this is the name of a CSV of runs."""
    return name.lower().endswith(".csv")


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the cells of each row by column, with the number of the line on which the row begins."""
    # Spreadsheet programs put a byte order mark before UTF-8.
    with readable(path), path.open(encoding="utf-8-sig", newline="") as file:
        try:
            reader = csv.reader(file, strict=True)
            headings = [heading.strip() for heading in next(reader, [])]
            if (
                len({"file", "run"} & set(headings)) != 1
                or not set(headings) <= {*COLUMNS, "run"}
                or len(set(headings)) < len(headings)
            ):
                message = f"The first line must name the columns: file or run, and any of {', '.join(COLUMNS[1:])}"
                raise _fault("bad-columns", f"{message}. It is {','.join(headings)!r}", 1)
            line = reader.line_num + 1
            for cells in reader:
                if len(cells) > len(headings):
                    yield line, {"": f"The row has {len(cells)} cells, but there are {len(headings)} columns"}
                elif any(map(str.strip, cells)):
                    yield line, dict(zip(headings, map(str.strip, cells), strict=False))
                line = reader.line_num + 1
        except csv.Error as error:
            raise _fault("bad-columns", f"The CSV cannot be read: {error}", reader.line_num) from error
        except UnicodeError as error:
            raise _fault("bad-encoding", "The CSV is not in UTF-8. Save it in UTF-8") from error


def _find_faults(path: Path, line: int, row: Mapping[str, str]) -> Iterator[Fault]:
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
    for column in ("team", "name", "system", "replicate", "family"):
        if (word := row.get(column)) and not is_slug(word):
            allowed = "letters, digits, `.`, `_` and `-`, at most 128, first a letter or digit"
            yield Fault(f"bad-{column}", f"{word!r} is not a {column}. Use {allowed}", line)
    if (word := row.get("pooled")) and word not in _POOLED:
        yield Fault("bad-pooled", f"{word!r} is neither yes nor no", line)
    if (word := row.get("priority")) and not _PRIORITY.match(word):
        yield Fault("bad-priority", f"{word!r} is not a whole number from 1, such as 2", line)


def _fault(code: str, message: str, line: int | None = None) -> FaultyFile:
    return FaultyFile([Fault(code, message, line)], 1)
