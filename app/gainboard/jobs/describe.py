"""What may be asked of a kind, as its request model says: the schema of its parameters, and a request that works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gainboard.jobs.kind import Kind


def schema(kind: Kind[Any]) -> dict[str, Any]:
    """JSON Schema of the parameters, with descriptions, defaults and limits."""
    found: dict[str, Any] = kind.params.model_json_schema()
    return found


def example(kind: Kind[Any]) -> dict[str, Any]:
    """A body that asks for this kind: the model's own example, else that of each parameter that is required."""
    described = schema(kind)
    required: Mapping[str, Any] = {name: described["properties"][name] for name in described.get("required", ())}
    own = described.get("examples") or [{name: field["examples"][0] for name, field in required.items()}]
    return {"kind": kind.name, "params": own[0]}
