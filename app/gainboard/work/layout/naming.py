"""The papers' names of metrics in the place of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gainboard.work.report_kinds import Result

Names = Mapping[str, str]
"""Metric expressions by what the paper calls them."""


def renamed(result: Result, names: Names, wanted: Names) -> dict[str, Any]:
    """The result of a job about all metrics, of those wanted alone and under the paper's names."""
    metrics = zip(names, result["metrics"], strict=True)
    return {**result, "metrics": [{**metric, "metric": name} for name, metric in metrics if name in wanted]}


def legend(names: Names) -> str:
    """What the names mean, as a note."""
    return "; ".join(f"{name}: {expression}" for name, expression in names.items()) + "."
