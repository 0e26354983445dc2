"""One server for the tests of a file: each makes its own collection, so none disturbs another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gainboard.settings import Settings
from tests.api.campaign import Campaign
from tests.conftest import ADMIN, Service, new_schema, new_settings, serving


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Gainboard on SQLite."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def on_both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Gainboard on each kind of database, one server for all tests of a file."""
    with ExitStack() as stack:
        settings = new_settings(tmp_path_factory.mktemp("data"))
        if request.param == "postgresql":
            url = stack.enter_context(new_schema(request.getfixturevalue("postgres_url")))
            settings = Settings.read({}, database_url=url, admin_token=ADMIN)
        yield stack.enter_context(serving(settings))


@pytest.fixture
def campaign(shared: Service) -> Campaign:
    """A new, empty collection."""
    return Campaign(shared)
