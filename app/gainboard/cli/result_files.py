"""The result of a job or report as files in a folder: JSON, CSV, LaTeX, SVG, and a page that lists them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from gainboard.cli.printing import printable
from gainboard.cli.progress import ProgressLine
from gainboard.client import Job, Problem, Report
from gainboard.errors import BadSetting

JobOrReport = Job | Report
RESULT, DEPENDS_ON, INDEX = "result.json", "depends_on.json", "index.html"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
img {{ max-width: 100% }}
</style>
</head>
<body>
<h1>{title}</h1>
{parts}
</body>
</html>
"""


FIGURES = "figures/"
NOT_MADE = ("not-found", "no-result")
"""The problems of a service that does not draw or lay out a result."""


def write_files(work: JobOrReport, folder: Path) -> None:
    """Write the whole result into a folder, and print the names of the files.

    Raise BadSetting if that fails, or if the service draws no figures: everything else is written then.
    """
    not_drawn: list[str] = []
    written: set[str] = set()
    try:
        folder.mkdir(parents=True, exist_ok=True)

        def write(name: str, text: str) -> None:
            # The CSV is written unchanged, because it has line ends of its own.
            (folder / name).write_bytes(text.encode())
            written.add(name)
            print(folder / name, flush=True)

        for name, text in _files(work, not_drawn):
            write(name, text)
        write(INDEX, index_of(work, written))
    except OSError as error:
        raise BadSetting(f"Cannot write {error.filename}: {error.strerror}.") from error
    if not_drawn:
        raise BadSetting(
            f"Results and tables are written, but not the figures ({', '.join(not_drawn)}): where they are drawn, "
            "Gainboard has no `figures` extra. Install it there, in the folder of Gainboard's source (pip install "
            "'.[figures]'), and ask again: a service has kept the result."
        )


def exhibits_of(work: JobOrReport) -> tuple[dict[str, str], dict[str, str]]:
    """Return the captions of the tables and of the figures, by name. Raise BadSetting if a name is no file name."""
    shown = work.latest if work.latest.tables is not None else work.refresh()
    tables = {table.name: table.caption for table in shown.tables or ()}
    figures = {figure.name: figure.caption for figure in shown.figures or ()}
    # These become names of files here, and a server must not choose where we write.
    if odd := [name for name in (*tables, *figures) if not _FILE_NAME.match(name)]:
        raise BadSetting(
            f"The server names a table or figure {odd[0]!r}, which is not a valid file name. Nothing was written for "
            "it."
        )
    return tables, figures


def _files(work: JobOrReport, not_drawn: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file. Add the names of figures that the service does not draw."""
    makers = list(makers_of(work))  # which refuses strange names, before anything is written
    yield RESULT, json.dumps(work.result_json(), ensure_ascii=False, indent=2) + "\n"
    if (depended := work.dependencies()) is not None:
        yield DEPENDS_ON, json.dumps(depended, ensure_ascii=False, indent=2) + "\n"
        yield from _score_matrices(work, depended)
    with ProgressLine("writing") as progress:
        for done, (folder, name, make) in enumerate(makers):
            progress.at(done, len(makers))
            try:
                yield name, make()
            except Problem as problem:
                if folder != FIGURES or problem.type not in NOT_MADE:
                    raise
                not_drawn += exhibits_of(work)[1]  # servers without the `figures` extra do not draw
                return


def makers_of(work: JobOrReport) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield the folder of each table and figure in a release, its file's name, and what makes its content."""
    tables, figures = exhibits_of(work)
    printed = {table.name for table in work.latest.tables or () if table.latex is not None}
    for name in tables:
        yield "tables/", f"{name}.csv", lambda name=name: work.table(name).csv  # type: ignore[misc]
        if name in printed:
            yield "tables/", f"{name}.tex", partial(work.latex, name)
    for name in figures:
        yield FIGURES, f"{name}.svg", partial(work.figure, name)


def _score_matrices(work: JobOrReport, depended: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the uploaded scores that a result depends on, where `gainboard verify` finds them; but not deleted ones."""
    wanted = depended.get("score_matrices", ())
    scores = work.uploaded_scores() if wanted else {}
    for matrix in wanted:
        name, version = str(matrix["name"]), int(matrix["version"])
        if (text := scores.get(f"custom:{name}(version={version})")) is None:
            print(printable(f"custom:{name} was deleted, so its scores are left out"), file=sys.stderr)
        elif _FILE_NAME.match(name):
            yield f"score-matrix-{name}-{version}.csv", text


def index_of(work: JobOrReport, written: Set[str]) -> str:
    """Return the page. It lists the files that were written, by tables and figures."""
    tables, figures = exhibits_of(work)
    parts = [f"<p>{escape(work.id)}: {_link(RESULT, 'the whole result as JSON')}</p>"]
    if tables:
        kinds = {"csv": "CSV", "tex": "LaTeX"}
        parts += ["<h2>Tables</h2>", "<ul>"]
        for name, caption in tables.items():
            files = {f"{name}.{suffix}": kind for suffix, kind in kinds.items() if f"{name}.{suffix}" in written}
            links = ", ".join(_link(file, kind) for file, kind in files.items())
            parts.append(f"<li>{escape(caption)} <code>{escape(name)}</code>: {links}</li>")
        parts.append("</ul>")
    if drawn := {name: caption for name, caption in figures.items() if f"{name}.svg" in written}:
        parts.append("<h2>Figures</h2>")
        for name, caption in drawn.items():
            image = f'<img src="{escape(name)}.svg" alt="{escape(name)}">'
            legend = f"<figcaption>{escape(caption)} {_link(f'{name}.svg', name)}</figcaption>"
            parts.append(f"<figure>{image}{legend}</figure>")
    if isinstance(work, Report):
        title = f"{work.latest.name}: {', '.join(work.latest.collections)}"
    else:
        title = f"{work.latest.kind}: {work.latest.collection}"
    return _PAGE.format(title=escape(title), parts="\n".join(parts))


def _link(file: str, text: str) -> str:
    return f'<a href="{escape(file)}">{escape(text)}</a>'
