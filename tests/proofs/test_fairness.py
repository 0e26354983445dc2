"""The short form of the proof of fairness: one worker and smaller chunks, counted and not timed."""

from contextlib import ExitStack

import pytest

from tests import private_postgres
from tests.proofs.fairness import LONG, Fleet, shares, starts
from tests.world.benches import RUNS

CHUNK_SECONDS = 0.08
"""One part of the long jobs: they have 40 chunks."""


@pytest.mark.skipif(not private_postgres.is_installed(), reason="no PostgreSQL is installed")
def test_short_jobs_are_next_and_two_teams_share_evenly():
    with ExitStack() as stack:
        fleet = Fleet(stack, RUNS, workers=1)
        long = fleet.ask(0, 0, LONG, CHUNK_SECONDS)
        # One chunk is worked when the job comes. A few more may begin between the count and the request, on a machine
        # where both take longer than a chunk; all 40 would be unfair.
        assert max(each.overtaken_by for each in starts(fleet, long, 3, lambda: None)) <= 5
        assert not fleet.bench.job(long).is_over
        fleet.bench.cancel(long)
        several = [
            [fleet.ask(0, seed, LONG, CHUNK_SECONDS) for seed in (1, 2, 3)],
            [fleet.ask(1, 4, LONG, CHUNK_SECONDS)],
        ]
        held = shares(fleet, several, lambda: fleet.done(several[1]) >= 15)
        assert 0.35 < held[0] < 0.65
        fleet.bench.cancel_all()
