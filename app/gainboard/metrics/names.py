"""Which metric a name means, among canonical names, aliases and trec_eval's spellings."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import NUMBERED, Metric, every_metric
from gainboard.metrics.presets import every_preset, find_preset


class Spelling(NamedTuple):
    """What a name says by itself: the metric, a cut-off (`P_10`), and whether it is pinned to trec_eval's meaning."""

    metric: Metric
    cutoff: str | None = None
    pinned: bool = False


def is_pinned(alias: str) -> bool:
    """Whether an alias is trec_eval's own name: those with an underscore, and `map`.

    Whoever writes one wants trec_eval's figures, so it means the same whatever defaults a collection has.
    """
    return "_" in alias or alias == "map"


def with_cutoff(alias: str, cutoff: int | None) -> str | None:
    """The alias with the cut-off in its place; as it is if it has no such place; None if it lacks a cut-off."""
    if not alias.endswith(NUMBERED):
        return alias
    return None if cutoff is None else f"{alias.removesuffix(NUMBERED)}_{cutoff}"


class _Names:
    """All spellings of some metrics; first by their exact text, then by their text in lower case."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self.exact = {name: Spelling(metric) for metric in metrics for name in (metric.name, *metric.aliases)}
        for name, spelling in self.exact.items():
            if name != spelling.metric.name and is_pinned(name):
                self.exact[name] = spelling._replace(pinned=True)
        self.folded = {name.lower(): spelling for name, spelling in reversed(self.exact.items())}

    def get(self, name: str) -> Spelling | None:
        return self.exact.get(name) or self.folded.get(name.lower())

    def nearest(self, name: str) -> list[str]:
        examples = [*(with_cutoff(name, 10) for name in self.exact), *(preset.name for preset in every_preset())]
        shown = {str(example).lower(): str(example) for example in examples}
        return [shown[match] for match in get_close_matches(name.lower(), shown, n=4, cutoff=0.5)]


_names = lru_cache(maxsize=1)(_Names)


def find(name: str, *, bare: bool) -> Spelling:
    """The spelling that `name` is: matched exactly if possible, else without regard to case.

    `bare` says that the name is the whole expression. Raises BadExpression with the nearest names, or for a preset.
    """
    known = _names(every_metric())
    if preset := find_preset(name):
        raise BadExpression(
            f"{preset.name} is a preset, the name of several metrics: it stands by itself among metrics that are "
            "listed, not where one is meant"
        )
    _check_plus(name, bare, known)
    numbered = re.fullmatch(r"(.*_)([0-9]+)", name, re.DOTALL)
    found = known.get(f"{numbered[1]}l" if numbered else name)
    if found is None or name.lower().endswith(NUMBERED):
        nearest = ", ".join(known.nearest(name))
        raise BadExpression(f"there is no metric {name!r}" + (f"; near it are {nearest}" if nearest else ""))
    return found._replace(cutoff=numbered[2]) if numbered else found


def _check_plus(name: str, bare: bool, known: _Names) -> None:
    """Refuse what is left of a name such as P+ once a URL parser has read its + as a blank."""
    blank = re.search(r"\s", name)
    meant = known.get(re.sub(r"\s", "+", name) if blank else f"{name}+")
    written = f"{meant.metric.name}, or %2B for the +" if meant else "%2B for a +"
    if blank:
        raise BadExpression(f"{name!r} has a blank in it; in an address, write {written}")
    if bare and meant:
        raise BadExpression(f"{name} needs a cut-off, as in {name}@10; if {name}+ was meant, write {written}")
