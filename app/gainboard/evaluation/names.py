"""Names in paths: collections, teams and runs."""

from __future__ import annotations

import re

from gainboard.errors import NameRequired

SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
_SLUG = re.compile(SLUG_PATTERN.removesuffix("$") + r"\Z")


def is_slug(name: str) -> bool:
    """Return whether something can have this name. Other texts name nothing, and some databases refuse them."""
    return _SLUG.match(name) is not None


def name_from_tag(tag: str) -> str:
    """Return the name of a run for which none was given. Raise NameRequired."""
    if is_slug(tag):
        return tag
    raise NameRequired(
        f"The run tag {tag!r} cannot be used as a name (allowed: letters, digits, `.`, `_` and `-`, at most 128, "
        "first a letter or digit). Give a name, for example `?name=run-1`."
    )
