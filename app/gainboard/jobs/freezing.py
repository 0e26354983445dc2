"""Releases: all that a collection has now, written into one document that never changes."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.verify import Verification
from gainboard.errors import Conflict, InvalidRequest
from gainboard.evaluation import audit
from gainboard.evaluation.access import visibility
from gainboard.evaluation.access.principals import Principal, Sender
from gainboard.evaluation.boards.leaderboard import ALPHA, BOARDS_VERSION, Board, leaderboard
from gainboard.evaluation.releases.document import FORM, MOST, Archived, FrozenJudgments, FrozenNuggets, FrozenRun
from gainboard.evaluation.releases.releases import history, name_of
from gainboard.evaluation.scoring import binding
from gainboard.evaluation.scoring.requests import Question
from gainboard.evaluation.scoring.score_matrices import matrix_as_json
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.verification import environment
from gainboard.metrics import SCORING_VERSION
from gainboard.store import (
    blobs,
    collections,
    job_records,
    jobs,
    nuggets,
    qrels,
    records,
    releases,
    reports,
    runs,
    score_matrices,
)
from gainboard.store.database import Transaction
from gainboard.trec.bodies import compress
from gainboard.vocabulary import OFFICIAL

SETTINGS = (
    *("title", "level_names", "highest_level", "gains", "depth", "order_by", "ignore_identical_ids", "intents"),
    *("topics", "metrics", "public", "policy", "opens_at", "closes_at", "releases_at", "released_at", "created_at"),
)


@dataclass(frozen=True)
class Wanted:
    """The wishes of whoever freezes a collection. Without metrics, those of the collection count."""

    title: str = ""
    metrics: Sequence[str] = ()
    creators: Sequence[str] = ()
    license: str = ""
    doi: str | None = None
    run_files: bool = True
    """False if exports of the release have the runs' hashes alone."""


@dataclass(frozen=True)
class Held:
    """The rows that a release holds."""

    qrels: Sequence[records.Qrels]
    runs: Sequence[records.Run]
    jobs: Sequence[job_records.StoredJob]
    reports: Sequence[job_records.StoredReport]
    matrices: Sequence[records.ScoreMatrix]

    def describe_results(self, tx: Transaction) -> list[dict[str, Any]]:
        """Return what the document says of each result."""
        names = {run.id: run.name for run in self.runs}
        versions = {version.id: version for version in self.qrels}
        return [
            {
                "id": job.id,
                "kind": job.kind,
                "title": find_kind(job.kind).title,
                "params": job.params,
                "sha256": job.result_sha256,
                "engine_version": job.engine_version,
                "finished_at": job.finished_at,
                "judgments": job.judgment_set,
                "version": job.qrels_version,
                "runs": [names[run_id] for run_id in job.run_ids],
                "others": [list(versions[key].named) for key in jobs.versions_of(tx, job) if key != job.qrels_id],
            }
            for job in self.jobs
        ]

    def describe_reports(self) -> list[dict[str, Any]]:
        """Return what the document says of each report."""
        return [
            {
                "id": report.id,
                "name": report.name,
                "params": report.params,
                "sha256": report.result_sha256,
                "finished_at": report.finished_at,
                "about": report.chapters[0].about,
                "left_out": report.chapters[0].left_out,
                "jobs": {key: job.id for key, job in report.chapters[0].jobs.items()},
            }
            for report in self.reports
        ]


def freeze(
    workspace: Workspace, principal: Principal, sender: Sender, name: str, wanted: Wanted
) -> tuple[records.Collection, records.Release]:
    """Make a release of a collection (organisers), which names the one before it as what it corrects.

    Raise Conflict while the judgments are hidden, and if the collection changes meanwhile.
    """
    with workspace.database.reading() as tx:
        now = workspace.now()
        collection = _open(tx, principal, name, now).collection
        number = releases.last_number(tx, collection.id) + 1
        held = _select_rows(tx, collection)
        frozen = _describe_rows(tx, collection, held)
    about = _describe_release(collection, number, wanted, now)
    # Scoring may read runs, so it happens between the two transactions.
    boards = _compute_boards(workspace, sender, name, wanted)
    versions = {"scoring_version": SCORING_VERSION, "boards_version": BOARDS_VERSION}
    made_by = {"environment": environment(), **versions}
    document = {"form": FORM, "release": about, "made_by": made_by, **frozen, **boards}
    # The hash of the last entry proves all earlier ones, because each entry holds the hash of the one before.
    newest = deque(history(audit.entries_of(workspace, collection), document), maxlen=1)
    document["audit"] = {"hash": newest[0]["hash"]} if newest else None
    body = to_json(document, inf_nan_mode="null")
    Archived.model_validate_json(body)  # what is written can be imported
    sha256 = hashlib.sha256(body).hexdigest()
    with (
        blobs.prepared(workspace.database, sha256, len(body), compress(body)) as content,
        workspace.database.writing() as tx,
    ):
        view = visibility.open_locked(tx, principal, name)
        view.require_organiser()
        # The rows were read in another transaction, so a change in between would be in some of them only.
        if view.collection.revision != collection.revision or releases.last_number(tx, collection.id) >= number:
            raise Conflict(f"{name!r} was changed while it was frozen. Nothing was stored. Send the request again.")
        blobs.put(tx, content)
        release = releases.add(
            tx,
            [run.id for run in held.runs],
            [version.id for version in held.qrels],
            [matrix.id for matrix in held.matrices],
            collection_id=collection.id,
            **{name: about[name] for name in ("number", "title", "doi", "corrects", "citation")},
            sha256=sha256,
            evidence_sha256=None,
            created_at=now,
        )
        details = {"sha256": sha256, "corrects": about["corrects"]}
        audit.record(tx, principal, "release-frozen", about["name"], collection, **details)
    return collection, release


def _describe_release(collection: records.Collection, number: int, wanted: Wanted, now: datetime) -> dict[str, Any]:
    """Return what a release says of itself, with the text by which it is cited."""
    name, title = name_of(collection, number), wanted.title or collection.title or collection.name
    by = f"{', '.join(wanted.creators)} ({now.year}). " if wanted.creators else ""
    doi = f" https://doi.org/{wanted.doi}." if wanted.doi else ""
    return {
        "name": name,
        "collection": collection.name,
        "uuid": collection.uuid,
        "number": number,
        "title": title,
        "creators": list(wanted.creators),
        "license": wanted.license,
        "doi": wanted.doi,
        "corrects": number - 1 or None,
        "created_at": now,
        "run_files": wanted.run_files,
        "citation": f"{by}{title}. Release {name} of a test collection, frozen {now.date()}.{doi}",
    }


def require_freezer(workspace: Workspace, principal: Principal, name: str) -> None:
    """Raise what `freeze` raises for a principal who may not freeze the collection, or not now."""
    with workspace.database.reading() as tx:
        _open(tx, principal, name, workspace.now())


def _open(tx: Transaction, principal: Principal, name: str, now: datetime) -> visibility.View:
    view = visibility.open_collection(tx, principal, name)
    view.require_organiser()
    if not view.collection.is_released(now):
        raise Conflict(f"The judgments of {name!r} are hidden. Release them first: a release shows everything.")
    return view


def _select_rows(tx: Transaction, collection: records.Collection) -> Held:
    # A release is public, so sets that are still hidden stay out.
    sets = [OFFICIAL] + [row.name for row in qrels.page_sets(tx, collection.id, hidden=False)]
    versions = [
        row
        for judgments in sets
        for row in qrels.page(tx, collection.id, judgments, drafts=False, after=None, limit=MOST)
    ]
    version_ids, stored = {version.id for version in versions}, runs.page(tx, collection.id)
    run_ids = {run.id for run in stored}
    succeeded = jobs.page(tx, before=None, limit=MOST, collection_id=collection.id, sets=True, state="succeeded")
    # Results about withdrawn runs or discarded versions stay out: readers could not compute them again.
    kept = [
        job
        for job in succeeded
        if run_ids.issuperset(job.run_ids) and version_ids.issuperset(jobs.versions_of(tx, job))
    ]
    matrices = score_matrices.list_versions(tx, collection.id)
    labels = {binding.CustomMetric(matrix).label for matrix in matrices}
    verifiable = {job.id for job in kept if _is_current(job) and labels.issuperset(binding.custom_labels(job.params))}
    every = reports.page(tx, before=None, limit=MOST, collection_id=collection.id)
    alone = [row for row in every if len(row.chapters) == 1 and row.state == "succeeded"]
    # A report whose jobs are not in the release could not be laid out again.
    whole = [row for row in alone if verifiable.issuperset(job.id for job in row.jobs)]
    return Held(versions, stored, [job for job in kept if job.id in verifiable], whole, matrices)


def _is_current(job: job_records.StoredJob) -> bool:
    """Return whether a job's result is of this version, and can be computed again from files."""
    if job.kind in job_records.DERIVED_KINDS or job.kind == Verification.name:
        return False
    kind = find_kind(job.kind)
    return not kind.is_for_organisers and kind.engine_version == job.engine_version


def _describe_rows(tx: Transaction, collection: records.Collection, held: Held) -> dict[str, Any]:
    beside = runs.metadata_hashes(tx, collection.id)
    rare = {"queries": collections.find_queries(tx, collection.id), "sample_of": collection.sample_of}
    rare["kind"] = "scores" if collection.has_scores_alone else None
    of_answers = nuggets.page(tx, collection.id, drafts=False, limit=MOST)
    published = [{name: getattr(row, name) for name in FrozenNuggets.model_fields} for row in of_answers]
    rarely = ("family", "system", "replicate")
    of_run = [name for name in FrozenRun.model_fields if name not in ("late", "metadata_sha256", *rarely)]
    # Left out where they say nothing, so that earlier versions can import what they know.
    settings = {name: getattr(collection, name) for name in SETTINGS} | {k: v for k, v in rare.items() if v}
    return {
        "settings": settings,
        "judgments": [{name: getattr(row, name) for name in FrozenJudgments.model_fields} for row in held.qrels],
        "runs": [
            {name: getattr(run, name) for name in of_run}
            | {"late": collection.is_late(run), "metadata_sha256": beside.get(run.id)}
            | {name: value for name in rarely if (value := getattr(run, name))}
            for run in held.runs
        ],
        "score_matrices": [matrix_as_json(tx, matrix) for matrix in held.matrices],
        **({"nuggets": published} if published else {}),
        "topic_groups": {group.name: group.topics for group in collections.page_groups(tx, collection.id)},
        "results": held.describe_results(tx),
        "reports": held.describe_reports(),
    }


def _compute_boards(workspace: Workspace, sender: Sender, name: str, wanted: Wanted) -> dict[str, Any]:
    first = leaderboard(workspace, sender, name, Question(tuple(wanted.metrics)), None)
    table = first.scores
    labels = table.labels
    if not first.rows:
        raise InvalidRequest(f"{name!r} has no run yet, so its release would have no board. Upload runs first.")
    others = {label: leaderboard(workspace, sender, name, Question(tuple(labels)), label) for label in labels[1:]}
    return {
        "metrics": labels,
        "board_version": {"judgments": table.qrels.judgments, "version": table.qrels.version},
        "boards": [_describe_board(board) for board in (first, *others.values())],
        "topics": list(table.topics),
        "scores": {
            label: {
                run: [None if math.isnan(score) else score for score in row]
                for run, row in zip(table.names, scores.tolist(), strict=True)
            }
            for label, scores in zip(labels, table.by_topic, strict=True)
        },
    }


def _describe_board(board: Board) -> dict[str, Any]:
    labels, tested = board.scores.labels, board.tested
    return {
        "by": board.by,
        "topics": (board.topics_scored() or {}).get(board.by),
        "test": f"bootstrap range test of all pairs, {tested.draws} draws, {ALPHA:g}" if tested else None,
        "no_groups_because": None if tested else board.groups,
        "rows": [
            {
                "rank": row.rank,
                "run": row.run.name,
                "team": row.run.team,
                "means": dict(zip(labels, row.means, strict=True)),
                "intervals": dict(zip(labels, row.intervals, strict=True)),
                "groups": row.letters,
                "rank_set": row.rank_set,
            }
            for row in board.rows
        ],
    }
