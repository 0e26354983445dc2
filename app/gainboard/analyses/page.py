"""The kinds of jobs and of reports as parts of the pages on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gainboard.analyses.job_kinds import Kind, every_kind, schema_of
from gainboard.analyses.params import Params
from gainboard.analyses.report_kinds import ReportKind, ReportParams, every_report_kind
from gainboard.analyses.result_models import JobResult

_BOUNDS: Final = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
)


def kinds_page() -> str:
    """Return every kind of job in Markdown: what it is asked, and what it answers."""
    common = Params.model_json_schema()
    lines = ["Every kind of analysis takes:\n", *table(common["properties"], common), ""]
    head = JobResult.model_json_schema()
    lines += ["Every result begins with these fields. It shows the parameters that matter, and an undefined number is "]
    lines[-1] += "null:\n"
    lines += [*_fields(head["properties"], head), ""]
    return "\n".join([*lines, *(line for kind in every_kind() for line in _kind(kind))])


def _kind(kind: Kind) -> Iterator[str]:
    common = JobResult.model_json_schema(mode="serialization")["properties"]
    described = schema_of(kind.params_model)
    fields = {name: field for name, field in described["properties"].items() if name not in Params.model_fields}
    yield f"### {kind.name}\n"
    yield f"{kind.definition}\n"
    yield from table(fields, described)
    yield f"\n```json\n{json.dumps(kind.example())}\n```\n"
    yield f"Result: [{kind.result_model.__name__}](api.md#{kind.result_model.__name__.lower()}).\n"
    # Without the fields of every result, and those that only repeat a parameter.
    schema = schema_of(kind.result_model, "serialization")
    yield from _fields(
        {
            name: field
            for name, field in schema["properties"].items()
            if name != "kind"
            and field != common.get(name)
            and (name not in kind.params_model.model_fields or "description" in field or "$ref" in str(field))
        },
        schema,
    )
    yield ""


def _fields(fields: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    yield from ("| field | what it is |", "| --- | --- |")
    for name, field in fields.items():
        # without a description, the field is what its model, or that of the members of its list, says of itself
        reference = field.get("$ref") or field.get("items", {}).get("$ref", "")
        model = described.get("$defs", {}).get(reference.rpartition("/")[2], {})
        yield f"| `{name}` | {field.get('description') or model.get('description', '')} |"


def reports_page() -> str:
    """Return every kind of report in Markdown."""
    common = ReportParams.model_json_schema()
    lines = ["Every report takes:\n", *table(common["properties"], common), ""]
    return "\n".join([*lines, *(line for kind in every_report_kind() for line in _report(kind))])


def _report(kind: ReportKind[Any]) -> Iterator[str]:
    described, common = schema_of(kind.params_model), ReportParams.model_json_schema()["properties"]
    fields = {name: field for name, field in described["properties"].items() if field != common.get(name)}
    yield f"### {kind.name}\n"
    yield f"{kind.reference}.\n"
    yield f"{kind.definition}\n"
    if fields:
        yield from table(fields, described)
        yield ""
    yield f"```json\n{json.dumps(kind.example())}\n```\n"


def table(
    fields: Mapping[str, Any],
    described: Mapping[str, Any],
    what: str = "parameter",
    written: Callable[[Any], str] = json.dumps,
) -> Iterator[str]:
    """Yield a table of parameters: the fields of a JSON Schema, whose models are in `described`."""
    yield from (f"| {what} | default | must be | what it is |", "| --- | --- | --- | --- |")
    for name, field in fields.items():
        default = f"`{written(field['default'])}`" if "default" in field else "required"
        limits = _limits(field, described.get("$defs", {}))
        cells = (f"`{name}`", default, limits, field.get("description", ""))
        # a bar would end the cell
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _limits(field: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Return the limits of a value in JSON Schema, in words."""
    if "$ref" in field:
        members = models[field["$ref"].rpartition("/")[2]]["properties"]
        return f"an object of {', '.join(f'`{name}`' for name in members)}"
    if "anyOf" in field:
        return " or ".join(
            dict.fromkeys(_limits(option, models) for option in field["anyOf"] if option != {"type": "null"})
        )
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        most = f"at most {field['maxItems']:,} times " if "maxItems" in field else "any number of times "
        return f"a list: {most}{_limits(field['items'], models)}"
    if field.get("format") == "date-time":
        return "a time"
    word = {"integer": "a whole number", "number": "a number", "boolean": "`true` or `false`", "object": "an object"}
    bounds = [text.format(_number(field[name])) for name, text in _BOUNDS if name in field]
    return ", ".join([word.get(field.get("type", ""), "text"), *bounds])


def _number(value: float) -> str:
    power = value.bit_length() - 1 if isinstance(value, int) else 0
    return f"2^{power}" if power > 16 and value == 2**power else f"{value:,}"
