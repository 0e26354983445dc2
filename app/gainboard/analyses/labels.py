"""The labels of a request's metric expressions, under its defaults and the collection's, and where an error is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gainboard.errors import BadExpression, BadGains, BadInput, GainboardError, InvalidRequest
from gainboard.evaluation.scoring.binding import NO_CUSTOM, CustomMetrics, scale_of
from gainboard.metrics import BoundMetric, Scale, expand, resolve, without
from gainboard.metrics.gains import format_number, read_number
from gainboard.store.records import Collection


class Labels:
    """The labels of one request. The methods raise BadExpression or BadGains as `resolve` does."""

    def __init__(self, collection: Collection, defaults: Mapping[str, str], custom: CustomMetrics = NO_CUSTOM) -> None:
        self._custom = custom
        self.collection = collection
        self._scale = scale_of(collection)
        self._defaults = {"gains": collection.gains, **defaults}

    @property
    def has_formulas(self) -> bool:
        """Return whether there are other metrics than uploaded scores."""
        return not self._custom.are_all

    @property
    def highest_level(self) -> int:
        """The highest of the collection's relevance levels."""
        return self._scale.highest_level

    def __call__(self, expression: str) -> str:
        """Return the label of an expression."""
        return self._resolve(expression).label

    def expanded(self, expressions: Sequence[str]) -> list[str]:
        """Return the expressions, with those of a preset instead of its name."""
        if not self.has_formulas:
            return list(expressions)
        return expand(expressions, self.highest_level)

    def each(self, expressions: Sequence[str]) -> list[str]:
        """Return the labels of several expressions. Two expressions of the same metric become one row of an answer."""
        return list(dict.fromkeys(map(self, self.expanded(expressions))))

    def swept(self, expression: str, parameter: str, values: Sequence[str | float], field: str) -> list[str]:
        """Return the labels of one metric under several values of a parameter.

        Raise InvalidRequest about this field of the request if the metric has no such parameter.
        """
        bare = self.without(expression, parameter, field)
        return [self._resolve(bare, {parameter: as_text(value)}).label for value in values]

    def without(self, expression: str, parameter: str, field: str) -> str:
        """Return the label of an expression without the parameter that is varied. Raise errors as `swept` does."""
        bound = self._resolve(expression)
        if parameter not in bound.parameters:
            parameters = ", ".join(sorted(bound.parameters))
            message = f"{bound.metric.name} has no parameter {parameter!r} to vary. Available: {parameters}."
            raise InvalidRequest.at(f"body.params.{field}", "unknown-parameter", message)
        return without(bound.label, parameter)

    def written(self, expression: str, parameter: str, value: str | float) -> str:
        """Return the value as a label writes it, or would write it if it were not the default.

        The metric has the parameter.
        """
        bound = self._resolve(expression, {parameter: as_text(value)})
        (described,) = (each for each in bound.metric.parameters if each.name == parameter)
        return described.write(bound.parameters[parameter])

    def parameters(self, expression: str) -> dict[str, str]:
        """Return the parameters of an expression as text, each settled."""
        bound = self._resolve(expression)
        return {
            parameter.name: parameter.write(bound.parameters[parameter.name]) for parameter in bound.metric.parameters
        }

    def _resolve(self, expression: str, parameters: Mapping[str, str] = {}) -> BoundMetric:
        return self._custom.bind(expression, self._scale, {**self._defaults, **parameters})


def as_text(value: str | float) -> str:
    """Return the value of a parameter as an expression writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    # JSON numbers may have any number of digits. Numbers beyond all limits are passed on, for the metric to refuse.
    return str(value) if isinstance(value, str | int) else format_number(value)


def as_value(text: str) -> str | float:
    """Return the value of a parameter as JSON writes it."""
    number = read_number(text)
    if number is None:
        return text
    return int(number) if number.is_integer() else number


def located(
    error: BadExpression | BadGains,
    labels: Labels,
    params: Mapping[str, Any],
    defaults: Mapping[str, str],
    scale: Scale,
) -> BadInput:
    """Return the error with its location: that of the wrong default, or of the first text that raises it alone."""
    location = _default(defaults, scale) or next(_culprits(error, labels, params), None)
    location = f"body.params.{location}" if location else "body.params"
    fault = {"location": location, "code": error.slug, "message": error.message}
    return type(error)(error.message, errors=[fault])


def _default(defaults: Mapping[str, str], scale: Scale) -> str | None:
    """Return the first default that every expression would refuse."""
    for name, text in defaults.items():
        try:
            resolve("AP", scale, defaults={name: text})
        except (BadExpression, BadGains):
            return name
    return None


def _culprits(error: BadInput, labels: Labels, params: Mapping[str, Any]) -> Iterator[str]:
    for location, text in _texts(params):
        is_listed = location.rpartition(".")[2].isdigit()
        try:
            # only lists may contain presets
            labels.each([text]) if is_listed else labels(text)
        except GainboardError as same:  # a collection of scores refuses other texts for another reason
            if same.message == error.message:
                yield location


def _texts(node: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of JSON with its location: `metrics.1`."""
    for key, value in node.items() if isinstance(node, Mapping) else enumerate(node):
        if isinstance(value, str):
            yield str(key), value
        elif isinstance(value, Mapping | list | tuple):
            yield from ((f"{key}.{below}", text) for below, text in _texts(value))
