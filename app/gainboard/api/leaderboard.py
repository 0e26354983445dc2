"""`/v1/collections/{collection}/leaderboard`: the runs of a collection, ranked; as JSON, a table or a figure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer, server_address
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.collections import ChosenGroup
from gainboard.api.models.scores import (
    BOARD_COLUMNS,
    CorrectionOfBoard,
    CorrectionOfMetric,
    GroupColumn,
    GroupsTest,
    LeaderboardAnswer,
    StandardOfBoard,
)
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, question_of
from gainboard.api.response_cache import note_origin
from gainboard.api.routes import KeptRoute, quick_or_in_thread
from gainboard.api.scores import ON_SCORING, refuse_beside
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.boards.adjusted_boards import ASSUMED, standard_of
from gainboard.evaluation.boards.leaderboard import ALPHA, Board, Row, changed_at, leaderboard
from gainboard.evaluation.releases.releases import cite, describe_scores
from gainboard.evaluation.scoring.requests import origin_of
from gainboard.evaluation.workspace import spend
from gainboard.exhibits import Cell, Column, Table, csv_line, mark_best_of_column
from gainboard.exhibits.drawing import as_png, as_svg
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.exhibits.latex import as_latex_document
from gainboard.exhibits.tables import as_markdown, is_undefined
from gainboard.metrics import notes_on_names, short_labels
from gainboard.notation.queries import BoardOptions, LeaderboardQuery
from gainboard.notation.texts import name_versions

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
CITED: Final = ("bibtex", "csl", "sentence")
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


def cite_board(board: Board, url: str, alone: Row | None = None) -> dict[str, str]:
    """Return how to cite a board, or the score of one of its runs: of the only one, if there is one alone."""
    scores, by, alone = board.scores, board.by, alone or (board.rows[0] if len(board.rows) == 1 else None)
    # Scores from elsewhere come from a matrix, not from judgments.
    source: Any = getattr(board.metric, "matrix", scores.qrels)
    version = f"Version {source.version} of {getattr(source, 'name', f'the {scores.qrels.judgments} judgments')}"
    version += "".join(f" and version {each.version} of {each.judgments}" for each in scores.repeats)
    version += f", corrected by {board.corrected.by}" if board.corrected else ""
    version += f", standardised ({board.standard.form})" if board.standard else ""
    version += ", the best run of each team" if board.best_per_team else ""
    topics = f"{(board.topics_scored() or {})[by]} topics{f' of {scores.chosen.name}' if scores.chosen else ''}"
    names = ({it["name"] for it in row.replicates} for row in ([alone] if alone else board.rows))
    over = ["the replicates of each system"] if any(len(runs) > 1 for runs in names) else []
    over += [f"{len(scores.repeats) + 1} judgment sets"] if scores.repeats else []
    topics += f"; means over {' and '.join(over)}" if over else ""
    said = ""
    if alone is not None:
        mean = alone.means[board.place]
        said = f"{alone.run.name} has {'no score' if is_undefined(mean) else f'a mean of {mean:.{DIGITS}f}'}: "
    said += describe_scores(by, scores.qrels.order_by, topics, not alone and board.tested is not None)
    name, subject = scores.collection.name, f"{alone.run.name if alone else 'Runs'} by {by}"
    at = max(run.created_at for run in scores.members).isoformat()
    key, title = "-".join([name, *re.findall(r"\w+", subject)]), f"{scores.collection.title or name}: {subject}"
    return cite(key, title, at, version, source.sha256, url, said)


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
            yield means(f"{name}, uncorrected", place, [row.uncorrected[place] for row in rows])
    if any(row.is_late for row in rows):
        yield Column("late", align="left"), ["yes" if row.is_late else "no" for row in rows]


def spaced_letters(row: Row) -> str:
    """Return the letters of a run, as statistics programs print them: without separators while each is one letter."""
    letters = row.letters or ()
    return (" " if any(len(letter) > 1 for letter in letters) else "").join(letters)


def _caption(board: Board, shown: int) -> str:
    scores = board.scores
    is_judged = scores.shown_version is not None and not all(metric.is_uploaded for metric in scores.metrics)
    version = f", by {name_versions(scores.versions)}" if is_judged else ""
    which = f"The first {shown} of {len(board.rows)} runs" if shown < len(board.rows) else "The runs"
    return f"{which} of {scores.collection.title or scores.collection.name}, ranked by {board.by}{version}"


def _notes(board: Board, labels: list[str], short: Mapping[str, str]) -> list[str]:
    settings = [f"{short[label]} is {label}" for label in labels if short[label] != label]
    notes = [f"{', '.join(settings)}."] if settings else []
    if (corrected := board.corrected) is not None:
        trusted, topics = corrected.by_metric[board.place].counted
        notes.append(
            f"Means are under {next(iter(board.judges))}, corrected by {corrected.by} on {trusted} "
            f"of {topics} topics, which must be a random sample (prediction-powered inference)."
        )
    if board.exclude_family:
        notes.append(f"Runs of these families of models are left out: {', '.join(board.exclude_family)}.")
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


router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=KeptRoute
)


ACCEPTED: Mapping[Literal["csv", "latex", "markdown"], str] = {
    "csv": "text/csv",
    "latex": "application/x-tex",
    "markdown": "text/markdown",
}
FORMS: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each run and metric, whose rank and groups are those under `by`; "
        "or a table for print with rank, team and groups, as LaTeX (booktabs) that compiles as it is, or as Markdown; "
        "or how to cite the board, as BibTeX, CSL-JSON or a sentence, for those who may see the judgments",
        "content": {media_type: {"schema": {"type": "string"}} for media_type in (*ACCEPTED.values(), "text/plain")},
    }
}


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING, also=FORMS))
@quick_or_in_thread
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[LeaderboardQuery, asked_by(LeaderboardQuery)],
) -> Response:
    """Rank all visible runs by their mean under one metric. Each row also has the means under the other metrics."""
    top = asked.get("top")
    form = asked.get("format") or next((each for each, kind in ACCEPTED.items() if accepts(request, kind)), None)
    refuse_beside(form, asked)
    admit = View.require_judgments if form in CITED else View.require_scores
    question = replace(question_of(asked), admit=admit)
    board = leaderboard(workspace, sender, collection, question, **columns_of(asked))
    # Another judgment set has its own release, so such answers are not kept for others.
    note_origin(request, None if board.corrected else origin_of(board.scores))
    if form in CITED:
        query = request.url.remove_query_params(["format", "run"]).query
        url = f"{server_address(request)}/c/{collection}?{query}".rstrip("?")
        return PlainTextResponse(cite_board(board, url)[form])
    if form == "csv":
        return PlainTextResponse("".join(_csv(board, top)), media_type=ACCEPTED[form])
    if form in ("latex", "markdown"):
        return table_answer(form, board_table(board, top))
    # The time comes first: what is not in memory yet is not quick, and the first intervals import SciPy.
    changed = changed_at(workspace, board)
    return answer(_show(board, top) | {"changed_at": changed})


def columns_of(asked: BoardOptions) -> dict[str, Any]:
    """Return which columns and rows of a board a query asks for, as `leaderboard` takes them."""
    return {
        "by": asked.get("by"),
        "by_group": asked.get("by_group", ()),
        "standard": standard_of(asked.get("standardise"), asked.get("reference", ())),
        "best_per_team": asked.get("best_per_team", False),
        "corrected_by": asked.get("corrected_by"),
        "resample": asked.get("resample") or "topics",
        "exclude_family": asked.get("exclude_family", ()),
    }


def _show(board: Board, top: int | None) -> dict[str, Any]:
    """Return a `LeaderboardAnswer` as plain values: to validate a model of each row takes as long as the scores."""
    scores, labels, missing = board.scores, board.scores.labels, board.scores.topics_missing
    standardised = None
    if (standard := board.standard) is not None:
        reference, alike = list(standard.reference), dict(board.alike)
        standardised = StandardOfBoard(form=standard.form, reference=reference, topics_left_out=alike)
    return {
        "collection": scores.collection.name,
        "sample_of": scores.collection.sample_shown,
        "qrels_version": scores.shown_version,
        "judgment_set": scores.qrels.judgments,
        **scores.described_replicates(),
        "by": board.by,
        "topic_group": ChosenGroup(**scores.chosen.described()) if scores.chosen else None,
        "by_group": [
            GroupColumn(**group.chosen.described(), topics_scored=dict(group.topics_scored)) for group in board.by_group
        ],
        "metrics": labels,
        "asked": scores.label_by_expression,
        "notes": notes_on_names(scores.metrics),
        "rows": [
            {
                "rank": row.rank,
                "name": row.run.name,
                "team": row.run.team,
                "late": row.is_late,
                "topics_missing": missing[row.column],
                "mean": dict(zip(labels, row.means, strict=True)),
                "interval": dict(zip(labels, row.intervals, strict=True)),
                "groups": row.letters,
                "by_group": {
                    str(group.chosen.name): dict(zip(labels, means, strict=True))
                    for group, means in zip(board.by_group, row.by_group, strict=True)
                },
                "rank_set": row.rank_set,
                "uncorrected": dict(zip(labels, row.uncorrected, strict=True)) if board.corrected else {},
                **({"replicates": row.replicates} if row.replicates else {}),
                **({"numbers": row.beside} if scores.beside else {}),
            }
            for row in board.rows[:top]
        ],
        "rows_total": len(board.rows),
        "decimals": scores.decimals,
        "topics_scored": board.topics_scored(),
        "standardised": standardised,
        "corrected": _show_correction(board),
        "best_per_team": board.best_per_team,
        "withheld": scores.withheld,
        "groups_test": GroupsTest(**board.tested.described()) if board.tested else None,
        "no_groups_because": board.groups if isinstance(board.groups, str) else None,
    }


def _show_correction(board: Board) -> CorrectionOfBoard | None:
    if (corrected := board.corrected) is None:
        return None
    metrics = {}
    for label, metric in zip(board.scores.labels, corrected.by_metric, strict=True):
        trusted, topics = metric.counted
        correlation = metric.sample.correlation()
        metrics[label] = CorrectionOfMetric(
            weight=metric.weight,
            trusted_topics=trusted,
            topics=topics,
            correlation=None if math.isnan(correlation) else correlation,
            topics_left_out=list(metric.topics.left_out),
        )
    version = corrected.trusted
    assert version is not None, "boards of files are not sent"
    return CorrectionOfBoard(
        by=corrected.by, judges=board.judges, qrels_version=version.version, assumes=ASSUMED, metrics=metrics
    )


def _csv(board: Board, top: int | None) -> Iterator[str]:
    more = ["uncorrected"] if board.corrected else [f"mean:{group.chosen.name}" for group in board.by_group]
    yield csv_line((*BOARD_COLUMNS, *more))
    for row in board.rows[:top]:
        letters, late, ends = "".join(row.letters or ()), "yes" if row.is_late else "no", row.rank_set or (None, None)
        others = [row.uncorrected] if board.corrected else row.by_group
        for label, mean, interval, *beside in zip(board.scores.labels, row.means, row.intervals, *others, strict=True):
            low, high = interval or (None, None)
            yield csv_line(
                (row.rank, row.run.name, row.run.team, label, mean, low, high, letters, late, *ends, *beside)
            )
