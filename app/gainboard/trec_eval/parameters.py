"""The parameters of measures, as `-m measure.parameters` has them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

Pairs: TypeAlias = Sequence[tuple[str, float]]


class BadParameters(Exception):
    """Parameters that trec_eval refuses. The message is trec_eval's."""


class Parameters(NamedTuple):
    """The parameters of a measure: their values, and the names of the values that the measure has under them."""

    values: Any
    names: Sequence[str]


Reader: TypeAlias = Callable[[str, str | None], Parameters]
"""Takes the name of a measure and the text of its parameters, which is None for the default ones."""


def nothing(name: str, text: str | None) -> Parameters:
    """Return no parameters. What is given is ignored."""
    return Parameters((), [name])


def cutoffs(*default: int) -> Reader:
    """Return a reader of ranks: one value of the measure for each, in ascending order."""

    def read(name: str, text: str | None) -> Parameters:
        ranks = list(default) if text is None else sorted(whole_number(os.fsencode(word)) for word in text.split(","))
        if ranks[0] <= 0:
            raise BadParameters("trec_eval: Negative cutoff detected")
        _require_different(ranks)
        return Parameters(ranks, [f"{name}_{rank}" for rank in ranks])

    return read


def shares(*default: float) -> Reader:
    """Return a reader of numbers: one value of the measure for each, in ascending order."""

    def read(name: str, text: str | None) -> Parameters:
        values = list(default) if text is None else sorted(_numbers(text))
        _require_different(values)
        return Parameters(values, [f"{name}_{value:3.2f}" for value in values])

    return read


def numbers(*default: float) -> Reader:
    """Return a reader of numbers that a measure takes together, in their order."""

    def read(name: str, text: str | None) -> Parameters:
        return Parameters(default, [name]) if text is None else Parameters(_numbers(text), [f"{name}_{text}"])

    return read


def pairs(name: str, text: str | None) -> Parameters:
    """Return pairs of a name and a number: `1=3,2=9`."""
    if text is None:
        return Parameters((), [name])
    words = text.split(",")
    if any(word.count("=") != 1 for word in words):
        raise BadParameters(f"trec_eval: malformed pair parameters in '{text}'")
    values = [(before, number(os.fsencode(after))) for before, _, after in (word.partition("=") for word in words)]
    return Parameters(values, [f"{name}_{text}"])


def _numbers(text: str) -> list[float]:
    return [number(os.fsencode(word)) for word in text.split(",")]


def _require_different(values: Sequence[float]) -> None:
    if len(set(values)) < len(values):
        raise BadParameters("trec_eval: duplicate cutoffs detected")


LARGEST: Final = 2**63 - 1
"""C's largest `long`. `atol` returns it for what is larger."""
_WHOLE: Final = rb"\s*([+-]?)0*([0-9]+)"
_DECIMAL: Final = rb"(?i)\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|nan)"
_HEXADECIMAL: Final = rb"(?i)\s*[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"


def whole_number(text: bytes) -> int:
    """Return the number that a text begins with, and 0 if it begins with none, as C's `atol` does."""
    match = re.match(_WHOLE, text)
    if not match:
        return 0
    sign, digits = match.groups()
    # Numbers of 20 digits are beyond the largest. Python refuses to read those of thousands of digits.
    value = min(int(digits[:20]), LARGEST + (sign == b"-"))
    return -value if sign == b"-" else value


def number(text: bytes) -> float:
    """Return the number that a text begins with, and 0 if it begins with none, as C's `atof` does."""
    if hexadecimal := re.match(_HEXADECIMAL, text):
        digits = hexadecimal[0].decode()
        try:
            return float.fromhex(digits)
        except OverflowError:
            return -math.inf if digits.strip().startswith("-") else math.inf
    decimal = re.match(_DECIMAL, text)
    return float(decimal[0]) if decimal else 0.0
