"""`/c/{collection}`: the board, runs ranked by a metric under the parameters of the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast

from fastapi import Request, Response

from gainboard.api.board_exhibits import board_figure, image_answer
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.leaderboard import columns_of, read_leaderboard
from gainboard.api.queries import asked_by, question_of
from gainboard.dashboard.board_form import SECONDS, form_of_board, links_of_board
from gainboard.dashboard.board_rows import MOST_LINES, in_order, rows_of
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.places import Place, PlaceDep, enter
from gainboard.dashboard.rendering import FORMATS, Form, PageLook, page, page_of, pages
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.errors import Forbidden, NoQrels
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.disclosure import list_presets
from gainboard.evaluation.access.teams import list_teams
from gainboard.evaluation.boards.leaderboard import Board, leaderboard
from gainboard.evaluation.boards.setting_effects import SettingEffect, setting_effect
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.judgments.judged_shares import whole_shares
from gainboard.evaluation.judgments.qrels import list_versions
from gainboard.evaluation.judgments.versions import list_choices
from gainboard.evaluation.runs.runs import list_runs
from gainboard.metrics import notes_on_names, short_labels
from gainboard.notation.queries import BoardOptions, LeaderboardQuery, MetricsQuery, Said, completed
from gainboard.vocabulary import OFFICIAL

router = pages()
MOST_ROWS = 500
MOST_COUNTED = 1000
"""The most versions, teams and runs that the checklist of a new collection counts."""
DIGITS = 4


class ExportQuery(MetricsQuery, BoardOptions, total=False):
    """The query of a board's numbers and images: that of the API's leaderboard, with all rows."""


class BoardQuery(ExportQuery, total=False):
    """The query of a board: that of the API's leaderboard, and what is shown of it."""

    team: Annotated[str | None, Said(description="Only runs of this team")]
    find: Annotated[str | None, Said(description="Only runs whose name or team has this text")]
    pin: Annotated[Sequence[str], Said(description="Runs that are shown first", most_items=100)]


@router.get("/c/{collection}")
def show_board(place: PlaceDep, asked: Annotated[BoardQuery, asked_by(BoardQuery, is_form=True)]) -> Response:
    """Show the ranked runs, with the parameters to change and what they change."""
    empty: dict[str, Any] = {"is_hidden": not place.view.sees_scores, "steps": (), "has_judgments": False}
    if place.view.sees_scores:
        try:
            values = board_values(place, asked)
            if values["board"].scores.runs:
                return page_of(place, "board.html", place.title, "Board", **values)
            empty["has_judgments"] = True
        except NoQrels:
            pass
        if place.view.organises:
            empty["steps"] = _steps(place)
    return page_of(place, "board_empty.html", place.title, "Board", **empty)


def board_values(place: Place, asked: BoardQuery) -> dict[str, Any]:
    """Return what a board shows: the ranked runs, what the setting changes, and the form."""
    question = question_of(asked)
    board = leaderboard(place.workspace, place.sender, place.name, question, **columns_of(asked) | {"standard": None})
    choices = list_choices(place.workspace, place.view)
    judgment_sets = choices.judgment_sets if len(choices.judgment_sets) > 1 else []
    effect = setting_effect(place.workspace, place.sender, place.name, question, board)
    judged = whole_shares(place.workspace, place.view, board.scores)
    is_rationed = board.scores.is_rationed
    allowance = None
    if is_rationed and place.visitor.is_signed_in:
        allowance = score_budget.allowance_of(place.workspace, place.principal)
    return {
        "asked": completed(EmbedQuery, asked),
        "sees_own_only": place.view.own_team is not None and place.view.scores != "all",
        "board": board,
        "effect": effect,
        "digits": shown_digits(board),
        "notes": notes_on_names(board.scores.metrics),
        # Where each setting counts, a page asks for no scores unasked.
        "is_live": not is_rationed,
        "presets": list_presets(place.view) if is_rationed else (),
        "answers": allowance.answers if allowance else None,
        "seconds": SECONDS,
        **_table(place, asked, board, effect, judged),
        **form_of_board(place, asked, board, choices.uploaded_metrics, judgment_sets),
        **links_of_board(place, asked, board),
        "columns": [label for label in board.scores.labels if label != board.by],
        "short": short_labels(board.scores.labels),
        "groups_of_topics": choices.topic_groups,
        "judgment_sets": judgment_sets,
        "correction": board.corrected.by_metric[board.place] if board.corrected else None,
    }


def shown_digits(board: Board) -> int:
    """Return the decimal places of scores on pages: four, or those that the policy shows."""
    return DIGITS if board.scores.decimals is None else board.scores.decimals


def _table(
    place: Place, asked: BoardQuery, board: Board, effect: SettingEffect | None, judged: Mapping[str, float]
) -> dict[str, Any]:
    """Return the rows that are shown, and what all of them have in common."""
    filters: Any = {"team": asked.get("team"), "find": asked.get("find"), "pinned": asked.get("pin", ())}
    rows = rows_of(board, effect, judged, place.view.own_team, **filters)
    groups = in_order([row.letters for row in rows])
    return {
        "rows": rows[:MOST_ROWS],
        "fitting": len(rows),
        "scale": ChartScale.around(value for row in rows for value in row.on_axis),
        "groups": groups,
        "has_lines": 0 < len(groups) <= MOST_LINES,
        "sees_judged": any(row.judged is not None for row in rows),
        "groups_test": board.tested,
        "no_groups_because": board.groups if isinstance(board.groups, str) else None,
    }


@router.get("/c/{collection}/board.{form}")
def read_board(
    collection: CollectionName, form: Form, visitor: VisitorDep, asked: Annotated[ExportQuery, asked_by(ExportQuery)]
) -> Response:
    """Return a board as the API does, or as an image."""
    if form == "svg" or form == "png":
        board = leaderboard(visitor.workspace, visitor.sender, collection, question_of(asked), **columns_of(asked))
        return image_answer(form, lambda: board_figure(board))
    shown = cast(LeaderboardQuery, {**asked, "format": FORMATS[form]})
    return read_leaderboard.__wrapped__(collection, visitor.request, visitor.workspace, visitor.sender, shown)


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
    place = enter(Visitor(request, workspace), collection)
    if not place.view.sees_free_scores:
        raise Forbidden(f"{place.name!r} is not public, so no other page may show its board.")
    look = PageLook(place.title, place, may_be_framed=True)
    values = board_values(place, asked)
    values["rows"] = values["rows"][: values["asked"]["top"]]
    return page(place.visitor, "embed.html", look, **values)


class ChecklistStep(NamedTuple):
    """A step to a board: whether it is done, what is there, and the page to do it, below that of the collection."""

    title: str
    is_done: bool
    state: str
    path: str
    button: str


def _steps(place: Place) -> list[ChecklistStep]:
    """Return the steps of an organiser to a board, in the order in which most campaigns take them."""
    workspace, principal, name, collection = place.workspace, place.principal, place.name, place.view.collection
    versions = list_versions(workspace, principal, name, OFFICIAL, None, MOST_COUNTED)
    teams = list_teams(workspace, principal, name, None, MOST_COUNTED)[1]
    runs = list_runs(workspace, principal, name, None, MOST_COUNTED)
    topics, presets_of_policy = collection.topics or [], Policy.of(collection).presets
    in_use = next((each.qrels for each in versions if each.in_use), None)
    judgments = f"{_count(len(versions), 'draft')}, and none is published" if versions else "none yet"
    if in_use is not None:
        judgments = f"version {in_use.version} is published: {in_use.judged:,} judgments of {in_use.topics:,} topics"
    if place.is_released:
        policy = "the judgments are released"
    elif presets_of_policy:
        policy = f"hidden; teams see scores of {', '.join(presets_of_policy)}"
    else:
        policy = "hidden; teams see no scores, because no preset is set"
    declared = f"{len(topics)} are declared" if topics else "none are declared yet"
    has_policy = place.is_released or bool(presets_of_policy)
    return [
        ChecklistStep("Judgments", in_use is not None, judgments, "/judgments", "Upload judgments"),
        ChecklistStep("Topics", bool(topics), declared, "/judgments#topics", "Declare topics"),
        ChecklistStep("Policy", has_policy, policy, "/settings", "Set the policy"),
        ChecklistStep("Teams", bool(teams), _count(len(teams), "team"), "/teams", "Invite teams"),
        ChecklistStep("Runs", bool(runs), _count(len(runs), "run"), "/submissions", "Send runs"),
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
