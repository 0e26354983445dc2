"""A board as a table and as a figure, and exhibits of a request as LaTeX, Markdown and images."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

from fastapi import Response

from gainboard.evaluation.boards.leaderboard import ALPHA, Board, Row
from gainboard.evaluation.scoring.turns import spend
from gainboard.exhibits import Cell, Column, Table, mark_best_of_column
from gainboard.exhibits.drawing import as_png, as_svg
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.exhibits.forms import as_markdown
from gainboard.exhibits.latex import as_latex_document
from gainboard.metrics import short_labels

TableForm = Literal["latex", "markdown", "tex", "md"]
ImageForm = Literal["svg", "png"]
MEDIA_TYPES: Final[Mapping[TableForm | ImageForm, str]] = {
    "latex": "application/x-tex",
    "tex": "application/x-tex",
    "markdown": "text/markdown",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "png": "image/png",
}
DRAWING_SECONDS = 1.5
"""Roughly the time that it takes to draw a figure of 50 runs: above what an anonymous visitor may ask for at will."""
DIGITS = 4
MOST_DRAWN = 60
"""The most runs of a board that are drawn: more names cannot be read."""


def table_answer(form: TableForm, table: Table) -> Response:
    """Answer with a table as LaTeX that compiles as it is, or as Markdown."""
    text = as_latex_document(table) if form in ("latex", "tex") else as_markdown(table)
    return Response(text.encode(), media_type=f"{MEDIA_TYPES[form]}; charset=utf-8")


def image_answer(form: ImageForm, figure: Callable[[], Figure]) -> Response:
    """Answer with a figure as an image. Drawing is dear, so one visitor waits for the other."""
    spend(DRAWING_SECONDS, is_chosen=False)
    draw = as_png if form == "png" else as_svg
    return Response(draw(figure()), media_type=MEDIA_TYPES[form])


def board_table(board: Board, top: int | None = None) -> Table:
    """Return the board for print: rank, run, team if there are any, ranks and groups, and means, the best marked.

    The headings of metrics are short, and a note has their parameters.
    """
    scores, rows = board.scores, board.rows[:top]
    labels = [board.by, *(label for label in scores.labels if label != board.by)]
    short = short_labels(labels)
    return Table.of_columns(
        "leaderboard",
        _caption(board, len(rows)),
        _columns(board, rows, [(scores.labels.index(label), short[label]) for label in labels]),
        mark="the best mean under a metric" if len(rows) > 1 else "",
        notes=_notes(board, labels, short),
    )


def _columns(
    board: Board, rows: Sequence[Row], metrics: Sequence[tuple[int, str]]
) -> Iterator[tuple[Column, Sequence[Cell]]]:
    """Yield the columns with their cells, for the metrics of these places and headings in this order."""
    scores = board.scores
    digits = DIGITS if scores.decimals is None else scores.decimals

    def means(heading: str, place: int, values: Sequence[float]) -> tuple[Column, Sequence[Cell]]:
        marked = mark_best_of_column(values, is_reversed=scores.metrics[place].is_reversed)
        return Column(heading, digits=digits), marked

    yield Column("rank"), [row.rank for row in rows]
    yield Column("run", align="left"), [row.run.name for row in rows]
    if board.has_teams:
        yield Column("team", align="left"), [row.run.team for row in rows]
    if board.tells:
        yield Column("ranks", align="left"), ["-".join(map(str, row.rank_set or ())) for row in rows]
        yield Column("groups", align="left"), [spaced_letters(row) for row in rows]
    for place, name in metrics:
        yield means(name, place, [row.means[place] for row in rows])
    for number, group in enumerate(board.by_group):
        for place, name in metrics:
            yield means(f"{name}, {group.chosen.name}", place, [row.by_group[number][place] for row in rows])
    if board.corrected:
        for place, name in metrics:
            yield means(f"{name}, {scores.qrels.judgments} alone", place, [row.uncorrected[place] for row in rows])
    if any(row.is_late for row in rows):
        yield Column("late", align="left"), ["yes" if row.is_late else "no" for row in rows]


def spaced_letters(row: Row) -> str:
    """Return the letters of a run, as statistics programs print them: without separators while each is one letter."""
    letters = row.letters or ()
    return (" " if any(len(letter) > 1 for letter in letters) else "").join(letters)


def _caption(board: Board, shown: int) -> str:
    scores = board.scores
    version = f", by version {scores.shown_version} of the qrels" if scores.shown_version is not None else ""
    which = f"The first {shown} of {len(board.rows)} runs" if shown < len(board.rows) else "The runs"
    return f"{which} of {scores.collection.title or scores.collection.name}, ranked by {board.by}{version}"


def _notes(board: Board, labels: list[str], short: Mapping[str, str]) -> list[str]:
    settings = [f"{short[label]} is {label}" for label in labels if short[label] != label]
    notes = [f"{', '.join(settings)}."] if settings else []
    if (corrected := board.corrected) is not None:
        trusted, topics = corrected.by_metric[board.place].counted
        notes.append(
            f"Means are under {board.scores.qrels.judgments}, corrected by {corrected.trusted.judgments} on {trusted} "
            f"of {topics} topics, which must be a random sample (prediction-powered inference)."
        )
    if groups := board.tells:
        notes.append(
            f"Runs that share no letter under groups are told apart (bootstrap range test of all {groups.pairs:,} "
            f"pairs, {ALPHA:g}, {groups.draws:,} draws, {groups.topics} topics); sharing a letter does not show that "
            "runs are equal. Ranks are those that a run may have by the same test."
        )
    return notes


def board_figure(board: Board, top: int | None = None) -> Figure:
    """Return the board as means with their intervals, the best run on top."""
    place, shown = board.place, board.rows[: min(top or MOST_DRAWN, MOST_DRAWN)]
    from_below = [row for row in shown if not math.isnan(row.means[place])][::-1]
    names = [f"{row.rank}  {row.run.name}" + (f"  {_few_letters(row)}" if board.tells else "") for row in from_below]
    means = [row.means[place] for row in from_below]
    series = [Series("mean", means, list(range(len(means))), "points")]
    ends: list[float | None] = []
    at: list[float | None] = []
    for number, row in enumerate(from_below):
        if (interval := row.intervals[place]) is not None:
            # None ends the line of an interval, so that one series has all of them.
            ends += [*interval, None]
            at += [number, number, None]
    if ends:
        series.append(Series("95 % interval of the mean alone", ends, at, "intervals"))
    told = " Runs that share no letter are told apart (bootstrap range, 0.05)." if board.tells else ""
    panel = Panel(Axis(f"mean {board.by}"), Axis("", categories=names), series)
    return Figure("leaderboard", f"{_caption(board, len(from_below))}.{told}", [panel])


def _few_letters(row: Row) -> str:
    letters = row.letters or ()
    return f"{letters[0]}–{letters[-1]}" if len(letters) > 2 else "".join(letters)
