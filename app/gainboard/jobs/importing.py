"""Folders of releases, read back: a collection with the same runs, versions, settings, times and results.

The author of a folder is a stranger. So one strict model describes its document, ids are computed anew from what they
are made of, tables are made anew of the results, and what was not computed here says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import Any, BinaryIO, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import CollectionExists, Conflict, DatabaseBusy, GainboardError, InvalidRequest, NotFound
from gainboard.evaluation import audit, collections
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.judgments.nuggets import follows
from gainboard.evaluation.judgments.publication import after_all
from gainboard.evaluation.judgments.topic_groups import put_group
from gainboard.evaluation.releases.document import Archived, FrozenJudgments, FrozenScores
from gainboard.evaluation.runs import run_properties, runs
from gainboard.evaluation.runs.intake import IN_MEMORY_BYTES, Body
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.scoring.systems import SystemName, add_systems, publish_topics, read_topics_file
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs import folder_results, release_folder
from gainboard.store import blobs, imports, jobs, nuggets, records, releases, reports, score_matrices
from gainboard.store import collections as stored_collections
from gainboard.store import qrels as stored_qrels
from gainboard.store import runs as stored_runs
from gainboard.store.database import Transaction
from gainboard.trec.bodies import compress
from gainboard.trec.nuggets import Verdicts
from gainboard.vocabulary import OFFICIAL, RunOrder

NO_LOG = hashlib.sha256().hexdigest()
"""The evidence of a release whose folder had no history, as under pseudonyms."""


@dataclass(frozen=True)
class Imported:
    """A collection that was imported with its release, and what was left out."""

    collection: records.Collection
    release: records.Release
    left_out: Sequence[folder_results.NotImported]


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
        folder = release_folder.opened(body, cast(BinaryIO, packed), limits, require_client)
        importing = Importing(workspace, principal, folder, require_client)
        importing.refuse_known()
        return importing.run()


@dataclass(frozen=True)
class Importing:
    """One import."""

    workspace: Workspace
    principal: Principal
    folder: release_folder.Folder
    require_client: Callable[[], None] = lambda: None
    left_out: list[folder_results.NotImported] = field(default_factory=list)

    @cached_property
    def hidden_name(self) -> str:
        """The name until the end. No request can have it, and it names this process (`store.processes`)."""
        return f"{stored_collections.IMPORTING}{self.workspace.lease.id}/{uuid4()}"

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
            raise release_folder.unusable("the release has the hashes of its runs, not their files")
        if settings.level_names is not None and len(settings.level_names) != settings.highest_level:
            raise release_folder.unusable(
                f"{release_folder.DOCUMENT} names {len(settings.level_names)} levels of {settings.highest_level}"
            )
        try:
            collections.check(self._settings())
        except GainboardError as error:
            raise release_folder.unusable(f"the settings cannot be: {error.message}") from error
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
        return settings | {name: release_folder.time_of(settings[name]) for name in times}

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
                self._delete(collection)
                if isinstance(error, GainboardError) and not isinstance(error, InvalidRequest):
                    raise release_folder.unusable(error.message) from error
                raise
        try:
            changed, release = self._finish(collection)
        except BaseException:
            with audit.as_one_change():
                self._delete(collection)
            raise
        return Imported(changed, release, self.left_out)

    def _create(self) -> records.Collection:
        settings = self._settings()
        names = ["kind"]
        if self.document.settings.kind == "judged":
            names = ["level_names", "highest_level", "gains", "depth", "intents", "order_by", "ignore_identical_ids"]
        # The last transaction sets the rest, and before it nobody sees the collection.
        hidden = {"title": "", "metrics": None, "phase": "hidden", "public": False}
        values = {"name": self.hidden_name, **{name: settings[name] for name in names}, **hidden}
        return collections.create(self.workspace, self.principal, values).collection

    def _delete(self, collection: records.Collection) -> None:
        """Delete what was imported. Raise DatabaseBusy if that is done already, because others took us for dead."""
        try:
            collections.delete(self.workspace, self.importer, collection.name)
        except NotFound as gone:
            raise DatabaseBusy(
                "The server stood still during this import, and others ended it. Nothing was imported. Try again."
            ) from gone

    def _upload(self, collection: records.Collection) -> None:
        for version in sorted(
            self.document.judgments, key=lambda judged: (release_folder.time_of(judged.created_at), judged.version)
        ):
            self.require_client()
            self._publish(collection, version)
        settings = self.document.settings
        systems = {run.name: SystemName(run.tag, run.system, run.replicate, run.family) for run in self.document.runs}
        if collection.has_scores_alone:
            with self.workspace.database.writing() as tx:
                add_systems(tx, collection, systems, self.workspace.now())
            self._put_groups(collection)
            return
        with self.workspace.database.writing() as tx:
            order = {name: getattr(settings, name) for name in RunOrder._fields}
            stored_collections.change(tx, collection.id, **order)
        for run in self.document.runs:
            self.require_client()
            if run.sha256 == records.NO_RANKING:  # it has answers alone, whose scores are in matrices
                with self.workspace.database.writing() as tx:
                    add_systems(tx, collection, {run.name: systems[run.name]}, self.workspace.now(), run.team)
                continue
            details = RunDetails(**{field.name: getattr(run, field.name) for field in fields(RunDetails)})
            path, beside = f"data/runs/{run.name}.txt", f"data/runs/{run.name}.ir_metadata.yml"
            with self._opened(path) as file:
                stored_run = runs.submit(self.workspace, self.importer, collection.name, Body(file), details).run
            release_folder.require_same(path, stored_run.sha256, run.sha256)
            if run.metadata_sha256 is not None:
                with self._opened(beside) as file:
                    put = run_properties.put_metadata(
                        self.workspace, self.importer, collection.name, run.name, Body(file)
                    )
                release_folder.require_same(beside, put.sha256, run.metadata_sha256)
        self._put_groups(collection)

    def _put_groups(self, collection: records.Collection) -> None:
        for name, topics in self.document.topic_groups.items():
            put_group(self.workspace, self.importer, collection.name, name, topics)

    def _publish(self, collection: records.Collection, version: FrozenJudgments) -> None:
        """Publish a version under the order that it has. Before there are runs, that joins nothing."""
        path = f"data/qrels/{version.judgments}-{version.version}.txt"
        if collection.has_scores_alone:
            try:
                topics = read_topics_file(self.folder.read(path, release_folder.MOST_DOCUMENT))
            except ValueError as error:
                raise release_folder.unusable(f"{path} is no list of topics: {error}") from error
            with self.workspace.database.writing() as tx:
                after = after_all(tx, collection, OFFICIAL, self.workspace.now())
                published = publish_topics(tx, collection, topics, after)
            release_folder.require_same(path, published.sha256, version.sha256)
            return
        judgments, order = version.judgments, {name: getattr(version, name) for name in RunOrder._fields}
        with self.workspace.database.writing() as tx:
            stored_collections.change(tx, collection.id, **order)
            newest = stored_qrels.find(tx, collection.id, records.VersionName(judgments))
            if newest and (newest.sha256, newest.columns) == (version.sha256, version.columns):
                # The same judgments under another order, which no upload makes.
                now = self.workspace.now()
                times = {"created_at": now, "published_at": after_all(tx, collection, judgments, now)}
                stored_qrels.add_again(tx, newest, **order, **times)
                return
        with self._opened(path) as file:
            stored = qrels.publish(
                self.workspace, self.importer, collection.name, Body(file), version.columns, judgments=judgments
            ).qrels
        release_folder.require_same(path, stored.sha256, version.sha256)

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        """Open a copy of a file, which other processes can read as well."""
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            file.writelines(self.folder.pieces(path))
            file.seek(0)
            yield cast(BinaryIO, file)

    def _finish(self, collection: records.Collection) -> tuple[records.Collection, records.Release]:
        """Make the collection what it is, with all that came of it, in one transaction."""
        frozen, settings = self.document.release, self._settings()
        document = self.folder.read(release_folder.DOCUMENT, release_folder.MOST_DOCUMENT)
        log = self.folder.read_log(document)
        by_version = sorted(self.document.score_matrices, key=lambda matrix: (matrix.name, matrix.version))
        matrices = [(matrix, *self.folder.read_score_matrix(matrix)) for matrix in by_version]
        nuggets_files = [(version, self.folder.read_nuggets(version)) for version in self.document.nuggets]
        results = list(folder_results.read_results(self.folder, self.require_client, self.left_out))
        with ExitStack() as stack:
            contents = [
                stack.enter_context(
                    blobs.prepared(self.workspace.database, hashlib.sha256(body).hexdigest(), len(body), compress(body))
                )
                for body in (document, log, *(result.body for result in results))
            ]
            tx = stack.enter_context(self.workspace.database.writing())
            if not imports.hold(tx, collection.id):
                raise NotFound("The collection of this import was deleted.")
            for content in contents:
                blobs.put(tx, content)
            versions = self._set_versions(tx, collection)
            stored = {run.name: run for run in stored_runs.page(tx, collection.id)}
            for run in self.document.runs:
                imports.set_arrival(tx, stored[run.name].id, release_folder.time_of(run.created_at))
            for version, file in nuggets_files:
                times = {at: release_folder.time_of(getattr(version, at)) for at in ("created_at", "published_at")}
                nuggets.add(tx, collection.id, file, **version.model_dump() | times)
            matrix_ids = [self._add_matrix(tx, collection, *matrix) for matrix in matrices]
            self._refuse_name(tx)
            changed = stored_collections.change(
                tx, collection.id, **settings, name=frozen.collection, uuid=frozen.uuid, phase="released"
            )
            numbers = folder_results.add_jobs(tx, changed, versions, stored, results)
            view = open_collection(tx, self.principal, changed.name)
            self.left_out.extend(folder_results.add_reports(self.workspace, tx, view, self.document.reports, numbers))
            release = releases.add(
                tx,
                [run.id for run in stored.values()],
                [version.id for version in versions.values()],
                matrix_ids,
                collection_id=collection.id,
                **{name: getattr(frozen, name) for name in ("number", "title", "doi", "corrects", "citation")},
                sha256=contents[0].sha256,
                evidence_sha256=contents[1].sha256,
                created_at=release_folder.time_of(frozen.created_at),
            )
            left_out = [result.id for result in self.left_out]
            details = {"sha256": release.sha256, "uuid": frozen.uuid, "left_out": left_out}
            audit.record(tx, self.principal, "collection-imported", frozen.name, changed, **details)
        return changed, release

    def _add_matrix(
        self,
        tx: Transaction,
        collection: records.Collection,
        frozen: FrozenScores,
        names: Sequence[str],
        topics: Sequence[str],
        scores: NDArray[np.float64],
    ) -> int:
        """Add a version of a score matrix, and return its id."""
        same = ("name", "direction", "low", "high", "missing", "filled", "dropped", "sha256")
        verdicts = Verdicts(**frozen.verdicts.model_dump()) if frozen.verdicts else None
        if verdicts and not follows(frozen.name, names, topics, scores, verdicts):
            raise release_folder.unusable(
                f"the scores of {frozen.name} {frozen.version} do not follow from its verdicts"
            )
        stored = score_matrices.add(
            tx,
            scores,
            verdicts,
            collection_id=collection.id,
            **{name: getattr(frozen, name) for name in same},
            runs=names,
            topics=topics,
            created_at=release_folder.time_of(frozen.created_at),
        )
        imports.set_matrix(tx, stored.id, frozen.version)
        return stored.id

    def _set_versions(
        self, tx: Transaction, collection: records.Collection
    ) -> dict[records.VersionName, records.Qrels]:
        """Give each version its number and times, and return them by name."""
        by_set: dict[str, list[FrozenJudgments]] = {}
        for version in self.document.judgments:
            by_set.setdefault(version.judgments, []).append(version)
        by_name: dict[records.VersionName, records.Qrels] = {}
        for judgments, versions in by_set.items():
            stored = stored_qrels.page(tx, collection.id, judgments, drafts=False, after=None, limit=len(versions))
            in_order = sorted(versions, key=lambda frozen: (release_folder.time_of(frozen.created_at), frozen.version))
            numbers = [frozen.version for frozen in in_order]
            if len(stored) != len(in_order) or numbers != sorted(set(numbers)):
                raise release_folder.unusable(
                    f"the versions of the judgments {judgments!r} are not in the order of their numbers"
                )
            for one, version in reversed(list(zip(stored, in_order, strict=True))):
                times = release_folder.time_of(version.created_at), release_folder.time_of(version.published_at)
                imports.set_version(tx, one.id, version.version, *times)
                by_name[records.VersionName(judgments, version.version)] = replace(one, version=version.version)
            if judgments != OFFICIAL:
                imports.set_released(tx, collection.id, judgments, release_folder.time_of(in_order[0].published_at))
        return by_name
