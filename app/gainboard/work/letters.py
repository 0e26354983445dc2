"""The table of the groups in a result: letters, of which runs that do not differ significantly share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gainboard.exhibits import Column, Table, Value


def groups_tables(result: Mapping[str, Any]) -> Sequence[Table]:
    """Return the table `groups` of a result, the best runs first; nothing if its test finds no groups."""
    rows = list(_rows(result))
    if not rows:
        return ()
    columns = [Column("metric"), Column("alpha"), Column("run"), Column("groups")]
    return (Table("groups", "Groups. Runs that share a letter do not differ significantly.", columns, rows),)


def _rows(result: Mapping[str, Any]) -> Iterator[Sequence[Value]]:
    for metric in result.get("metrics", ()):
        for level in metric.get("levels", ()) if isinstance(metric, Mapping) else ():
            for run, letters in sorted(level.get("groups", {}).items(), key=_best_first):
                yield metric["metric"], level["alpha"], run, "".join(letters)


def _best_first(group: tuple[str, Sequence[str]]) -> tuple[list[tuple[int, str]], str]:
    run, letters = group
    return [(len(letter), letter) for letter in letters], run  # z is before aa
