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

    @property
    def title(self) -> str:
        """The name as people read it."""
        called = self.called or self.name.rpartition(".")[2].replace("_", " ").capitalize()
        return f"{called} (UTC)" if self.widget == "time" else called


def fields_of(schema: Schema, values: Mapping[str, Any], prefix: str = "", defs: Schema | None = None) -> list[Field]:
    """Return the fields of an object's properties, filled with `values` or else with the defaults."""
    defs, required = schema.get("$defs", {}) if defs is None else defs, schema.get("required", ())
    found: list[Field] = []
    for name, described in schema["properties"].items():
        own = _resolved(described, defs)
        value = values.get(name, described.get("default", own.get("default")))
        if "properties" in own:
            found += fields_of(own, value or {}, f"{prefix}{name}.", defs)
        else:
            field = _field(f"{prefix}{name}", own, value, defs)
            help_text, called = described.get("description", field.help), described.get("title", "")
            called = "" if called == name.replace("_", " ").title() else called  # the model's own, not its name
            found.append(replace(field, is_required=name in required, help=help_text, called=called))
    return found


def _resolved(schema: Schema, defs: Schema) -> Schema:
    return {**defs[schema["$ref"].rpartition("/")[2]], **schema} if "$ref" in schema else schema


def _field(name: str, schema: Schema, value: Any, defs: Schema) -> Field:
    ways = [_resolved(way, defs) for way in schema.get("anyOf", [schema])]
    some = [way for way in ways if way.get("type") != "null"]
    only = some[0] if len(some) == 1 else {"anyOf": some}
    is_nullable = len(some) < len(ways)
    widget, choices = _widget({"format": schema.get("format"), **only}, is_nullable)
    example = _text(schema["examples"][0]) if schema.get("examples") else ""
    text = _SHOWN.get(widget, _text)(value)
    return Field(name, "", widget, only, text, choices, is_nullable=is_nullable, example=example)


def _widget(schema: Schema, is_nullable: bool) -> tuple[Widget, Sequence[str]]:
    kind = schema.get("type")
    choices = [str(each) for each in schema.get("enum", [schema["const"]] if "const" in schema else ())]
    if choices:
        return "choice", choices
    if kind == "boolean":
        return ("choice", YES_OR_NO) if is_nullable else ("check", ())
    if schema.get("format") == "bytes":
        return "bytes", ()
    if kind in NUMBERS:
        return "number", ()
    if schema.get("format") == "date-time":
        return "time", ()
    return ("lines", ()) if _has_list(schema) else ("text", ())


def _has_list(schema: Schema) -> bool:
    return any(way.get("type") == "array" for way in schema.get("anyOf", [schema]))


def _text(value: Any) -> str:
    """Return a value as people write it: a list as its members, separated by commas."""
    if value is None or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple) and not any(isinstance(each, dict | list) for each in value):
        return ", ".join(_text(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)


UNITS = ("KiB", "MiB", "GiB", "TiB")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])i?B?", re.IGNORECASE)


def _bytes_shown(value: Any) -> str:
    """Return a number of bytes in the largest unit of which it is a whole number."""
    text = _text(value)
    for power, unit in reversed(list(enumerate(UNITS, start=1))):
        if text.isdecimal() and int(text) and int(text) % (1 << 10 * power) == 0:
            return f"{int(text) >> 10 * power} {unit}"
    return text


def _bytes(text: str) -> Any:
    found = _SIZE.fullmatch(text)
    return round(float(found[1]) * (1 << 10 * (1 + "KMGT".index(found[2].upper())))) if found else _number(text)


def _time_shown(value: Any) -> str:
    """Return a time as the browser's field has it: in UTC, to the minute if it has no seconds."""
    return _text(value).removesuffix("Z").removesuffix("+00:00").removesuffix(":00")


def _time(text: str) -> str:
    """Return a time of the browser's field, which is in UTC, with its zone. Other texts stay as they are."""
    return f"{text}{':00' * (len(text) == len('2026-12-01T12:00'))}Z" if _LOCAL_TIME.fullmatch(text) else text


_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?")
_SHOWN: Mapping[str, Callable[[Any], str]] = {"bytes": _bytes_shown, "time": _time_shown}
_READ: Mapping[str, Callable[[str], Any]] = {"bytes": _bytes, "time": _time}


def read(fields: Sequence[Field], form: Form, *, is_change: bool = False) -> dict[str, Any]:
    """Return the JSON that a filled form means. A field that may be null is null if it is empty.

    Another empty field is left out, so that its default holds. In a change it is an empty text, which its model may
    refuse, because a field that is left out would silently stay as it was.
    """
    found: dict[str, Any] = {}
    for field in fields:
        *above, name = field.name.split(".")
        place = found
        for each in above:
            place = place.setdefault(each, {})
        text = form.get(field.name)
        if field.widget == "check":
            place[name] = _boolean(text or "false")  # browsers leave out a box that is not ticked
        elif text:
            place[name] = _value(field, text)
        elif field.is_nullable:
            place[name] = None
        elif field.schema.get("type") == "array" and not field.is_required and field.schema.get("minItems", 0) == 0:
            place[name] = []
        elif is_change:
            place[name] = ""
    return found


def _value(field: Field, text: str) -> Any:
    if field.widget in _READ:
        return _READ[field.widget](text)
    if field.widget == "number":
        return _number(text)
    if field.schema.get("type") == "boolean" or field.choices == YES_OR_NO:
        return _boolean(text)
    if text.startswith(("{", "[")):
        # What is no JSON, or too deep for the parser, goes on as text: the model says what is wrong with it.
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    ways = field.schema.get("anyOf", [field.schema])
    is_named = any(text == way.get("const") for way in ways)
    is_number = text.isdecimal() and any(map(_is_number, ways))  # of levels: their number, or their names
    if field.widget != "lines" or is_named or is_number:
        return _number(text) if any(_is_number(way) for way in ways) else text
    parts = [part.strip() for part in split_list(text)]
    items = next(way["items"] for way in ways if way.get("type") == "array")
    return [_number(part) if _is_number(items) else part for part in parts]


def _is_number(schema: Schema) -> bool:
    return schema.get("type") in NUMBERS


def split_list(text: str) -> Iterator[str]:
    """Yield the members of a list: separated by lines, or by commas outside of parentheses."""
    depth, start = 0, 0
    for place, character in enumerate(f"{text}\n"):
        depth += (character == "(") - (character == ")")
        if (character == "," and depth <= 0) or character == "\n":  # below 0 after a stray `)`
            if member := text[start:place].strip():
                yield member
            depth, start = 0, place + 1


def _boolean(text: str) -> Any:
    with suppress(ValueError):
        return read_boolean(text)
    return text  # the model says what is wrong with it


def _number(text: str) -> Any:
    for read_as in (read_integer, read_number):
        with suppress(ValueError):
            return read_as(text)
    return text


def _places(error: ValidationError | GainboardError | None) -> Iterator[tuple[str, str]]:
    """Yield the places that an error tells, as names of fields, each with what is wrong there."""
    if isinstance(error, ValidationError):
        for each in error.errors():
            yield ".".join(part for part in each["loc"] if isinstance(part, str)), message_of(each)
    elif isinstance(error, InvalidRequest):
        for told in error.details["errors"]:
            parts = [part for part in told["location"].removeprefix("body.").split(".") if not part.isdecimal()]
            yield ".".join(parts), told["message"]
    elif isinstance(error, BadGains):
        yield "gains", error.message
    elif isinstance(error, CollectionExists):
        yield "name", error.message


def told_by(error: ValidationError | GainboardError) -> str:
    """Return what is said above a form that was refused."""
    return "Correct the marked fields." if isinstance(error, ValidationError) else error.message


def with_faults(
    fields: Sequence[Field], form: Form, error: ValidationError | GainboardError | None = None
) -> list[Field]:
    """Return the fields as they were filled in, each with what is wrong with it."""
    faults: dict[str, str] = {}
    for place, message in _places(error):
        # With a dot at the end, so that a fault of `quotas` is not one of `quota`.
        name = next((field.name for field in fields if f"{place}.".startswith(f"{field.name}.")), "")
        faults.setdefault(name, message)
    return [
        replace(
            field,
            value=str(field.name in form).lower() if field.widget == "check" else form.get(field.name),
            fault=faults.get(field.name, ""),
        )
        for field in fields
    ]
