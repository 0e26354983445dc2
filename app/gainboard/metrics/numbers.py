"""Numbers as people write them in metric expressions, and back."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """The number that `text` is, or None; `inf`, `nan`, `1_000` and the digits of other scripts are none."""
    return float(text) + 0.0 if _NUMBER.fullmatch(text) else None  # adding 0 takes the sign off -0


def format_number(value: float) -> str:
    """The shortest text that reads back as `value`, whole numbers without `.0`."""
    return repr(float(value)).removesuffix(".0").replace("e+", "e")
