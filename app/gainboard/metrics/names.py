"""Finding a metric by its name: canonical names, aliases and trec_eval's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import NUMBERED, VALUED, Metric, every_metric
from gainboard.metrics.names_elsewhere import name_here
from gainboard.metrics.presets import every_preset, find_preset


class Spelling(NamedTuple):
    """The meaning of a name: the metric, a cut-off (as in `P_10`), and whether it is pinned to trec_eval's meaning.

    `named` is a parameter whose value is in the name (as in `Rprec_mult_0.50`), with the value. `implied` are values
    that the name stands for (as in `gm_map`), unless the expression gives others.
    """

    metric: Metric
    cutoff: str | None = None
    pinned: bool = False
    named: Mapping[str, str] = {}
    implied: Mapping[str, str] = {}


def is_pinned(alias: str) -> bool:
    """Return whether an alias is trec_eval's own name, which is `map` or has an underscore.

    Users of these names expect trec_eval's scores. So the defaults of a collection do not change their meaning.
    """
    return "_" in alias or alias == "map"


def _example(alias: str) -> str:
    """Return the alias with a cut-off or a value in place of its placeholder, if it has one."""
    if alias.endswith(VALUED):
        return f"{alias.removesuffix(VALUED)}_0.50"
    return f"{alias.removesuffix(NUMBERED)}_10" if alias.endswith(NUMBERED) else alias


class _Names:
    """All names of some metrics: `exact` by their text, and `folded` by their text in lower case."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self.exact = {name: Spelling(metric) for metric in metrics for name in (metric.name, *metric.aliases)}
        for name, spelling in self.exact.items():
            if name in spelling.metric.implied:
                implied = spelling.metric.implied[name]
                self.exact[name] = spelling._replace(pinned=is_pinned(name), implied=implied)
        self.folded = {name.lower(): spelling for name, spelling in reversed(self.exact.items())}

    def get(self, name: str) -> Spelling | None:
        return self.exact.get(name) or self.folded.get(name.lower())

    def nearest(self, name: str) -> list[str]:
        from difflib import get_close_matches  # noqa: PLC0415 (for messages alone)

        examples = [*map(_example, self.exact), *(preset.name for preset in every_preset())]
        shown = {example.lower(): example for example in examples}
        return [shown[match] for match in get_close_matches(name.lower(), shown, n=4, cutoff=0.5)]


# The metrics are the key, so names are collected again after a metric is registered.
_names = lru_cache(maxsize=1)(_Names)


def is_known(name: str) -> bool:
    """Return whether a metric has this name or alias, in any case."""
    return _names(every_metric()).get(name) is not None


def find(name: str, expression: str) -> Spelling:
    """Return the meaning of the name in an expression. An exact match comes before a match in another case.

    Raises BadExpression with the nearest names if there is no such metric, or if `name` is a preset.
    """
    known = _names(every_metric())
    if preset := find_preset(name):
        raise BadExpression(
            f"{preset.name} is a preset, the name of several metrics. Use it by itself in a list of metrics, or give "
            "one metric here, such as nDCG@10"
        )
    _check_plus(name, name == expression, known)
    numbered = re.fullmatch(r"(.*)_([0-9]+(?:\.[0-9]+)?)", name, re.DOTALL)
    found = _numbered(known, *numbered.groups()) if numbered else known.get(name)
    if found is None or name.lower().endswith((NUMBERED, VALUED)):
        meant = name_here(expression)
        nearest = ", ".join(dict.fromkeys([*meant, *known.nearest(name)][: max(4, len(meant))]))
        hint = f"Did you mean {nearest}?" if nearest else "docs/metrics.md and GET /v1/metrics list all metrics."
        raise BadExpression(f"there is no metric {name!r}. {hint}")
    return found


def _numbered(known: _Names, stem: str, number: str) -> Spelling | None:
    """Return the meaning of a name that ends with a number: a cut-off, or the value of the first parameter."""
    if number.isdigit() and (found := known.get(stem + NUMBERED)):
        return found._replace(cutoff=number)
    found = known.get(stem + VALUED)
    return found and found._replace(named={found.metric.parameters[0].name: number})


def _check_plus(name: str, bare: bool, known: _Names) -> None:
    """Refuse what remains of a name such as P+ after a URL parser has read its + as a space."""
    blank = re.search(r"\s", name)
    meant = known.get(re.sub(r"\s", "+", name) if blank else f"{name}+")
    written = f"{meant.metric.name}, or %2B for the +" if meant else "%2B for a +"
    if blank:
        raise BadExpression(f"{name!r} contains a space. In a URL, write {written}")
    if bare and meant:
        raise BadExpression(f"{name} needs a cut-off, such as {name}@10. If you mean {name}+, write {written}")
