"""How parts become chunks."""

import pytest

from gainboard.errors import InvalidRequest
from gainboard.jobs.submission import CHUNK_SECONDS, MOST_SECONDS, sizes_of_chunks


def test_parts_are_put_together_until_a_chunk_has_its_seconds():
    assert sizes_of_chunks([CHUNK_SECONDS / 2] * 5) == [2, 2, 1, 1]
    assert sizes_of_chunks([CHUNK_SECONDS / 2.1] * 5) == [2, 2, 1, 1]
    assert sizes_of_chunks([CHUNK_SECONDS * 3] * 2) == [1, 1, 1]
    assert sizes_of_chunks([0.0] * 7) == [7, 1]
    assert sizes_of_chunks([]) == [1]


@pytest.mark.parametrize("count", [1, 999, 14_400, 100_000])
def test_the_longest_job_there_may_be_has_few_enough_chunks(count):
    sizes = sizes_of_chunks([0.999 * MOST_SECONDS / count] * count)
    assert (sum(sizes), sizes[-1], min(sizes) >= 1) == (count + 1, 1, True)
    assert len(sizes) <= 1.5 * MOST_SECONDS / CHUNK_SECONDS


def test_a_job_that_costs_too_much_is_refused_with_the_bound():
    with pytest.raises(InvalidRequest, match=r"5\.0 hours of one core; the limit is 4") as refused:
        sizes_of_chunks([3600.0] * 5)
    assert refused.value.details["errors"][0]["location"] == "body.params"
    assert refused.value.details["errors"][0]["code"] == "too-costly"
