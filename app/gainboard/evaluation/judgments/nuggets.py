"""Nuggets of a collection, and what judges say of the answers of runs; the scores that follow become score matrices.

The first matrix of a judge has the verdicts that it follows from. So each version, also in a release, keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import Conflict, NotFound, TooLarge
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, changing, organising, reading_judgments
from gainboard.evaluation.judgments.versions import known_topics
from gainboard.evaluation.runs.intake import Body, Intake, read_by
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.evaluation.scoring.binding import name_of_answers
from gainboard.evaluation.scoring.score_files import score_verdicts
from gainboard.evaluation.scoring.score_matrices import delete_matrices
from gainboard.evaluation.scoring.systems import ensure_runs, follow_matrices
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics.answers import METRICS_OF_ANSWERS
from gainboard.store import collections, nuggets, runs, score_matrices
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, NuggetsVersion
from gainboard.trec.nuggets import IMPORTANCE, Nuggets, Verdicts, read_nuggets, read_verdicts
from gainboard.vocabulary import LEAVE_OUT, Stray, judge_of_matrix, metric_of_matrix

MOST_BYTES: Final = 64 << 20
"""The largest file of nuggets, which is read again with every file of verdicts."""


@dataclass(frozen=True)
class SeenNuggets:
    """A version of the nuggets, whether it is in use, and which verdicts on answers it makes unfit."""

    version: NuggetsVersion
    in_use: bool
    unfit: Sequence[str] = ()
    """A sentence for each run and judge whose verdicts lack some of the nuggets."""
    created: bool = False


def put_nuggets(
    workspace: Workspace, principal: Principal, name: str, body: Body, *, draft: bool = False, stray: Stray = "refuse"
) -> SeenNuggets:
    """Store a file as the next version of the nuggets (organisers), published or as a draft.

    The bytes of the newest version are no new version. Raise FaultyFile with all faults.
    """
    with organising(workspace, principal, name) as (tx, view):
        topics = known_topics(workspace, tx, view.collection)
    with Intake(body, workspace.limits) as intake:
        content = bytearray()
        for piece in intake.chunks():
            content += piece
            if len(content) > MOST_BYTES:
                raise TooLarge(f"The file has more than {MOST_BYTES:,} bytes. Leave out topics", limit=MOST_BYTES)
        file = read_nuggets([bytes(content)], workspace.limits, topics, stray)
    with changing(workspace, principal, name) as (tx, view):
        newest, now = nuggets.find_newest(tx, view.collection.id), workspace.now()
        if newest and newest.sha256 == intake.sha256:
            return SeenNuggets(newest, in_use=True)
        counts = {"topics": len(file.nuggets), "nuggets": sum(map(len, file.nuggets.values())), "strays": file.strays}
        values = {"sha256": intake.sha256, "created_at": now, **counts}
        stored = nuggets.add(tx, view.collection.id, bytes(content), **values)
        if draft:
            audit.record(tx, principal, "nuggets-drafted", str(stored.version), view.collection, sha256=stored.sha256)
            return SeenNuggets(stored, in_use=False, created=True)
        return replace(_publish(tx, principal, view.collection, stored, now), created=True)


def publish_nuggets(workspace: Workspace, principal: Principal, name: str, version: int) -> SeenNuggets:
    """Publish a draft, or a version that was replaced (organisers): the scores of all answers follow."""
    with changing(workspace, principal, name) as (tx, view):
        stored = _require(tx, view, version)
        if stored == nuggets.find_newest(tx, view.collection.id):
            return SeenNuggets(stored, in_use=True)
        return _publish(tx, principal, view.collection, stored, workspace.now())


def _publish(
    tx: Transaction, principal: Principal, collection: Collection, version: NuggetsVersion, now: datetime
) -> SeenNuggets:
    last = nuggets.find_newest(tx, collection.id)
    # The version published last is in use, so no two may have the same time, even if the clock did not move.
    later = last.published_at + timedelta(microseconds=1) if last and last.published_at else now
    published = nuggets.change(tx, version.id, published_at=max(now, later))
    audit.record(tx, principal, "nuggets-published", str(version.version), collection, sha256=version.sha256)
    current, unfit = nuggets_of(tx, version.id), list[str]()
    for judge in _judges(tx, collection):
        if (before := verdicts_of(tx, collection, "nuggets", judge)).runs:
            verdicts = before.over(current)
            _store_scores(tx, collection, "nuggets", judge, verdicts, version.sha256, now)
            for run, of_run in verdicts.runs.items():
                if lost := len(of_run.keys() & current.keys() - verdicts.of_run(run).keys()):
                    unfit.append(
                        f"{lost} topics of the answers of {run!r} have no score by {judge!r}: some of their nuggets "
                        "have no verdict. Judge the answers by the new nuggets."
                    )
    collections.touch(tx, collection.id)
    return SeenNuggets(published, in_use=True, unfit=unfit)


def discard_nuggets(workspace: Workspace, principal: Principal, name: str, version: int) -> None:
    """Discard a draft (organisers). Raise Conflict for a version that was published."""
    with changing(workspace, principal, name) as (tx, view):
        stored = _require(tx, view, version)
        if stored.published_at is not None:
            raise Conflict(f"Version {version} of the nuggets was published. Only drafts can be discarded.")
        nuggets.change(tx, stored.id, discarded_at=workspace.now())
        audit.record(tx, principal, "nuggets-discarded", str(version), view.collection, sha256=stored.sha256)


def list_nuggets(
    workspace: Workspace, principal: Principal, name: str, after: int | None = None, limit: int | None = None
) -> list[SeenNuggets]:
    """Return the versions of the nuggets by number, for principals who may see the judgments; drafts for organisers."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        newest = nuggets.find_newest(tx, view.collection.id)
        versions = nuggets.page(tx, view.collection.id, drafts=view.organises, after=after, limit=limit)
        return [SeenNuggets(version, version == newest) for version in versions]


def read_file(workspace: Workspace, principal: Principal, name: str, version: int) -> bytes:
    """Return the file of a version as it was uploaded, decompressed."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        return nuggets.content_of(tx, _require(tx, view, version).id)


def _require(tx: Transaction, view: View, version: int) -> NuggetsVersion:
    for stored in nuggets.page(tx, view.collection.id, drafts=view.organises, after=version - 1, limit=1):
        if stored.version == version:
            return stored
    raise NotFound(f"{view.collection.name!r} has no version {version} of its nuggets, or this token may not see it.")


def nuggets_of(tx: Transaction, nuggets_id: int) -> Nuggets:
    """Return the nuggets of a stored version. Stray labels were admitted, or refused, when it came."""
    return read_nuggets([nuggets.content_of(tx, nuggets_id)], NO_LIMITS, stray="count").nuggets


@dataclass(frozen=True)
class JudgedAnswers:
    """A judge: what it has judged, and of the file that came last the new runs and strays."""

    judge: str
    runs: int
    topics: int
    """The number of topics of the nuggets, of a sample those with a verdict; 0 without nuggets."""
    unanswered: Mapping[str, int]
    """The number of these topics without assigned nuggets, of each run that lacks any."""
    sample: bool
    metrics: Sequence[str]
    new_runs: Sequence[str] = ()
    strays: int = 0
    created: bool = False


def put_verdicts(
    workspace: Workspace,
    principal: Principal,
    name: str,
    judge: str,
    body: Body,
    *,
    stray: Stray = "refuse",
    sample: bool = False,
    team: str | None = None,
) -> JudgedAnswers:
    """Store what a judge says of the answers of one or more runs, with the scores that follow (organisers).

    Verdicts on nuggets replace those of the same judge on the same run, and so do those on citations. A `run_id` that
    no run has becomes a run without a ranking, of the team or of one with its name. Raise FaultyFile with all faults.
    """
    with organising(workspace, principal, name) as (tx, view):
        newest = nuggets.find_newest(tx, view.collection.id)
        current = nuggets_of(tx, newest.id) if newest else {}
        topics = known_topics(workspace, tx, view.collection)
    with Intake(body, workspace.limits) as intake:
        said: dict[str, Any] = {"nuggets": current, "topics": topics, "stray": stray, "sample": sample}
        file = intake.read(partial(read_by, read_verdicts, limits=workspace.limits, **said))
    with changing(workspace, principal, name) as (tx, view):
        collection, now, created = view.collection, workspace.now(), False
        if nuggets.find_newest(tx, collection.id) != newest:
            raise Conflict("The nuggets were changed while the file was read. Send the file again.")
        systems = list(dict.fromkeys((*file.nuggets.runs, *file.support.runs)))
        names, new_runs = ensure_runs(tx, collection, systems, file.replicates, now, team)
        for family in METRICS_OF_ANSWERS:
            if (newer := getattr(file, family)).runs:
                verdicts = verdicts_of(tx, collection, family, judge).updated(newer.renamed(names))
                created |= _store_scores(tx, collection, family, judge, verdicts, intake.sha256, now)
        if created:
            collections.touch(tx, collection.id)
            details = {"sha256": intake.sha256, "bytes": intake.size, "runs": len(systems), "sample": sample}
            audit.record(tx, principal, "answers-judged", judge, collection, **details)
        judged = _describe_judge(tx, collection, judge)
        return replace(judged, new_runs=new_runs, strays=file.strays, created=created)


def delete_verdicts(workspace: Workspace, principal: Principal, name: str, judge: str) -> None:
    """Delete all that a judge says, with the scores that follow (organisers). Jobs about them keep their results.

    Raise NotFound for a judge without verdicts, and HeldByRelease if a release has them.
    """
    with changing(workspace, principal, name) as (tx, view):
        _require_judge(tx, view, judge)
        every = [name_of_answers(*of, judge) for of in _families()]
        delete_matrices(tx, principal, view.collection, every, workspace.now(), "answers-deleted", judge)


def verdicts_of(tx: Transaction, collection: Collection, family: str, judge: str) -> Verdicts:
    """Return what a judge says of nuggets or of citations, of the runs that were not withdrawn."""
    first = name_of_answers(family, METRICS_OF_ANSWERS[family][0], judge)
    matrix = score_matrices.find_newest(tx, collection.id, first)
    verdicts = score_matrices.verdicts_of(tx, matrix) if matrix else None
    if matrix is None or verdicts is None:
        return Verdicts()
    # A run that came later has only the name of the run that was judged, which was withdrawn.
    live = [run.name for run in runs.page(tx, collection.id) if run.created_at <= matrix.created_at]
    return verdicts.renamed({name: name for name in live})


def _store_scores(
    tx: Transaction, collection: Collection, family: str, judge: str, verdicts: Verdicts, sha256: str, now: datetime
) -> bool:
    """Store verdicts with the scores that follow, as the next versions of the judge's score matrices of a family.

    Return False if the newest versions have the same already, or if there is no score.
    """
    systems = {run.name: run.system for run in runs.page(tx, collection.id) if run.system and run.name in verdicts.runs}
    verdicts = replace(verdicts, systems=systems)
    (topics, by_metric), names = score_verdicts(family, verdicts), list(verdicts.runs)
    tables = {name_of_answers(family, metric, judge): table for metric, table in by_metric.items()}
    missing = int(np.isnan(next(iter(tables.values()))).sum())
    newest = [score_matrices.find_newest(tx, collection.id, matrix) for matrix in tables]
    is_same = verdicts == verdicts_of(tx, collection, family, judge) and all(
        last and score_matrices.has_scores(tx, last, names, topics, table)
        for last, table in zip(newest, tables.values(), strict=True)
    )
    if is_same or not topics:
        return False
    values = {
        **{"collection_id": collection.id, "direction": "up", "low": 0.0, "high": 1.0, "sha256": sha256},
        **{"missing": LEAVE_OUT if missing else None, "filled": missing, "runs": names, "topics": topics},
        **{"dropped": [topic for topic in verdicts.topics if topic not in set(topics)], "created_at": now},
    }
    for number, (matrix, table) in enumerate(tables.items()):
        score_matrices.add(tx, table, None if number else verdicts, name=matrix, **values)
    if collection.has_scores_alone:
        follow_matrices(tx, collection, {}, now)
    return True


def follows(
    matrix: str, names: Sequence[str], topics: Sequence[str], scores: NDArray[np.float64], verdicts: Verdicts
) -> bool:
    """Return whether the scores of a score matrix, float64 [runs, topics], follow from the verdicts with it.

    Both may be of a stranger.
    """
    family, metric, *_ = f"{matrix}----".split("--")
    try:
        judged, by_metric = score_verdicts(family, verdicts)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    is_same = (judged, list(verdicts.runs)) == (topics, names) and metric in by_metric
    return is_same and np.array_equal(by_metric[metric], scores, equal_nan=True)


def _families() -> list[tuple[str, str]]:
    return [(family, metric) for family, metrics in METRICS_OF_ANSWERS.items() for metric in metrics]


def _judges(tx: Transaction, collection: Collection) -> list[str]:
    stored = score_matrices.list_names(tx, collection.id, 1_000_000)
    return sorted({judge for name in stored if (judge := judge_of_matrix(name))})


class JudgedNugget(NamedTuple):
    """A nugget of a topic, and how many runs a judge says have it: fully, partly, and not."""

    text: str
    importance: str
    full: int
    partial: int
    none: int


def list_judges(workspace: Workspace, principal: Principal, name: str) -> list[JudgedAnswers]:
    """Return what each judge has judged, by name, for principals who may see the judgments."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        every = [_describe_judge(tx, view.collection, judge) for judge in _judges(tx, view.collection)]
        return [judged for judged in every if judged.runs]


def _describe_judge(tx: Transaction, collection: Collection, judge: str) -> JudgedAnswers:
    by_family = {family: verdicts_of(tx, collection, family, judge) for family in METRICS_OF_ANSWERS}
    assigned, sample = by_family["nuggets"], any(verdicts.sampled for verdicts in by_family.values())
    topics = [topic for topic in assigned.in_use if not sample or any(topic in of for of in assigned.runs.values())]
    lacks = {run: sum(not of_run.get(topic) for topic in topics) for run, of_run in assigned.runs.items()}
    names = [name_of_answers(*of, judge) for of in _families() if by_family[of[0]].runs]
    return JudgedAnswers(
        judge,
        runs=len({run for verdicts in by_family.values() for run in verdicts.runs}),
        topics=len(topics),
        unanswered={run: count for run, count in lacks.items() if count},
        sample=sample,
        metrics=[metric_of_matrix(matrix) for matrix in names],
    )


def _require_judge(tx: Transaction, view: View, judge: str) -> JudgedAnswers:
    if not (judged := _describe_judge(tx, view.collection, judge)).runs:
        raise NotFound(f"{view.collection.name!r} has no judge {judge!r} of answers, or this token may not see it.")
    return judged


def count_nuggets(
    workspace: Workspace, principal: Principal, name: str, judge: str
) -> tuple[JudgedAnswers, dict[str, list[JudgedNugget]]]:
    """Return what a judge has judged, and how many runs have each nugget, by topic. Raise NotFound without any."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        judged, verdicts = _require_judge(tx, view, judge), verdicts_of(tx, view.collection, "nuggets", judge)
    labels, counted = {digit: label for label, digit in IMPORTANCE.items()}, dict[str, list[JudgedNugget]]()
    answers = [verdicts.of_run(run) for run in verdicts.runs]
    for topic, nuggets_of_topic in verdicts.in_use.items():
        columns = zip(*(digits for of_run in answers if (digits := of_run.get(topic))), strict=True)
        said = ["".join(column) for column in columns] or [""] * len(nuggets_of_topic)
        counted[topic] = [
            JudgedNugget(text, labels.get(kind, "other"), of.count("2"), of.count("1"), sum(map(of.count, "03")))
            for (text, kind), of in zip(nuggets_of_topic.items(), said, strict=True)
        ]
    return judged, counted
