"""The OpenAPI description as parts of the page on the API, which have everything that is in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from gainboard.errors import every_error, meaning_of
from gainboard.metrics import query_parameters

_PROBLEM: Final = "application/problem+json"
_STRUCTURE: Final = ("$ref", "anyOf", "oneOf", "allOf", "type", "items", "prefixItems", "additionalProperties")
_ELSEWHERE: Final = ("title", "description", "default", "examples", "discriminator", "properties", "required")
Description = Mapping[str, Any]


def common_errors(description: Description) -> str:
    """Return the errors that any request may be answered with, as a list in Markdown."""
    common = set.intersection(*(_problems(operation) for _, operation in _operations(description)))
    return "\n".join(f"- `{slug}` ({status})" for status, slug in sorted(common))


def reference(description: Description) -> str:
    """Return all requests, parameters, objects and errors of an OpenAPI description, in Markdown."""
    operations = _operations(description)
    common = set.intersection(*(_problems(operation) for _, operation in operations))
    lines = ["## Requests\n"]
    for title, operation in operations:
        lines += _request(title, operation, common)
    lines += ["## Parameters of metrics\n", "A request that scores runs takes these in its query.\n"]
    parameters = {each["name"]: each for _, operation in operations for each in operation.get("parameters", ())}
    lines += _parameters([parameters[name] for name in sorted(parameters.keys() & query_parameters().keys())])
    lines += ["## Objects\n", "A field with * may be left out of a request.\n"]
    for name, schema in sorted(description["components"]["schemas"].items()):
        lines += _object(name, schema)
    lines += ["## Errors\n"]
    for error in sorted(every_error(), key=lambda error: (error.status, error.slug)):
        lines += [f"### {error.slug}\n", f"{error.status}: {error.title}. {_text(meaning_of(error))}\n"]
    return "\n".join(lines).rstrip() + "\n"


def _operations(description: Description) -> list[tuple[str, Description]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in sorted(description["paths"].items())
        for method, operation in sorted(methods.items())
    ]


def _request(title: str, operation: Description, common: set[tuple[str, str]]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"{_text(operation['description'])} Operation: `{operation['operationId']}`\n"
    parameters = operation.get("parameters", ())
    of_metrics = {each["name"] for each in parameters} & query_parameters().keys()
    yield from _parameters([each for each in parameters if each["name"] not in of_metrics])
    if of_metrics:
        yield "The query may hold the [parameters of metrics](#parameters-of-metrics) as well.\n"
    for media, content in sorted(operation.get("requestBody", {}).get("content", {}).items()):
        yield f"Body: {_type(content['schema'])} as `{media}`\n"
    for status, answer in sorted(operation["responses"].items()):
        if status != "400" and _PROBLEM not in answer.get("content", {}):
            yield f"{status}: {_answer(answer)}\n"
    if own := sorted(_problems(operation) - common):
        yield f"Errors: {', '.join(f'`{slug}` ({status})' for status, slug in own)}\n"


def _problems(operation: Description) -> set[tuple[str, str]]:
    return {
        (status, slug)
        for status, answer in operation["responses"].items()
        for slug in answer.get("content", {}).get(_PROBLEM, {}).get("examples", ())
    }


def _parameters(parameters: Iterable[Description]) -> Iterator[str]:
    rows = [
        (
            f"`{each['name']}`",
            each["in"] + (", required" if each["required"] else ""),
            _type(each["schema"]),
            _meaning(each["schema"]),
        )
        for each in parameters
    ]
    yield from _table(("parameter", "in", "type", "meaning"), rows)


def _answer(answer: Description) -> str:
    content = sorted(answer.get("content", {}).items())
    kinds = " or ".join(
        f"{'events' if 'itemSchema' in each else _type(each.get('schema', {}))} as `{media}`" for media, each in content
    )
    said = _text(answer["description"])
    return ". ".join(part for part in (kinds, said if said != "Successful Response" else "") if part) or "no body"


def _object(name: str, schema: Description) -> Iterator[str]:
    yield f"### {name}\n"
    if "description" in schema:
        yield f"{_text(schema['description'])}\n"
    if "properties" not in schema:
        yield f"{_type(schema)}\n"
        return
    required = schema.get("required", ())
    rows = [
        (f"`{field}`{'' if field in required else '*'}", _type(its), _meaning(its))
        for field, its in schema["properties"].items()
    ]
    yield from _table(("field", "type", "meaning"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"  # a bar would end the cell
    yield ""


def _type(schema: Description) -> str:
    """Return the type of a schema with all its limits, such as maxLength."""
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            types = list(dict.fromkeys(map(_type, schema[several])))
            told_apart = schema.get("discriminator", {}).get("propertyName")
            return f"by `{told_apart}`: {', '.join(types)};" if told_apart else " or ".join(types)
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    bounds = {name: value for name, value in schema.items() if name not in (*_STRUCTURE, *_ELSEWHERE)}
    texts = [f"{name} `{json.dumps(value, ensure_ascii=False)}`" for name, value in sorted(bounds.items())]
    return ", ".join([_kind(schema), *texts])


def _kind(schema: Description) -> str:
    if "prefixItems" in schema:
        return f"list of {' and '.join(map(_type, schema['prefixItems']))}"
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object by name: {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "anything"))


def _meaning(schema: Description) -> str:
    said = _text(schema.get("description", ""))
    default = f"Default: `{json.dumps(schema['default'], ensure_ascii=False)}`" if "default" in schema else ""
    examples = schema.get("examples", ())
    such = f"Such as {', '.join(f'`{json.dumps(each, ensure_ascii=False)}`' for each in examples)}" if examples else ""
    # Each part loses its full stop. Three dots are none.
    return ". ".join(part if part.endswith("..") else part.removesuffix(".") for part in (said, default, such) if part)


def _text(text: str) -> str:
    return " ".join(text.split())
