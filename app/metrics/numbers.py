"""Numbers as people write them in metric expressions, and back."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """The number that `text` is, or None; `inf`, `nan`, `1_000` and the digits of other scripts are none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def format_number(value: float) -> str:
    """The shortest text that reads back as `value`, whole numbers without `.0`."""
    return repr(float(value)).removesuffix(".0")
