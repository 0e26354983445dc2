"""Reading and writing numbers in metric expressions."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """Return the number in `text`, or None. `inf`, `nan`, `1_000` and digits of other scripts are not accepted."""
    return float(text) + 0.0 if _NUMBER.fullmatch(text) else None  # adding 0 makes -0 a plain 0


def format_number(value: float) -> str:
    """Return the shortest text that reads back as `value`. Whole numbers are written without `.0`."""
    return repr(float(value)).removesuffix(".0").replace("e+", "e")
