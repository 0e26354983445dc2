"""Presets: several metrics under one name, as a paper recommends them. A preset is a value, made by decorating what
lists its expressions; nothing else lists presets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gainboard.metrics.gains import linear_ratio, steep


@dataclass(frozen=True, eq=False, kw_only=True)
class Preset:
    """A set of metrics. `expressions` lists them for a scale, by its highest level; `reference` is their source."""

    name: str
    title: str
    reference: str
    expressions: Callable[[int], Sequence[str]]

    @property
    def definition(self) -> str:
        """What it is for, in prose: the docstring of its expressions."""
        return inspect.getdoc(self.expressions) or ""


_PRESETS: dict[str, Preset] = {}
"""By name in lower case, which no two share."""


def preset(name: str, *, title: str, reference: str) -> Callable[[Callable[[int], Sequence[str]]], Preset]:
    """Enter a set of metrics into the catalogue. Its name is that of no metric; its expressions say their gains."""

    def enter(expressions: Callable[[int], Sequence[str]]) -> Preset:
        entry = Preset(name=name, title=title, reference=reference, expressions=expressions)
        _PRESETS[name.lower()] = entry
        return entry

    return enter


def every_preset() -> tuple[Preset, ...]:
    """All presets, in the order in which they are defined."""
    return tuple(_PRESETS.values())


def find_preset(name: str) -> Preset | None:
    """The preset of this name, in upper or lower case; None if there is none."""
    return _PRESETS.get(name.lower())


def expand(expressions: Iterable[str], highest_level: int) -> list[str]:
    """The expressions, with those of a preset in the place of its name."""
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
    """Q-measure with beta 1 and 10 and nDCG with log base 2, under linear gains and under steep ones, and AP, to which
    Q-measure comes down with beta 0.

    Linear is 3:2:1 for three levels, and steep 10:5:1; for other numbers of levels they are h:...:2:1 and `exp`, and
    with binary levels one and the same. nDCG is cut at the depth of the collection.
    """
    linear = linear_ratio(highest_level)
    settings = [linear] if highest_level == 1 else [linear, steep(highest_level)]
    graded = ("Q(beta=1,gains={})", "Q(beta=10,gains={})", "nDCG(base=2,gains={})")
    return ["AP", *(expression.format(gains) for gains in settings for expression in graded)]
