"""A second database of each kind, for what goes from one into another."""

import pytest

from tests.world.servers import BOTH, new_database


@pytest.fixture(params=BOTH)
def other_url(request, tmp_path):
    """Another empty database; that of SQLite is not even a file yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'other' / 'gainboard.db'}"
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url
