"""Folders of releases, read back: a collection with the same runs, versions, settings, times and results."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO, Any, BinaryIO, cast

import numpy as np

from gainboard.errors import CollectionExists, Conflict, InvalidRequest
from gainboard.evaluation import audit, collections, qrels, run_metadata, runs
from gainboard.evaluation.intake import IN_MEMORY_BYTES, Body
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.publication import after_all
from gainboard.evaluation.reading import NO_LIMITS
from gainboard.evaluation.release_document import FORM
from gainboard.evaluation.runs import RunDetails
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.files import write_parts
from gainboard.store import blobs, files, imports, releases, score_matrices, topic_groups
from gainboard.store import collections as stored_collections
from gainboard.store import qrels as stored_qrels
from gainboard.store import runs as stored_runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredFile, derived_id
from gainboard.store.records import OFFICIAL, Collection, Release, TopicGroup, VersionName
from gainboard.store.run_order import RunOrder
from gainboard.trec import decompressed
from gainboard.trec.zstd import compress

SUMS, DOCUMENT, LOG = "SHA256SUMS", "data/release.json", "data/audit.ndjson"
BESIDE = ("result.json", "depends_on.json", "schema.json", "exhibits.json")
"""The files of a result that no worker has made."""
NO_LOG = hashlib.sha256().hexdigest()
"""The evidence of a release whose folder had no audit log, as under pseudonyms."""
PIECE = 1 << 20


class Folder:
    """The folder of a release, in a tar archive. Raise InvalidRequest unless it is whole."""

    def __init__(self, packed: IO[bytes]) -> None:
        try:
            self._archive = tarfile.open(fileobj=packed, mode="r:")  # noqa: SIM115 (its file is the caller's)
            self._members = {each.name: each for each in self._archive.getmembers() if each.isfile()}
        except tarfile.TarError as error:
            raise _unusable(f"it is no tar archive: {error}") from error
        self._check()
        self.document = self.json(DOCUMENT)
        if not isinstance(self.document, dict) or self.document.get("form") != FORM:
            raise _unusable(f"{DOCUMENT} has another form than this version of Gainboard writes")

    def __contains__(self, path: str) -> bool:
        return path in self._members

    def open(self, path: str) -> IO[bytes]:
        """Return a file, from its start."""
        member = self._members.get(path)
        found = self._archive.extractfile(member) if member is not None else None
        if found is None:
            raise _unusable(f"it has no file {path}")
        return found

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self.open(path) as file:
            return file.read()

    def json(self, path: str) -> Any:
        """Return what a file of JSON says."""
        try:
            return json.loads(self.read(path))
        except ValueError as error:
            raise _unusable(f"{path} is no JSON: {error}") from error

    def below(self, folder: str) -> Iterator[str]:
        """Yield the paths of the files in a folder."""
        return (path for path in sorted(self._members) if path.startswith(f"{folder}/"))

    def _check(self) -> None:
        lines = self.read(SUMS).decode("utf-8", "replace").splitlines()
        named = {path: sha256 for sha256, _, path in (line.partition("  ") for line in lines)}
        if strange := sorted(named.keys() ^ (self._members.keys() - {SUMS})):
            how = "which is not there" if strange[0] in named else "which it does not name"
            raise _unusable(f"{SUMS} and the files differ in {strange[0]}, {how}. Copy the folder again")
        for path, sha256 in named.items():
            digest = hashlib.sha256()
            with self.open(path) as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
            if digest.hexdigest() != sha256:
                raise _unusable(f"{path} was changed: its SHA-256 is not that of {SUMS}. Copy the folder again")


def _unusable(why: str) -> InvalidRequest:
    message = f"This folder is not as `gainboard export` has written it: {why}. Nothing was imported."
    return InvalidRequest.at("body", "bad-folder", message)


def import_release(
    workspace: Workspace, principal: Principal, body: Body, most_bytes: int
) -> tuple[Collection, Release]:
    """Make a collection of the folder of a release (organisers of the instance), with the release itself.

    The folder is a tar archive of at most so many bytes, which may be compressed.

    Raise InvalidRequest for a folder that is not whole, or has only hashes of runs; CollectionExists if the name is in
    use, and Conflict if the collection itself is here already.
    """
    principal.require_instance_organiser()
    body.file.seek(0)
    limits = replace(NO_LIMITS, decompressed_bytes=most_bytes)
    try:
        with TemporaryFile() as packed:
            packed.writelines(decompressed(body.file, body.encoding, limits))
            packed.seek(0)
            importing = Importing(workspace, principal, Folder(packed))
            importing.refuse_known()
            return importing.run()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unusable(f"{DOCUMENT} lacks something ({error})") from error


@dataclass(frozen=True)
class Importing:
    """One import."""

    workspace: Workspace
    principal: Principal
    folder: Folder

    @property
    def document(self) -> Mapping[str, Any]:
        """All that was frozen."""
        document: Mapping[str, Any] = self.folder.document
        return document

    def refuse_known(self) -> None:
        """Raise InvalidRequest, CollectionExists or Conflict for what cannot be imported."""
        own = self.document["release"]
        if not own["run_files"]:
            raise _unusable("the release has the hashes of its runs, not their files")
        with self.workspace.database.reading() as tx:
            if imports.uuid_exists(tx, own["uuid"]):
                raise Conflict(
                    f"The collection {own['collection']!r} of this folder is in this instance already, or was deleted "
                    "here. Import the folder into another instance."
                )
            if stored_collections.find(tx, own["collection"]) is not None:
                raise CollectionExists(f"A collection named {own['collection']!r} exists here, which is another one.")

    def run(self) -> tuple[Collection, Release]:
        """Import everything. Until the end, the collection is hidden, and what fails leaves nothing that is seen."""
        # The collection has another uuid until the end, which no entry of the log may have: it could not be proved.
        with audit.as_one_change():
            made = self._create()
            try:
                self._upload(made)
            except BaseException:
                collections.delete(self.workspace, self.principal, made.name)
                raise
        try:
            return self._finish(made, dict(self.document["settings"]))
        except BaseException:
            with audit.as_one_change():
                collections.delete(self.workspace, self.principal, made.name)
            raise

    def _create(self) -> Collection:
        own, settings = self.document["release"], self.document["settings"]
        names = ("level_names", "highest_level", "gains", "depth", "intents", "order_by", "ignore_identical_ids")
        first = {name: settings[name] for name in names}
        hidden = {"title": own["title"], "topics": None, "metrics": None, "phase": "hidden", "public": False}
        values = {"name": own["collection"], **first, **hidden}
        return collections.create(self.workspace, self.principal, values).collection

    def _upload(self, made: Collection) -> None:
        for version in sorted(self.document["judgments"], key=lambda each: (each["created_at"], each["version"])):
            self._publish(made, version)
        with self.workspace.database.writing() as tx:
            stored_collections.change(
                tx, made.id, **{name: self.document["settings"][name] for name in ("order_by", "ignore_identical_ids")}
            )
        for run in self.document["runs"]:
            details = RunDetails(*(run[name] for name in ("team", "name", "description", "type", "pooled", "priority")))
            path, beside = f"data/runs/{run['name']}.txt", f"data/runs/{run['name']}.ir_metadata.yml"
            with self._opened(path) as file:
                stored_run = runs.submit(self.workspace, self.principal, made.name, Body(file), details).run
            _require_same(path, stored_run.sha256, run["sha256"])
            if (wanted := run.get("metadata_sha256")) is not None:
                with self._opened(beside) as file:
                    put = run_metadata.put(self.workspace, self.principal, made.name, run["name"], Body(file))
                _require_same(beside, put.sha256, wanted)

    def _publish(self, made: Collection, version: Mapping[str, Any]) -> None:
        """Publish a version under the order that it has. Before there are runs, that joins nothing."""
        judgments, order = version["judgments"], {name: version[name] for name in RunOrder._fields}
        with self.workspace.database.writing() as tx:
            stored_collections.change(tx, made.id, **order)
            newest = stored_qrels.find(tx, made.id, VersionName(judgments))
            if newest and (newest.sha256, newest.columns) == (version["sha256"], version["columns"]):
                # The same judgments under another order, which no upload makes.
                now = self.workspace.now()
                times = {"created_at": now, "published_at": after_all(tx, made, judgments, now)}
                stored_qrels.add_again(tx, newest, **order, **times)
                return
        path = f"data/qrels/{judgments}-{version['version']}.txt"
        with self._opened(path) as file:
            stored = qrels.publish(
                self.workspace, self.principal, made.name, Body(file), version["columns"], judgments=judgments
            ).qrels
        _require_same(path, stored.sha256, version["sha256"])

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        """Open a copy of a file, which other processes can read as well."""
        with self.folder.open(path) as packed, SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            copyfileobj(packed, file)
            file.seek(0)
            yield cast(BinaryIO, file)

    def _finish(self, made: Collection, settings: dict[str, Any]) -> tuple[Collection, Release]:
        own = self.document["release"]
        document, log = self.folder.read(DOCUMENT), self.folder.read(LOG) if LOG in self.folder else b""
        with ExitStack() as stack:
            bodies = [document, log, *self._results()]
            contents = [stack.enter_context(self._prepared(body)) for body in bodies]
            tx = stack.enter_context(self.workspace.database.writing())
            for content in contents:
                blobs.put(tx, content)
            versions = self._set_versions(tx, made)
            run_ids = self._set_arrivals(tx, made)
            matrix_ids = self._add_matrices(tx, made)
            groups = [TopicGroup(name, tuple(topics)) for name, topics in self.document["topic_groups"].items()]
            topic_groups.put(tx, made.id, groups)
            numbers = self._add_jobs(tx, made, versions, run_ids)
            self._add_reports(tx, made, versions, numbers)
            times = {
                name: _time(settings[name]) for name in ("opens_at", "closes_at", "releases_at", "released_at")
            } | {"created_at": _time(settings["created_at"])}
            plain = {name: settings[name] for name in ("title", "topics", "metrics", "public", "policy")}
            changed = stored_collections.change(tx, made.id, uuid=own["uuid"], phase="released", **plain, **times)
            release = releases.add(
                tx,
                run_ids.values(),
                versions.values(),
                matrix_ids,
                collection_id=made.id,
                **{name: own[name] for name in ("number", "title", "doi", "corrects", "citation")},
                sha256=contents[0].sha256,
                evidence_sha256=contents[1].sha256,
                created_at=_time(own["created_at"]),
            )
            audit.record(
                tx, self.principal, "collection-imported", own["name"], changed, sha256=release.sha256, uuid=own["uuid"]
            )
        return changed, release

    def _results(self) -> Iterator[bytes]:
        for each in (*self.document["results"], *self.document["reports"]):
            path = f"data/results/{each['id']}/result.json"
            body = self.folder.read(path)
            _require_same(path, hashlib.sha256(body).hexdigest(), each["sha256"])
            yield body

    def _add_matrices(self, tx: Transaction, made: Collection) -> list[int]:
        """Add the score matrices with their scores, and return their ids."""
        ids = []
        for each in sorted(self.document.get("score_matrices", ()), key=lambda each: (each["name"], each["version"])):
            path = f"data/score-matrices/{each['name']}-{each['version']}.csv"
            body = self.folder.read(path)
            _require_same(path, hashlib.sha256(body).hexdigest(), each["csv_sha256"])
            (_, *topics), *rows = csv.reader(io.StringIO(body.decode(), newline=""))
            same = ("name", "direction", "low", "high", "missing", "filled", "dropped", "sha256")
            stored = score_matrices.add(
                tx,
                np.array([row[1:] for row in rows], np.float64),
                collection_id=made.id,
                **{name: each[name] for name in same},
                runs=[row[0] for row in rows],
                topics=topics,
                created_at=_time(each["created_at"]),
            )
            imports.set_matrix(tx, stored.id, each["version"])
            ids.append(stored.id)
        return ids

    def _prepared(self, body: bytes) -> Any:
        return blobs.prepared(self.workspace.database, hashlib.sha256(body).hexdigest(), len(body), compress(body))

    def _set_versions(self, tx: Transaction, made: Collection) -> dict[VersionName, int]:
        """Give each version its number and times, and return their ids."""
        found: dict[VersionName, int] = {}
        by_set: dict[str, list[Mapping[str, Any]]] = {}
        for version in self.document["judgments"]:
            by_set.setdefault(version["judgments"], []).append(version)
        for judgments, versions in by_set.items():
            stored = stored_qrels.page(tx, made.id, judgments, drafts=False, after=None, limit=len(versions))
            in_order = sorted(versions, key=lambda each: (each["created_at"], each["version"]))
            for one, version in reversed(list(zip(stored, in_order, strict=True))):
                times = _time(version["created_at"]), _time(version["published_at"])
                imports.set_version(tx, one.id, version["version"], *times)
                found[VersionName(judgments, version["version"])] = one.id
            if judgments != OFFICIAL:
                imports.set_released(tx, made.id, judgments, _time(in_order[0]["published_at"]))
        return found

    def _set_arrivals(self, tx: Transaction, made: Collection) -> dict[str, int]:
        """Give each run its time, and return the ids of the runs by name."""
        found = {run.name: run.id for run in stored_runs.page(tx, made.id)}
        for run in self.document["runs"]:
            imports.set_arrival(tx, found[run["name"]], _time(run["created_at"]))
        return found

    def _add_jobs(
        self, tx: Transaction, made: Collection, versions: Mapping[VersionName, int], run_ids: Mapping[str, int]
    ) -> dict[str, int]:
        """Add the jobs with their files, and return their numbers by id."""
        numbers = {}
        for each in self.document["results"]:
            numbers[each["id"]] = imports.add_job(
                tx,
                _time(each["finished_at"]),
                sorted(versions[VersionName(*other)] for other in each["others"]),
                id=each["id"],
                collection_id=made.id,
                kind=each["kind"],
                params=each["params"],
                qrels_id=versions[VersionName(each["judgments"], each["version"])],
                run_ids=[run_ids[name] for name in each["runs"]],
                engine_version=each["engine_version"],
                result_sha256=each["sha256"],
                exhibits=self.folder.json(f"data/results/{each['id']}/exhibits.json"),
            )
            self._add_files(tx, each["id"], numbers[each["id"]])
        return numbers

    def _add_reports(
        self, tx: Transaction, made: Collection, versions: Mapping[VersionName, int], numbers: Mapping[str, int]
    ) -> None:
        for each in self.document["reports"]:
            at, about = _time(each["finished_at"]), each["about"]
            chapter = {"about": about, "left_out": each["left_out"]}
            needed = {key: numbers[job] for key, job in each["jobs"].items()}
            own = {name: each[name] for name in ("id", "name", "params")}
            imports.add_report(tx, at, made.id, chapter, needed, **own)
            number = imports.add_job(
                tx,
                at,
                [],
                id=derived_id("layout", each["id"]),
                collection_id=made.id,
                kind="layout",
                params={"report": each["id"]},
                qrels_id=versions[VersionName(about.get("judgment_set", OFFICIAL), about["qrels_version"])],
                run_ids=[],
                engine_version=None,
                result_sha256=each["sha256"],
                exhibits=self.folder.json(f"data/results/{each['id']}/exhibits.json"),
            )
            self._add_files(tx, each["id"], number)

    def _add_files(self, tx: Transaction, identity: str, number: int) -> None:
        """Add the files that a worker made of a result. Figures are drawn again when somebody asks for one."""
        own = f"data/results/{identity}"
        made: list[StoredFile] = []
        for path in self.folder.below(own):
            name = path.removeprefix(f"{own}/")
            if name not in BESIDE and not name.startswith("figures/"):
                made.append(write_parts(tx, number, name, [self.folder.read(path)]))
        files.add(tx, made)


def _require_same(path: str, there: str, frozen: str) -> None:
    if there != frozen:
        raise _unusable(f"{path} has the SHA-256 {there}, but {DOCUMENT} says {frozen}")


def _time(text: str | None) -> Any:
    return datetime.fromisoformat(text) if text is not None else None
