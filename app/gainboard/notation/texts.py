"""Values in texts: queries, options of commands, and settings. And warnings and remarks in words, the same everywhere.

Each function accepts one form and raises ValueError, with an example, for every other text. Python's own functions
accept more (`1_000`, ` 1 `, digits of other scripts, `nan`), and so do lenient models (`yes`, `20261231` as a time).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from gainboard.errors import NameRequired
from gainboard.vocabulary import OFFICIAL

SHOWN: Final = 60
"""The most characters of a wrong value in a message."""

# Python refuses to read thousands of digits, so that long texts are refused here with a message of ours.
_INTEGER: Final = re.compile(r"-?[0-9]{1,100}")
_NUMBER: Final = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
    r"(?P<zone>[Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?"
)
_BLANK_FOR_PLUS: Final = re.compile(r"\S+ [0-9]{2}:[0-9]{2}")
_TIME_EXAMPLES: Final = (
    "Write the date, the time and the zone: 2026-12-01T12:00:00Z is in UTC, 2026-12-01T12:00:00+09:00 in Japan's zone"
)


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(parts: Iterable[str], most: int = 5) -> str:
    """Return the first of these texts, separated by commas, and how many others there are."""
    texts = list(parts)
    others = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {counted(others, 'other')}" if others > 0 else "")


def said(number: float | None, digits: int = 3, *, percent: bool = False) -> str:
    """Return a number in a sentence; None is undefined."""
    return "undefined" if number is None else f"{100 * number:.{digits}f} %" if percent else f"{number:.{digits}f}"


def said_extremes(values: Mapping[str, float | None], of: str) -> str:
    """Return in words for which of these the value is the highest, and for which the lowest. `of` names the value."""
    known = sorted((value, name) for name, value in values.items() if value is not None)
    (low, least), (high, most) = (known[0], known[-1]) if known else ((None, "all"),) * 2
    if low == high:
        return f"{of} is {said(low)} for {listed(name for _, name in known) or 'all'}"
    return f"{of} is the highest for {most} ({said(high)}), and the lowest for {least} ({said(low)})"


def read_integer(text: str) -> int:
    """Return the whole number of a text: digits, after `-` if it is negative."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{quoted(text)} is not a whole number. Write digits alone, for example 10")
    return int(text)


def read_number(text: str) -> float:
    """Return the finite number of a text: digits, with a point or an exponent if needed."""
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{quoted(text)} is not a number. Write digits, for example 10, 0.05 or 1e-3")
    return number


def read_boolean(text: str) -> bool:
    """Return the truth value of a text: `true` or `false`."""
    if text not in ("true", "false"):
        raise ValueError(f"{quoted(text)} is neither true nor false. Write true or false")
    return text == "true"


def read_time(text: str) -> datetime:
    """Return the time of a text in RFC 3339, in UTC: date, time of day to the second, and zone."""
    match = _TIME.fullmatch(text)
    if match and not match["zone"]:
        raise ValueError(f"{quoted(text)} has no time zone. {_TIME_EXAMPLES}")
    try:
        time = datetime.fromisoformat(text.upper()) if match else None
    except ValueError:  # there is no such day
        time = None
    if time is None:
        # A `+` in an address means a blank.
        hint = ". In an address, write + as %2B" if _BLANK_FOR_PLUS.fullmatch(text) else ""
        raise ValueError(f"{quoted(text)} is not a time. {_TIME_EXAMPLES}{hint}")
    return in_utc(time)


def in_utc(time: datetime) -> datetime:
    """Return the same time in UTC. Raise ValueError if it is outside the calendar there."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{time.isoformat()} is outside the calendar (years 1 to 9999) in UTC") from error


def quoted(text: str) -> str:
    """Return a text in quotes for a message, without the end of a long one."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


TEXT_PATTERN: Final = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""A text without control characters, except tabs and line feeds."""
LONGEST_TEXT: Final = 4096
SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
# In Python, `$` also matches before a final line feed; JSON Schema, where the pattern is shown, knows no `\Z`.
DOI_PATTERN: Final = r"^10\.[0-9]{4,9}/[!-~]+$"
SLUG_RULE: Final = "allowed: letters, digits, `.`, `_` and `-`, at most 128, first a letter or digit"
_NO_SLUG = re.compile("[^A-Za-z0-9._-]+")
_SLUG = re.compile(SLUG_PATTERN.removesuffix("$") + r"\Z")


def without_signs(text: str) -> str:
    """Return a text with `-` for what no name may have. It is empty if nothing is left."""
    return _NO_SLUG.sub("-", text).strip("-._")


def is_slug(name: str) -> bool:
    """Return whether something can have this name. Other texts name nothing, and some databases refuse them."""
    return _SLUG.match(name) is not None


def name_from_tag(tag: str) -> str:
    """Return the name of a run for which none was given. Raise NameRequired."""
    if is_slug(tag):
        return tag
    if not tag:
        raise NameRequired("The file has no run tag to name the run by. Give a name, for example `?name=run-1`.")
    raise NameRequired(
        f"The run tag {tag!r} cannot be used as a name ({SLUG_RULE}). Give a name, for example `?name=run-1`."
    )


_DIGITS: Final = re.compile("([0-9]+)")
_HEADINGS: Final = frozenset(("id", "qid", "query-id", "query_id", "topic", "topic-id", "topic_id"))
"""The first cells of tables of queries that are headings, as other tools write them."""


def order_topics(topics: Sequence[str], declared: Sequence[str] | None) -> list[int]:
    """Return the indexes of the topics in the order for people: as declared, then 2 before 10.

    Computations, files and JSON have topics in the order of bytes, on which resamples depend.
    """
    places = {topic: place for place, topic in enumerate(declared or ())}

    def rank(index: int) -> tuple[Any, ...]:
        parts = _DIGITS.split(topic := topics[index])
        # Every second part has digits, perhaps more than Python makes a number of: a longer one is larger.
        parts[1::2] = (part.lstrip("0") for part in parts[1::2])
        natural = [(len(part), part) if place % 2 else part for place, part in enumerate(parts)]
        return places.get(topic, len(places)), natural, topic

    return sorted(range(len(topics)), key=rank)


def read_topics(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the topics of a list, and the texts of their queries if each line has an id, a tab and a text."""
    lines = [line.strip(" \r").split("\t", 1) for line in text.split("\n") if line.strip()]
    if not all(len(line) == 2 for line in lines):
        return text.split(), {}
    rows = [(topic.strip(), query.strip()) for topic, query in lines]
    rows = rows[1:] if rows and rows[0][0].lower() in _HEADINGS else rows
    return [topic for topic, _ in rows], {topic: query for topic, query in rows if query}


_ZERO_GAIN: Final = re.compile(r"gains=(?:adjust\()?(?:[^,():]+:)*0[:,)]")
"""The label of a metric under which a level above 0 has no gain."""


class Warned(Protocol):
    """A warning of a reader, or of the service."""

    @property
    def code(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def count(self) -> int | None: ...


def warning_lines(name: str, warnings: Sequence[Warned], *, beside: bool = False) -> Iterator[str]:
    """Yield the warnings of a file, in the same format. With `beside`, other replicates may be beside it."""
    for warning in warnings:
        count = "" if warning.count is None else f" ({warning.count:,})"
        message = said_of_replicate(warning.message) if beside else warning.message
        yield f"{name}: warning: {warning.code}: {message.removesuffix('.')}{count}"


def said_of_replicate(warning: str) -> str:
    return warning.replace("these score 0", "where no other replicate has them, these score 0")


def why_left_out(labels: Iterable[str]) -> str:
    """Return why some topics are left out of the means under metrics with these labels."""
    is_by_gain = all(_ZERO_GAIN.search(label) for label in labels)
    of_sets = " or no attribute set" if any(label.startswith(("GF_", "AWRF")) for label in labels) else ""
    return "because they have no relevant document" + (" with a gain above 0" if is_by_gain else "") + of_sets


def name_versions(versions: Mapping[str, int]) -> str:
    """Return how a caption names the versions of judgment sets: "version 1 of the qrels and version 2 of model"."""
    said = (f"version {version} of {'the qrels' if of == OFFICIAL else of}" for of, version in versions.items())
    return " and ".join(said)
