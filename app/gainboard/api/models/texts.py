"""The forms that texts of a request may have, and the message for each form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import StringConstraints

from gainboard.evaluation.names import SLUG_PATTERN

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
_TIME_FAULTS: Final = ("timezone_", "datetime_")
"""The beginnings of the types of faults that Pydantic finds in times."""
_TIME_EXAMPLES: Final = (
    "Write the date, the time and the zone: 2026-12-01T12:00:00Z is in UTC, 2026-12-01T12:00:00+09:00 in Japan's zone"
)


def message_of(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, for people. `found` is a fault as Pydantic reports it."""
    if found["type"].startswith(_TIME_FAULTS):
        why = "has no time zone" if found["type"] == "timezone_aware" else "is not a time"
        return f"{found['input']!r} {why}. {_TIME_EXAMPLES}"
    return MEANINGS.get(found.get("ctx", {}).get("pattern", ""), str(found["msg"]))


def in_utc(time: datetime | None) -> datetime | None:
    """Return the same time in UTC. Raise ValueError if it is outside the calendar."""
    try:
        return time and time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is outside the calendar (years 1 to 9999) in UTC") from error


Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
Text = Annotated[str, StringConstraints(pattern=TEXT_PATTERN, max_length=4096)]
LevelName = Annotated[str, StringConstraints(pattern=LEVEL_PATTERN)]
