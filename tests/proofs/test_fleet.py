"""The short form of the count: a few idle workers."""

import pytest

from tests import private_postgres
from tests.proofs.fleet import MOST_A_SECOND, idle

WORKERS, SECONDS = 2, 10.0


@pytest.mark.skipif(not private_postgres.is_installed(), reason="no PostgreSQL is installed")
def test_an_idle_fleet_asks_little_of_its_database():
    counted = idle(WORKERS, SECONDS)
    # The worker with the lowest id also looks after the others, which counts more in a small fleet.
    assert 0 < counted.total() <= 2 * MOST_A_SECOND * WORKERS * SECONDS
