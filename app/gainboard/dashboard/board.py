"""`/c/{collection}`: the board, runs ranked by a metric under the parameters of the query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from fastapi import Request, Response
from markupsafe import escape

from gainboard.api.answers import address, server_address
from gainboard.api.board_exhibits import board_figure, image_answer
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.leaderboard import columns_of, read_leaderboard
from gainboard.api.queries import asked_by, parameters_of, question_of
from gainboard.dashboard.board_rows import MOST_LINES, Beside, RowsWanted, in_order, rows_of
from gainboard.dashboard.checklist import steps
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.places import Place, enter
from gainboard.dashboard.rendering import (
    FORMATS,
    FORMS,
    Form,
    PageLook,
    PrintedRequest,
    page,
    pages,
    pairs_of,
    query_of,
)
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.errors import Forbidden, NoQrels
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.disclosure import presets
from gainboard.evaluation.boards.adjusted_boards import CorrectedMetric
from gainboard.evaluation.boards.leaderboard import Board, leaderboard
from gainboard.evaluation.boards.setting_effects import SettingEffect, setting_effect
from gainboard.evaluation.judgments.judged_shares import whole_shares
from gainboard.evaluation.judgments.topic_groups import list_groups
from gainboard.evaluation.judgments.versions import list_sets
from gainboard.evaluation.scoring.requests import Question, bind, official_metrics
from gainboard.evaluation.scoring.score_matrices import list_matrices, names_of
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import every_metric, notes_on_names, query_parameters, short_labels
from gainboard.notation.queries import BoardOptions, LeaderboardQuery, MetricsQuery, Said, completed
from gainboard.store.records import Collection

router = pages()
MOST_ROWS = 500
DIGITS = 4
SECONDS = 30
"""The time between two looks at a board."""
FILTERS = ("team", "find", "pin")
_NOT_KEPT = ("metric", "by", "theme", "top", "refresh")
"""Fields that links from a board do not carry as they are."""


class ExportQuery(MetricsQuery, BoardOptions, total=False):
    """The query of a board's numbers and images: that of the API's leaderboard, with all rows."""


class BoardQuery(ExportQuery, total=False):
    """The query of a board: that of the API's leaderboard, and what is shown of it."""

    team: Annotated[str | None, Said(description="Only runs of this team")]
    find: Annotated[str | None, Said(description="Only runs whose name or team has this text")]
    pin: Annotated[Sequence[str], Said(description="Runs that are shown first", most_items=100)]


@router.get("/c/{collection}")
def show_board(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[BoardQuery, asked_by(BoardQuery, is_form=True)],
) -> Response:
    """Show the ranked runs, with the parameters to change and what they change."""
    place = enter(workspace, visitor, collection)
    look = PageLook(place.title, place, "Board")
    if not place.view.sees_scores:
        return page(request, visitor, "board_empty.html", look, is_hidden=True, steps=(), has_judgments=False)
    try:
        values = board_values(request, workspace, visitor, place, asked)
    except NoQrels:
        values = None
    if values is None or not values["board"].scores.runs:
        todo = steps(workspace, place) if place.view.organises else ()
        empty = {"is_hidden": False, "steps": todo, "has_judgments": values is not None}
        return page(request, visitor, "board_empty.html", look, **empty)
    return page(request, visitor, "board.html", look, **values)


def board_values(
    request: Request, workspace: Workspace, visitor: Visitor, place: Place, asked: BoardQuery
) -> dict[str, Any]:
    """Return what a board shows: the ranked runs, what the setting changes, and the form."""
    question = question_of(asked)
    board = leaderboard(workspace, visitor.sender, place.name, question, **columns_of(asked) | {"standard": None})
    judgment_sets = _judgment_sets(workspace, place)
    effect = setting_effect(workspace, visitor.sender, place.name, question, board)
    return {
        "asked": completed(EmbedQuery, asked),
        "sees_own_only": place.view.own_team is not None and place.view.scores != "all",
        "board": board,
        "effect": effect,
        "digits": shown_digits(board),
        "notes": notes_on_names(board.scores.metrics),
        **_rationing(workspace, visitor, place, board),
        **_table(workspace, place, asked, board, effect),
        **_form(request, place, asked, board, _uploaded_metrics(workspace, place), judgment_sets),
        "groups_of_topics": _topic_groups(workspace, place),
        "judgment_sets": judgment_sets,
        "correction": correction_of(board),
    }


def _topic_groups(workspace: Workspace, place: Place) -> list[str]:
    """Return the names of the topic groups that the visitor may choose."""
    if not place.view.sees_free_scores:
        return []
    return [each.group.name for each in list_groups(workspace, place.view.principal, place.name)]


def _judgment_sets(workspace: Workspace, place: Place) -> list[str]:
    """Return the judgment sets that the visitor may choose; none if there is only the official one."""
    if not (place.view.sees_judgments and place.view.sees_free_scores):
        return []
    names = [each.name for each in list_sets(workspace, place.view.principal, place.name) if each.in_use]
    return names if len(names) > 1 else []


def correction_of(board: Board) -> CorrectedMetric | None:
    """Return the correction of the metric that ranks the board; None without one."""
    return board.corrected.by_metric[board.place] if board.corrected else None


def _uploaded_metrics(workspace: Workspace, place: Place) -> list[str]:
    """Return the expressions of uploaded scores, for those who may see them."""
    if not place.view.sees_judgments:
        return []
    return names_of(list_matrices(workspace, place.view.principal, place.name))


def shown_digits(board: Board) -> int:
    """Return the decimal places of scores on pages: four, or those that the policy shows."""
    return DIGITS if board.scores.decimals is None else board.scores.decimals


def _rationing(workspace: Workspace, visitor: Visitor, place: Place, board: Board) -> dict[str, Any]:
    """Return what the form needs where each setting counts: no page asks for scores unasked there."""
    if not board.scores.is_rationed:
        return {"is_live": True, "presets": (), "answers": None}
    left = score_budget.allowance_of(workspace, visitor.principal) if visitor.is_signed_in else None
    return {"is_live": False, "presets": presets(place.view), "answers": left.answers if left else None}


def _table(
    workspace: Workspace,
    place: Place,
    asked: BoardQuery,
    board: Board,
    effect: SettingEffect | None,
) -> dict[str, Any]:
    judged = whole_shares(workspace, place.view, board.scores)
    shown = RowsWanted(asked.get("team"), asked.get("find"), asked.get("pin", ()))
    rows = rows_of(board, shown, Beside(effect, judged, place.view.own_team))
    return {
        "rows": rows[:MOST_ROWS],
        "found": len(rows),
        "scale": ChartScale.around(value for row in rows for value in row.on_axis),
        "groups": (order := in_order([row.letters for row in rows])),
        "has_lines": 0 < len(order) <= MOST_LINES,
        "sees_judged": any(row.judged is not None for row in rows),
        "groups_test": board.tested,
        "no_groups_because": board.groups if isinstance(board.groups, str) else None,
        "seconds": SECONDS,
    }


def _form(
    request: Request,
    place: Place,
    asked: BoardQuery,
    board: Board,
    uploaded: Sequence[str],
    judgment_sets: Sequence[str],
) -> dict[str, Any]:
    """Return what the form and the links need: the query as it is, and as each link changes it."""
    collection = place.view.collection
    by_label = {label: expression for expression, label in board.scores.label_by_expression.items()}
    first = by_label[board.by]
    more = [expression for expression in by_label.values() if expression != first]
    given = {name: value for name, value in asked.items() if name not in _NOT_KEPT}
    shown = controls(collection, board, first, parameters_of(asked))
    pinned = asked.get("pin", ())
    filters = {name: value for name, value in given.items() if name in FILTERS}
    boxes = {"team", "best_per_team", "find", "topics", "by_group", *(each.name for each in shown)}
    boxes |= {"judgments", "corrected_by"} if judgment_sets else set()
    asking = {"metric": [first, *more]} | {k: v for k, v in given.items() if k not in FILTERS}
    numbers = query_of(asking)

    def here(**changed: Any) -> str:
        query = query_of({"metric": asked.get("metric", ()), "by": asked.get("by")} | given | changed)
        return address(request, place.path) + (f"?{query}" if query else "")

    return {
        "metric": board.metric,
        "ranked_by": first,
        "more": more,
        "kept": pairs_of({k: v for k, v in given.items() if k not in boxes}),
        "controls": shown,
        "cutoffs": [each for each in STEPS["cutoff"] if each <= collection.depth],
        "metric_names": [*metric_names(), *uploaded],
        "teams": sorted({row.run.team for row in board.rows}),
        "short": short_labels(board.scores.labels),
        "official_note": _official_note(collection, board),
        "forms": FORMS,
        "embed_code": _embed_code(request, place, numbers)
        if place.view.collection.public and place.is_released
        else "",
        "columns": [label for label in board.scores.labels if label != board.by],
        "sorted_by": {
            label: here(metric=[expression, *(each for each in by_label.values() if each != expression)], by=None)
            for label, expression in by_label.items()
        },
        "pin": here(pin=[*pinned, ""]),
        "unpin": {name: here(pin=[each for each in pinned if each != name]) for name in pinned},
        "official_here": address(request, place.path) + (f"?{query_of(filters)}" if filters else ""),
        "numbers": numbers,
        "asking": PrintedRequest.of(request, "leaderboard", place.name, numbers),
    }


def _official_note(collection: Collection, board: Board) -> str:
    """Return whether the board is by the official metric, and whether there is one."""
    if not official_metrics(collection):
        return "no official metric is set"
    official, _ = bind(collection, Question())
    return "the official metric" if official[0].label == board.by else f"official metric: {official[0].label}"


def _embed_code(request: Request, place: Place, query: str) -> str:
    """Return the code that shows the board on another page."""
    source = f"{server_address(request)}/embed{place.path}?{query}&refresh={SECONDS}"
    return f'<iframe src="{escape(source)}" title="{escape(place.title)}" width="100%" height="600"></iframe>'


@router.get("/c/{collection}/board.{form}")
def read_board(
    collection: CollectionName,
    form: Form,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[ExportQuery, asked_by(ExportQuery)],
) -> Response:
    """Return a board as the API does, or as an image."""
    if form == "svg" or form == "png":
        board = leaderboard(workspace, visitor.sender, collection, question_of(asked), **columns_of(asked))
        return image_answer(form, lambda: board_figure(board))
    shown = cast(LeaderboardQuery, {**asked, "format": FORMATS[form]})
    return read_leaderboard(collection, request, workspace, visitor.sender, shown)


STEPS: Mapping[str, Sequence[float]] = {
    "beta": (0, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 1000),
    "base": (1.5, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100),
    "cutoff": (1, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000),
    "gains": (0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100),
}
TITLES = {"beta": "Beta", "base": "Log base", "rel": "Relevant from level", "gains": "Gains"}
SHOWN = ("gains", "beta", "base", "rel")
"""The parameters with a control, in this order. Others can be part of the expression."""


@dataclass(frozen=True)
class Control:
    """A box of the form, which a script gives a slider.

    `value` is what the query says, and `now` what holds. `choices` are the values of the slider, `levels` the names of
    the levels above 0, highest first, for gains.
    """

    name: str
    title: str
    value: str
    now: str
    help: str
    choices: Sequence[Any]
    levels: Sequence[str] = ()


def controls(collection: Collection, board: Board, expression: str, given: Mapping[str, Any]) -> list[Control]:
    """Return the controls of the metric that ranks: of the parameters that its expression leaves open."""
    fixed = set(re.findall(r"[(,]\s*(\w+)\s*=", expression))
    metric = board.metric
    described = query_parameters()
    own = {each.name: each for each in metric.metric.parameters}
    names = [collection.level_name(level) for level in range(1, collection.highest_level + 1)]
    return [
        Control(
            name,
            TITLES[name],
            given.get(name) or "",
            own[name].write(metric.parameters[name]),
            f"{described[name].description} It is {described[name].limits}.",
            names if name == "rel" else STEPS[name],
            names[::-1] if name == "gains" else (),
        )
        for name in SHOWN
        if name in own.keys() - fixed and not (name == "rel" and collection.highest_level == 1)
    ]


def metric_names() -> list[str]:
    """Return the names of all metrics, for a list to choose from."""
    return sorted((metric.name for metric in every_metric()), key=str.casefold)


class EmbedQuery(BoardQuery, total=False):
    """The query of an embedded board: that of the board, a theme, and a number of runs."""

    theme: Annotated[Literal["light", "dark"] | None, Said(description="The reader's own by default")]
    top: Annotated[int, Said(description="The number of runs that are shown", default=20, least=1, most=100)]
    refresh: Annotated[
        int | None,
        Said(description="Seconds between two looks at the board; without it, it stays as it is", least=5, most=86_400),
    ]


@router.get("/embed/c/{collection}")
def show_embedded(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    asked: Annotated[EmbedQuery, asked_by(EmbedQuery, is_form=True)],
) -> Response:
    """Show the first runs of a board. Whoever looks is nobody here, so the page shows what everybody may see."""
    nobody = Visitor()
    place = enter(workspace, nobody, collection)
    if not place.view.sees_free_scores:
        raise Forbidden(f"{place.name!r} is not public, so no other page may show its board.")
    look = PageLook(place.title, place, may_be_framed=True)
    values = board_values(request, workspace, nobody, place, asked)
    return page(request, nobody, "embed.html", look, **{**values, "rows": values["rows"][: values["asked"]["top"]]})
