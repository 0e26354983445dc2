"""Databases with a collection, empty of jobs; and what a job comes to when nothing disturbs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import new_schema
from tests.jobs.bench import Bench


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    """A database of its own for one test, of each kind."""
    made = Bench(database_url)
    yield made
    made.close()


@contextmanager
def bench_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Bench]:
    """A database for the tests of a file: `sqlite` or `postgresql`."""
    if kind == "sqlite":
        made = Bench(f"sqlite:///{folder / 'gainboard.db'}")
        yield made
        made.close()
        return
    with new_schema(request.getfixturevalue("postgres_url")) as url:
        made = Bench(url)
        yield made
        made.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A database for the tests of a file, of each kind."""
    with bench_of(request.param, request, tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest.fixture
def table(shared_bench: Bench) -> Bench:
    """A database where no job is open, and nobody works any."""
    shared_bench.cancel_all()
    return shared_bench
