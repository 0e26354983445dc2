"""Numbers in text, beside what C's own `atof` and `atol` return."""

import ctypes
import math

import pytest

from gainboard.trec_eval.files import UNJUDGED, LevelTooLarge, read_qrels, read_results
from gainboard.trec_eval.parameters import number, whole_number

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


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


def test_a_number_is_the_one_that_c_reads():
    for text in TEXTS:
        assert same(number(text), C.atof(text)), text[:20]
        assert whole_number(text) == C.atol(text), text[:20]


def test_scores_and_levels_are_those_that_c_reads():
    for text in filter(None, TEXTS):  # what can be a word in a file
        retrieved, _ = read_results(b"1 Q0 a_1 1 7.25 my_run\n1 Q0 b_1 2 %s my_run\n" % text)
        first, second = retrieved[b"1"].scores[0].tolist()
        assert first == 7.25
        assert same(second, C.atof(text)), text[:20]
        expected, qrels = C.atol(text), b"1 0 a_1 3\n1 0 b_1 %s\n" % text
        if expected > 1_000_000:
            with pytest.raises(LevelTooLarge):
                read_qrels(qrels)
        else:
            levels = read_qrels(qrels)[b"1"].levels
            assert levels == {b"a_1": 3, b"b_1": expected if expected >= 0 else UNJUDGED}, text[:20]
