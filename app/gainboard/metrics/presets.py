"""Presets: several metrics under one name, as recommended by a paper.

Decorating a function with `preset` adds it; there is no other list of presets.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gainboard.metrics.gains import linear_ratio, steep


@dataclass(frozen=True, eq=False, kw_only=True)
class Preset:
    """A list of metrics. `expressions` returns them for the highest level of a scale. `reference` is their source."""

    name: str
    title: str
    reference: str
    expressions: Callable[[int], Sequence[str]]

    @property
    def definition(self) -> str:
        """The definition in prose, which is the docstring of `expressions`."""
        return inspect.getdoc(self.expressions) or ""


_PRESETS: dict[str, Preset] = {}
"""All presets by name in lower case."""


def preset(name: str, *, title: str, reference: str) -> Callable[[Callable[[int], Sequence[str]]], Preset]:
    """Add a list of metrics to the catalogue. `name` must not be the name of a metric.

    The expressions of graded metrics must give their gains, so that defaults of a collection do not change them.
    """

    def enter(expressions: Callable[[int], Sequence[str]]) -> Preset:
        entry = Preset(name=name, title=title, reference=reference, expressions=expressions)
        _PRESETS[name.lower()] = entry
        return entry

    return enter


def every_preset() -> tuple[Preset, ...]:
    """Return all presets, in the order of their definitions."""
    return tuple(_PRESETS.values())


def find_preset(name: str) -> Preset | None:
    """Return the preset of this name, in upper or lower case; None if there is no such preset."""
    return _PRESETS.get(name.lower())


def expand(expressions: Iterable[str], highest_level: int) -> list[str]:
    """Return the expressions, with each preset replaced by its expressions."""
    expanded: list[str] = []
    for expression in expressions:
        found = find_preset(expression)
        expanded.extend(found.expressions(highest_level) if found else [expression])
    return expanded


@preset(
    "sakai2006",
    title="Sakai's guideline for graded relevance",
    reference="Sakai, Controlling the penalty on late arrival of relevant documents in information retrieval "
    "evaluation with graded relevance, 2006, section 6",
)
def sakai2006(highest_level: int) -> list[str]:
    """AP, and three graded metrics with linear gains and with steep gains.

    The graded metrics are Q-measure with beta 1, Q-measure with beta 10, and nDCG with log base 2. AP equals Q-measure
    with beta 0. For three levels, linear gains are 3:2:1 and steep gains are 10:5:1. For h levels, they are h:...:2:1
    and `exp`. With binary levels, both are the same and are listed once. The cut-off of nDCG is the depth of the
    collection.
    """
    linear = linear_ratio(highest_level)
    settings = [linear] if highest_level == 1 else [linear, steep(highest_level)]
    graded = ("Q(beta=1,gains={})", "Q(beta=10,gains={})", "nDCG(base=2,gains={})")
    return ["AP", *(expression.format(gains) for gains in settings for expression in graded)]
