"""The commands for jobs and reports. They ask for work, wait for it, read results and write these into a folder.

The commands differ only in their noun.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, Literal, TypeVar

from gainboard.cli.command import Argument, Command, Option, command
from gainboard.cli.connecting import OneServer
from gainboard.cli.loading import CampaignOrFiles
from gainboard.cli.options import parse_pair, with_lists
from gainboard.cli.printing import Format, format_rows, print_json, print_many, print_one, printable, printable_lines
from gainboard.cli.progress import ProgressLine
from gainboard.client import Gainboard, Job, Problem, Report
from gainboard.errors import BadSetting, RowDamaged
from gainboard.exhibits import bounded_levels
from gainboard.vocabulary import label_of_matrix, metric_of_matrix

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
        if (text := scores.get(label_of_matrix(name, version))) is None:
            print(printable(f"{metric_of_matrix(name)} was deleted, so its scores are left out"), file=sys.stderr)
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


T = TypeVar("T")
ID_LENGTH = 64
SHORT = 12
"""The characters of an id that lists show, which are enough to identify it."""
_INTERRUPT_SECONDS = 0.2

Id = Annotated[
    str, Argument(f"the id, or its first characters, as many as make it unique ({SHORT} are usually enough)")
]
Kind = Annotated[str, Argument("the kind to run; `kinds` lists all")]
WorkParameters = Annotated[
    Sequence[tuple[str, Any]],
    Option(
        "a parameter: JSON, a word, or a list with commas (`alphas=0.05,0.01`)",
        "--set",
        metavar="NAME=VALUE",
        read=parse_pair,
    ),
]
Wait = Annotated[bool, "wait until it is over, and show the result"]


@dataclass(frozen=True)
class ResultForm:
    """The options of commands that show a result."""

    format: Annotated[
        Literal["table", "csv", "json", "latex"], Option("the format (default: table)", "-f", "--format")
    ] = "table"
    table: Annotated[str | None, Option("the table to show (default: the first; JSON has all)", metavar="NAME")] = None
    output: Annotated[
        Path | None,
        Option(
            "write everything into this folder instead: JSON, CSV, LaTeX, SVG, and an index with captions",
            metavar="DIR",
        ),
    ] = None

    def show(self, work: JobOrReport) -> None:
        """Show a result. Raise Problem if there is none."""
        if self.output is not None:
            write_files(work, self.output)
        elif self.format == "json":
            print_json(work.result_json())
        elif self.format == "latex":
            print(work.latex(self.table), end="")
        elif self.format == "csv":
            print(work.table(self.table).csv, end="")
        else:
            _print_table(work, self.table)


def _print_table(work: JobOrReport, name: str | None) -> None:
    columns: dict[str, Sequence[Any]] = dict(work.table(name).columns())
    if "asl" in columns:
        columns["asl"] = bounded_levels(columns["asl"], columns.get("resamples"))
    print(format_rows(list(columns), list(zip(*columns.values(), strict=True))), end="")
    tables, figures = exhibits_of(work)
    chosen = name or next(iter(tables))
    for note in next((table.notes for table in work.latest.tables or () if table.name == chosen), ()):
        print(f"note: {printable(note)}", file=sys.stderr)
    if others := [name for name in tables if name != chosen]:
        print(f"other tables (--table NAME): {', '.join(others)}", file=sys.stderr)
    if figures:
        print(f"figures (--output DIR): {', '.join(figures)}", file=sys.stderr)


@dataclass(frozen=True)
class Noun:
    """The noun of the commands, `job` or `report`, and its calls. Lists have `columns` after id, state and progress."""

    name: str
    list_kinds: Callable[[Gainboard], Sequence[Any]]
    find: Callable[[Gainboard, str], JobOrReport]
    list_all: Callable[[Gainboard], Iterator[JobOrReport]]
    """Everything that the token may see."""
    columns: Sequence[str]

    def command(self, help: str, function: Callable[..., None]) -> Command:
        """Return a command of one of the functions below, which differ in the noun alone."""
        return command(help)(function)._replace(about={"noun": self})

    def commands_on_one(self) -> tuple[Command, Command, Command, Command]:
        """Return the commands about one piece of work."""
        return (
            self.command(f"show the state of a {self.name}", show),
            self.command(f"wait until a {self.name} is over", wait),
            self.command(f"show the result of a {self.name}", result),
            self.command(f"cancel a {self.name} that is queued or running", cancel),
        )

    def read_parameters(self, gainboard: Gainboard, kind: str, parameters: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """Return the parameters of the command line. The server says which of them are lists."""
        values = dict(parameters)
        if all(isinstance(value, list) for value in values.values()):
            return values
        schemas = {each_kind.name: each_kind.params for each_kind in self.list_kinds(gainboard)}
        return with_lists(values, schemas.get(kind, {}).get("properties", {}))

    def find_by_beginning(self, at: OneServer, gainboard: Gainboard, id: str) -> JobOrReport:
        """Return the work whose id begins so. Raise BadSetting unless there is one."""
        if len(id) >= ID_LENGTH:
            return self.find(gainboard, id)
        if at.target.token is None:
            raise BadSetting(
                f"{id!r} is the beginning of an id, and without a token only whole ids are found. "
                f"`gainboard {self.name} list -c NAME` shows them."
            )
        matching = [work.id for work in self.list_all(gainboard) if work.id.startswith(id)]
        if len(matching) != 1:
            which = (
                f"{len(matching)} {self.name}s that you see have" if matching else f"No {self.name} that you see has"
            )
            raise BadSetting(
                f"{which} an id that begins with {id!r}. To see the ids: gainboard {self.name} list -f json"
            )
        return self.find(gainboard, matching[0])


def kinds(noun: Noun, at: OneServer, kind: Annotated[str | None, Argument("describe only this kind")] = None) -> None:
    """List the kinds that can be run; with a name, describe the kind and each of its parameters."""
    with at.connect() as gainboard:
        by_name = {each_kind.name: each_kind for each_kind in noun.list_kinds(gainboard)}
    if kind is None:
        print("\n\n".join(f"{name}\n{printable_lines(each_kind.definition, 2)}" for name, each_kind in by_name.items()))
        return
    if (described := by_name.get(kind)) is None:
        raise BadSetting(f"There is no kind {kind!r}. Available: {', '.join(by_name)}.")
    print(printable_lines(described.definition) + "\n")
    required = described.params.get("required", [])
    for name, schema in described.params.get("properties", {}).items():
        default = "required" if name in required else f"default {json.dumps(schema.get('default'), ensure_ascii=False)}"
        print(f"  {printable(name)} ({printable(default)})\n{printable_lines(schema.get('description', ''), 6)}")


def run_work(
    noun: Noun, at: CampaignOrFiles, ask: Callable[[Gainboard], JobOrReport], form: ResultForm, *, waits: bool
) -> None:
    """Ask for work, and wait for it if that is wanted, or if a service of this command alone does it: both end."""
    if form.output is not None and at.runs and find_spec("matplotlib") is None:
        # Before the work, which may take long.
        print(
            "gainboard: note: figures will not be drawn, because the `figures` extra is not installed here. To have "
            "them, stop with Ctrl+C and install it, in the folder of Gainboard's source: pip install '.[figures]'",
            file=sys.stderr,
        )
    with at.connect() as gainboard:
        work = ask(gainboard)
        if waits or form.output is not None or at.runs:
            wait_for(work, noun.name)
            form.show(work)
            return
    print(work.id)
    print(f"{work.state}; to wait for it: gainboard {noun.name} wait {work.id[:SHORT]}", file=sys.stderr)


def print_work(noun: Noun, at: OneServer, works: Iterable[JobOrReport], format: Format) -> None:
    """Print the state of each piece of work."""
    items = (work.latest for work in works)
    # Without a token, the server lists no jobs of all collections, among which a short id could be found.
    if format == "table" and at.target.token is not None:
        items = (item.model_copy(update={"id": item.id[:SHORT]}) for item in items)
    print_many(items, ("id", "state", "progress.done", "progress.total", *noun.columns, "created_at"), format)


def show(noun: Noun, at: OneServer, id: Id, *, format: Format = "table") -> None:
    """Show the state, progress, parameters, tables and figures."""
    with at.connect() as gainboard:
        print_one(noun.find_by_beginning(at, gainboard, id).latest, format)


def wait(noun: Noun, at: OneServer, id: Id, *, form: ResultForm) -> None:
    """Wait until the work is over, and show the result. The exit code is 1 if it failed or was cancelled. Ctrl+C ends
    the waiting; the work goes on.
    """
    with at.connect() as gainboard:
        work = noun.find_by_beginning(at, gainboard, id)
        wait_for(work, noun.name)
        form.show(work)


def result(noun: Noun, at: OneServer, id: Id, *, form: ResultForm) -> None:
    """Show the result: a table, everything as JSON, or with --output everything as files."""
    with at.connect() as gainboard:
        form.show(noun.find_by_beginning(at, gainboard, id))


def cancel(noun: Noun, at: OneServer, id: Id) -> None:
    """Cancel the work, unless it is over. The same request queues it again. What is damaged is deleted."""
    with at.connect() as gainboard:
        try:
            work = noun.find_by_beginning(at, gainboard, id)
        except Problem as problem:
            if problem.type != RowDamaged.slug:
                raise
            # Only lists show what is damaged.
            work = next(work for work in noun.list_all(gainboard) if work.id.startswith(id))
        print(work.cancel().state)


def wait_shown(work: JobOrReport, label: str) -> None:
    """Wait until the work has succeeded, and show its progress. Raise WorkFailed if it fails or is cancelled."""
    with ProgressLine(label) as line:
        apart(lambda: work.wait(progress=lambda now: line.at(now.progress.done, now.progress.total, now.state)))


def apart(call: Callable[[], T]) -> T:
    """Return what a call returns. It runs in another thread: Ctrl+C ends the wait for it, and never interrupts it.

    An interrupt within a request may come while the HTTP library holds its lock. The library then waits for that lock
    itself, without an end.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 (whoever waits raises it)
            done.set_exception(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    # Python sees no interrupt that comes just before a wait without an end.
    while thread.is_alive():
        thread.join(_INTERRUPT_SECONDS)
    return done.result()


def wait_for(work: JobOrReport, name: str) -> None:
    """Wait as `wait_shown` does, and say at Ctrl+C that the work goes on."""
    try:
        wait_shown(work, f"{name} {work.id[:SHORT]}")
    except KeyboardInterrupt:
        again, end = (f"gainboard {name} {verb} {work.id[:SHORT]}" for verb in ("wait", "cancel"))
        print(f"the {name} goes on. To wait again: {again}. To cancel it: {end}", file=sys.stderr)
        raise
