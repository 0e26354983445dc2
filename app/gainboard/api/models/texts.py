"""The forms that texts of a request may have, and how each is put to somebody who sent another."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import StringConstraints

from gainboard.evaluation.names import SLUG_PATTERN

TEXT_PATTERN: Final = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
LEVEL_PATTERN: Final = r"^[A-Za-z0-9_+-]{1,32}$"
KEY_PATTERN: Final = r"^[!-~]+$"

MEANINGS: Final = {
    SLUG_PATTERN: "Must be letters, digits, `.`, `_` and `-`, at most 128 of them, the first a letter or digit",
    TEXT_PATTERN: "Must not contain control characters",
    LEVEL_PATTERN: "Must be letters, digits, `_`, `+` and `-`, at most 32 of them",
    KEY_PATTERN: "Must be printable ASCII characters without blanks",
}
"""What a pattern asks for, in words."""


def in_utc(time: datetime | None) -> datetime | None:
    """The same time in UTC; ValueError where that lies beyond the calendar."""
    try:
        return time and time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time lies beyond the calendar in UTC") from error


Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
Text = Annotated[str, StringConstraints(pattern=TEXT_PATTERN, max_length=4096)]
LevelName = Annotated[str, StringConstraints(pattern=LEVEL_PATTERN)]
