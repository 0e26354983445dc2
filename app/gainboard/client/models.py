"""The API's own models, by the module that has them: `models.runs.ShownRun`; and ours, which are more than these.

Each is imported when it is first needed: they come with all that answers requests, or with NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gainboard.api import (
        audit,
        collections,
        health,
        impact,
        jobs,
        limits,
        metrics,
        organisers,
        pages,
        problems,
        qrels,
        reports,
        runs,
        shown_jobs,
        shown_reports,
        teams,
        tokens,
    )
    from gainboard.client import answers, tables

    __all__ = [
        "answers",
        "audit",
        "collections",
        "health",
        "impact",
        "jobs",
        "limits",
        "metrics",
        "organisers",
        "pages",
        "problems",
        "qrels",
        "reports",
        "runs",
        "shown_jobs",
        "shown_reports",
        "tables",
        "teams",
        "tokens",
    ]
else:
    _OURS = ("answers", "tables")

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return import_module(f"gainboard.client.{name}" if name in _OURS else f"gainboard.api.{name}")
