"""`/c/{collection}/compare`: two runs topic by topic, and whether the difference between them is real."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from gainboard.api.compare import AskedComparison, AskedFormat, read_comparison
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.dashboard.figures import ShownFigure
from gainboard.dashboard.places import enter
from gainboard.dashboard.queries import FromForm
from gainboard.dashboard.rendering import Look, page, pages
from gainboard.dashboard.requests import ShownRequest, query_of
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.evaluation.compare import ALPHA, MetricComparison, compare
from gainboard.evaluation.leaderboard import leaderboard
from gainboard.evaluation.scoring import Question
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Axis, Figure, Panel, Series

router = pages()


class AskedPair(FromForm, AskedComparison):
    """The query of the page: that of the API."""


@router.get("/c/{collection}/compare")
def show_comparison(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[AskedPair, Query()],
) -> Response:
    """Compare two runs; without names, the first two of the board."""
    place = enter(workspace, visitor, collection)
    place.view.require_free_scores()
    look = Look(f"Compare runs of {place.title}", place, "Compare")
    names = _names(workspace, visitor, collection, asked)
    if len(names) < 2:
        return page(request, visitor, "compare.html", look, names=names, comparison=None)
    pair = asked.run or names[:2]
    if len(pair) == 2 and pair[0] == pair[1]:
        # Nothing to compare: the form is shown with another second run.
        pair = [pair[0], next(name for name in names if name != pair[0])]
    question = asked.model_copy(update={"run": pair}).question()
    comparison = compare(workspace, visitor.sender, collection, question)
    given = asked.model_dump(exclude_unset=True)
    query = query_of(given | {"run": pair})
    return page(
        request,
        visitor,
        "compare.html",
        look,
        names=names,
        pair=pair,
        is_chosen=asked.run == pair,
        kept=[(name, value) for name, value in given.items() if name not in ("run", "metric")],
        metrics=asked.metric,
        comparison=comparison,
        compared=[_shown(each, pair) for each in comparison.metrics],
        numbers=query,
        asking=ShownRequest.of(request, "compare", collection, query, names=pair),
    )


def _names(workspace: Workspace, visitor: Visitor, collection: str, asked: AskedPair) -> list[str]:
    """Return the runs, the best first."""
    question = Question(asked.metric, None, asked.given(), asked.qrels, names=asked.names)
    board = leaderboard(workspace, visitor.sender, collection, question, None)
    return [row.run.name for row in board.rows]


def _shown(found: MetricComparison, pair: list[str]) -> dict[str, Any]:
    better, worse = pair if found.means[0] >= found.means[1] else pair[::-1]
    sign = 1 if better == pair[0] else -1
    statistics = found.statistics
    ends = sorted(sign * end for end in (statistics.low, statistics.high)) if statistics else []
    return {
        "found": found,
        "better": better,
        "worse": worse,
        "difference": abs(found.means[0] - found.means[1]),
        "ends": ends,
        "is_significant": statistics is not None and statistics.tests[0].asl < ALPHA,
        "alpha": ALPHA,
        "figure": ShownFigure.of(_figure(found, pair)) if found.topics else None,
    }


def _figure(found: MetricComparison, pair: list[str]) -> Figure:
    topics, first, second = [each.topic for each in found.topics], *pair
    by_topic = Panel(
        Axis("Topic", categories=topics),
        Axis(f"{first} minus {second}"),
        [Series("topic", list(range(len(topics))), [each.difference for each in found.topics], "bars")],
        title="Differences by topic",
    )
    ends = [value for each in found.topics for value in (each.first, each.second)]
    limits = (min(0.0, *ends), max(1.0, *ends))
    scores = Panel(
        Axis(second, limits=limits),
        Axis(first, limits=limits),
        [Series("topic", [each.second for each in found.topics], [each.first for each in found.topics], "points")],
        title="Scores by topic",
        has_diagonal=True,
    )
    return Figure("comparison", f"{first} and {second} under {found.label}, by topic.", [by_topic, scores])


@router.get("/c/{collection}/compare.{form}")
def read_numbers(
    collection: CollectionName,
    form: Literal["json", "csv"],
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[AskedComparison, Query()],
) -> Response:
    """Return the numbers of the page, as the API does."""
    given = AskedFormat(**asked.model_dump(exclude_unset=True), format=form)
    return read_comparison(collection, request, workspace, visitor.sender, given)
