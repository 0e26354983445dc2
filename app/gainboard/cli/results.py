"""What came out of a job or report: on the page, or as files in a folder."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from gainboard.cli.listing import aligned, print_json, printable
from gainboard.cli.progress import Progress
from gainboard.client import Job, Problem, Report
from gainboard.errors import BadSetting

Work = Job | Report
FORMATS = ("table", "csv", "json", "latex")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


def resulting(parser: argparse.ArgumentParser) -> None:
    """The options of commands that show a result."""
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help="of the output (default: table)")
    parser.add_argument("--table", metavar="NAME", help="which table (default: the first; JSON has all)")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write all into this folder instead: JSON, CSV, LaTeX, SVG"
    )


def give(work: Work, parsed: argparse.Namespace) -> None:
    """Shows the result as the command line says. Raises Problem where there is none."""
    if parsed.output is not None:
        _write(work, parsed.output)
    elif parsed.format == "json":
        print_json(work.result())
    elif parsed.format == "latex":
        print(work.latex(parsed.table), end="")
    elif parsed.format == "csv":
        print(work.table(parsed.table).csv, end="")
    else:
        _print_table(work, parsed.table)


def _print_table(work: Work, name: str | None) -> None:
    columns = work.table(name).columns()
    print(aligned(list(columns), list(zip(*columns.values(), strict=True))), end="")
    tables, figures = _names(work)
    chosen = name or tables[0]
    if others := [each for each in tables if each != chosen]:
        print(f"other tables (--table NAME): {', '.join(others)}", file=sys.stderr)
    if figures:
        print(f"figures (--output DIR): {', '.join(figures)}", file=sys.stderr)


def _write(work: Work, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _files(work):
            # As it came: CSV has line ends of its own.
            (folder / name).write_bytes(text.encode())
            print(folder / name, flush=True)
    except OSError as error:
        raise BadSetting(f"Cannot write {error.filename}: {error.strerror}.") from error


def _files(work: Work) -> Iterator[tuple[str, str]]:
    yield "result.json", json.dumps(work.result(), ensure_ascii=False, indent=2) + "\n"
    tables, figures = _names(work)
    total = len(tables) + len(figures)
    with Progress("writing") as progress:
        for done, name in enumerate(tables):
            progress.at(done, total)
            yield f"{name}.csv", work.table(name).csv
            yield f"{name}.tex", work.latex(name)
        for done, name in enumerate(figures, start=len(tables)):
            progress.at(done, total)
            try:
                yield f"{name}.svg", work.figure(name)
            except Problem as problem:
                if problem.type != "not-found":
                    raise
                print(f"gainboard: {printable(problem.detail)}", file=sys.stderr)  # a server that does not draw
                return


def _names(work: Work) -> tuple[list[str], list[str]]:
    shown = work.latest if work.latest.tables is not None else work.refresh()
    tables = [each.name for each in shown.tables or ()]
    figures = [each.name for each in shown.figures or ()]
    if odd := [name for name in (*tables, *figures) if not _FILE_NAME.match(name)]:
        raise BadSetting(f"The server calls a table or figure {odd[0]!r}, which is no name of a file.")
    return tables, figures
