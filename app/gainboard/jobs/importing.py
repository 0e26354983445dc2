"""Folders of releases, read back: a collection with the same runs, versions, settings, times and results.

The author of a folder is a stranger. So one strict model describes its document, ids are computed anew from what they
are made of, tables are made anew of the results, and what was not computed here says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import Any, BinaryIO, Final, NamedTuple, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from gainboard.analyses.job_kinds import Kind, find_kind
from gainboard.analyses.pair_tests import ComparedPairs
from gainboard.analyses.report_kinds import find_report_kind
from gainboard.analyses.result_models import JobResult
from gainboard.errors import CollectionExists, Conflict, GainboardError, InvalidRequest
from gainboard.evaluation import audit, collections
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, open_collection
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.judgments.publication import after_all
from gainboard.evaluation.judgments.topic_groups import put_group
from gainboard.evaluation.releases.document import (
    Archived,
    FrozenJudgments,
    FrozenReport,
    FrozenResult,
    FrozenScores,
)
from gainboard.evaluation.runs import run_metadata, runs
from gainboard.evaluation.runs.intake import IN_MEMORY_BYTES, Body
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs import report_planning
from gainboard.jobs.derived_files import enqueue_derived_files
from gainboard.jobs.files import write_parts
from gainboard.jobs.pairs import write_pairs
from gainboard.jobs.release_folders import DOCUMENT, MOST_DOCUMENT, Folder, first_faults, opened, require_same, unusable
from gainboard.jobs.results import exhibits_of, names_of, read_result, result_body, write_summary, write_tables
from gainboard.jobs.submission import identity
from gainboard.notation.texts import read_time
from gainboard.store import blobs, files, imports, jobs, releases, reports, score_matrices
from gainboard.store import collections as stored_collections
from gainboard.store import qrels as stored_qrels
from gainboard.store import runs as stored_runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredFile
from gainboard.store.records import Collection, Qrels, Release, Run, VersionName
from gainboard.trec.zstd import compress
from gainboard.vocabulary import OFFICIAL, RunOrder

NO_LOG = hashlib.sha256().hexdigest()
"""The evidence of a release whose folder had no history, as under pseudonyms."""
MOST_RESULT: Final = 256 << 20
"""The most bytes of a result, which is read into memory at once."""


@dataclass(frozen=True)
class NotImported:
    """A result or report of a folder that was not imported, and why."""

    id: str
    kind: str
    because: str


@dataclass(frozen=True)
class Imported:
    """A collection that was imported with its release, and what was left out."""

    collection: Collection
    release: Release
    left_out: Sequence[NotImported]


def import_release(
    workspace: Workspace,
    principal: Principal,
    body: Body,
    most_bytes: int,
    require_client: Callable[[], None] = lambda: None,
) -> Imported:
    """Make a collection of the folder of a release (organisers of the instance), with the release itself.

    The folder is a tar archive of at most so many bytes, which may be compressed. Results that this version of
    Gainboard does not know are left out. What `require_client` raises, which is asked again and again until the last
    transaction, ends the import.

    Raise InvalidRequest for a folder that is not whole, or has only hashes of runs; CollectionExists if the name is in
    use, and Conflict if the collection itself is here already.
    """
    principal.require_instance_organiser()
    ours = workspace.limits
    limits = replace(NO_LIMITS, decompressed_bytes=most_bytes, ratio=ours.ratio, ratio_after=ours.ratio_after)
    with TemporaryFile() as packed:
        folder = opened(body, cast(BinaryIO, packed), limits, require_client)
        importing = Importing(workspace, principal, folder, require_client)
        importing.refuse_known()
        return importing.run()


class _Result(NamedTuple):
    """A result that may be imported: its kind, its bytes and what they say."""

    frozen: FrozenResult
    kind: Kind
    body: bytes
    read: JobResult
    tested: Sequence[ComparedPairs]


@dataclass(frozen=True)
class Importing:
    """One import."""

    workspace: Workspace
    principal: Principal
    folder: Folder
    require_client: Callable[[], None] = lambda: None
    left_out: list[NotImported] = field(default_factory=list)
    hidden_name: str = field(default_factory=lambda: f"{stored_collections.IMPORTING}{uuid4()}")

    @property
    def importer(self) -> Principal:
        """The principal, who alone finds the collection before its end."""
        return replace(self.principal, importing=self.hidden_name)

    @property
    def document(self) -> Archived:
        return self.folder.document

    def refuse_known(self) -> None:
        """Raise InvalidRequest, CollectionExists or Conflict for what cannot be imported."""
        release, settings = self.document.release, self.document.settings
        if not release.run_files:
            raise unusable("the release has the hashes of its runs, not their files")
        if settings.level_names is not None and len(settings.level_names) != settings.highest_level:
            raise unusable(f"{DOCUMENT} names {len(settings.level_names)} levels of {settings.highest_level}")
        try:
            collections.check(self._settings())
        except GainboardError as error:
            raise unusable(f"the settings cannot be: {error.message}") from error
        with self.workspace.database.reading() as tx:
            if imports.uuid_exists(tx, release.uuid):
                raise Conflict(
                    f"The collection {release.collection!r} of this folder is in this instance already, or was deleted "
                    "here. Import the folder into another instance."
                )
            self._refuse_name(tx)
            there = jobs.among(tx, [entry.id for entry in self.document.results])
            there |= reports.among(tx, [entry.id for entry in self.document.reports])  # type: ignore[arg-type]
        if there:
            raise Conflict(f"The result {min(there)} of this folder is in this instance already.")

    def _refuse_name(self, tx: Transaction) -> None:
        name = self.document.release.collection
        if stored_collections.find(tx, name) is not None:
            raise CollectionExists(f"A collection named {name!r} exists here, which is another one.")

    def _settings(self) -> dict[str, Any]:
        """Return the settings as they are stored."""
        times = ("opens_at", "closes_at", "releases_at", "released_at", "created_at")
        settings = self.document.settings.model_dump()
        return settings | {name: _time(settings[name]) for name in times}

    def run(self) -> Imported:
        """Import everything.

        Until the last transaction the collection has a name that no request can have, so whatever ends an import leaves
        nothing that is seen.
        """
        # The collection has another uuid until the end, which no entry of the log may have: it could not be proved.
        with audit.as_one_change():
            collection = self._create()
            try:
                self._upload(collection)
            except BaseException as error:
                collections.delete(self.workspace, self.importer, collection.name)
                if isinstance(error, GainboardError) and not isinstance(error, InvalidRequest):
                    raise unusable(error.message) from error
                raise
        try:
            changed, release = self._finish(collection)
        except BaseException:
            with audit.as_one_change():
                collections.delete(self.workspace, self.importer, collection.name)
            raise
        return Imported(changed, release, self.left_out)

    def _create(self) -> Collection:
        settings = self._settings()
        names = ("level_names", "highest_level", "gains", "depth", "intents", "order_by", "ignore_identical_ids")
        # The last transaction sets the rest, and before it nobody sees the collection.
        hidden = {"title": "", "topics": None, "metrics": None, "phase": "hidden", "public": False}
        values = {"name": self.hidden_name, **{name: settings[name] for name in names}, **hidden}
        return collections.create(self.workspace, self.principal, values).collection

    def _upload(self, collection: Collection) -> None:
        for version in sorted(self.document.judgments, key=lambda judged: (_time(judged.created_at), judged.version)):
            self.require_client()
            self._publish(collection, version)
        settings = self.document.settings
        with self.workspace.database.writing() as tx:
            order = {name: getattr(settings, name) for name in RunOrder._fields}
            stored_collections.change(tx, collection.id, **order)
        for run in self.document.runs:
            self.require_client()
            details = RunDetails(run.team, run.name, run.description, run.type, run.pooled, run.priority)
            path, beside = f"data/runs/{run.name}.txt", f"data/runs/{run.name}.ir_metadata.yml"
            with self._opened(path) as file:
                stored_run = runs.submit(self.workspace, self.importer, collection.name, Body(file), details).run
            require_same(path, stored_run.sha256, run.sha256)
            if run.metadata_sha256 is not None:
                with self._opened(beside) as file:
                    put = run_metadata.put(self.workspace, self.importer, collection.name, run.name, Body(file))
                require_same(beside, put.sha256, run.metadata_sha256)
        for name, topics in self.document.topic_groups.items():
            put_group(self.workspace, self.importer, collection.name, name, topics)

    def _publish(self, collection: Collection, version: FrozenJudgments) -> None:
        """Publish a version under the order that it has. Before there are runs, that joins nothing."""
        judgments, order = version.judgments, {name: getattr(version, name) for name in RunOrder._fields}
        with self.workspace.database.writing() as tx:
            stored_collections.change(tx, collection.id, **order)
            newest = stored_qrels.find(tx, collection.id, VersionName(judgments))
            if newest and (newest.sha256, newest.columns) == (version.sha256, version.columns):
                # The same judgments under another order, which no upload makes.
                now = self.workspace.now()
                times = {"created_at": now, "published_at": after_all(tx, collection, judgments, now)}
                stored_qrels.add_again(tx, newest, **order, **times)
                return
        path = f"data/qrels/{judgments}-{version.version}.txt"
        with self._opened(path) as file:
            stored = qrels.publish(
                self.workspace, self.importer, collection.name, Body(file), version.columns, judgments=judgments
            ).qrels
        require_same(path, stored.sha256, version.sha256)

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        """Open a copy of a file, which other processes can read as well."""
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            file.writelines(self.folder.pieces(path))
            file.seek(0)
            yield cast(BinaryIO, file)

    def _finish(self, collection: Collection) -> tuple[Collection, Release]:
        """Make the collection what it is, with all that came of it, in one transaction."""
        frozen, settings = self.document.release, self._settings()
        document = self.folder.read(DOCUMENT, MOST_DOCUMENT)
        log = self.folder.read_log(document)
        by_version = sorted(self.document.score_matrices, key=lambda matrix: (matrix.name, matrix.version))
        matrices = [(matrix, *self.folder.read_score_matrix(matrix)) for matrix in by_version]
        results = list(self._results())
        with ExitStack() as stack:
            contents = [
                stack.enter_context(
                    blobs.prepared(self.workspace.database, hashlib.sha256(body).hexdigest(), len(body), compress(body))
                )
                for body in (document, log, *(result.body for result in results))
            ]
            tx = stack.enter_context(self.workspace.database.writing())
            for content in contents:
                blobs.put(tx, content)
            versions = self._set_versions(tx, collection)
            stored = {run.name: run for run in stored_runs.page(tx, collection.id)}
            for run in self.document.runs:
                imports.set_arrival(tx, stored[run.name].id, _time(run.created_at))
            matrix_ids = [self._add_matrix(tx, collection, *matrix) for matrix in matrices]
            self._refuse_name(tx)
            changed = stored_collections.change(
                tx, collection.id, **settings, name=frozen.collection, uuid=frozen.uuid, phase="released"
            )
            numbers = self._add_jobs(tx, changed, versions, stored, results)
            self._add_reports(tx, changed, numbers)
            release = releases.add(
                tx,
                [run.id for run in stored.values()],
                [version.id for version in versions.values()],
                matrix_ids,
                collection_id=collection.id,
                **{name: getattr(frozen, name) for name in ("number", "title", "doi", "corrects", "citation")},
                sha256=contents[0].sha256,
                evidence_sha256=contents[1].sha256,
                created_at=_time(frozen.created_at),
            )
            details = {
                "sha256": release.sha256,
                "uuid": frozen.uuid,
                "left_out": [result.id for result in self.left_out],
            }
            audit.record(tx, self.principal, "collection-imported", frozen.name, changed, **details)
        return changed, release

    def _results(self) -> Iterator[_Result]:
        """Yield the results that this version knows. Raise InvalidRequest for one that is not what it says."""
        for report in self.document.reports:  # which are laid out again
            path = f"data/results/{report.id}/result.json"
            require_same(path, hashlib.sha256(self.folder.read(path, MOST_RESULT)).hexdigest(), report.sha256)
        for frozen in self.document.results:
            self.require_client()
            path = f"data/results/{frozen.id}/result.json"
            body = self.folder.read(path, MOST_RESULT)
            require_same(path, hashlib.sha256(body).hexdigest(), frozen.sha256)
            if because := _unknown(frozen):
                self.left_out.append(NotImported(frozen.id, frozen.kind, because))
                continue
            kind = find_kind(frozen.kind)
            try:
                read = read_result(kind.result_model, body)
            except ValidationError as error:
                raise unusable(f"{path} is no result of the kind {frozen.kind}: {first_faults(error)}") from error
            # A number as text, or a field that nobody knows, would be read and not written again.
            if result_body(read) != body:
                raise unusable(f"{path} is not as the kind {frozen.kind} writes it")
            said = (read.kind, read.collection, read.judgment_set, read.qrels_version, read.engine_version)
            named = (
                frozen.kind,
                self.document.release.collection,
                frozen.judgments,
                frozen.version,
                frozen.engine_version,
            )
            if said != named or not set(read.runs) <= set(frozen.runs):
                raise unusable(f"{path} is about something else than {DOCUMENT} says")
            yield _Result(frozen, kind, body, read, self.folder.read_pairs(frozen.id, read))

    def _add_matrix(
        self,
        tx: Transaction,
        collection: Collection,
        frozen: FrozenScores,
        names: Sequence[str],
        topics: Sequence[str],
        scores: NDArray[np.float64],
    ) -> int:
        """Add a version of a score matrix, and return its id."""
        same = ("name", "direction", "low", "high", "missing", "filled", "dropped", "sha256")
        stored = score_matrices.add(
            tx,
            scores,
            collection_id=collection.id,
            **{name: getattr(frozen, name) for name in same},
            runs=names,
            topics=topics,
            created_at=_time(frozen.created_at),
        )
        imports.set_matrix(tx, stored.id, frozen.version)
        return stored.id

    def _set_versions(self, tx: Transaction, collection: Collection) -> dict[VersionName, Qrels]:
        """Give each version its number and times, and return them by name."""
        by_set: dict[str, list[FrozenJudgments]] = {}
        for version in self.document.judgments:
            by_set.setdefault(version.judgments, []).append(version)
        by_name: dict[VersionName, Qrels] = {}
        for judgments, versions in by_set.items():
            stored = stored_qrels.page(tx, collection.id, judgments, drafts=False, after=None, limit=len(versions))
            in_order = sorted(versions, key=lambda frozen: (_time(frozen.created_at), frozen.version))
            numbers = [frozen.version for frozen in in_order]
            if len(stored) != len(in_order) or numbers != sorted(set(numbers)):
                raise unusable(f"the versions of the judgments {judgments!r} are not in the order of their numbers")
            for one, version in reversed(list(zip(stored, in_order, strict=True))):
                times = _time(version.created_at), _time(version.published_at)
                imports.set_version(tx, one.id, version.version, *times)
                by_name[VersionName(judgments, version.version)] = replace(one, version=version.version)
            if judgments != OFFICIAL:
                imports.set_released(tx, collection.id, judgments, _time(in_order[0].published_at))
        return by_name

    def _add_jobs(
        self,
        tx: Transaction,
        collection: Collection,
        versions: Mapping[VersionName, Qrels],
        stored: Mapping[str, Run],
        results: Iterable[_Result],
    ) -> dict[str, int]:
        """Add the jobs with their tables, which are made anew, and return their numbers by id."""
        numbers = {}
        for frozen, kind, _, read, tested in results:
            named = [
                VersionName(frozen.judgments or "", frozen.version),
                *(VersionName(*other) for other in frozen.others),
            ]
            if unknown := [name for name in (*named, *frozen.runs) if name not in versions and name not in stored]:
                raise unusable(f"the result {frozen.id} is about {unknown[0]}, which is not there")
            version, *others = (versions[name] for name in named)
            candidates = [stored[name] for name in frozen.runs]
            params = kind.params_model.model_validate(frozen.params)
            if identity(kind, params, collection, version, candidates, others) != frozen.id:
                raise unusable(f"the id {frozen.id} is not that of the request that it stands beside")
            try:
                shown = exhibits_of(read, tested)
                exhibits = names_of(shown, tested)
            except (LookupError, ValueError, TypeError, ArithmeticError) as error:
                raise unusable(f"no tables can be made of the result {frozen.id}: {error}") from error
            numbers[frozen.id] = imports.add_job(
                tx,
                _time(frozen.finished_at),
                sorted(other.id for other in others),
                id=frozen.id,
                collection_id=collection.id,
                kind=frozen.kind,
                params=frozen.params,
                qrels_id=version.id,
                run_ids=[run.id for run in candidates],
                engine_version=frozen.engine_version,
                result_sha256=frozen.sha256,
                exhibits=exhibits,
                origin="imported",
            )
            writer = _WrittenAtOnce(tx, numbers[frozen.id])
            write_tables(writer, shown.tables)
            write_pairs(writer, tested)
            write_summary(writer, read)
            files.add(tx, writer.files)
        return numbers

    def _add_reports(self, tx: Transaction, collection: Collection, numbers: Mapping[str, int]) -> None:
        """Add the reports whose plans come out as they were. A worker lays them out."""
        view = open_collection(tx, self.principal, collection.name)
        for frozen in self.document.reports:
            if because := self._not_planned(tx, view, frozen, numbers):
                self.left_out.append(NotImported(frozen.id, frozen.name, because))
                continue
            chapter = {"about": frozen.about, "left_out": frozen.left_out}
            needed = {key: numbers[job] for key, job in frozen.jobs.items()}
            named = {"id": frozen.id, "name": frozen.name, "params": frozen.params}
            imports.add_report(tx, _time(frozen.finished_at), collection.id, chapter, needed, **named)
            report = reports.among(tx, [frozen.id])[frozen.id]
            enqueue_derived_files(tx, self.workspace.now(), "layout", report)

    def _not_planned(self, tx: Transaction, view: View, frozen: FrozenReport, numbers: Mapping[str, int]) -> str | None:
        """Return why a report is left out; None if its plan is the same here."""
        if lacking := [job for job in frozen.jobs.values() if job not in numbers]:
            return f"its job {lacking[0][:12]} is left out"
        # The version is not among the parameters of a report, but among the facts about its collection.
        name, about = view.collection.name, frozen.about
        named = {"qrels": {name: about.get("qrels_version")}, "judgments": {name: about.get("judgment_set", OFFICIAL)}}
        try:
            kind = find_report_kind(frozen.name)
            params = kind.params_model.model_validate(frozen.params | named)
            plan = report_planning.planned(self.workspace, tx, view, kind, params)
        except (KeyError, ValidationError, GainboardError) as error:
            return f"this version cannot plan it: {getattr(error, 'message', str(error))[:200]}"
        facts = asdict(plan.about) | {"versions": list(plan.about.versions)}
        is_same = facts == about and [asdict(one) for one in plan.left_out] == frozen.left_out
        if not is_same or report_planning.identity(kind, params, [plan]) != frozen.id:
            return "its plan is another one here: ask for the report again"
        return None


class _WrittenAtOnce:
    """A writer of the files of a job that is over."""

    def __init__(self, tx: Transaction, number: int) -> None:
        self._tx, self._number = tx, number
        self.files: list[StoredFile] = []

    def write(self, path: str, pieces: Iterable[bytes], *, is_compressed: bool = False) -> None:
        self.files.append(write_parts(self._tx, self._number, path, pieces))


def _unknown(frozen: FrozenResult) -> str | None:
    """Return why this version cannot know a result; None if it can."""
    try:
        kind = find_kind(frozen.kind)
    except KeyError:
        return "this version of Gainboard has no such kind"
    if kind.is_for_organisers:
        return "results of this kind are no part of releases"
    if frozen.engine_version != kind.engine_version:
        return f"engine version {frozen.engine_version} computed it, and here is {kind.engine_version}"
    if frozen.judgments is None or frozen.version is None:
        return "it is about no version of the judgments"
    try:
        settled = kind.params_model.model_validate(frozen.params)
    except ValidationError as error:
        return f"its parameters are unknown here: {first_faults(error)}"
    return None if settled.shown() == frozen.params else "its parameters are written in another way here"


def _time(text: str | None) -> Any:
    return read_time(text) if text is not None else None
