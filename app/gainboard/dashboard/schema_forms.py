"""Forms made from models: a field for each property of a JSON Schema, and back from a form to the JSON.

A new parameter of a job kind, or a new field of the policy, is in its form unasked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from gainboard.api.models.common import message_of
from gainboard.dashboard.sessions import Form
from gainboard.errors import BadGains, CollectionExists, GainboardError, InvalidRequest
from gainboard.notation.texts import read_boolean, read_integer, read_number

Schema = Mapping[str, Any]
Widget = Literal["text", "number", "bytes", "check", "choice", "lines", "time"]
YES_OR_NO = ("true", "false")
NUMBERS = ("integer", "number")


@dataclass(frozen=True)
class Field:
    """A field of a form. `name` is the path of the property, such as `quotas.per_day`."""

    name: str
    help: str
    widget: Widget
    schema: Schema
    """The schema without null."""
    value: str = ""
    choices: Sequence[str] = ()
    is_required: bool = False
    is_nullable: bool = False
    example: str = ""
    fault: str = ""
    called: str = ""
    """The title that the model gives it."""
    words: Mapping[str, str] | None = None
    """The words that people read in place of choices."""

    @property
    def title(self) -> str:
        """The name as people read it."""
        called = self.called or self.name.rpartition(".")[2].replace("_", " ").capitalize()
        return f"{called} (UTC)" if self.widget == "time" else called

    def in_words(self, value: str) -> str:
        """Return a value of the form as people read it."""
        return (self.words or {}).get(value, value) or "nothing"


def fields_of(schema: Schema, values: Mapping[str, Any], prefix: str = "", defs: Schema | None = None) -> list[Field]:
    """Return the fields of an object's properties, filled with `values` or else with the defaults."""
    defs, required = schema.get("$defs", {}) if defs is None else defs, schema.get("required", ())
    fields: list[Field] = []
    for name, described in schema["properties"].items():
        resolved = _resolve(described, defs)
        value = values.get(name, described.get("default", resolved.get("default")))
        if "properties" in resolved:
            fields += fields_of(resolved, value or {}, f"{prefix}{name}.", defs)
            continue
        ways = [_resolve(way, defs) for way in resolved.get("anyOf", [resolved])]
        some = [way for way in ways if way.get("type") != "null"]
        only = some[0] if len(some) == 1 else {"anyOf": some}
        is_nullable = len(some) < len(ways)
        widget, choices = _widget({"format": resolved.get("format"), **only}, is_nullable)
        # The title that Pydantic makes of the name says no more than the name.
        title = described.get("title", "")
        fields.append(
            Field(
                f"{prefix}{name}",
                described.get("description", ""),
                widget,
                only,
                _SHOWN.get(widget, _text)(value),
                choices,
                is_required=name in required,
                is_nullable=is_nullable,
                example=_text(resolved["examples"][0]) if resolved.get("examples") else "",
                called="" if title == name.replace("_", " ").title() else title,
            )
        )
    return fields


def _resolve(schema: Schema, defs: Schema) -> Schema:
    return {**defs[schema["$ref"].rpartition("/")[2]], **schema} if "$ref" in schema else schema


def _widget(schema: Schema, is_nullable: bool) -> tuple[Widget, Sequence[str]]:
    kind = schema.get("type")
    choices = [str(value) for value in schema.get("enum", [schema["const"]] if "const" in schema else ())]
    if choices:
        return "choice", choices
    if kind == "boolean":
        # A box that is not ticked says no, so where nothing at all may be said, there is a choice.
        return ("choice", YES_OR_NO) if is_nullable else ("check", ())
    if schema.get("format") == "bytes":
        return "bytes", ()
    if kind in NUMBERS:
        return "number", ()
    if schema.get("format") == "date-time":
        return "time", ()
    has_list = any(way.get("type") == "array" for way in schema.get("anyOf", [schema]))
    return ("lines", ()) if has_list else ("text", ())


def _text(value: Any) -> str:
    """Return a value as people write it: a list as its members, separated by commas."""
    if value is None or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple) and not any(isinstance(member, dict | list) for member in value):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)


UNITS = ("KiB", "MiB", "GiB", "TiB")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])i?B?", re.IGNORECASE)


def _show_bytes(value: Any) -> str:
    """Return a number of bytes in the largest unit of which it is a whole number."""
    text = _text(value)
    for power, unit in reversed(list(enumerate(UNITS, start=1))):
        if text.isdecimal() and int(text) and int(text) % (1 << 10 * power) == 0:
            return f"{int(text) >> 10 * power} {unit}"
    return text


def _read_bytes(text: str) -> Any:
    size = _SIZE.fullmatch(text)
    return round(float(size[1]) * (1 << 10 * (1 + "KMGT".index(size[2].upper())))) if size else _read_number(text)


def _show_time(value: Any) -> str:
    """Return a time as people write it: in UTC, to the minute if it has no seconds."""
    return _text(value).removesuffix("Z").removesuffix("+00:00").removesuffix(":00").replace("T", " ")


def _read_time(text: str) -> str:
    """Return a time with its zone: UTC, unless the text names AoE or an offset. Other texts stay as they are."""
    if (words := _TIME.fullmatch(text)) is None:
        return text
    day = words["day"] or f"{words['year']}-{1 + MONTHS.index(words['month'].lower()):02}-{int(words['number']):02}"
    zone = (words["zone"] or "Z").upper()
    offset = {"UTC": "Z", "AOE": "-12:00"}.get(zone, zone)
    return f"{day}T{words['hour'].zfill(2)}:{words['minute']}:{words['second'] or '00'}{offset}"


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = re.compile(
    rf"(?:(?P<day>\d{{4}}-\d\d-\d\d)|(?P<number>\d\d?) (?P<month>{'|'.join(MONTHS)})[a-z]* (?P<year>\d{{4}}))"
    r"(?:T|,? +)(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))? *(?P<zone>Z|UTC|AoE|[+-]\d\d:\d\d)?",
    re.IGNORECASE,
)
_SHOWN: Mapping[str, Callable[[Any], str]] = {"bytes": _show_bytes, "time": _show_time}
_READ: Mapping[str, Callable[[str], Any]] = {"bytes": _read_bytes, "time": _read_time}


def read(fields: Sequence[Field], form: Form, *, is_change: bool = False) -> dict[str, Any]:
    """Return the JSON that a filled form means. A field that may be null is null if it is empty.

    Another empty field is left out, so that its default holds. In a change it is an empty text, which its model may
    refuse, because a field that is left out would silently stay as it was.
    """
    sent: dict[str, Any] = {}
    for field in fields:
        *above, name = field.name.split(".")
        within = sent
        for part in above:
            within = within.setdefault(part, {})
        text = form.get(field.name)
        if field.widget == "check":
            # Browsers leave out a box that is not ticked.
            within[name] = _read_boolean(text or "false")
        elif text:
            within[name] = _read_value(field, text)
        elif field.is_nullable:
            within[name] = None
        elif field.schema.get("type") == "array" and not field.is_required and field.schema.get("minItems", 0) == 0:
            within[name] = []
        elif is_change:
            within[name] = ""
    return sent


def _read_value(field: Field, text: str) -> Any:
    if field.widget in _READ:
        return _READ[field.widget](text)
    if field.widget == "number":
        return _read_number(text)
    if field.schema.get("type") == "boolean" or field.choices == YES_OR_NO:
        return _read_boolean(text)
    if text.startswith(("{", "[")):
        # What is no JSON, or too deep for the parser, goes on as text: the model says what is wrong with it.
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    ways = field.schema.get("anyOf", [field.schema])
    is_named = any(text == way.get("const") for way in ways)
    # Levels are given by their number, or by their names.
    is_number = text.isdecimal() and any(map(_is_number, ways))
    if field.widget != "lines" or is_named or is_number:
        return _read_number(text) if any(_is_number(way) for way in ways) else text
    parts = [part.strip() for part in split_list(text)]
    items = next(way["items"] for way in ways if way.get("type") == "array")
    return [_read_number(part) if _is_number(items) else part for part in parts]


def _is_number(schema: Schema) -> bool:
    return schema.get("type") in NUMBERS


def split_list(text: str) -> Iterator[str]:
    """Yield the members of a list: separated by lines, or by commas outside of parentheses."""
    depth, start = 0, 0
    for end, character in enumerate(f"{text}\n"):
        # It is below 0 after a stray `)`.
        depth += (character == "(") - (character == ")")
        if (character == "," and depth <= 0) or character == "\n":
            if member := text[start:end].strip():
                yield member
            depth, start = 0, end + 1


def _read_boolean(text: str) -> Any:
    with suppress(ValueError):
        return read_boolean(text)
    return text  # the model says what is wrong with it


def _read_number(text: str) -> Any:
    for read_as in (read_integer, read_number):
        with suppress(ValueError):
            return read_as(text)
    return text


def _locate(error: ValidationError | GainboardError) -> Iterator[tuple[str, str]]:
    """Yield the names of the fields, or of parts of them, of which an error tells, each with what is wrong there."""
    if isinstance(error, ValidationError):
        for fault in error.errors():
            yield ".".join(part for part in fault["loc"] if isinstance(part, str)), message_of(fault)
    elif isinstance(error, InvalidRequest):
        for told in error.details["errors"]:
            parts = [part for part in told["location"].removeprefix("body.").split(".") if not part.isdecimal()]
            yield ".".join(parts), told["message"]
    elif isinstance(error, BadGains):
        yield "gains", error.message
    elif isinstance(error, CollectionExists):
        yield "name", error.message


def told_by(*errors: ValidationError | GainboardError, fields: Sequence[Field] = ()) -> str:
    """Return what is said above a form that was refused: what no field of it says."""
    said_at_fields = {field.fault for field in fields if field.fault}
    messages = [
        message
        for error in errors
        if isinstance(error, GainboardError)
        and (message := in_words_of_form(error.message, fields)) not in said_at_fields
    ]
    return " ".join(messages) or "Correct the marked fields."


def in_words_of_form(text: str, fields: Sequence[Field]) -> str:
    """Return a text of the API with the titles of fields in place of their names, and without its own values.

    Values are in parentheses: (`closed`).
    """
    titles = {field.name.rpartition(".")[2]: f"“{field.title}”" for field in fields}
    names = [*(f"`{name}`" for name in titles), *(rf"\b{name}\b" for name in titles if "_" in name)]
    without_values = re.sub(r" \(`[^`]+`\)", "", text)
    return re.sub("|".join(names), lambda name: titles[name[0].strip("`")], without_values) if titles else text


def with_faults(fields: Sequence[Field], form: Form, *errors: ValidationError | GainboardError) -> list[Field]:
    """Return the fields as they were filled in, each with the first thing that is wrong with it."""
    faults: dict[str, str] = {}
    for location, message in (told for error in errors for told in _locate(error)):
        # With a dot at the end, so that a fault of `quotas` is not one of `quota`.
        name = next((field.name for field in fields if f"{location}.".startswith(f"{field.name}.")), "")
        faults.setdefault(name, in_words_of_form(message, fields))
    return [
        replace(
            field,
            value=str(field.name in form).lower() if field.widget == "check" else form.get(field.name),
            fault=faults.get(field.name, ""),
        )
        for field in fields
    ]
