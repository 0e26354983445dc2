"""The numbers of the file formats: a grammar for one token, and faster functions for a whole column.

The patterns decide what is a number, because Python's `float` and `int` accept more (`nan`, `1_000`, `1e999`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = 18  # so many always fit into int64
_INTEGER = re.compile(rb"[+-]?[0-9]{1,%d}" % _DIGITS)
_COUNTING = [b"%d" % rank for rank in range(2049)]
_unhurried = 100_000
"""So many more numbers are read one by one, before the faster reader is worth the time that its import takes."""


def decimal(token: bytes) -> float | None:
    """Return the finite float64 of a token in ASCII digits; None for another token."""
    value = float(token) if _DECIMAL.fullmatch(token) else math.nan
    return value if math.isfinite(value) else None


@lru_cache(maxsize=1024)  # reading qrels calls this twice for each line, with only a few distinct levels
def integer(token: bytes) -> int | None:
    """Return the integer of a token of at most 18 digits; None for another token."""
    return int(token) if _INTEGER.fullmatch(token) else None


def decimals(tokens: Sequence[bytes]) -> NDArray[np.float64] | None:
    """Return `decimal` of every token, float64 of shape `(len(tokens),)`; None if a token is not a decimal."""
    text = b",".join(tokens)
    # For tokens of these characters, `float` accepts exactly what the pattern does, and JSON accepts only numbers.
    if text.translate(None, b"0123456789+-.eE,"):
        return None
    try:
        read = _as_json(text, len(tokens))
        values = np.array(list(map(float, tokens)) if read is None else read, np.float64)
    except (ValueError, OverflowError):
        return None
    values += 0.0  # make -0.0 equal to 0.0 to the bit, because JSON reads -0 without its sign
    return values if len(values) == len(tokens) and np.isfinite(values).all() else None


def integers(tokens: Sequence[bytes]) -> NDArray[np.int64] | None:
    """Return `integer` of every token, int64 of shape `(len(tokens),)`; None if a token is not an integer."""
    start = 0 if tokens[:1] == [b"0"] else 1
    stop = start + len(tokens)
    # Ranks nearly always count up from 0 or 1. To compare a whole column takes less time than to read it.
    if tokens == _COUNTING[start:stop]:
        return np.arange(start, stop, dtype=np.int64)
    text = b",".join(tokens)
    if not text.translate(None, b"0123456789-,") and max(map(len, tokens)) <= _DIGITS:
        read = _as_json(text, len(tokens))
        if read is not None and len(read) == len(tokens):
            return np.array(read, np.int64)
    if not all(map(_INTEGER.fullmatch, tokens)):
        return None
    return np.fromiter(map(int, tokens), np.int64, len(tokens))


def _as_json(text: bytes, count: int) -> list[Any] | None:
    """Return so many numbers between commas, several times as fast as one by one. None if JSON has no such numbers."""
    global _unhurried
    if _unhurried > 0:
        _unhurried -= count
        return None
    from pydantic_core import from_json  # noqa: PLC0415

    try:
        numbers: list[Any] = from_json(b"[" + text + b"]")
    except ValueError:  # +5, .5, 5. and 007 are numbers here, but not in JSON
        return None
    return numbers
