"""`/v1/collections/{collection}/releases/{number}/archive`: a release as a folder that needs no service.

Its pages can be opened by a double click: they have their data inside, load only files beside them, and use no modules,
because a browser allows neither modules nor requests to pages that are files.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from markupsafe import Markup
from pydantic_core import to_json

from gainboard import __version__
from gainboard.analyses.job_kinds import find_kind, schema_of
from gainboard.analyses.report_kinds import find_report_kind
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.jobs import show_dependencies
from gainboard.api.models.jobs import Dependencies, ReportDependencies
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.releases import ReleaseNumber
from gainboard.api.reports import show_report_dependencies
from gainboard.api.routes import CheckedRoute
from gainboard.dashboard import rendering
from gainboard.dashboard.crates import METADATA, WrittenFile, crate
from gainboard.dashboard.home import boards_of
from gainboard.dashboard.jobs import MOST_ROWS, table_on_page
from gainboard.dashboard.rendering import ENVIRONMENT
from gainboard.errors import JudgmentsHidden, NotFound, TooManyDearRequests
from gainboard.evaluation import audit
from gainboard.evaluation.releases.document import Archived
from gainboard.evaluation.releases.releases import HISTORY, find_release, history, line_of, read_document, read_history
from gainboard.evaluation.scoring.score_matrices import csv_of_matrix
from gainboard.evaluation.workspace import Workspace, spend
from gainboard.exhibits import Column, Table, csv_line
from gainboard.exhibits.drawing import as_svg
from gainboard.exhibits.figures import Figure
from gainboard.exhibits.latex import as_latex
from gainboard.jobs.files import read_file
from gainboard.jobs.importing import NO_LOG
from gainboard.jobs.release_folder import DOCUMENT, SUMS
from gainboard.jobs.report_assembly import lay_out
from gainboard.jobs.results import content, read_back
from gainboard.jobs.verification import depended_on, report_depended_on
from gainboard.notation.queries import ArchiveQuery
from gainboard.notation.texts import order_topics
from gainboard.store import blobs, files, jobs, nuggets, reports, runs, score_matrices
from gainboard.store.job_records import StoredJob, StoredReport
from gainboard.store.records import Collection, Release

router = APIRouter(
    prefix="/v1/collections/{collection}/releases", tags=["releases"], responses=documented(), route_class=CheckedRoute
)
TAR: Final = "application/x-tar"
PIECE: Final = 1 << 20
SECONDS: Final = 5.0
"""Roughly the time that it takes to write the folder of 45 runs."""
DIGITS: Final = 4
CHANGING: Final = ("gains", "order_by", "ignore_identical_ids", "topics")
"""The settings of a collection on which results depend, and which may change after a release."""


class ArchivedFile(NamedTuple):
    """A file of the folder: its path, and its content in pieces."""

    path: str
    pieces: Iterable[bytes]


@router.get(
    "/{number}/archive",
    response_class=Response,
    responses=documented(
        JudgmentsHidden,
        TooManyDearRequests,
        also={200: {"content": {TAR: {}}, "description": "The folder as a tar archive"}},
    ),
)
def read_release_archive(
    collection: CollectionName,
    number: ReleaseNumber,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[ArchiveQuery, asked_by(ArchiveQuery)],
) -> Response:
    """Return a release as a folder: a site that any browser shows without a service, and all data as plain files, with
    `SHA256SUMS` and RO-Crate metadata. It takes a token, because it takes seconds to make.
    """
    principal.require_token()
    here, release = find_release(workspace, principal, collection, number)
    # Making the folder is dear, so one request waits for the other.
    spend(SECONDS)
    return StreamingResponse(
        _read_pieces(Archive(workspace, here, release, log=HISTORY if asked.get("log", True) else None).write()),
        media_type=TAR,
        headers={"Content-Disposition": f'attachment; filename="{here.name}-{number}.tar"'},
    )


@dataclass(frozen=True)
class ShownWork:
    """A job or report on a page of its own: its address in the folder, its tables and its figures."""

    id: str
    title: str
    page: str
    files: str
    tables: list[tuple[Mapping[str, Any], Any]]
    params: Mapping[str, Any]


class Archive:
    """The folder of one release."""

    def __init__(
        self,
        workspace: Workspace,
        collection: Collection,
        release: Release,
        *,
        log: str | None,
        has_figures: bool = True,
    ) -> None:
        self._workspace, self._collection, self._release = workspace, collection, release
        self._document = read_document(workspace, release)
        self._log = log if release.evidence_sha256 != NO_LOG else None
        self._has_figures = has_figures

    def write(self) -> IO[bytes]:
        """Return the folder as a tar archive, in a temporary file. Equal folders are equal bytes."""
        with ExitStack() as stack:
            # Each file has the time of the release, because its own time would make other bytes at each request.
            tar, at = stack.enter_context(TemporaryFile()), self._release.created_at
            with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
                written = [_add(archive, file, at) for file in self.files()]
                metadata = crate(self._document, written)
                written.append(_add(archive, ArchivedFile(METADATA, [metadata]), at))
                sums = "".join(f"{file.sha256}  {file.path}\n" for file in sorted(written))
                _add(archive, ArchivedFile(SUMS, [sums.encode()]), at)
            tar.seek(0)
            # Whoever reads the file closes it.
            stack.pop_all()
        return tar

    def files(self) -> Iterator[ArchivedFile]:
        """Yield all files but the metadata and the checksums."""
        document, database = self._document, self._workspace.database
        yield ArchivedFile(DOCUMENT, blobs.get(database, self._release.sha256))
        yield ArchivedFile("check.py", [Path(__file__).with_name("check.py").read_bytes()])
        yield ArchivedFile("data/release.schema.json", [to_json(Archived.model_json_schema(), indent=1)])
        for version in document["judgments"]:
            yield ArchivedFile(qrels_path(version), blobs.get(database, version["sha256"]))
        run_paths = set()
        for file in self._runs():
            run_paths.add(file.path)
            yield file
        yield from self._matrices()
        with database.reading() as tx:
            versions = nuggets.page(tx, self._collection.id, drafts=False)
            files = {version.version: nuggets.content_of(tx, version.id) for version in versions}
        for frozen in document.get("nuggets", ()):
            yield ArchivedFile(nuggets_path(frozen), [files[frozen["version"]]])
        yield ArchivedFile("data/scores.csv", _scores(document))
        yield ArchivedFile("data/boards.csv", _boards(document))
        for number, board in enumerate(document["boards"], start=1):
            yield ArchivedFile(f"data/board-{number}.tex", [as_latex(_board_table(number, board)).encode()])
        if self._log is not None:
            yield ArchivedFile(self._log, self._history())
        with database.reading() as tx:
            every_job = jobs.among(tx, [result["id"] for result in document["results"]])
            every_report = reports.among(tx, [report["id"] for report in document["reports"]])
        stored: list[StoredJob | StoredReport] = [
            *(every_report[each["id"]] for each in document["reports"] if each["id"] in every_report),
            *(every_job[each["id"]] for each in document["results"] if each["id"] in every_job),
        ]
        shown = []
        for work in stored:
            shown.append(self._shown(work))
            yield from self._files_of(work, shown[-1])
        yield from self._pages(shown, run_paths)

    def _runs(self) -> Iterator[ArchivedFile]:
        if not self._document["release"]["run_files"] or self._document["settings"].get("kind") == "scores":
            return
        database = self._workspace.database
        with database.reading() as tx:
            there = blobs.with_content(tx, {run["sha256"] for run in self._document["runs"]})
        for run in self._document["runs"]:
            if run["sha256"] in there:
                yield ArchivedFile(run_path(run), blobs.get(database, run["sha256"]))
                with database.reading() as tx:
                    metadata = runs.find_metadata_by_hash(tx, self._collection.id, run.get("metadata_sha256") or "")
                if metadata is not None:
                    yield ArchivedFile(metadata_path(run), [metadata])

    def _matrices(self) -> Iterator[ArchivedFile]:
        database = self._workspace.database
        with database.reading() as tx:
            stored = {
                (matrix.name, matrix.version): matrix
                for matrix in score_matrices.list_versions(tx, self._collection.id)
            }
        for frozen in self._document.get("score_matrices", ()):
            if (matrix := stored.get((frozen["name"], frozen["version"]))) is None:
                continue  # an organiser of the instance has deleted it
            with database.reading() as tx:
                scores = score_matrices.scores_of(tx, matrix)
            yield ArchivedFile(matrix_path(frozen), ["".join(csv_of_matrix(matrix, scores)).encode()])

    def _history(self) -> Iterator[bytes]:
        evidence = self._release.evidence_sha256
        if evidence is None:
            entries = history(audit.entries_of(self._workspace, self._collection), self._document)
            yield from (line_of(entry).encode() for entry in entries)
            return
        kept = b"".join(blobs.get(self._workspace.database, evidence))
        # Imports once kept the whole log, and read none of it.
        if self._log == HISTORY and b'"previous":' in kept:
            try:
                kept = "".join(map(line_of, read_history(kept.decode(errors="replace"), self._document))).encode()
            except ValueError:
                kept = b""
        yield kept

    def _shown(self, work: StoredJob | StoredReport) -> ShownWork:
        maker = work.layout if isinstance(work, StoredReport) else work
        kind: Any = find_report_kind(work.name) if isinstance(work, StoredReport) else find_kind(work.kind)
        tables = maker.exhibits.get("tables", ()) if maker is not None and maker.exhibits else ()
        return ShownWork(
            work.id,
            kind.title,
            f"results/{work.id[:16]}.html",
            f"data/results/{work.id}",
            [(table, table_on_page(self._workspace, maker, table)) for table in tables] if maker is not None else [],
            work.params,
        )

    def _files_of(self, work: StoredJob | StoredReport, shown: ShownWork) -> Iterator[ArchivedFile]:
        maker = work.layout if isinstance(work, StoredReport) else work
        assert maker is not None, "only what has succeeded is frozen"
        yield ArchivedFile(f"{shown.files}/result.json", content(self._workspace, work))
        yield ArchivedFile(
            f"{shown.files}/depends_on.json", [self._dependencies(work).model_dump_json(indent=1).encode()]
        )
        if isinstance(work, StoredJob):
            schema = schema_of(find_kind(work.kind).result_model, "serialization")
            yield ArchivedFile(f"{shown.files}/schema.json", [to_json(schema, indent=1)])
        yield ArchivedFile(f"{shown.files}/exhibits.json", [to_json(maker.exhibits, indent=1)])
        with self._workspace.database.reading() as tx:
            stored = files.page(tx, maker.number)
        for file in stored:
            yield ArchivedFile(f"{shown.files}/{file.path}", read_file(self._workspace, file))
        captions: dict[str, str] = {}
        for figure in self._figures(work):
            try:
                svg = as_svg(figure)
            except NotFound:
                break  # without the `figures` extra, the tables have the numbers
            captions[figure.name] = figure.caption
            yield ArchivedFile(f"{shown.files}/figures/{figure.name}.svg", [svg])
        yield self._page(shown.page, "archive_result.html", shown=shown, figures=captions, most_rows=MOST_ROWS)

    def _dependencies(self, work: StoredJob | StoredReport) -> Dependencies | ReportDependencies:
        # Settings may have changed since, and results depend on those that were frozen.
        settings = {name: self._document["settings"][name] for name in CHANGING}
        frozen = replace(self._collection, **settings)
        if isinstance(work, StoredReport):
            report = report_depended_on(self._workspace, work)
            chapters = [replace(chapter, collection=frozen) for chapter in report.chapters]
            return show_report_dependencies(replace(report, chapters=chapters))
        return show_dependencies(replace(depended_on(self._workspace, work), collection=frozen))

    def _figures(self, work: StoredJob | StoredReport) -> Iterable[Figure]:
        every_job = work.jobs if isinstance(work, StoredReport) else [work]
        # This version cannot read the result of another one; its tables were stored.
        if not self._has_figures or any(job.engine_version != find_kind(job.kind).engine_version for job in every_job):
            return []
        if isinstance(work, StoredReport):
            return [placed.exhibit for placed in lay_out(self._workspace, work).figures]
        return read_back(self._workspace, work).figures()

    def _pages(self, shown: list[ShownWork], run_paths: set[str]) -> Iterator[ArchivedFile]:
        from scipy.stats import t  # noqa: PLC0415 (no other page needs it)

        document = self._document
        yield ArchivedFile("style.css", [rendering.read("gainboard.css")])
        yield ArchivedFile("compare.js", [rendering.read("archive.js")])

        def file(kind: str, frozen: Mapping[str, Any]) -> str:
            path = qrels_path(frozen) if kind == "qrels" else run_path(frozen)
            return path if kind == "qrels" or path in run_paths else ""

        yield self._page("index.html", "archive_index.html", boards=boards_of(document), works=shown, file=file)
        shown_topics = order_topics(document["topics"], document["settings"]["topics"])
        yield self._page("topics.html", "archive_topics.html", shown_topics=shown_topics)
        # The script of the page that compares runs has no quantiles of its own.
        freedoms = range(1, max(len(document["topics"]), 2))
        data = {name: document[name] for name in ("metrics", "topics", "scores")}
        data["critical"] = [None, *(float(t.ppf(0.975, freedom)) for freedom in freedoms)]
        # Inside a script element only its end tag and comments mean anything; in JSON, `<` may be written so.
        inlined = Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
        yield self._page("compare.html", "archive_compare.html", data=inlined)

    def _page(self, path: str, template: str, **values: Any) -> ArchivedFile:
        text = ENVIRONMENT.get_template(template).render(
            document=self._document,
            sha256=self._release.sha256,
            version=__version__,
            log=self._log,
            top="../" * path.count("/"),
            here=path,
            **values,
        )
        return ArchivedFile(path, [text.encode()])


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


def _add(archive: tarfile.TarFile, file: ArchivedFile, at: datetime) -> WrittenFile:
    digest, size = hashlib.sha256(), 0
    # A file of data may be larger than memory.
    with TemporaryFile() if file.path.startswith("data/") else io.BytesIO() as content:
        for piece in file.pieces:
            digest.update(piece)
            size += content.write(piece)
        content.seek(0)
        entry = tarfile.TarInfo(file.path)
        entry.size, entry.mtime, entry.mode = size, int(at.timestamp()), 0o644
        archive.addfile(entry, content)
    return WrittenFile(file.path, size, digest.hexdigest())


def qrels_path(version: Mapping[str, Any]) -> str:
    """Return where the file of a version is in the folder."""
    return f"data/qrels/{version['judgments']}-{version['version']}.txt"


def run_path(run: Mapping[str, Any]) -> str:
    """Return where the file of a run is in the folder."""
    return f"data/runs/{run['name']}.txt"


def metadata_path(run: Mapping[str, Any]) -> str:
    """Return where the file of ir_metadata of a run is in the folder."""
    return f"data/runs/{run['name']}.ir_metadata.yml"


def matrix_path(matrix: Mapping[str, Any]) -> str:
    """Return where the scores of a score matrix are in the folder."""
    return f"data/score-matrices/{matrix['name']}-{matrix['version']}.csv"


def nuggets_path(version: Mapping[str, Any]) -> str:
    """Return where the file of a version of the nuggets is in the folder."""
    return f"data/nuggets/{version['version']}.jsonl"


def _scores(document: Mapping[str, Any]) -> Iterator[bytes]:
    yield csv_line(("metric", "run", "topic", "score")).encode()
    for label, by_run in document["scores"].items():
        for run, scores in by_run.items():
            rows = zip(document["topics"], scores, strict=True)
            yield "".join(csv_line((label, run, topic, score)) for topic, score in rows).encode()


def _boards(document: Mapping[str, Any]) -> Iterator[bytes]:
    yield csv_line(("metric", "rank", "run", "team", "mean", "low", "high", "groups", "best", "worst")).encode()
    for board in document["boards"]:
        by = board["by"]
        for row in board["rows"]:
            low, high = row["intervals"][by] or (None, None)
            best, worst = row["rank_set"] or (None, None)
            cells = (by, row["rank"], row["run"], row["team"], row["means"][by], low, high)
            yield csv_line((*cells, "".join(row["groups"] or ()), best, worst)).encode()


def _board_table(number: int, board: Mapping[str, Any]) -> Table:
    labels = list(board["rows"][0]["means"])
    columns = [Column("rank"), *(Column(title, align="left") for title in ("run", "team", "groups"))]
    columns += [Column(label, digits=DIGITS) for label in labels]
    rows = [
        (row["rank"], row["run"], row["team"], "".join(row["groups"] or ()), *(row["means"][label] for label in labels))
        for row in board["rows"]
    ]
    return Table(f"board-{number}", f"Runs by mean {board['by']} over {board['topics']} topics.", columns, rows)
