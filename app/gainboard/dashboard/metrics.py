"""`/help/metrics`: what each metric is, with a small ranked list to try it on."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import Response

from gainboard.api.queries import asked_by, parameters_of
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.documentation import heading_id
from gainboard.errors import BadInput, InvalidRequest, NotFound
from gainboard.metrics import (
    CurvesOfRun,
    Intents,
    JudgedRun,
    JudgedRuns,
    Judgments,
    Metric,
    RetrievalScores,
    Scale,
    every_metric,
    every_preset,
    mean_all,
    parse_gains,
    resolve,
    score_all,
)
from gainboard.notation.queries import LONGEST_PARAMETER, MetricParameters, Parameter, Said, completed

router = pages()
MARKS = ("-", "B", "A", "S")
"""The marks of the levels, the lowest first. The letters are NTCIR's."""
SCALE = Scale(len(MARKS) - 1, intents=True)
GAINS = "3:2:1"
MOST = 100


class TrialQuery(MetricParameters[Parameter], total=False):
    """A ranked list, and parameters."""

    ranking: Annotated[
        str,
        Said(
            description="Levels by rank: S, A, B, - (not relevant) or ? (unjudged)",
            default="A - S B - ? B - - -",
            longest=LONGEST_PARAMETER,
        ),
    ]
    more: Annotated[
        str,
        Said(
            description="The levels of relevant documents that the list does not have",
            default="S A B",
            longest=LONGEST_PARAMETER,
        ),
    ]
    cutoff: Annotated[int | None, Said(least=1, most=MOST)]


@router.get("/help/metrics")
def show_metrics(visitor: VisitorDep) -> Response:
    """Show the catalogue of metrics and presets."""
    catalogue = {"metrics": every_metric(), "presets": every_preset()}
    return page(visitor, "metrics.html", PageLook("Metrics"), **catalogue)


@router.get("/help/metrics/{name}")
def show_metric(
    name: str, visitor: VisitorDep, asked: Annotated[TrialQuery, asked_by(TrialQuery, is_form=True)]
) -> Response:
    """Show a metric, and its score of the ranked list."""
    if (metric := next((metric for metric in every_metric() if metric.name == name), None)) is None:
        raise NotFound(f"There is no metric {name!r}. /help/metrics lists all.")
    fault = ""
    try:
        trial = Trial.of(metric, asked)
    except BadInput as error:
        # The page then shows the example beside what is wrong.
        fault, trial = error.message, Trial.of(metric, {})
    title = f"{metric.name}: {metric.title}"
    look = PageLook(title, status=422 if fault else 200, help=f"metrics.html#{heading_id(title)}")
    values = {"metric": metric, "asked": completed(TrialQuery, asked), "trial": trial, "fault": fault, "scale": SCALE}
    return page(visitor, "metric.html", look, **values)


class Trial:
    """A metric's score of one ranked list, and what each rank adds. Everything is computed as for stored runs."""

    def __init__(self, metric: Metric, levels: list[int | None], more: list[int], asked: TrialQuery) -> None:
        """Score the list. `levels` are by rank, None if unjudged; `more` are relevant documents that it lacks."""
        names = {parameter.name for parameter in metric.parameters}
        parameters = {name: text for name, text in parameters_of(asked).items() if name in names}
        cutoff = asked.get("cutoff") if metric.takes_cutoff else None
        if metric.needs_cutoff and cutoff is None:
            cutoff = len(levels)
        expression = metric.name + (f"@{cutoff}" if cutoff else "")
        bound = resolve(expression, SCALE, defaults={"gains": GAINS, **parameters})
        run, judgments = _judge(levels, more)
        runs, depth = JudgedRuns.of([run], judgments), len(levels)
        self.label = bound.label
        self.score = float(mean_all([bound], score_all([bound], runs))[0, 0])
        gains = parse_gains(parameters.get("gains", GAINS), SCALE.highest_level)
        curves = CurvesOfRun(runs, 0, 1)
        cumulated = curves.gain(gains, 2.0, depth)["CG"]
        columns = (levels, np.diff(cumulated, prepend=0.0), cumulated, curves.ideal_gain(gains, depth))
        self.ranks = [
            (rank, "?" if level is None else MARKS[level], float(gain), float(total), float(ideal))
            for rank, (level, gain, total, ideal) in enumerate(zip(*columns, strict=True), start=1)
        ]

    @classmethod
    def of(cls, metric: Metric, asked: TrialQuery) -> Trial:
        """Return the trial of a request. Raise BadInput for a list or parameters that cannot be read."""
        lists = completed(TrialQuery, asked)
        levels = _read_levels(lists["ranking"], "ranking")
        more = _read_levels(lists["more"], "more") if lists["more"].strip("- ") else []
        return cls(metric, levels, [level for level in more if level], asked)


def _read_levels(text: str, name: str) -> list[int | None]:
    marks = text.upper().replace(",", " ").split()
    if not 1 <= len(marks) <= MOST:
        raise InvalidRequest.at(f"query.{name}", "length", f"Give 1 to {MOST} marks, for example: A - S B")
    for mark in marks:
        if mark not in (*MARKS, "?"):
            raise InvalidRequest.at(f"query.{name}", "mark", f"{mark!r} is no mark. Use S, A, B, - or ?, with spaces.")
    return [None if mark == "?" else MARKS.index(mark) for mark in marks]


def _judge(levels: list[int | None], more: list[int]) -> tuple[JudgedRun, Judgments]:
    """Return a run whose ranks have these levels, and the judgments of its only topic."""
    ranks = [rank for rank, level in enumerate(levels, start=1) if level is not None]
    retrieved = [level for level in levels if level is not None]
    judged = np.array([*retrieved, *more], np.int64)
    length = len(levels)
    # A run needs scores for metrics that read them: the first document has the highest.
    scores = np.arange(length, 0, -1, dtype=np.float64)
    scaled = (scores - 1) / (length - 1) if length > 1 else np.ones(length)
    is_judged = np.isin(np.arange(1, length + 1), ranks)
    run = JudgedRun(
        starts=np.array([0, len(ranks)]),
        rank=np.array(ranks, np.uint16),
        level=np.array(retrieved, np.int8),
        retrieved=np.array([length]),
        retrieval_scores=RetrievalScores(
            judged=scores[is_judged],
            lowest=scores[-1:],
            highest=scores[:1],
            unjudged_scaled=scaled[~is_judged].sum(keepdims=True),
            unjudged_absolute=scores[~is_judged].sum(keepdims=True),
        ),
        document=np.arange(len(retrieved), dtype=np.uint32),
    )
    # Metrics by intent see the one intent of the topic.
    relevant = np.flatnonzero(judged > 0)
    intents = Intents(
        starts=np.array([0, 1]),
        probability=np.ones(1),
        documents=np.array([0, len(judged)]),
        intent=np.zeros(len(relevant), np.int64),
        document=relevant,
        level=judged[relevant].astype(np.int8),
    )
    counts = np.bincount(judged, minlength=SCALE.highest_level + 1)[np.newaxis]
    return run, Judgments(counts, np.zeros(1, np.int64), intents)


STYLE = "'unsafe-inline'"
"""Swagger UI sets styles of elements as it draws. Nothing of it comes from what people have uploaded."""


@router.get("/docs")
def show_docs(visitor: VisitorDep) -> Response:
    """Show the API, with forms to try it."""
    return page(visitor, "docs.html", PageLook("API", style=STYLE))
