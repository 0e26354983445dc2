"""`/c/{collection}/compare`: two runs topic by topic, or all runs beside a baseline, and which differences hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Request, Response

from gainboard.api.board_exhibits import DIGITS, image_answer, table_answer
from gainboard.api.compare import read_comparison
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.queries import asked_by, question_of
from gainboard.dashboard.figures import ChartScale, FigureOnPage
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import FORMS, Form, PageLook, PrintedRequest, page, pages, query_of
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.evaluation.boards.compare import compare
from gainboard.evaluation.boards.leaderboard import leaderboard
from gainboard.evaluation.boards.pair_statistics import ALPHA, PairComparison
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Cell, Column, Marked, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.notation.queries import ComparedRunsQuery

router = pages()


@router.get("/c/{collection}/compare")
def show_comparison(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[ComparedRunsQuery, asked_by(ComparedRunsQuery, is_form=True)],
) -> Response:
    """Compare two runs, by default the first two of the board; or all runs with the baselines that are named."""
    place = enter(workspace, visitor, collection)
    place.view.require_free_scores()
    look = PageLook(f"Compare runs of {place.title}", place, "Compare")
    names = _names(workspace, visitor, collection, asked)
    if len(names) < 2:
        return page(request, visitor, "compare.html", look, names=names, comparison=None)
    if asked.get("baseline"):
        return _beside_baselines(request, workspace, visitor, look, names, asked)
    chosen, margin = asked.get("run"), asked.get("margin")
    pair = list(chosen or names[:2])
    if len(pair) == 2 and pair[0] == pair[1]:
        # Nothing to compare: the form is shown with another second run.
        pair = [pair[0], next(name for name in names if name != pair[0])]
    comparison = compare(workspace, visitor.sender, collection, replace(question_of(asked), runs=pair), (), margin)
    query = query_of({**asked, "run": pair})
    return page(
        request,
        visitor,
        "compare.html",
        look,
        names=names,
        pair=pair,
        is_chosen=chosen == pair,
        is_same=chosen not in (pair, None),
        kept=[(name, value) for name, value in asked.items() if name not in ("run", "metric", "margin")],
        margin=margin,
        metrics=asked.get("metric", ()),
        comparison=comparison,
        compared=[_shown(each, pair) for each in comparison.pairs],
        numbers=query,
        forms=FORMS,
        asking=PrintedRequest.of(request, "compare", collection, query, names=pair),
    )


def _beside_baselines(
    request: Request, workspace: Workspace, visitor: Visitor, look: PageLook, names: list[str], asked: ComparedRunsQuery
) -> Response:
    """Show the runs beside each baseline, one table for each metric and baseline, the largest difference first."""
    assert look.place is not None
    collection = look.place.view.collection.name
    baselines, margin = asked.get("baseline", ()), asked.get("margin")
    comparison = compare(workspace, visitor.sender, collection, question_of(asked), baselines, margin)
    tables: dict[tuple[str, str], list[PairComparison]] = {}
    for each in comparison.pairs:
        tables.setdefault((each.label, each.names[1]), []).append(each)
    query = query_of(asked)
    return page(
        request,
        visitor,
        "compare_baselines.html",
        look,
        names=names,
        baselines=baselines,
        margin=margin,
        kept=[(name, value) for name, value in asked.items() if name not in ("baseline", "run", "metric", "margin")],
        runs=asked.get("run") or (),
        metrics=asked.get("metric", ()),
        tables=[_table(*each) for each in tables.items()],
        alpha=ALPHA,
        numbers=query,
        forms=FORMS,
        asking=PrintedRequest.of(request, "compare", collection, query, "compare_with"),
    )


def _table(about: tuple[str, str], pairs: list[PairComparison]) -> dict[str, Any]:
    """Return a table of pairs with one baseline, and the axis of their intervals, which has the 0."""
    known = [each.statistics for each in pairs if each.statistics]
    label, baseline = about
    return {
        "label": label,
        "baseline": baseline,
        "mean": pairs[0].means[1],
        "pairs": sorted(pairs, key=lambda each: each.means[1] - each.means[0]),
        "scale": ChartScale.around([0.0, *(end for each in known for end in (each.low, each.high))], 5),
        "significant": sum(each.is_significant for each in pairs),
    }


def _names(workspace: Workspace, visitor: Visitor, collection: str, asked: ComparedRunsQuery) -> list[str]:
    """Return the runs, the best first."""
    question = replace(question_of(asked), runs=None, topics=None)
    board = leaderboard(workspace, visitor.sender, collection, question, None)
    return [row.run.name for row in board.rows]


def _shown(found: PairComparison, pair: list[str]) -> dict[str, Any]:
    better, worse = pair if found.means[0] >= found.means[1] else pair[::-1]
    sign = 1 if better == pair[0] else -1
    statistics = found.statistics
    ends = sorted(sign * end for end in (statistics.low, statistics.high)) if statistics else []
    level = statistics.tests[0].asl if statistics else None
    same = statistics.equivalence if statistics else None
    inner = sorted(sign * end for end in (same.low, same.high)) if same else []
    return {
        "found": found,
        "better": better,
        "worse": worse,
        "difference": abs(found.means[0] - found.means[1]),
        "ends": ends,
        "inner": inner,
        "is_significant": level is not None and level < ALPHA,
        "alpha": ALPHA,
        "figure": FigureOnPage.of(_figure(found, pair)) if found.topics else None,
    }


def _figure(found: PairComparison, pair: list[str]) -> Figure:
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
    form: Form,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[ComparedRunsQuery, asked_by(ComparedRunsQuery)],
) -> Response:
    """Return the numbers of the page as the API does, or a table for print, or the figure."""
    if form == "json" or form == "csv":
        return read_comparison(collection, request, workspace, visitor.sender, {**asked, "format": form})
    baselines = asked.get("baseline", ())
    found = compare(workspace, visitor.sender, collection, question_of(asked), baselines, asked.get("margin"))
    if form == "svg" or form == "png":
        return image_answer(form, lambda: _image(found.pairs, is_pair=not baselines))
    return table_answer(form, _exhibit(found.pairs))


def _exhibit(pairs: Sequence[PairComparison]) -> Table:
    """Return the pairs as a table for print: bold differences are significant after the correction."""
    columns = [Column("metric", section=True), Column("run", align="left"), Column("minus", align="left")]
    columns += [Column(title, digits=DIGITS) for title in ("difference", "from", "to")]
    columns += [Column("effect", "SD", digits=2), *(Column(name, digits=4) for name in ("t-test", "Holm", "BH"))]
    columns += [Column(title) for title in ("won", "lost", "tied")]
    rows: list[list[Cell]] = []
    for each in pairs:
        own, difference = each.statistics, each.means[0] - each.means[1]
        shown: Cell = Marked(difference) if each.is_significant else difference
        numbers: list[Cell] = [None] * 6
        if own:
            test = own.tests[0]
            numbers = [own.low, own.high, own.effect_size, test.asl, test.asl_holm, test.asl_benjamini_hochberg]
        rows.append([each.label, *each.names, shown, *numbers, each.won, each.lost, each.tied])
    caption = "Differences of means with 95 % intervals"
    notes = [
        "Levels are of paired t-tests. Holm's method corrects them for the pairs of this table under each metric. "
        "So does that of Benjamini and Hochberg (BH), which controls the false discovery rate."
    ]
    mark = f"significant at {ALPHA} after Holm's correction"
    return Table("comparison", caption, columns, rows, mark=mark, notes=notes)


def _image(pairs: Sequence[PairComparison], *, is_pair: bool) -> Figure:
    """Return the figure of the first metric: the topics of one pair, or the interval of each pair's difference."""
    own = [each for each in pairs if each.label == pairs[0].label]
    if is_pair:
        return _figure(own[0], list(own[0].names))
    known = sorted(((each, each.statistics) for each in own if each.statistics), key=lambda pair: pair[1].difference)
    names = [f"{each.names[0]} minus {each.names[1]}" for each, _ in known]
    ends = [end for _, own in known for end in (own.low, own.high, None)]
    at = [place for number in range(len(known)) for place in (number, number, None)]
    series = [
        Series("difference of means", [own.difference for _, own in known], list(range(len(known))), "points"),
        Series("95 % interval", ends, at, "intervals"),
    ]
    axes = Axis(f"difference of mean {pairs[0].label}"), Axis("", categories=names)
    panel = Panel(*axes, series, references=[Reference(0.0, "equal", "x")])
    return Figure("comparison", f"Differences of means under {pairs[0].label}.", [panel])
