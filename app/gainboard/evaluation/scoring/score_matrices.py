"""Score matrices: scores of a metric that was computed elsewhere, uploaded under a name, and used as `custom:NAME`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, changing, organising, reading_judgments
from gainboard.evaluation.judgments.versions import known_topics
from gainboard.evaluation.releases.releases import require_not_held
from gainboard.evaluation.runs.intake import Body, Intake, read_by
from gainboard.evaluation.scoring.systems import describe_runs, follow_matrices, require_names, rows_of_runs
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import csv_line
from gainboard.notation.texts import is_slug, read_number
from gainboard.store import collections, releases, runs, score_matrices
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, ScoreMatrix
from gainboard.trec.score_matrices import Expected, Missing, read_score_matrix
from gainboard.vocabulary import LEAVE_OUT, Action, Direction, MatrixForm, is_of_answers


@dataclass(frozen=True)
class MatrixSettings:
    """The statements about an uploaded matrix: which scores are better, their range, and what a missing cell means."""

    direction: Direction = "up"
    low: float | None = None
    high: float | None = None
    missing: str | None = None
    form: MatrixForm | None = None
    measure: str | None = None
    run: str | None = None

    def checked(self) -> Missing:
        """Return what a missing cell means. Raise InvalidRequest if the settings do not fit each other."""
        if (self.low is None) != (self.high is None):
            raise InvalidRequest.at(
                "query.low", "half-range", "A range has two ends. Give `low` and `high`, or neither."
            )
        if self.low is not None and self.high is not None and not self.low < self.high:
            message = f"The range from {self.low!r} to {self.high!r} is empty. `low` must be less than `high`."
            raise InvalidRequest.at("query.low", "empty-range", message)
        if self.missing in (None, "drop-topic", LEAVE_OUT):
            return self.missing  # type: ignore[return-value]
        if self.missing == "refuse":
            return None
        if self.missing == "zero" and self.direction == "down":
            message = (
                "With direction=down, zero would be the best score, so a missing score cannot be zero. Say which score "
                "it is: missing=VALUE, or missing=drop-topic."
            )
            raise InvalidRequest.at("query.missing", "zero-is-best", message)
        try:
            value = 0.0 if self.missing == "zero" else read_number(self.missing or "")
        except ValueError as error:
            message = f"{self.missing!r} is not a score. Use a number, `zero`, `drop-topic`, `leave-out` or `refuse`."
            raise InvalidRequest.at("query.missing", "bad-number", message) from error
        if self.low is not None and self.high is not None and not self.low <= value <= self.high:
            message = f"{value!r} is not in the range from {self.low!r} to {self.high!r}. Choose another value."
            raise InvalidRequest.at("query.missing", "out-of-range", message)
        return value


def put_matrix(
    workspace: Workspace, principal: Principal, name: str, matrix: str, body: Body, settings: MatrixSettings
) -> tuple[ScoreMatrix, bool]:
    """Store a file as the next version of a matrix (organisers), and return it with whether it is new.

    The bytes of the newest version under the same settings are no new version. Raise FaultyFile with all faults.
    """
    _refuse_answers(matrix)
    with organising(workspace, principal, name) as (tx, view):
        if view.collection.has_scores_alone and settings.missing is None:
            settings = replace(settings, missing=LEAVE_OUT)
        expected = _expected_matrix(workspace, tx, view, matrix, settings)
    with Intake(body, workspace.limits) as intake:
        options: dict[str, Any] = {"limits": workspace.limits, "expected": expected, "form": settings.form}
        file = intake.read(partial(read_by, read_score_matrix, **options))
    if view.collection.has_scores_alone:
        require_names(file.runs, "system")
        require_names(file.topics, "topic")
    missing = None if settings.missing == "refuse" else settings.missing
    statements = {"direction": settings.direction, "low": settings.low, "high": settings.high, "missing": missing}
    with changing(workspace, principal, name) as (tx, view):
        collection, now, live = view.collection, workspace.now(), runs.page(tx, view.collection.id)
        names, systems = describe_runs(live, file.runs, file.replicates)
        names = names if collection.has_scores_alone else rows_of_runs(live)
        file = replace(file, runs=[names[system] for system in file.runs])
        last = score_matrices.find_newest(tx, collection.id, matrix)
        says_the_same = all(getattr(last, name) == value for name, value in statements.items()) if last else False
        if last and says_the_same and score_matrices.has_scores(tx, last, file.runs, file.topics, file.scores):
            return last, False
        stored = score_matrices.add(
            tx,
            file.scores,
            None,
            collection_id=collection.id,
            name=matrix,
            **statements,
            filled=file.filled,
            dropped=file.dropped,
            sha256=intake.sha256,
            runs=file.runs,
            topics=file.topics,
            created_at=now,
        )
        if collection.has_scores_alone:
            follow_matrices(tx, collection, systems, now)
        collections.touch(tx, collection.id)
        subject, details = f"{matrix} {stored.version}", {"sha256": stored.sha256, "bytes": intake.size, **statements}
        audit.record(tx, principal, "score-matrix-uploaded", subject, collection, **details)
        return stored, True


def _expected_matrix(
    workspace: Workspace, tx: Transaction, view: View, matrix: str, settings: MatrixSettings
) -> Expected:
    limits = (settings.low, settings.high, settings.checked(), settings.measure, settings.run)
    if view.collection.has_scores_alone:
        return Expected(None, None, *limits, matrix)
    names = frozenset(rows_of_runs(runs.page(tx, view.collection.id)))
    return Expected(names, known_topics(workspace, tx, view.collection), *limits)


def list_matrices(
    workspace: Workspace, principal: Principal, name: str, after: str | None = None, limit: int = 500
) -> list[ScoreMatrix]:
    """Return the newest version of each matrix by name, for principals who may see the judgments."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        return score_matrices.page(tx, view.collection.id, after, limit)


def find_matrix(
    workspace: Workspace, principal: Principal, name: str, matrix: str, version: int | None = None
) -> tuple[ScoreMatrix, NDArray[np.float64]]:
    """Return a version of a matrix with its scores, the newest without a number. Raise NotFound."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        versions = [stored for stored in _require(tx, view, matrix) if version in (None, stored.version)]
        if not versions:
            raise NotFound(f"The score matrix {matrix!r} has no version {version}. Without a number, it is the newest.")
        return versions[-1], score_matrices.scores_of(tx, versions[-1])


def delete_matrix(workspace: Workspace, principal: Principal, name: str, matrix: str) -> None:
    """Delete all versions of a matrix (organisers). Jobs about them keep their results."""
    _refuse_answers(matrix)
    with changing(workspace, principal, name) as (tx, view):
        _require(tx, view, matrix)
        delete_matrices(tx, principal, view.collection, [matrix], workspace.now(), "score-matrix-deleted", matrix)


def delete_matrices(
    tx: Transaction,
    principal: Principal,
    collection: Collection,
    matrices: Sequence[str],
    now: datetime,
    action: Action,
    subject: str,
) -> None:
    """Delete all versions of some matrices. Raise HeldByRelease if a release has any of them."""
    held: dict[str, Any] = {}
    for name in matrices:
        holding = releases.holding_matrix(tx, collection.id, name)
        held |= require_not_held(principal, collection, f"The score matrix {name!r}", holding)
    versions = [version for name in matrices for version in score_matrices.list_versions(tx, collection.id, name)]
    score_matrices.delete(tx, versions, now)
    if collection.has_scores_alone:
        follow_matrices(tx, collection, {}, now)
    collections.touch(tx, collection.id)
    audit.record(tx, principal, action, subject, collection, versions=len(versions), **held)


def _refuse_answers(matrix: str) -> None:
    if is_of_answers(matrix):
        message = (
            f"{matrix!r} has the scores of answers, which follow from verdicts. Send or delete those of the judge."
        )
        raise InvalidRequest.at("path.matrix", "reserved-name", message)


def _require(tx: Transaction, view: View, matrix: str) -> list[ScoreMatrix]:
    """Return all versions of a matrix, the newest last."""
    versions = score_matrices.list_versions(tx, view.collection.id, matrix) if is_slug(matrix) else []
    if not versions:
        raise NotFound(f"{view.collection.name!r} has no score matrix {matrix!r}, or this token may not see it.")
    return versions


def csv_of_matrix(matrix: ScoreMatrix, scores: NDArray[np.float64]) -> Iterator[str]:
    """Yield a matrix as CSV with a row for each run, in the form that is uploaded."""
    yield csv_line(("run", *matrix.topics))
    for run, row in zip(matrix.runs, scores.tolist(), strict=True):
        yield csv_line((run, *row))


def matrix_as_json(tx: Transaction, matrix: ScoreMatrix) -> dict[str, Any]:
    """Return what a release or result says of a matrix.

    The scores are in a CSV file under its SHA-256. The uploaded file is not kept, and may have had another form. Those
    of answers come with the verdicts that they follow from.
    """
    named = ("name", "version", "direction", "low", "high", "missing", "filled", "dropped", "sha256", "created_at")
    text = "".join(csv_of_matrix(matrix, score_matrices.scores_of(tx, matrix)))
    fields = {name: getattr(matrix, name) for name in named} | {"dropped": list(matrix.dropped)}
    verdicts = score_matrices.verdicts_of(tx, matrix)
    said = {"verdicts": asdict(verdicts)} if verdicts else {}
    return fields | {"csv_sha256": hashlib.sha256(text.encode()).hexdigest()} | said
