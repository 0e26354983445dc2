"""Where in a request the metric expression or the default stands that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gainboard.errors import BadExpression, BadGains, BadInput
from gainboard.metrics import Scale, resolve
from gainboard.work.labels import Labels


def located(
    error: BadExpression | BadGains,
    labels: Labels,
    params: Mapping[str, Any],
    defaults: Mapping[str, str],
    scale: Scale,
) -> BadInput:
    """The error with its place in the parameters: those of the default, or the first text that alone raises it."""
    place = _default(defaults, scale) or next(_culprits(error, labels, params), None)
    location = f"body.params.{place}" if place else "body.params"
    fault = {"location": location, "code": error.slug, "message": error.message}
    return type(error)(error.message, errors=[fault])


def _default(defaults: Mapping[str, str], scale: Scale) -> str | None:
    """The first of the defaults that would be refused whatever the expression."""
    for name, text in defaults.items():
        try:
            resolve("AP", scale, query={name: text})
        except (BadExpression, BadGains):
            return name
    return None


def _culprits(error: BadInput, labels: Labels, params: Mapping[str, Any]) -> Iterator[str]:
    for place, text in _texts(params):
        is_listed = place.rpartition(".")[2].isdigit()
        try:
            # A preset is read in a list only.
            labels.each([text]) if is_listed else labels(text)
        except (BadExpression, BadGains) as same:
            if same.message == error.message:
                yield place


def _texts(node: Any) -> Iterator[tuple[str, str]]:
    """Every text of JSON with its place: `metrics.1`."""
    for key, value in node.items() if isinstance(node, Mapping) else enumerate(node):
        if isinstance(value, str):
            yield str(key), value
        elif isinstance(value, Mapping | list | tuple):
            yield from ((f"{key}.{below}", text) for below, text in _texts(value))
