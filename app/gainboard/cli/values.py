"""`--set NAME=VALUE`: parameters whose kinds only the server knows, as they are typed."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

_COMMA = re.compile(r",(?![^()]*\))")
"""Not one within an expression such as `Q(beta=1,gains=3:2:1)`."""


def pair(text: str) -> tuple[str, Any]:
    """The name and the value of `NAME=VALUE`, for argparse."""
    name, is_pair, value = text.partition("=")
    if not is_pair or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value_of(value)


def value_of(text: str) -> Any:
    """JSON where it is that, else a list where it has commas (`0.05,0.01`, or `0.05,` for a list of one), else text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        words = _COMMA.split(text)
    return text if len(words) == 1 else [value_of(word.strip()) for word in words if word.strip()]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
