"""The kinds of jobs as a section of docs/jobs.md; `python -m gainboard.jobs.page docs/jobs.md` renews it there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gainboard.jobs import kinds  # noqa: F401 (importing it fills the catalogue)
from gainboard.jobs.describe import example, schema
from gainboard.jobs.kind import Kind, every_kind
from gainboard.jobs.params import Params

BEGIN: Final = "<!-- kinds: begin; to renew it: python -m gainboard.jobs.page docs/jobs.md -->\n"
END: Final = "<!-- kinds: end -->\n"
_HEAD: Final = ("| parameter | default | must be | what it is |", "| --- | --- | --- | --- |")
_BOUNDS: Final = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
)


def kinds_page() -> str:
    """Markdown: the parameters that every kind has in a table, then every kind with its own and an example."""
    common = Params.model_json_schema()
    lines = ["Every kind takes:\n", *parameters_table(common["properties"], common), ""]
    return "\n".join([*lines, *(line for kind in every_kind() for line in _section(kind))])


def renewed(page: str) -> str:
    """The page with what stands between its two markers made anew. Raises ValueError where they are not there."""
    return between(page, BEGIN, kinds_page(), END)


def between(page: str, begin: str, text: str, end: str) -> str:
    """The page with another text between two of its lines. Raises ValueError where one is not there."""
    before, begins, rest = page.partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise ValueError(f"the page has no line {end if begins else begin!r}")
    return f"{before}{begins}\n{text}\n{ends}{after}"


def _section(kind: Kind[Any]) -> Iterator[str]:
    described = schema(kind)
    own = {name: field for name, field in described["properties"].items() if name not in Params.model_fields}
    yield f"### {kind.name}\n"
    yield f"{kind.definition}\n"
    yield from parameters_table(own, described)
    yield f"\n```json\n{json.dumps(example(kind))}\n```\n"


def parameters_table(fields: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    """A table of parameters: those fields of a JSON Schema, whose models are in `described`."""
    yield from _HEAD
    for name, field in fields.items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else "required"
        limits = _limits(field, described.get("$defs", {}))
        cells = (f"`{name}`", default, limits, field.get("description", ""))
        # A bar would end the cell.
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _limits(field: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """What JSON Schema asks of a value, in words."""
    if "$ref" in field:
        members = models[field["$ref"].rpartition("/")[2]]["properties"]
        return f"an object of {', '.join(f'`{name}`' for name in members)}"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_limits(each, models) for each in field["anyOf"] if each != {"type": "null"}))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        most = f"at most {field['maxItems']:,} times " if "maxItems" in field else "any number of times "
        return f"a list: {most}{_limits(field['items'], models)}"
    return _scalar(field)


def _scalar(field: Mapping[str, Any]) -> str:
    word = {"integer": "a whole number", "number": "a number", "boolean": "`true` or `false`", "object": "an object"}
    bounds = [text.format(_number(field[name])) for name, text in _BOUNDS if name in field]
    return ", ".join([word.get(field.get("type", ""), "text"), *bounds])


def _number(value: float) -> str:
    power = value.bit_length() - 1 if isinstance(value, int) else 0
    return f"2^{power}" if power > 16 and value == 2**power else f"{value:,}"


def _renew(path: Path) -> None:
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _renew(Path(sys.argv[1]))
