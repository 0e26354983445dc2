"""Nuggets of a collection, and what judges say of the answers of runs; the scores that follow become score matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
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
from gainboard.evaluation.scoring.systems import ensure_runs, follow_matrices
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics.answers import NUGGET_METRICS, SUPPORT_METRICS, Floats, score_nuggets, score_support
from gainboard.statistics.judging import cohen_kappa, coincidences, krippendorff_alpha
from gainboard.statistics.means import group_rows, lacks_beside_others
from gainboard.store import collections, nuggets, score_matrices
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, NuggetsVersion, Verdicts
from gainboard.trec.nuggets import ASSIGNMENTS, IMPORTANCE, NuggetSet, read_nuggets, read_verdicts
from gainboard.vocabulary import LEAVE_OUT, Stray, metric_of_matrix

MOST_BYTES: Final = 64 << 20
"""The largest file of nuggets, which is read again with every file of verdicts."""


@dataclass(frozen=True)
class SeenNuggets:
    """A version of the nuggets, whether it is in use, and which verdicts on answers it makes unfit."""

    version: NuggetsVersion
    in_use: bool
    unfit: Sequence[str] = ()
    """A sentence for each run and judge with verdicts on nuggets that are no longer there, or without new ones."""
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
        stored = nuggets.add(
            tx,
            view.collection.id,
            bytes(content),
            sha256=intake.sha256,
            topics=len(file.texts),
            nuggets=sum(map(len, file.importance.values())),
            strays=file.strays,
            created_at=now,
        )
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
    unfit: list[str] = []
    for judge, _ in groupby(nuggets.list_verdicts(tx, collection.id), key=lambda verdicts: verdicts.judge):
        unfit += store_scores(tx, collection, judge, published, now)
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


@dataclass(frozen=True)
class JudgedAnswers:
    """The verdicts of a judge on the answers of all runs, and of the file that came last its new runs and strays."""

    judge: str
    verdicts: Sequence[Verdicts]
    topics: int
    """The number of topics of the nuggets in use; 0 without nuggets."""
    new_runs: Sequence[str] = ()
    strays: int = 0
    created: bool = False

    @property
    def metrics(self) -> list[str]:
        """The metrics that follow, as expressions."""
        names: list[tuple[str, str]] = []
        if any(verdicts.nuggets_id is not None for verdicts in self.verdicts):
            names += [("nuggets", metric) for metric in NUGGET_METRICS]
        if any(verdicts.support for verdicts in self.verdicts):
            names += [("support", metric) for metric in SUPPORT_METRICS]
        return [metric_of_matrix(name_of_answers(*name, self.judge)) for name in names]


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
        current = nuggets_of(tx, newest.id) if newest else None
        topics = known_topics(workspace, tx, view.collection)
    with Intake(body, workspace.limits) as intake:
        reading = partial(read_by, read_verdicts, limits=workspace.limits, nuggets=current, topics=topics, stray=stray)
        file = intake.read(reading)
    with changing(workspace, principal, name) as (tx, view):
        collection, now = view.collection, workspace.now()
        if nuggets.find_newest(tx, collection.id) != newest:
            raise Conflict("The nuggets were changed while the file was read. Send the file again.")
        ids, new_runs = ensure_runs(tx, collection, file.runs, file.replicates, now, team)
        before = {verdicts.run_id: verdicts for verdicts in nuggets.list_verdicts(tx, collection.id, judge)}
        rows, same = [], {"sample": sample, "sha256": intake.sha256}
        for system, run_id in ids.items():
            earlier = before.get(run_id)
            parts: dict[str, Any] = {"nuggets_id": None, "assigned": {}, "support": {}}
            parts |= {part: getattr(earlier, part) for part in parts} if earlier else {}
            if system in file.nuggets and newest:
                parts |= {"nuggets_id": newest.id, "assigned": file.nuggets[system]}
            if system in file.support:
                parts["support"] = file.support[system]
            if not earlier or any(getattr(earlier, part) != value for part, value in (parts | same).items()):
                rows.append({"run_id": run_id, "judge": judge, "created_at": now, **parts, **same})
        if rows:
            nuggets.put_verdicts(tx, rows)
            store_scores(tx, collection, judge, newest, now)
            collections.touch(tx, collection.id)
            details = {"sha256": intake.sha256, "bytes": intake.size, "runs": len(ids), "sample": sample}
            audit.record(tx, principal, "answers-judged", judge, collection, **details)
        every = nuggets.list_verdicts(tx, collection.id, judge)
        return JudgedAnswers(judge, every, newest.topics if newest else 0, new_runs, file.strays, created=bool(rows))


class AnswerScores(NamedTuple):
    """The scores of a family of metrics of answers, by metric: float64 [runs, topics], if they were judged there."""

    family: str
    verdicts: Sequence[Verdicts]
    topics: Sequence[str]
    by_metric: Mapping[str, Floats]
    unjudged: NDArray[np.bool_]
    """Nothing was judged here, because the judge has a sample of the topics alone, or has judged other nuggets.
    Elsewhere, a run that does not answer a topic has 0."""


def score_verdicts(
    tx: Transaction, every: Sequence[Verdicts], version: NuggetsVersion | None
) -> tuple[list[AnswerScores], list[str]]:
    """Return the scores that follow from the verdicts of a judge, and a sentence for each run of which some do not
    fit.
    """
    scores, unfit = list[AnswerScores](), list[str]()
    assigned = [verdicts for verdicts in every if verdicts.nuggets_id is not None]
    if version and assigned:
        current, answers, unjudged = nuggets_of(tx, version.id), list[dict[str, str]](), list[list[bool]]()
        for verdicts, (earlier, fitting, lacking) in zip(assigned, refit(tx, current, assigned), strict=True):
            if lost := sum(topic in current.texts for topic in verdicts.assigned) - len(fitting):
                unfit.append(
                    f"{lost} topics of the answers of {verdicts.run!r} have no score by {verdicts.judge!r}: {lacking} "
                    "nuggets have no verdict. Judge the answers by the new nuggets."
                )
            answers.append(fitting)
            # A topic that came with a later version was not there to be answered, so it is not 0.
            judged = verdicts.assigned if verdicts.sample else earlier.texts
            unjudged.append([t not in fitting and (t in verdicts.assigned or t not in judged) for t in current.texts])
        by_metric = score_nuggets(current.importance, answers)
        absent = _unanswered(assigned, answers, list(current.texts))
        scores.append(AnswerScores("nuggets", assigned, list(current.texts), by_metric, np.array(unjudged) | absent))
    if cited := [verdicts for verdicts in every if verdicts.support]:
        topics = sorted({topic for verdicts in cited for topic in verdicts.support}, key=str.encode)
        unjudged = [[verdicts.sample and topic not in verdicts.support for topic in topics] for verdicts in cited]
        by_metric = score_support(topics, [verdicts.support for verdicts in cited])
        absent = _unanswered(cited, [verdicts.support for verdicts in cited], topics)
        scores.append(AnswerScores("support", cited, topics, by_metric, np.array(unjudged) | absent))
    return scores, unfit


def _unanswered(
    every: Sequence[Verdicts], answers: Sequence[Mapping[str, object]], topics: Sequence[str]
) -> NDArray[np.bool_]:
    """Return where a replicate has no answer and another one of its system has: it has no score there, and not 0."""
    absent = np.array([[topic not in answer for topic in topics] for answer in answers])
    return lacks_beside_others(absent, group_rows([verdicts.system or verdicts.run for verdicts in every]))


def store_scores(
    tx: Transaction, collection: Collection, judge: str, version: NuggetsVersion | None, now: datetime
) -> list[str]:
    """Store the scores that follow from what a judge says, as the next versions of its score matrices.

    Scores that stay the same make no version. Return a sentence for each run of which verdicts do not fit.
    """
    families, unfit = score_verdicts(tx, nuggets.list_verdicts(tx, collection.id, judge), version)
    for family, verdicts, topics, by_metric, unjudged in families:
        names = [of_run.run for of_run in verdicts]
        kept = np.flatnonzero(~unjudged.all(axis=0)).tolist()
        columns, missing = [topics[column] for column in kept], int(unjudged[:, kept].sum())
        for metric, table in by_metric.items() if kept else ():
            scores = np.where(unjudged, np.nan, table)[:, kept]
            matrix = name_of_answers(family, metric, judge)
            last = score_matrices.find_newest(tx, collection.id, matrix)
            if last and score_matrices.has_scores(tx, last, names, columns, scores):
                continue
            score_matrices.add(
                tx,
                scores,
                collection_id=collection.id,
                name=matrix,
                **{"direction": "up", "low": 0.0, "high": 1.0, "missing": LEAVE_OUT if missing else None},
                filled=missing,
                dropped=[topic for topic in topics if topic not in set(columns)],
                sha256=max(verdicts, key=lambda of_run: of_run.created_at).sha256,
                runs=names,
                topics=columns,
                created_at=now,
            )
    if collection.has_scores_alone:
        follow_matrices(tx, collection, {}, now)
    return unfit


def refit(
    tx: Transaction, current: NuggetSet, assigned: Sequence[Verdicts]
) -> Iterator[tuple[NuggetSet, dict[str, str], int]]:
    """Yield for each run the nuggets that were judged, its verdicts as those of the current nuggets, and how many of
    these have none.
    """
    earlier = {key: nuggets_of(tx, key) for key in {verdicts.nuggets_id for verdicts in assigned} if key is not None}
    for verdicts in assigned:
        judged = earlier[verdicts.nuggets_id] if verdicts.nuggets_id else NuggetSet({}, {})
        yield judged, *current.refit(judged, verdicts.assigned)


class JudgedNugget(NamedTuple):
    """A nugget of a topic, and how many runs a judge says have it: fully, partly, and not."""

    text: str
    importance: str
    full: int
    partial: int
    none: int


def _fitted(tx: Transaction, view: View, judge: str) -> tuple[NuggetSet, list[Verdicts], list[dict[str, str]]]:
    """Return the nuggets in use, and the verdicts of a judge, also as digits of these nuggets by topic for each run.

    Raise NotFound for a judge without verdicts.
    """
    every, newest = nuggets.list_verdicts(tx, view.collection.id, judge), nuggets.find_newest(tx, view.collection.id)
    if not every:
        raise NotFound(f"{view.collection.name!r} has no judge {judge!r} of answers, or this token may not see it.")
    current = nuggets_of(tx, newest.id) if newest else NuggetSet({}, {})
    return current, every, [fitting for _, fitting, _ in refit(tx, current, every)]


def count_nuggets(
    workspace: Workspace, principal: Principal, name: str, judge: str
) -> tuple[JudgedAnswers, dict[str, list[JudgedNugget]]]:
    """Return what a judge has judged, and how many runs have each nugget, by topic. Raise NotFound without any."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        current, every, fitted = _fitted(tx, view, judge)
    labels, counted = {digit: label for label, digit in IMPORTANCE.items()}, {}
    for topic, texts in current.texts.items():
        digits = [of_run[topic] for of_run in fitted if topic in of_run]
        columns = ["".join(column) for column in zip(*digits, strict=True)] or [""] * len(texts)
        counted[topic] = [
            JudgedNugget(
                *(text, labels.get(kind, "other")), column.count("2"), column.count("1"), sum(map(column.count, "03"))
            )
            for text, kind, column in zip(texts, current.importance[topic], columns, strict=True)
        ]
    return JudgedAnswers(judge, every, len(current.texts)), counted


class NuggetAgreement(NamedTuple):
    """The verdicts of two judges on nuggets of an importance, or on `all`. Figures are None where they are undefined.

    `confusion` has a row for each verdict of the first judge: not, partly and fully. `kappa` is Cohen's, `kappa_linear`
    with weights, and `alpha` Krippendorff's for ordinal values.
    """

    importance: str
    nuggets: int
    confusion: list[list[int]]
    agreement: float | None
    kappa: float | None
    kappa_linear: float | None
    alpha: float | None


def compare_judges(
    workspace: Workspace, principal: Principal, name: str, judge: str, other: str
) -> list[NuggetAgreement]:
    """Return how two judges agree on the nuggets that both have judged in the answers of the same runs.

    Labels that are none of the known ones are no verdicts. Raise NotFound for a judge without verdicts.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        of_judges: list[dict[tuple[str, str], str]] = []
        for named in (judge, other):
            current, every, fitted = _fitted(tx, view, named)
            runs = zip(every, fitted, strict=True)
            of_judges.append({(of_run.run, topic): digits for of_run, fits in runs for topic, digits in fits.items()})
    both = [answer for answer in of_judges[0] if answer in of_judges[1]]
    kinds = "".join(current.importance[topic] for _, topic in both)
    texts = ["".join(by_answer[answer] for answer in both).encode() for by_answer in of_judges]
    verdicts = np.array([np.frombuffer(text, np.uint8) - ord("0") for text in texts], np.int8)
    levels, result = len(ASSIGNMENTS), []
    for importance, digits in {**IMPORTANCE, "all": "".join({*kinds})}.items():
        is_kind = np.array([kind in digits for kind in kinds], np.bool_) & (verdicts < levels).all(axis=0)
        confusion = np.zeros((levels, levels), np.int64)
        np.add.at(confusion, tuple(verdicts[:, is_kind]), 1)
        table, total = confusion.astype(np.float64), int(confusion.sum())
        alpha = krippendorff_alpha(coincidences(verdicts[:, is_kind].T, levels), "ordinal")
        share = np.trace(table) / total if total else np.nan
        exact = (float(figure) for figure in (share, cohen_kappa(table), cohen_kappa(table, "linear"), alpha))
        figures = (None if math.isnan(figure) else figure for figure in exact)
        result.append(NuggetAgreement(importance, total, confusion.tolist(), *figures))
    return result


def list_judges(workspace: Workspace, principal: Principal, name: str) -> list[JudgedAnswers]:
    """Return what each judge has judged, by name, for principals who may see the judgments."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        newest = nuggets.find_newest(tx, view.collection.id)
        every = nuggets.list_verdicts(tx, view.collection.id)
        by_judge = groupby(every, key=lambda verdicts: verdicts.judge)
        return [JudgedAnswers(judge, list(rows), newest.topics if newest else 0) for judge, rows in by_judge]


def nuggets_of(tx: Transaction, nuggets_id: int) -> NuggetSet:
    """Return the nuggets of a stored version. Stray labels were admitted, or refused, when it came."""
    return read_nuggets([nuggets.content_of(tx, nuggets_id)], NO_LIMITS, stray="count")
