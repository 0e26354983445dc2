"""The short form of the proof of rank sets."""

import numpy as np

from tests.proofs.rank_sets import alike, clusters, tried


def test_the_range_keeps_its_level_beside_near_duplicates_where_tukeys_does_not():
    by_range, by_tukey = tried(clusters(18, 2), 60, ["bootstrap range", "randomised Tukey"])
    assert by_range.error <= 0.1
    assert by_range.hold == 1 - by_range.error
    assert by_tukey.error >= 0.15


def test_where_runs_vary_alike_it_finds_about_as_much_as_tukeys():
    population = alike(20, np.minimum(np.linspace(0, 0.4, 20), 0.2))
    by_range, by_tukey = tried(population, 30, ["bootstrap range", "randomised Tukey"])
    assert by_range.error <= 0.1
    assert by_range.power > 0.9 * by_tukey.power > 0.1
    assert by_range.hold >= 0.9
