"""`/c/{collection}/compare`: two runs topic by topic, or all runs beside a baseline, and which differences hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Response

from gainboard.api.compare import read_comparison
from gainboard.api.dependencies import CollectionName
from gainboard.api.leaderboard import DIGITS, image_answer, table_answer
from gainboard.api.queries import asked_by, question_of
from gainboard.dashboard.figures import ChartScale, FigureOnPage
from gainboard.dashboard.rendering import FORMS, Form, PrintedRequest, page_of, pages, query_of
from gainboard.dashboard.sessions import Place, PlaceDep, VisitorDep
from gainboard.evaluation.boards.leaderboard import leaderboard
from gainboard.evaluation.boards.pair_statistics import ALPHA, PairComparison, compare
from gainboard.exhibits import Cell, Column, Level, Marked, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.notation.queries import ComparedRunsQuery, CompareQuery

router = pages()


@router.get("/c/{collection}/compare")
def show_comparison(
    place: PlaceDep, asked: Annotated[ComparedRunsQuery, asked_by(ComparedRunsQuery, is_form=True)]
) -> Response:
    """Compare two runs, by default the first two of the board; or all runs with the baselines that are named."""
    place.view.require_free_scores()
    title = f"Compare runs of {place.title}"
    every_run = replace(question_of(asked), runs=None, topics=None)
    board = leaderboard(place.workspace, place.sender, place.name, every_run, None)
    names = [row.run.name for row in board.rows]
    if len(names) < 2:
        return page_of(place, "compare.html", title, "Compare", names=names, comparison=None)
    if asked.get("baseline"):
        return _show_beside_baselines(place, title, names, asked)
    chosen, margin = asked.get("run"), asked.get("margin")
    pair = list(chosen or names[:2])
    if len(pair) == 2 and pair[0] == pair[1]:
        # Nothing to compare: the form is shown with another second run.
        pair = [pair[0], next(name for name in names if name != pair[0])]
    question = replace(question_of(asked), runs=pair)
    comparison = compare(place.workspace, place.sender, place.name, question, (), margin)
    query = query_of({**asked, "run": pair})
    return page_of(
        place,
        "compare.html",
        title,
        "Compare",
        names=names,
        pair=pair,
        is_chosen=chosen == pair,
        is_same=chosen not in (pair, None),
        kept=[(name, value) for name, value in asked.items() if name not in ("run", "metric", "margin")],
        margin=margin,
        metrics=asked.get("metric", ()),
        comparison=comparison,
        comparisons=[_describe(compared, pair) for compared in comparison.pairs],
        numbers=query,
        forms=FORMS,
        asking=PrintedRequest.of(place, "compare", query, names=pair),
    )


def _show_beside_baselines(place: Place, title: str, names: list[str], asked: ComparedRunsQuery) -> Response:
    """Show the runs beside each baseline, one table for each metric and baseline, the largest difference first."""
    baselines, margin = asked.get("baseline", ()), asked.get("margin")
    comparison = compare(place.workspace, place.sender, place.name, question_of(asked), baselines, margin)
    by_table: dict[tuple[str, str], list[PairComparison]] = {}
    for compared in comparison.pairs:
        by_table.setdefault((compared.label, compared.names[1]), []).append(compared)
    tables = []
    for (label, baseline), pairs in by_table.items():
        ends = [end for pair in pairs if pair.statistics for end in (pair.statistics.low, pair.statistics.high)]
        tables.append(
            {
                "label": label,
                "baseline": baseline,
                "mean": pairs[0].means[1],
                "pairs": sorted(pairs, key=lambda pair: pair.means[1] - pair.means[0]),
                # The axis has the 0, because an interval with it shows no difference.
                "scale": ChartScale.around([0.0, *ends], 5),
                "significant": sum(pair.is_significant for pair in pairs),
            }
        )
    query = query_of(asked)
    return page_of(
        place,
        "compare_baselines.html",
        title,
        "Compare",
        names=names,
        baselines=baselines,
        margin=margin,
        kept=[(name, value) for name, value in asked.items() if name not in ("baseline", "run", "metric", "margin")],
        runs=asked.get("run") or (),
        metrics=asked.get("metric", ()),
        tables=tables,
        alpha=ALPHA,
        numbers=query,
        forms=FORMS,
        asking=PrintedRequest.of(place, "compare", query, "compare_with"),
    )


def _describe(compared: PairComparison, pair: list[str]) -> dict[str, Any]:
    """Return the sentence about two runs under one metric in its parts, of which the better run is the subject."""
    better, worse = pair if compared.means[0] >= compared.means[1] else pair[::-1]
    # Intervals are of the first run minus the second, and the sentence is about the better run.
    sign = 1 if better == pair[0] else -1
    statistics = compared.statistics
    ends = sorted(sign * end for end in (statistics.low, statistics.high)) if statistics else []
    level = statistics.tests[0].asl if statistics else None
    same = statistics.equivalence if statistics else None
    inner = sorted(sign * end for end in (same.low, same.high)) if same else []
    return {
        "pair": compared,
        "better": better,
        "worse": worse,
        "difference": abs(compared.means[0] - compared.means[1]),
        "ends": ends,
        "inner": inner,
        "is_significant": level is not None and level < ALPHA,
        "alpha": ALPHA,
        "figure": FigureOnPage.of(_figure(compared, pair)) if compared.topics else None,
    }


def _figure(compared: PairComparison, pair: list[str]) -> Figure:
    topics, first, second = compared.topics, *pair
    by_topic = Panel(
        Axis("Topic", categories=[topic.topic for topic in topics]),
        Axis(f"{first} minus {second}"),
        [Series("topic", list(range(len(topics))), [topic.difference for topic in topics], "bars")],
        title="Differences by topic",
    )
    firsts, seconds = [topic.first for topic in topics], [topic.second for topic in topics]
    limits = min(0.0, *firsts, *seconds), max(1.0, *firsts, *seconds)
    scores = Panel(
        Axis(second, limits=limits),
        Axis(first, limits=limits),
        [Series("topic", seconds, firsts, "points")],
        title="Scores by topic",
        has_diagonal=True,
    )
    return Figure("comparison", f"{first} and {second} under {compared.label}, by topic.", [by_topic, scores])


@router.get("/c/{collection}/compare.{form}")
def read_numbers(
    collection: CollectionName,
    form: Form,
    visitor: VisitorDep,
    asked: Annotated[ComparedRunsQuery, asked_by(ComparedRunsQuery)],
) -> Response:
    """Return the numbers of the page as the API does, or a table for print, or the figure."""
    if form == "json" or form == "csv":
        numbers: CompareQuery = {**asked, "format": form}
        return read_comparison(collection, visitor.request, visitor.workspace, visitor.sender, numbers)
    question, baselines, margin = question_of(asked), asked.get("baseline", ()), asked.get("margin")
    compared = compare(visitor.workspace, visitor.sender, collection, question, baselines, margin)
    if form == "svg" or form == "png":
        return image_answer(form, lambda: _image(compared.pairs, is_pair=not baselines))
    return table_answer(form, _exhibit(compared.pairs))


def _exhibit(pairs: Sequence[PairComparison]) -> Table:
    """Return the pairs as a table for print: bold differences are significant after the correction."""
    columns = [Column("metric", section=True), Column("run", align="left"), Column("minus", align="left")]
    columns += [Column(title, digits=DIGITS) for title in ("difference", "from", "to")]
    columns += [Column("effect", "SD", digits=2), *(Column(name, digits=4) for name in ("t-test", "Holm", "BH"))]
    columns += [Column(title) for title in ("won", "lost", "tied")]
    rows: list[list[Cell]] = []
    for pair in pairs:
        statistics, difference = pair.statistics, pair.means[0] - pair.means[1]
        shown: Cell = Marked(difference) if pair.is_significant else difference
        numbers: list[Cell] = [None] * 6
        if statistics:
            test = statistics.tests[0]
            numbers = [statistics.low, statistics.high, statistics.effect_size]
            levels = test.asl, test.asl_holm, test.asl_benjamini_hochberg
            numbers += [Level(level, None) if level is not None else None for level in levels]
        rows.append([pair.label, *pair.names, shown, *numbers, pair.won, pair.lost, pair.tied])
    caption = "Differences of means with 95 % intervals"
    notes = [
        "Levels are of paired t-tests. Holm's method corrects them for the pairs of this table under each metric. "
        "So does that of Benjamini and Hochberg (BH), which controls the false discovery rate."
    ]
    mark = f"significant at {ALPHA} after Holm's correction"
    return Table("comparison", caption, columns, rows, mark=mark, notes=notes)


def _image(pairs: Sequence[PairComparison], *, is_pair: bool) -> Figure:
    """Return the figure of the first metric: the topics of one pair, or the interval of each pair's difference."""
    label = pairs[0].label
    if is_pair:
        return _figure(pairs[0], list(pairs[0].names))
    tested = [(pair, pair.statistics) for pair in pairs if pair.label == label and pair.statistics]
    tested.sort(key=lambda pair: pair[1].difference)
    names = [f"{pair.names[0]} minus {pair.names[1]}" for pair, _ in tested]
    # None ends the line of an interval, so that one series has all of them.
    ends = [end for _, statistics in tested for end in (statistics.low, statistics.high, None)]
    heights = [height for number in range(len(tested)) for height in (number, number, None)]
    differences = [statistics.difference for _, statistics in tested]
    series = [
        Series("difference of means", differences, list(range(len(tested))), "points"),
        Series("95 % interval", ends, heights, "intervals"),
    ]
    axes = Axis(f"difference of mean {label}"), Axis("", categories=names)
    panel = Panel(*axes, series, references=[Reference(0.0, "equal", "x")])
    return Figure("comparison", f"Differences of means under {label}.", [panel])
