"""Databases with a collection, empty of jobs; and what a job comes to when nothing disturbs it."""

import pytest

from tests.world.benches import Bench
from tests.world.servers import BOTH, migrated_database


@pytest.fixture
def bench(migrated_url):
    made = Bench(migrated_url)
    yield made
    made.close()


@pytest.fixture(scope="module", params=BOTH)
def shared_bench(request, tmp_path_factory):
    with migrated_database(request.param, request, tmp_path_factory.mktemp("data")) as url:
        made = Bench(url)
        yield made
        made.close()


@pytest.fixture
def table(shared_bench):
    """A database where no job is open, and nobody works any."""
    shared_bench.cancel_all()
    return shared_bench
