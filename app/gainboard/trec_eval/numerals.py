"""Numbers as C's `atol` and `atof` read them: the number that a text begins with, or 0 if it begins with none."""

from __future__ import annotations

import math
import re
from typing import Final

LARGEST: Final = 2**63 - 1
"""C's largest `long`. `atol` returns it for what is larger."""
_WHOLE: Final = rb"\s*([+-]?)0*([0-9]+)"
_DECIMAL: Final = rb"(?i)\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|nan)"
_HEXADECIMAL: Final = rb"(?i)\s*[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"


def whole_number(text: bytes) -> int:
    """Return the number that a text begins with, and 0 if it begins with none, as C's `atol` does."""
    found = re.match(_WHOLE, text)
    if not found:
        return 0
    sign, digits = found.groups()
    # Numbers of 20 digits are beyond the largest. Python refuses to read those of thousands of digits.
    value = min(int(digits[:20]), LARGEST + (sign == b"-"))
    return -value if sign == b"-" else value


def number(text: bytes) -> float:
    """Return the number that a text begins with, and 0 if it begins with none, as C's `atof` does."""
    if found := re.match(_HEXADECIMAL, text):
        return _from_hexadecimal(found[0].decode())
    found = re.match(_DECIMAL, text)
    return float(found[0]) if found else 0.0


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text.strip().startswith("-") else math.inf
