import pytest

from gainboard.acceleration import is_installed
from gainboard.trec import READING


@pytest.fixture(scope="package", autouse=True)
def compiled():
    """The compiled pass, for the tests of readers alone: elsewhere a run is read as a server without it would."""
    if is_installed():
        READING.load()
    yield
    READING.unload()
