"""Swap rates and what they say about the difference that is needed."""

import numpy as np
import pytest

from gainboard.statistics.stability import BIN_EDGES, RULES, SwapCounts, isotonic_rates, swap_counts

from .plain_swaps import plain_bin, plain_isotonic
from .reliability import GOLDEN, HALVES, example


@pytest.mark.parametrize(("strict", "swaps"), [(True, "swaps_sakai"), (False, "swaps_voorhees_original")])
def test_the_worked_example_comes_out(strict, swaps):
    expected = GOLDEN["swap_exact"]
    found = swap_counts(example("swap_exact"), HALVES, HALVES[::-1], strict)
    assert found.comparisons.tolist() == expected["count"]
    assert found.swaps.tolist() == expected[swaps]
    assert found.by_pair.sum() == sum(expected[swaps])
    if strict:
        rates = [np.nan if rate is None else rate for rate in expected["rate"]]
        np.testing.assert_allclose(found.swap_rate, rates, rtol=1e-15)


def test_a_difference_on_an_edge_belongs_to_the_bin_above_it():
    for place in range(21):
        scores = np.array([[0.7], [0.7 - place / 100]])
        found = swap_counts(scores, np.array([[0]]), np.array([[0]]))
        assert found.comparisons.tolist() == [int(each == place) for each in range(21)]
        assert BIN_EDGES[place] == place / 100


def test_a_difference_that_vanishes_is_a_swap_only_by_the_stricter_count():
    scores = np.array([[0.1 + 0.2, 0.5, 0.5], [0.3, 0.5, 0.4]])
    first, second = np.array([[0], [0], [2]]), np.array([[1], [2], [0]])
    assert swap_counts(scores, first, second).by_pair.tolist() == [2]
    assert swap_counts(scores, first, second, strict=False).by_pair.tolist() == [0]


def counts(comparisons, swaps, maximum=0.5):
    tables = [np.array([table.get(place, 0) for place in range(21)]) for table in (comparisons, swaps)]
    return SwapCounts(tables[0], tables[1], np.array([sum(swaps.values())]), maximum)


def test_a_difference_is_needed_without_any_bin_at_all_where_all_are_ties():
    found = counts({0: 450}, {})
    assert [found.deciding_bin(rule) for rule in RULES] == [0] * 4
    assert found.sensitivity() == (0.0, 0.5, 0.0, 1.0)


@pytest.mark.parametrize("comparisons", [99, 100])
def test_a_bin_decides_from_a_hundred_comparisons_on(comparisons):
    found = counts({0: 1000, 7: comparisons}, {0: 900, 7: 0})
    expected = 7 if comparisons == 100 else None
    assert [found.deciding_bin(rule) for rule in ("first", "pooled", "isotonic")] == [expected] * 3
    assert found.deciding_bin("all-higher") == 7


def random_counts(seed):
    """Rates that fall and wobble around 5 %, in bins that are empty, sparse or full."""
    random = np.random.default_rng(seed)
    comparisons = random.choice([0, 3, 20, 40, 99, 100, 140, 400, 3000], 21)
    rates = np.clip(0.3 * np.exp(-np.arange(21) / random.uniform(1, 8)) + random.normal(0, 0.02, 21), 0, 1)
    return comparisons.tolist(), random.binomial(comparisons, rates).tolist()


def test_the_rules_are_those_in_plain_words_on_random_counts():
    seen = set()
    for seed in range(400):
        comparisons, swaps = random_counts(seed)
        found = counts(dict(enumerate(comparisons)), dict(enumerate(swaps)))
        expected = [plain_bin(comparisons, swaps, rule) for rule in RULES]
        assert [found.deciding_bin(rule) for rule in RULES] == expected, seed
        seen.add((len(set(expected)), None in expected))
    assert {(1, False), (2, True), (2, False), (3, False)} <= seen


def test_isotonic_rates_are_those_of_the_max_min_formula():
    for seed in range(200):
        random = np.random.default_rng(seed)
        comparisons = random.integers(1, 500, random.integers(1, 22))
        swaps = random.binomial(comparisons, 0.2)
        found = isotonic_rates(swaps, comparisons)
        assert found.tolist() == [float(rate) for rate in plain_isotonic(swaps.tolist(), comparisons.tolist())]
        assert (np.diff(found) <= 0).all()
    assert isotonic_rates(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist() == []
