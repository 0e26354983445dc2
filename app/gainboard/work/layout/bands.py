"""Metrics grouped by how discriminative they are, in bands of the proportion of ties that a stability job finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gainboard.exhibits import Column, Table
from gainboard.work.report_kinds import Result

BAND = 0.05
LAST = round(1 / BAND) - 1
"""The last band has 1 in it, the others not their upper end."""
AT_5 = "ties_at_5_percent"


def bands(metrics: Sequence[Result], collection: str) -> Table:
    """A row for each band that has metrics, at a minority rate of 5 %; below, those that never come to that rate."""
    among: dict[str, list[str]] = defaultdict(list)
    for metric in sorted(metrics, key=lambda metric: (metric[AT_5] is None, metric[AT_5] or 0)):
        band, shown = _banded(metric)
        among[band].append(shown)
    columns = (Column("collection", section=True), Column("proportion of ties"), Column("metrics"))
    caption = f"Metrics by their proportion of ties at a minority rate of 5 %, in bands of {BAND}, few ties first."
    rows = [(collection, band, ", ".join(members)) for band, members in among.items()]
    notes = ("*: all of the curve is below 5 %, and the proportion is that of its first point.",)
    return Table("bands", caption, columns, rows, notes=notes)


def _banded(metric: Result) -> tuple[str, str]:
    """The band that a metric is in, and how it is shown there."""
    name, ties = metric["metric"], metric[AT_5]
    if ties is None:
        return "never at 5 %", name
    number = min(int(ties / BAND + 1e-9), LAST)
    return f"{BAND * number:.2f} to {BAND * (number + 1):.2f}", f"{name} {ties:.3f}{'' if metric['crossed'] else '*'}"
