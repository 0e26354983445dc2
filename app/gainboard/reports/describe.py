"""What may be asked of a kind of report, as its request model says."""

from __future__ import annotations

from typing import Any

from gainboard.reports.kind import ReportKind


def schema(kind: ReportKind[Any]) -> dict[str, Any]:
    """JSON Schema of the parameters, with descriptions, defaults and limits."""
    found: dict[str, Any] = kind.params.model_json_schema()
    return found


def example(kind: ReportKind[Any]) -> dict[str, Any]:
    """A body that asks for it."""
    return {"name": kind.name, "collections": ["demo"]}
