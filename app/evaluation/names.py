"""Names in paths: collections, teams and runs."""

from __future__ import annotations

import re

SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
_SLUG = re.compile(SLUG_PATTERN.removesuffix("$") + r"\Z")


def is_slug(name: str) -> bool:
    """Whether something can have this name. Whatever else stands in a path names nothing, on every database."""
    return _SLUG.match(name) is not None
