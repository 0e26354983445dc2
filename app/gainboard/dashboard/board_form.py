"""The form of a board, with a control for each parameter of the metric, and the links that change its query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from gainboard.api.answers import address, server_address
from gainboard.api.queries import parameters_of
from gainboard.dashboard.places import Place
from gainboard.dashboard.rendering import FORMS, PrintedRequest, pairs_of, query_of
from gainboard.evaluation.boards.leaderboard import Board
from gainboard.evaluation.scoring.requests import Question, bind, official_metrics
from gainboard.metrics import every_metric, query_parameters
from gainboard.store.records import Collection

SECONDS = 30
"""The time between two looks at a board."""
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
    boxes = {"team", "best_per_team", "find", "topics", "by_group", *(control.name for control in shown)}
    boxes |= {"judgments", "corrected_by"} if judgment_sets else set()
    official_note = "no official metric is set"
    if official_metrics(collection):
        official = bind(collection, Question())[0][0].label
        official_note = "the official metric" if official == board.by else f"official metric: {official}"
    return {
        "metric": board.metric,
        "ranked_by": ranked_by,
        "more": [expression for expression in by_label.values() if expression != ranked_by],
        "kept": pairs_of({name: value for name, value in asked.items() if name not in {*NOT_KEPT, *boxes}}),
        "controls": shown,
        "cutoffs": [cutoff for cutoff in STEPS["cutoff"] if cutoff <= collection.depth],
        "metric_names": [*sorted((metric.name for metric in every_metric()), key=str.casefold), *uploaded],
        "teams": sorted({row.run.team for row in board.rows}),
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
    return {
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
