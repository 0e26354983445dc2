"""`/help`: the documentation below the service's own header, its search and files, and the design of a collection.

`/help/metrics` says what each metric is, with a small ranked list to try it on.
"""

from __future__ import annotations

import mimetypes
from dataclasses import replace
from typing import Annotated

import numpy as np
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from typing_extensions import TypedDict

from gainboard.api.answers import address
from gainboard.api.queries import asked_by, parameters_of
from gainboard.dashboard.rendering import PageLook, headers_of_page, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.documentation import contents, every_page, heading_id, linked_files, make_ahead, render, search
from gainboard.errors import BadInput, InvalidRequest, NotFound
from gainboard.evaluation.boards.design import TAKEN, DesignQuestion, design_topics
from gainboard.metrics import (
    Annotations,
    AttributeSet,
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
from gainboard.vocabulary import DesignMethod

router = pages()


@router.get("/help")
def show_help(request: Request) -> Response:
    """Send a browser to the first page, whose links are relative to its folder."""
    return RedirectResponse(address(request, "/help/index.html"), 308)


@router.get("/help/search.html")
def show_help_search(visitor: VisitorDep, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show the sections of the documentation that have any of the words."""
    look = PageLook(f"Search for {q}" if q else "Search")
    hits = search(q) if q else []
    return page(visitor, "documentation_search.html", look, groups=contents(), query=q, hits=hits)


@router.get("/help/{page_name}.html")
def show_help_page(page_name: str, visitor: VisitorDep) -> Response:
    """Show a page of the documentation."""
    if (chapter := every_page().get(page_name)) is None:
        raise NotFound(f"There is no page {page_name!r} of the documentation. /help has all.")
    # Reference pages need parts that a process makes in seconds, so they are made while somebody reads this one.
    make_ahead()
    look, content = PageLook(chapter.title), Markup(render(page_name).html)
    return page(visitor, "documentation.html", look, groups=contents(), shown=chapter, content=content)


class DesignQuery(TypedDict, total=False):
    """The parameters of a design, as in the API. Without any, the page shows an example."""

    method: Annotated[DesignMethod, Said(default="interval")]
    difference: Annotated[float | None, Said()]
    width: Annotated[float | None, Said()]
    difference_variance: Annotated[float | None, Said()]
    variance: Annotated[float | None, Said()]
    noise: Annotated[float | None, Said()]
    correlation: Annotated[float | None, Said()]
    topics: Annotated[int | None, Said()]
    runs: Annotated[int | None, Said()]
    alpha: Annotated[float, Said(default=0.05)]
    power: Annotated[float | None, Said()]


EXAMPLE = DesignQuery(width=0.15, difference_variance=0.1, correlation=0.8, topics=200)
TITLES = {
    "width": ("Width of the interval", "of the difference of two runs"),
    "difference": ("Difference to find", "of two means; with anova, of the best and the worst"),
    "power": ("Power", "the chance to find the difference; 0.8 by default"),
    "runs": ("Runs", "how many are compared; with detect, all pairs of them"),
    "difference_variance": ("Variance of differences", "of two runs' scores, over topics"),
    "variance": ("or variance of scores", "within runs, over topics"),
    "noise": ("Noise", "the variance of replicates, divided by their number"),
    "correlation": ("Correlation of a cheap judge", "of differences under it with those under people, over topics"),
    "topics": ("Topics", "those of the cheap judge, any number by default; with detect, those of the collection"),
    "alpha": ("Alpha", "the significance level; 1 minus the level of the interval"),
}
"""Title and help of each parameter that the form has a box for."""
METHODS = {name: [method for method, names in TAKEN.items() if name in names] for name in TITLES}
"""The methods that take a parameter; none if all do."""
# With anova, the variance is that within runs, so there is no variance of differences.
METHODS["difference_variance"] = ["t-test", "interval", "detect"]


@router.get("/help/design")
def show_design(visitor: VisitorDep, asked: Annotated[DesignQuery, asked_by(DesignQuery, is_form=True)]) -> Response:
    """Show the form and, to whoever is signed in, the number of topics."""
    design = completed(DesignQuery, asked or EXAMPLE)
    fault, needed = "", None
    if visitor.is_signed_in:
        try:
            needed = design_topics(DesignQuestion(**design))
        except InvalidRequest as error:
            fault = error.message
    look = PageLook("How many topics?", status=422 if fault else 200)
    boxes = [(name, *texts, ", ".join(METHODS[name])) for name, texts in TITLES.items()]
    values = {"design": design, "boxes": boxes, "methods": list(TAKEN), "needed": needed, "fault": fault}
    return page(visitor, "design.html", look, **values)


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
    # Metrics of annotations see a pool of one stratum, and documents of two groups in turn.
    groups = AttributeSet("groups", False, np.array([0.5, 0.5]), np.eye(2)[np.arange(len(judged)) % 2])
    annotations = Annotations(intents.documents, judged.astype(np.int8), np.ones(len(judged), np.int64), (groups,))
    counts = np.bincount(judged, minlength=SCALE.highest_level + 1)[np.newaxis]
    return replace(run, annotated=run), Judgments(counts, np.zeros(1, np.int64), intents, annotations)


STYLE = "'unsafe-inline'"
"""Swagger UI sets styles of elements as it draws. Nothing of it comes from what people have uploaded."""


@router.get("/docs")
def show_docs(visitor: VisitorDep) -> Response:
    """Show the API, with forms to try it."""
    return page(visitor, "docs.html", PageLook("API", style=STYLE))


# Last, because it takes all other addresses below `/help`.
@router.get("/help/{file:path}")
def show_help_file(file: str) -> Response:
    """Show a file that a page of the documentation shows or links to, such as a picture."""
    if (path := linked_files().get(file)) is None:
        raise NotFound(f"The documentation has no file {file!r}. /help has all.")
    media_type = mimetypes.guess_type(path.name)[0] or "text/plain"
    # Drawings of Matplotlib style their elements in place.
    return Response(path.read_bytes(), headers=headers_of_page(style="'unsafe-inline'"), media_type=media_type)
