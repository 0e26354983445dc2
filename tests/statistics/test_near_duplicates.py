"""Runs that repeat another one except on a few topics."""

import numpy as np

from gainboard.statistics.agreement import NONE, repeated_runs


def marks(*rows):
    return np.array(rows, dtype=np.uint64)


def test_a_run_repeats_the_one_from_which_it_differs_least_and_of_these_the_first():
    base = list(range(1, 31))
    two, one = [9, 9, *base[2:]], [9, *base[1:]]
    assert repeated_runs(marks(base, two, one, base)).tolist() == [NONE, 0, 0, 0]
    assert repeated_runs(marks(two, base, base, one)).tolist() == [NONE, 0, 1, 0]


def plain(table):
    found = []
    for run, row in enumerate(table):
        best, least = NONE, len(row) + 1
        for earlier in range(run):
            pairs = list(zip(table[earlier], row, strict=True))
            differing = sum(x != y for x, y in pairs)
            counted = sum(x != 0 or y != 0 for x, y in pairs)
            if counted and differing <= counted // 10 and differing < least:
                best, least = earlier, differing
        found.append(best)
    return found


def test_it_is_what_plain_loops_find():
    seen = set()
    for seed in range(300):
        random = np.random.default_rng(seed)
        runs, topics = random.integers(1, 9), random.integers(1, 60)
        table = random.integers(0, 4, (runs, topics))
        for run in range(1, runs):
            if random.random() < 0.7:
                table[run] = table[random.integers(0, run)]
                changed = random.integers(0, topics, random.integers(0, topics // 6 + 2))
                table[run, changed] = random.integers(0, 4, len(changed))
        expected = plain(table.tolist())
        assert repeated_runs(table.astype(np.uint64)).tolist() == expected, seed
        seen.update((repeated == NONE, repeated == 0) for repeated in expected[1:])
    assert seen == {(True, False), (False, True), (False, False)}


def test_many_runs_are_compared_quickly_enough():
    random = np.random.default_rng(0)
    table = random.integers(1, 2**63, (2000, 250), dtype=np.uint64)
    table[1500] = table[700]
    table[1500, :25] = 1
    assert np.flatnonzero(repeated_runs(table) != NONE).tolist() == [1500]
