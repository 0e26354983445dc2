"""Types of fields that say how a value is written, and the base of all models of JSON bodies.

A JSON body means what it says, so it is read strictly: no number as text, no 1 for true, no 3.0 for a count. JSON has
one type of numbers, so a field for any number takes 1. Queries and settings are text. There, `INTEGER`, `NUMBER` or
`BOOLEAN` is the last annotation of a field that is not a text, behind its limits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, StringConstraints
from pydantic_core import PydanticCustomError

from gainboard.notation.texts import (
    LONGEST_TEXT,
    SLUG_PATTERN,
    TEXT_PATTERN,
    in_utc,
    read_boolean,
    read_integer,
    read_number,
    read_time,
)

LEVEL_PATTERN: Final = r"^[A-Za-z0-9_+-]{1,32}$"
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
Text = Annotated[str, StringConstraints(pattern=TEXT_PATTERN, max_length=LONGEST_TEXT)]
LevelName = Annotated[str, StringConstraints(pattern=LEVEL_PATTERN)]


class JsonBody(BaseModel):
    """A JSON body, or a part of it. What its fields do not describe is refused."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


def _text(read: Callable[[str], object], code: LiteralString) -> BeforeValidator:
    """Return a validator that reads texts. Other values, such as defaults, stay as they are."""

    def validate(value: Any) -> Any:
        return _with_code(read, value, code) if isinstance(value, str) else value

    return BeforeValidator(validate)


def _with_code(read: Callable[[Any], object], value: Any, code: LiteralString) -> Any:
    try:
        return read(value)
    except ValueError as error:
        # As a value of the template, because the sentence itself may have braces.
        raise PydanticCustomError(code, "{why}", {"why": str(error)}) from error


def _time(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _with_code(in_utc, value, "datetime_parsing")
    # A number, too, is refused as a text is. Pydantic would take it for the seconds since 1970.
    return _with_code(read_time, value if isinstance(value, str) else str(value), "datetime_parsing")


INTEGER = _text(read_integer, "int_parsing")
NUMBER = _text(read_number, "float_parsing")
BOOLEAN = _text(read_boolean, "bool_parsing")
Time = Annotated[datetime, Strict(), BeforeValidator(_time)]
"""A time in RFC 3339, in UTC once it is read: in JSON and in queries alike."""
