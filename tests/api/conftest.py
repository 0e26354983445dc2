"""One server for the tests of a file: each makes its own collection, so none disturbs another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.campaign import Campaign
from tests.conftest import Service, new_settings, serving


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Gainboard on SQLite."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture
def campaign(shared: Service) -> Campaign:
    """A new, empty collection."""
    return Campaign(shared)
