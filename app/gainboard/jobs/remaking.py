"""A release made again: of the judgments, runs and uploaded scores in its folder, by what made it the first time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Event
from typing import Any, BinaryIO, Final

from pydantic_core import to_json

from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.verify import compare
from gainboard.errors import Conflict, GainboardError
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import Engine
from gainboard.jobs.freezing import Wanted, freeze
from gainboard.jobs.importing import NO_LOG, import_release
from gainboard.jobs.submission import sizes_of_chunks
from gainboard.jobs.verification import open_analysis
from gainboard.store import blobs, imports, jobs, qrels, reports, runs
from gainboard.store.job_records import StoredWork
from gainboard.store.records import Collection, Release, VersionName
from gainboard.trec.bodies import compress

GIVEN: Final = ("form", "release", "made_by", "audit")
"""The members of a document that tell who made the release, when and with what. Nothing in a folder can prove them."""
LOOK_SECONDS: Final = 0.2
PACKED_BYTES: Final = 1 << 50


@dataclass(frozen=True)
class Remade:
    """A release made again, whose folder can be written. `not_made` says of results by id why they could not be."""

    collection: Collection
    release: Release
    not_made: Mapping[str, str]


def make_again(
    workspace: Workspace,
    sender: Sender,
    packed: BinaryIO,
    written: bytes,
    log: bytes | None,
    slots: int,
    told: Callable[[int, int], None],
) -> Remade:
    """Make a release again in an empty workspace.

    `packed` has its files in a tar archive, with a document without results. `written` is the whole document, and `log`
    the history, which cannot be made again. `told` gets how many results are done, and of how many.
    """
    document: dict[str, Any] = json.loads(written)
    principal = authenticate(workspace, sender)
    collection = import_release(workspace, principal, Body(packed), PACKED_BYTES).collection
    not_made = _queue(workspace, collection, document)
    _run_all(workspace, slots, told)
    with workspace.database.reading() as tx:
        every: list[StoredWork] = [*jobs.among(tx, [entry["id"] for entry in document["results"]]).values()]
        every += reports.among(tx, [entry["id"] for entry in document["reports"]]).values()
    for work in every:
        if work.state != "succeeded":
            raise Conflict(f"The result {work.id} could not be computed again: {work.error or work.state}")
    wanted = Wanted(metrics=tuple(document["metrics"]))
    collection, frozen = freeze(workspace, principal, sender, collection.name, wanted)
    remade = json.loads(b"".join(blobs.get(workspace.database, frozen.sha256)))
    # What cannot be made again stays as it was.
    for name in ("results", "reports"):
        again = {entry["id"]: entry for entry in remade[name]}
        remade[name] = [
            {**again.get(entry["id"], entry), "finished_at": entry["finished_at"]} for entry in document[name]
        ]
    if not document["release"]["run_files"]:  # the folder has no files beside runs, either
        beside = {run["name"]: run["metadata_sha256"] for run in document["runs"]}
        remade["runs"] = [{**run, "metadata_sha256": beside[run["name"]]} for run in remade["runs"]]
    remade |= {name: document[name] for name in GIVEN}
    # The order of members has no meaning, but pages show the hash of the document.
    is_same = compare(document, remade).outcome == "identical"
    hashes = [
        _stored(workspace, written if is_same else to_json(remade)),
        NO_LOG if log is None else _stored(workspace, log),
    ]
    created_at = datetime.fromisoformat(document["release"]["created_at"])
    cited = {name: document["release"][name] for name in ("number", "title", "doi", "corrects", "citation")}
    release = replace(frozen, **cited, sha256=hashes[0], evidence_sha256=hashes[1], created_at=created_at)
    return Remade(collection, release, not_made)


def _stored(workspace: Workspace, body: bytes) -> str:
    sha256 = hashlib.sha256(body).hexdigest()
    with (
        blobs.prepared(workspace.database, sha256, len(body), compress(body)) as content,
        workspace.database.writing() as tx,
    ):
        blobs.put(tx, content)
    return sha256


def _queue(workspace: Workspace, collection: Collection, document: Mapping[str, Any]) -> dict[str, str]:
    """Queue all results under their ids. Return why some are not, by id."""
    not_made, rows = {}, {}
    with workspace.database.reading() as tx:
        stored = {run.name: run.id for run in runs.page(tx, collection.id)}
    for frozen in document["results"]:
        try:
            rows[frozen["id"]] = _row(workspace, collection, stored, frozen)
        except (GainboardError, ValueError, KeyError, TypeError) as error:
            not_made[frozen["id"]] = str(error)
    numbers = {}
    with workspace.database.writing() as tx:
        # A release lists the newest first. Reports come before the first job can end, as each waits for its jobs.
        for key in reversed(rows):
            numbers[key] = jobs.add(tx, workspace.now(), **rows[key])[0].number
        for frozen in reversed(document["reports"]):
            if lacking := [job for job in frozen["jobs"].values() if job not in numbers]:
                not_made[frozen["id"]] = (
                    f"its job {lacking[0][:12]} is not: {not_made.get(lacking[0], 'there is none')}"
                )
                continue
            chapter = {"about": frozen["about"], "left_out": frozen["left_out"]}
            needed = {key: numbers[job] for key, job in frozen["jobs"].items()}
            named = {name: frozen[name] for name in ("id", "name", "params")}
            imports.add_report(tx, workspace.now(), collection.id, chapter, needed, **named)
    return not_made


def _row(
    workspace: Workspace, collection: Collection, stored: Mapping[str, int], frozen: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a job. Raise an error if this version cannot compute its result."""
    if frozen["engine_version"] != (here := find_kind(frozen["kind"]).engine_version):
        raise ValueError(f"made by engine version {frozen['engine_version']!r} (here {here}), not comparable")
    with workspace.database.reading() as tx:
        names = [
            VersionName(frozen["judgments"], frozen["version"]),
            *(VersionName(*other) for other in frozen["others"]),
        ]
        main, *others = (qrels.find(tx, collection.id, name) for name in names)
    if main is None or None in others:
        raise ValueError("it is about a version of the judgments that is not there")
    run_ids = [stored[name] for name in frozen["runs"]]
    analysis = open_analysis(workspace, frozen["kind"], frozen["params"], collection.id, main.id, run_ids)
    return {
        "sizes": sizes_of_chunks(analysis.parts()),
        "other_qrels": {other.id for other in others if other is not None},
        **{name: frozen[name] for name in ("id", "kind", "params", "engine_version")},
        "collection_id": collection.id,
        "qrels_id": main.id,
        "run_ids": run_ids,
        "token_id": None,
    }


def _run_all(workspace: Workspace, slots: int, told: Callable[[int, int], None]) -> None:
    """Run all jobs, and lay out the reports."""
    news = Event()
    engine = Engine(workspace, slots, changed=news.set)
    engine.start()
    try:
        while True:
            # Cleared before the count, so that what ends during the count is news again.
            news.clear()
            with workspace.database.reading() as tx:
                done, every = jobs.count_done(tx)
            told(done, every)
            if done == every:
                return
            news.wait(LOOK_SECONDS)
    finally:
        engine.stop()
