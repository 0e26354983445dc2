"""One server for the tests of a file: each makes its own collection, so none disturbs another."""

import pytest

from gainboard.settings import Settings
from gainboard.store.database import Database
from tests.world.campaigns import Campaign
from tests.world.servers import ADMIN, BOTH, migrated_database, new_settings, serving


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Gainboard on SQLite."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Gainboard on SQLite where nobody works jobs but the tests, in this process, and nobody waits for a chore."""
    settings = new_settings(tmp_path_factory.mktemp("data"), job_slots=0)
    with pytest.MonkeyPatch.context() as patch, serving(settings) as running:
        patch.setattr("gainboard.api.job_answers.MOST_SECONDS", 0.01)
        yield running


@pytest.fixture(scope="module", params=BOTH)
def on_both(request, tmp_path_factory):
    """Gainboard on each kind of database, one server for all tests of a file."""
    with (
        migrated_database(request.param, request, tmp_path_factory.mktemp("data")) as url,
        serving(Settings.read({}, database_url=url, admin_token=ADMIN)) as running,
    ):
        yield running


@pytest.fixture
def idle(migrated_url):
    """Gainboard on each kind of database, where nobody works the jobs that are asked for."""
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)) as service:
        yield service


@pytest.fixture
def database(idle, migrated_url):
    """The database of the service, which is running on it."""
    found = Database(migrated_url)
    yield found
    found.close()


@pytest.fixture
def campaign(shared):
    """A new, empty collection."""
    return Campaign(shared)
