"""The controls of a board's parameters: made from the metric that ranks, so a new metric needs none of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gainboard.evaluation.leaderboard import RankedRuns
from gainboard.metrics import every_metric, query_parameters
from gainboard.store.records import Collection

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


def controls(collection: Collection, board: RankedRuns, expression: str, given: Mapping[str, Any]) -> list[Control]:
    """Return the controls of the metric that ranks: of the parameters that its expression leaves open."""
    fixed = set(re.findall(r"[(,]\s*(\w+)\s*=", expression))
    metric = board.scores.metrics[board.scores.labels().index(board.by)]
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
