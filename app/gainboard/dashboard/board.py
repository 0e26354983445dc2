"""`/c/{collection}`: the board, runs ranked by a metric under the parameters of the query.

The form has a control for each parameter of the metric, and links that change the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, cast

from fastapi import Request, Response
from markupsafe import escape

from gainboard.api.answers import address, server_address
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.leaderboard import board_figure, cite_board, columns_of, image_answer, read_leaderboard
from gainboard.api.queries import asked_by, parameters_of, question_of
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.rendering import (
    FORMATS,
    FORMS,
    Form,
    PageLook,
    PrintedRequest,
    is_for_people,
    page,
    page_of,
    pages,
    pairs_of,
    query_of,
)
from gainboard.dashboard.sessions import Place, PlaceDep, Visitor, VisitorDep, enter
from gainboard.errors import BadInput, Forbidden, NoQrels
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.disclosure import list_presets
from gainboard.evaluation.access.teams import list_teams
from gainboard.evaluation.boards.leaderboard import Board, Row, leaderboard
from gainboard.evaluation.boards.setting_effects import SettingEffect, setting_effect
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.judgments.judged_shares import shares_beside
from gainboard.evaluation.judgments.qrels import list_versions
from gainboard.evaluation.judgments.versions import list_choices
from gainboard.evaluation.runs.runs import list_runs
from gainboard.evaluation.scoring.binding import PREFIX
from gainboard.evaluation.scoring.requests import Question, bind, official_metrics
from gainboard.metrics import every_metric, notes_on_names, query_parameters, short_labels
from gainboard.notation.queries import BoardOptions, LeaderboardQuery, MetricsQuery, Said, completed
from gainboard.store.records import Collection
from gainboard.vocabulary import OFFICIAL

MOST_LINES = 30
"""The most groups that are drawn as lines; more are given as letters."""


@dataclass(frozen=True)
class BoardRow:
    """A row of the board as a page shows it: the row itself, and what the page adds."""

    ranked: Row
    move: int
    judged: float | None
    letters: Sequence[str]
    appears: int
    """The number of runs from which this run is told apart under the setting, and was not under the official one."""
    disappears: int
    """The same the other way round."""
    lines: str
    """The path of the lines that run through the row, each of which joins the runs of a group."""
    dots: str
    """The path of the dots on these lines: the groups of the run."""
    is_mine: bool
    is_pinned: bool

    @property
    def mean(self) -> float:
        return self.ranked.means[self.ranked.board.place]

    @property
    def interval(self) -> tuple[float, float] | None:
        return self.ranked.intervals[self.ranked.board.place]

    @property
    def uncorrected(self) -> float | None:
        """The mean under the cheap judgments alone, on a corrected board."""
        return self.ranked.uncorrected[self.ranked.board.place] if self.ranked.board.corrected else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The mean and its bound for unjudged documents, the smaller one first; None without bounds."""
        ends = self.ranked.beside.get(self.ranked.board.by, {}).values()
        return (min(ends), max(ends)) if ends else None

    @property
    def on_axis(self) -> list[float]:
        """The values that the axis must show."""
        alone = [] if self.uncorrected is None else [self.uncorrected]
        return [self.mean, *(self.interval or ()), *(self.bounds or ()), *alone]

    @property
    def letters_shown(self) -> str:
        """The letters in a few characters: `a–l` for many that follow one another."""
        numbers = [_number(letter) for letter in self.letters]
        follow = all(later == earlier + 1 for earlier, later in pairwise(numbers))
        return f"{self.letters[0]}–{self.letters[-1]}" if len(numbers) > 2 and follow else " ".join(self.letters)


def rows_of(
    board: Board,
    effect: SettingEffect | None,
    judged: Mapping[str, float],
    own_team: int | None,
    *,
    team: str | None,
    find: str | None,
    pinned: Sequence[str],
) -> tuple[list[BoardRow], int]:
    """Return the first runs of a team whose name or team has the text `find`, pinned ones first, and their number.

    They are in the order of the board. Pinned runs are shown whatever the filters say. `judged` are the judged shares
    by run.
    """
    kept = [row for row in board.rows if row.run.name in pinned]
    pins = len(kept)
    for row in board.rows:
        text = f"{row.run.name} {row.run.team}".casefold()
        if row.run.name not in pinned and team in (None, row.run.team) and (not find or find.casefold() in text):
            kept.append(row)
    # Letters and lines of more rows than a page shows would take most of its time.
    kept, fitting = kept[:MOST_ROWS], len(kept)
    flips = effect.significance.flips if effect and effect.significance else ()
    appear = Counter(name for flip in flips if flip.better_after and not flip.better_before for name in flip.runs)
    disappear = Counter(name for flip in flips if not flip.better_after for name in flip.runs)
    # Where no two runs are told apart, one sentence says so, and each row would say the same.
    letters = [(row.letters or ()) if board.tells else () for row in kept]
    # A line joins the rows that it runs through, and pinned rows are out of order: they have letters instead.
    paths = [("", "")] * pins + _paths(letters[pins:], in_order(letters))
    rows = [
        BoardRow(
            row,
            move=effect.moves.get(row.run.name, 0) if effect else 0,
            judged=judged.get(row.run.name),
            letters=letters_of_row,
            appears=appear[row.run.name],
            disappears=disappear[row.run.name],
            lines=lines,
            dots=dots,
            is_mine=own_team is not None and row.run.team_id == own_team,
            is_pinned=row.run.name in pinned,
        )
        for row, letters_of_row, (lines, dots) in zip(kept, letters, paths, strict=True)
    ]
    return rows, fitting


def in_order(letters: Sequence[Sequence[str]]) -> list[str]:
    """Return the letters of all groups in their order: z is before aa."""
    return sorted({letter for letters_of_row in letters for letter in letters_of_row}, key=_number)


def _number(letter: str) -> int:
    """Return the number of a letter: 1 for a, 26 for z, 27 for aa."""
    number = 0
    for digit in letter:
        number = 26 * number + ord(digit) - ord("a") + 1
    return number


def _paths(letters: Sequence[Sequence[str]], groups: Sequence[str]) -> list[tuple[str, str]]:
    """Return for each row the paths of its lines and of its dots: 10 pixels for each of the groups, 33 high."""
    if len(groups) > MOST_LINES:
        return [("", "")] * len(letters)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for row, letters_of_row in enumerate(letters):
        for letter in letters_of_row:
            first.setdefault(letter, row)
            last[letter] = row
    at = {letter: 10 * place + 5 for place, letter in enumerate(groups)}
    joining = [letter for letter in groups if letter in first and first[letter] < last[letter]]
    # One path in place of an element for each line and dot, which were a quarter of a page that a slider fetches anew.
    return [
        (
            "".join(
                f"M{at[letter]} {16 if row == first[letter] else 0}V{16 if row == last[letter] else 33}"
                for letter in joining
                if first[letter] <= row <= last[letter]
            ),
            "".join(f"M{at[letter]} 16h0" for letter in letters_of_row),
        )
        for row, letters_of_row in enumerate(letters)
    ]


SECONDS = 30
"""The time between two looks at a board."""
MOST_REST = 300
"""The most milliseconds without another step after which a step is computed. Small boards wait less."""
FILTERS = ("team", "find", "pin")
NOT_KEPT = ("metric", "by", "theme", "top", "refresh")
"""Fields that links from a board do not carry as they are."""
STEPS: Mapping[str, Sequence[float]] = {
    "beta": (0, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 1000),
    "base": (1.5, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100),
    "cutoff": (1, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000),
    "gains": (0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100),
}
TITLES = {"gains": "Gains", "beta": "Beta", "base": "Log base", "rel": "Relevant from level"}
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


def controls(collection: Collection, board: Board, expression: str, sent: Mapping[str, Any]) -> list[Control]:
    """Return the controls of the metric that ranks: of the parameters that its expression leaves open."""
    fixed = set(re.findall(r"[(,]\s*(\w+)\s*=", expression))
    described = query_parameters()
    parameters = {parameter.name: parameter for parameter in board.metric.metric.parameters}
    levels = [collection.level_name(level) for level in range(1, collection.highest_level + 1)]
    return [
        Control(
            name,
            title,
            sent.get(name) or "",
            parameters[name].write(board.metric.parameters[name]),
            f"{described[name].description} It is {described[name].limits}.",
            levels if name == "rel" else STEPS[name],
            levels[::-1] if name == "gains" else (),
        )
        for name, title in TITLES.items()
        # With one level, there is nothing to choose.
        if name in parameters.keys() - fixed and not (name == "rel" and collection.highest_level == 1)
    ]


def form_of_board(
    place: Place, asked: Mapping[str, Any], board: Board, uploaded: Sequence[str], judgment_sets: Sequence[str]
) -> dict[str, Any]:
    """Return what the form shows: the query as it is, in boxes and in fields that nobody sees."""
    collection = place.view.collection
    by_label = {label: expression for expression, label in board.scores.label_by_expression.items()}
    ranked_by = by_label[board.by]
    shown = controls(collection, board, ranked_by, parameters_of(asked))
    boxes = {"team", "best_per_team", "bounds", "find", "topics", "by_group", "exclude_family"}
    boxes |= {control.name for control in shown} | ({"judgments", "corrected_by"} if judgment_sets else set())
    official_note = "no official metric is set"
    if official_metrics(collection):
        official = bind(collection, Question(), custom=board.scores.custom)[0][0].label
        official_note = "the official metric" if official == board.by else f"official metric: {official}"
    if collection.has_scores_alone:
        uploaded = [name.removeprefix(PREFIX) for name in uploaded]
        by_label = {label: expression.removeprefix(PREFIX) for label, expression in by_label.items()}
        ranked_by = by_label[board.by]
    return {
        "metric": board.metric,
        "ranked_by": ranked_by,
        "more": [expression for expression in by_label.values() if expression != ranked_by],
        "kept": pairs_of({name: value for name, value in asked.items() if name not in {*NOT_KEPT, *boxes}}),
        "controls": shown,
        "cutoffs": [cutoff for cutoff in STEPS["cutoff"] if cutoff <= collection.depth],
        "has_scores_alone": collection.has_scores_alone,
        "uploaded": uploaded,
        "metric_names": [*sorted((metric.name for metric in every_metric()), key=str.casefold), *uploaded],
        "teams": sorted({row.run.team for row in board.rows}),
        "families": sorted({row.run.family for row in board.rows if row.run.family} | {*board.exclude_family}),
        "official_note": official_note,
    }


def links_of_board(place: Place, asked: Mapping[str, Any], board: Board) -> dict[str, Any]:
    """Return where links lead: to the numbers of a board, and to the board as each link changes the query."""
    kept = {name: value for name, value in asked.items() if name not in NOT_KEPT}
    filters = {name: value for name, value in kept.items() if name in FILTERS}
    by_label = {label: expression for expression, label in board.scores.label_by_expression.items()}
    pinned = asked.get("pin", ())

    def here(**changed: Any) -> str:
        query = query_of({"metric": asked.get("metric", ()), "by": asked.get("by")} | kept | changed)
        return address(place.request, place.path) + (f"?{query}" if query else "")

    def first(label: str) -> list[str]:
        return [by_label[label], *(expression for other, expression in by_label.items() if other != label)]

    numbers = query_of({"metric": first(board.by)} | {k: value for k, value in kept.items() if k not in FILTERS})
    embed_code = ""
    if place.view.collection.public and place.is_released:
        source = escape(f"{server_address(place.request)}/embed{place.path}?{numbers}&refresh={SECONDS}")
        embed_code = f'<iframe src="{source}" title="{escape(place.title)}" width="100%" height="600"></iframe>'
    page = f"{server_address(place.request)}{place.path}?{numbers}"
    return {
        "cited": cite_board(board, page) if place.view.sees_judgments and board.rows else None,
        "forms": FORMS,
        "embed_code": embed_code,
        "sorted_by": {label: here(metric=first(label), by=None) for label in by_label},
        # Each row adds the name of its run at the end, so that the page has this address once.
        "pin": here(pin=[*pinned, ""]),
        "unpin": {name: here(pin=[other for other in pinned if other != name]) for name in pinned},
        "official_here": address(place.request, place.path) + (f"?{query_of(filters)}" if filters else ""),
        "numbers": numbers,
        "asking": PrintedRequest.of(place, "leaderboard", numbers),
    }


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
            values = _values_or_fault(place, asked)
            if values["board"].scores.runs:
                status = 422 if values["fault"] else 200
                return page_of(place, "board.html", place.title, "Board", status=status, **values)
            empty["has_judgments"] = True
        except NoQrels:
            pass
        if place.view.organises:
            empty["steps"] = _steps(place)
    return page_of(place, "board_empty.html", place.title, "Board", **empty)


def _values_or_fault(place: Place, asked: BoardQuery) -> dict[str, Any]:
    """Return what the page shows. For people, a setting that is refused stands in the form, beside the official board.

    Programs get the problem itself, and so does the script of the board, which shows it beside its own table.
    """
    try:
        return board_values(place, asked)
    except BadInput as error:
        if "hx-request" in place.request.headers or not is_for_people(place.request):
            raise
        filters = cast(BoardQuery, {name: value for name, value in asked.items() if name in FILTERS})
        values = board_values(place, filters, typed=asked) | {"fault": error.message}
        first, *more = asked.get("metric", ()) or [values["ranked_by"]]
        return values | {"ranked_by": first, "more": more}


def board_values(place: Place, asked: BoardQuery, typed: BoardQuery | None = None) -> dict[str, Any]:
    """Return what a board shows: the ranked runs, what the setting changes, and the form, which may have another query.

    The form of a refused query has that query: `typed`.
    """
    question = replace(question_of(asked), cwl=False)
    board = leaderboard(place.workspace, place.sender, place.name, question, **columns_of(asked) | {"standard": None})
    choices = list_choices(place.workspace, place.view)
    judgment_sets = choices.judgment_sets if len(choices.judgment_sets) > 1 else []
    question = replace(question, bounds=False)  # what follows is about the means alone
    effect = setting_effect(place.workspace, place.sender, place.name, question, board)
    cutoff, depth = board.metric.cutoff, place.view.collection.depth
    judged_to = cutoff if isinstance(cutoff, int) and cutoff < depth else None
    judged = shares_beside(place.workspace, place.sender, place.view, board.scores, question, judged_to)
    is_rationed = board.scores.is_rationed
    allowance = None
    if is_rationed and place.visitor.is_signed_in:
        allowance = score_budget.allowance_of(place.workspace, place.principal)
    return {
        "asked": completed(EmbedQuery, typed or asked),
        "fault": "",
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
        "rest": min(MOST_REST, len(board.rows) // 4),
        **_table(place, asked, board, effect, judged),
        **form_of_board(place, typed or asked, board, choices.uploaded_metrics, judgment_sets),
        **links_of_board(place, asked, board),
        "judged_to": judged_to,
        "may_have_bounds": place.view.sees_judgments and not place.view.collection.has_scores_alone,
        "columns": [label for label in board.scores.labels if label != board.by],
        # In a collection of scores, a bare name means the uploaded metric.
        "short": {
            label: name.removeprefix(PREFIX) if place.view.collection.has_scores_alone else name
            for label, name in short_labels(board.scores.labels).items()
        },
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
    rows, fitting = rows_of(board, effect, judged, place.view.own_team, **filters)
    groups = in_order([row.letters for row in rows])
    return {
        "rows": rows,
        "fitting": fitting,
        # Of a judged collection's run a missing topic scores 0, which its own page says.
        "lacking": board.scores.topics_missing if place.view.collection.has_scores_alone else None,
        "scale": ChartScale.around(value for row in rows for value in row.on_axis),
        "groups": groups,
        "has_lines": 0 < len(groups) <= MOST_LINES,
        "sees_judged": any(row.judged is not None for row in rows),
        "groups_test": board.tested,
        "no_groups_because": board.groups if isinstance(board.groups, str) else None,
    }


@router.get("/c/{collection}/card")
def show_card(place: PlaceDep) -> Response:
    """Show how many runs and teams exist for the visitor, and the best runs by the official metric if it may see them.

    The list of collections loads this part of a card when the card comes into sight, so it scores no other collection.
    """
    values: dict[str, Any] = {"board": None, "most": MOST_COUNTED}
    values["teams"] = list_teams(place.workspace, place.principal, place.name, None, MOST_COUNTED)[1]
    if place.view.sees_free_scores:
        with suppress(NoQrels):
            board = leaderboard(place.workspace, place.sender, place.name, Question(), None)
            if board.rows:
                values |= {"board": board, "metric": short_labels([board.by])[board.by]}
    return page_of(place, "card.html", place.title, **values)


@router.get("/c/{collection}/board.{form}")
def read_board(
    collection: CollectionName, form: Form, visitor: VisitorDep, asked: Annotated[ExportQuery, asked_by(ExportQuery)]
) -> Response:
    """Return a board as the API does, or as an image."""
    if form != "json":
        # The menu of a board with whiskers leads here, too.
        asked = cast(ExportQuery, {name: value for name, value in asked.items() if name not in ("bounds", "cwl")})
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
    if collection.has_scores_alone:
        return [ChecklistStep("Scores", False, "drop a file of scores", "/judgments#matrix", "Upload scores")]
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
