"""Numbers in text, beside what C's own `atof` and `atol` return."""

from __future__ import annotations

import ctypes
import math

import pytest

from gainboard.trec_eval.numerals import number, numbers, whole_number, whole_numbers

C = ctypes.CDLL(None)
C.atof.restype, C.atof.argtypes = ctypes.c_double, [ctypes.c_char_p]
C.atol.restype, C.atol.argtypes = ctypes.c_long, [ctypes.c_char_p]

TEXTS = [
    *(b"1", b"-2.5", b"+3", b".5", b"5.", b"1e3", b"1E-3", b"1e", b"1e+", b"1.5.5", b"", b"-", b".", b"x", b"+-1"),
    *(b"1_0", b"1_0.5", b"_1", b"1e1_0", b"-1_0"),
    *(b"0x10", b"0X1F", b"-0x1.8p3", b"0x.8", b"0x", b"0xp1", b"0x1p", b"0x1.p+2", b"0x.p1", b"0x1e+5", b"0x1_0"),
    *(b"inf", b"-INF", b"infinity", b"Infinit", b"nan", b"-NaN", b"nan(12)", b"nano", b"in", b"na"),
    *(b"1e999", b"-1e999", b"1e-999", b"0x1p99999", b"-0x1p99999", b"0x1p-99999"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"9" * 5000, b"0" * 5000 + b"7"),
]
"""Decimal numbers, those that Python alone joins, hexadecimal ones, names, and numbers beyond the limits."""


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20].decode())
def test_a_number_is_the_one_that_c_reads(text: bytes) -> None:
    expected = C.atof(text)
    for found in (number(text), float(numbers([b"1", text])[1])):
        assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20].decode())
def test_a_whole_number_is_the_one_that_c_reads(text: bytes) -> None:
    assert whole_number(text) == C.atol(text)
    [found] = whole_numbers([text])
    assert min(max(found, -(2**63)), 2**63 - 1) == C.atol(text)
