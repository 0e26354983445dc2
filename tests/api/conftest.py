"""Tests of the interface work jobs themselves: a server's own processes take seconds to start, in each file."""

import pytest


@pytest.fixture(scope="module")
def shared(unworked):
    """Gainboard on SQLite, where nobody works jobs but the tests."""
    return unworked
