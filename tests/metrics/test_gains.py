"""Gain settings: what may be written, and what it is worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainboard.errors import BadGains
from gainboard.metrics import Scale, parse_gains, resolve


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3:2:1", (1, 2, 3)),
        ("10:5:1", (1, 5, 10)),
        ("0.3:.2:1e-1", (0.1, 0.2, 0.3)),
        ("linear", (1, 2, 3)),
        ("exp", (1, 3, 7)),
        ("flat", (1, 1, 1)),
        ("1:1:0", (0, 1, 1)),
    ],
)
def test_a_setting_gives_every_level_its_gain(text, values):
    assert parse_gains(text, 3).values == values


def test_a_ratio_and_the_rule_that_gives_the_same_gains_are_different_settings():
    assert parse_gains("3:2:1", 3).values == parse_gains("linear", 3).values
    assert parse_gains("3:2:1", 3) != parse_gains("linear", 3)


@given(st.lists(st.floats(0, 1e9, allow_subnormal=False), min_size=2, max_size=5).map(sorted), st.booleans())
def test_a_label_reads_back_as_the_same_setting(values, adjusted):
    ratio = ":".join(repr(0.0 if value < 1e-90 else value) for value in reversed(values))
    setting = parse_gains(f"adjust({ratio})" if adjusted else ratio, len(values))
    assert parse_gains(setting.label, len(values)) == setting


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3:2", "has 2 values, but there are 3 levels above level 0"),
        ("1:2:3", "gains=1:2:3 gives a higher level a lower value. Write the value of the highest level first"),
        ("3:2:-1", "each value must be 0 or between 1e-100 and 1e"),
        ("1e200:2:1", "each value must be 0 or between"),
        ("3:2:x", "is not a gain setting. Use a ratio with one value per level, highest level first"),
        ("", "is not a gain setting"),
        ("Linear", "is not a gain setting"),
        ("adjust(linear)", "is not a gain setting"),
        ("adjust(3:2:1", "is not a gain setting"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_would_be_right(text, message):
    with pytest.raises(BadGains, match=message):
        parse_gains(text, 3)


def test_a_default_that_does_not_fit_the_scale_is_refused():
    with pytest.raises(BadGains):
        resolve("AP", Scale(2), defaults={"gains": "3:2:1"})
    with pytest.raises(BadGains):
        resolve("Q(gains=2:1)", Scale(2), defaults={"gains": "3:2:1"})


def test_adjusting_takes_the_share_of_its_level_off_each_step():
    counts = np.array([[9, 3, 2, 1], [0, 0, 0, 4]])
    adjusted = parse_gains("adjust(3:2:1)", 3).by_class(counts, 1)
    # The second topic has one level only, which is left as it is; where a level is empty nothing is taken off.
    np.testing.assert_allclose(adjusted, np.array([[0, 1 / 2, 5 / 3, 17 / 6], [0, 1, 2, 3]]))


def test_adjusting_ignores_levels_below_the_threshold():
    adjusted = parse_gains("adjust(3:2:1)", 3).by_class(np.array([[9, 5, 2, 1]]), 2)
    # Of the two levels kept the lower steps up from nothing: 2 - 2/3*2 and 3 - 1/3*1.
    np.testing.assert_allclose(adjusted, [[0, 0, 2 / 3, 8 / 3]])
