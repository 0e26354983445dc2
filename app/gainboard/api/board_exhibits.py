"""A board as a table and as a figure, and exhibits of a request as LaTeX, Markdown and images."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, Literal

from fastapi import Response

from gainboard.evaluation.boards.leaderboard import ALPHA, BoardGroups, RankedRuns
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


def board_table(found: RankedRuns, top: int | None = None) -> Table:
    """Return the board for print: rank, run, team if there are any, ranks and groups, and means, the best marked.

    The headings of metrics are short, and a note has their parameters.
    """
    scores, rows = found.scores, found.rows[:top]
    labels = [found.by, *(label for label in scores.labels() if label != found.by)]
    digits = DIGITS if scores.decimals is None else scores.decimals
    short, groups = short_labels(labels), found.groups
    tells = isinstance(groups, BoardGroups) and groups.different_pairs > 0
    late = scores.collection.late_from
    is_any_late = late is not None and any(row.run.created_at >= late for row in rows)
    columns = [Column("rank"), Column("run", align="left")]
    columns += [Column("team", align="left")] if found.has_teams else []
    columns += [Column("ranks", align="left"), Column("groups", align="left")] if tells else []
    columns += [Column(short[label], digits=digits) for label in labels]
    columns += [
        Column(f"{short[label]}, {each.chosen.name}", digits=digits) for each in found.by_group for label in labels
    ]
    if found.corrected:
        columns += [Column(f"{short[label]}, {scores.qrels.judgments} alone", digits=digits) for label in labels]
    columns += [Column("late", align="left")] if is_any_late else []
    places = [scores.labels().index(label) for label in labels]
    means = [[found.means_of(row)[place] for row in rows] for place in places]
    means += [[each.means_of(row)[place] for row in rows] for each in found.by_group for place in places]
    if found.corrected:
        means += [[found.uncorrected_of(row)[place] for row in rows] for place in places]
    reversed_ = [scores.metrics[place].is_reversed for place in places] * (len(means) // len(places))
    marked = [mark_best_of_column(each, is_reversed=is_lower) for each, is_lower in zip(means, reversed_, strict=True)]
    cells: list[list[Cell]] = []
    for row, own in zip(rows, zip(*marked, strict=True), strict=True):
        told: list[Cell] = []
        if tells and isinstance(groups, BoardGroups):
            told = ["-".join(map(str, groups.rank_sets.get(row.run.name, ()))), letters_of(groups, row.run.name)]
        lateness: list[Cell] = ["yes" if late and row.run.created_at >= late else "no"] if is_any_late else []
        team: list[Cell] = [row.run.team] if found.has_teams else []
        cells.append([row.rank, row.run.name, *team, *told, *own, *lateness])
    mark = "the best mean under a metric" if len(rows) > 1 else ""
    return Table(
        "leaderboard", _caption(found, len(rows)), columns, cells, mark=mark, notes=_notes(found, labels, short)
    )


def letters_of(groups: BoardGroups, run: str) -> str:
    """Return the letters of a run, as statistics programs print them: without separators while each is one letter."""
    letters = groups.letters.get(run, ())
    return (" " if any(len(letter) > 1 for letter in letters) else "").join(letters)


def _caption(found: RankedRuns, shown: int) -> str:
    scores = found.scores
    version = f", by version {scores.shown_version} of the qrels" if scores.shown_version is not None else ""
    which = f"The first {shown} of {len(found.rows)} runs" if shown < len(found.rows) else "The runs"
    return f"{which} of {scores.collection.title or scores.collection.name}, ranked by {found.by}{version}"


def _notes(found: RankedRuns, labels: list[str], short: Mapping[str, str]) -> list[str]:
    settings = [f"{short[label]} is {label}" for label in labels if short[label] != label]
    notes = [f"{', '.join(settings)}."] if settings else []
    if (corrected := found.corrected) is not None:
        trusted, topics = corrected.by_metric[found.scores.labels().index(found.by)].counted
        notes.append(
            f"Means are under {found.scores.qrels.judgments}, corrected by {corrected.trusted.judgments} on {trusted} "
            f"of {topics} topics, which must be a random sample (prediction-powered inference)."
        )
    if isinstance(groups := found.groups, BoardGroups) and groups.different_pairs:
        notes.append(
            f"Runs that share no letter under groups are told apart (bootstrap range test of all {groups.pairs:,} "
            f"pairs, {ALPHA:g}, {groups.draws:,} draws, {groups.topics} topics); sharing a letter does not show that "
            "runs are equal. Ranks are those that a run may have by the same test."
        )
    return notes


def board_figure(found: RankedRuns, top: int | None = None) -> Figure:
    """Return the board as means with their intervals, the best run on top."""
    place = found.scores.labels().index(found.by)
    ranked = [
        row for row in found.rows[: min(top or MOST_DRAWN, MOST_DRAWN)] if not math.isnan(found.means_of(row)[place])
    ]
    from_below = ranked[::-1]
    groups = found.groups if isinstance(found.groups, BoardGroups) and found.groups.different_pairs else None
    names = [
        f"{row.rank}  {row.run.name}" + (f"  {_short(groups, row.run.name)}" if groups else "") for row in from_below
    ]
    means = [found.means_of(row)[place] for row in from_below]
    series = [Series("mean", means, list(range(len(means))), "points")]
    ends: list[float | None] = []
    at: list[float | None] = []
    for number, row in enumerate(from_below):
        if (interval := found.intervals_of(row)[place]) is not None:
            ends += [*interval, None]
            at += [number, number, None]
    if ends:
        series.append(Series("95 % interval of the mean alone", ends, at, "intervals"))
    told = " Runs that share no letter are told apart (bootstrap range, 0.05)." if groups else ""
    panel = Panel(Axis(f"mean {found.by}"), Axis("", categories=names), series)
    return Figure("leaderboard", f"{_caption(found, len(ranked))}.{told}", [panel])


def _short(groups: BoardGroups, run: str) -> str:
    letters = groups.letters.get(run, ())
    return f"{letters[0]}–{letters[-1]}" if len(letters) > 2 else "".join(letters)
