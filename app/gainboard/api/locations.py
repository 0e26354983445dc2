"""The location of an error in a request, and the values that are allowed there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request

Part = int | str


def location_of(found: Mapping[str, Any], body: Any) -> str:
    """Return the location of a validation error, such as `body.params.metrics.0` or `query.limit`."""
    first, *parts = found["loc"]
    if first != "body" or found["type"] == "json_invalid":
        # Parts such as `list[constrained-str]` name an alternative of the schema, not a location in the request.
        kept = [part for part in parts if not re.search(r"\[|^constrained-", str(part))]
    else:
        kept = list(_places(parts, body, is_missing=found["type"] == "missing"))
    if found["type"].startswith("union_tag_"):
        kept.append(found["ctx"]["discriminator"].strip("'"))
    return ".".join(map(str, (first, *kept)))


def _places(parts: Sequence[Part], sent: Any, is_missing: bool) -> Iterator[Part]:
    """Yield the parts that are locations in the request; the other parts name alternatives of the schema."""
    for number, part in enumerate(parts, start=1):
        if _is_in(sent, part):
            sent = sent[part]
        elif not (is_missing and number == len(parts)):
            continue
        yield part


def _is_in(sent: Any, part: Part) -> bool:
    if isinstance(sent, list):
        return isinstance(part, int) and part < len(sent)
    return isinstance(sent, dict) and part in sent


@dataclass(frozen=True)
class BodySchema:
    """The schema of a route's body, from the OpenAPI description."""

    schema: Mapping[str, Any]
    schemas: Mapping[str, Any]

    def tags(self) -> list[str]:
        """Return the tags that tell apart the alternatives of the body, if there are several."""
        return sorted(self.schema.get("discriminator", {}).get("mapping", ()))

    def members(self, parts: Sequence[Part]) -> list[str]:
        """Return the members of the object at a location, given as the parts of a validation error."""
        node = self._resolved(self.schema)
        for part in parts:
            node = self._resolved(self._below(node, part))
        return sorted(node.get("properties", ()))

    def _below(self, node: Mapping[str, Any], part: Part) -> Mapping[str, Any]:
        tagged = node.get("discriminator", {}).get("mapping", {})
        if part in tagged:
            return {"$ref": tagged[part]}
        if part in node.get("properties", {}):
            found: Mapping[str, Any] = node["properties"][part]
            return found
        if isinstance(part, int):
            return next((each["items"] for each in self._alternatives(node) if "items" in each), {})
        return next((each for each in self._alternatives(node) if each.get("title") == part), node)

    def _alternatives(self, node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [node, *map(self._resolved, node.get("anyOf", ()))]

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.schemas[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        alternatives = [each for each in found.get("anyOf", ()) if each.get("type") != "null"]
        return self._resolved(alternatives[0]) if len(alternatives) == 1 else found


def described_body(request: Request) -> BodySchema:
    """Return the schema of this route's JSON body, without members if the route has no JSON body."""
    described = request.app.openapi()
    path = getattr(request.scope.get("route"), "path_format", "")
    operation = described["paths"].get(path, {}).get(request.method.lower(), {})
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    return BodySchema(schema, described["components"]["schemas"])
