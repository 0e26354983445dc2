"""The forms that texts of a request may have, and the messages for wrong values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import StringConstraints

from gainboard.evaluation.names import SLUG_PATTERN
from gainboard.notation.texts import SHOWN

TEXT_PATTERN: Final = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
LEVEL_PATTERN: Final = r"^[A-Za-z0-9_+-]{1,32}$"
KEY_PATTERN: Final = r"^[!-~]+$"

MEANINGS: Final = {
    SLUG_PATTERN: "Use letters, digits, `.`, `_` and `-`, at most 128, and begin with a letter or digit: for "
    "example `web-2026`",
    TEXT_PATTERN: "Remove the control characters, such as line breaks or tabs",
    LEVEL_PATTERN: "Use letters, digits, `_`, `+` and `-`, at most 32, for example `S`",
    KEY_PATTERN: "Use printable ASCII characters without blanks",
}
"""The message for each pattern."""
_WRONG_JSON: Final = {
    "int_type": "is not a whole number. Write one without quotes and without a point, for example 10",
    "float_type": "is not a number. Write one without quotes, for example 0.5",
    "bool_type": "is neither true nor false. Write true or false, without quotes",
    "string_type": 'is not a text. Write one in quotes, for example "web"',
}
"""The message for each type of fault in a value of JSON, after the value."""


def message_of(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, for people. `found` is a fault as Pydantic reports it."""
    if wrong := _WRONG_JSON.get(found["type"]):
        return f"{_as_json(found['input'])} {wrong}"
    return MEANINGS.get(found.get("ctx", {}).get("pattern", ""), str(found["msg"]))


def _as_json(value: Any) -> str:
    if isinstance(value, list | dict):
        return "A list" if isinstance(value, list) else "An object"
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}..."


Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
Text = Annotated[str, StringConstraints(pattern=TEXT_PATTERN, max_length=4096)]
LevelName = Annotated[str, StringConstraints(pattern=LEVEL_PATTERN)]
