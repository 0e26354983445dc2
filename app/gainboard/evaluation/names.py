"""Names in paths: collections, teams and runs."""

from __future__ import annotations

import re

from gainboard.errors import NameRequired

SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
_SLUG = re.compile(SLUG_PATTERN.removesuffix("$") + r"\Z")


def is_slug(name: str) -> bool:
    """Whether something can have this name. Whatever else stands in a path names nothing, on every database."""
    return _SLUG.match(name) is not None


def name_from_tag(tag: str) -> str:
    """The name of a run for which none was given. Raises NameRequired."""
    if is_slug(tag):
        return tag
    raise NameRequired(
        f"The run tag {tag!r} cannot be a name in a path (letters, digits, `.`, `_` and `-`, at most 128, the "
        "first a letter or digit); give one: `?name=NAME`."
    )
