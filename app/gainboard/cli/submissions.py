"""The runs to submit: files, the files of a folder, or the rows of a CSV with each run's team and name."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gainboard.errors import BadSetting, Fault, FaultyFile
from gainboard.notation.texts import is_slug

COLUMNS = ("file", "team", "name", "description", "type", "pooled", "priority")
"""The columns of a CSV. Only `file` is needed."""
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


def read_submissions(name: str, default: Submission) -> list[Submission]:
    """Return the runs that a file, a folder or a CSV names. What a row of a CSV leaves empty is as in `default`.

    Raise FaultyFile with all faults of a CSV, and BadSetting for a folder without files.
    """
    path = Path(name)
    if path.is_dir():
        return [replace(default, file=str(each)) for each in _files(path)]
    if path.suffix.lower() == ".csv":
        return _listed(path, default)
    return [replace(default, file=name)]


def _files(folder: Path) -> list[Path]:
    try:
        files = sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
    except OSError as error:
        raise BadSetting(f"Cannot read {folder}: {error.strerror or error}.") from error
    if not files:
        raise BadSetting(f"The folder {folder} has no files. Name a folder with run files.")
    return files


def _listed(path: Path, default: Submission) -> list[Submission]:
    rows = list(_rows(path))
    if not rows:
        raise _faulty([Fault("empty-file", "The CSV names no file. Write one line for each run below the columns", 1)])
    faults = [*(fault for line, row in rows for fault in _faults(path, line, row)), *_repeated(rows)]
    if faults:
        raise _faulty(sorted(faults, key=lambda fault: fault.line or 0))
    return [_submission(path, row, default) for _, row in rows]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the cells of each row by column, with the number of the line on which the row begins."""
    try:
        # Spreadsheet programs put a byte order mark before UTF-8.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            headings = [heading.strip() for heading in next(reader, [])]
            if "file" not in headings or not set(headings) <= set(COLUMNS) or len(set(headings)) < len(headings):
                message = f"The first line must name the columns: file, and any of {', '.join(COLUMNS[1:])}"
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


def _submission(path: Path, row: Mapping[str, str], default: Submission) -> Submission:
    return Submission(
        str(path.parent / row["file"]),
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
        yield Fault("no-file", "The row names no file", line)
    elif not (path.parent / file).is_file():
        yield Fault("no-file", f"There is no file {str(path.parent / file)!r}. Paths begin at the CSV's folder", line)
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
