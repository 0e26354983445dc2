"""One campaign for all tests of analyses: jobs only add to it, and an equal one is worked once."""

import gc

import pytest

from tests.world.groves import copied, few_trusted, planted


@pytest.fixture(scope="session", autouse=True)
def little_to_collect():
    """Workers collect garbage before each job, and would look through all that was ever imported each time."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("grove")


@pytest.fixture(scope="session")
def laboratory(folder):
    return planted(folder)


@pytest.fixture(scope="session")
def shelf(laboratory, folder, tmp_path_factory):
    """The same campaign in another database: jobs that are asked for here keep nobody busy."""
    return copied(folder, tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def answer(laboratory):
    return laboratory.answer


@pytest.fixture
def few_topics(monkeypatch):
    """Means are corrected by fewer trusted topics than intervals need."""
    few_trusted(monkeypatch)
