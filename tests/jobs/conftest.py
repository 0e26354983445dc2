"""Databases with a collection, empty of jobs; and what a job comes to when nothing disturbs it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from tests.jobs.bench import Bench


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    """A database of its own for one test, of each kind."""
    made = Bench(database_url)
    yield made
    made.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A database for the tests of a file, of each kind."""
    if request.param == "sqlite":
        made = Bench(f"sqlite:///{tmp_path_factory.mktemp('data') / 'gainboard.db'}")
        yield made
        made.close()
        return
    url, schema = request.getfixturevalue("postgres_url"), f"test_{uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    made = Bench(make_url(url).update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(False))
    yield made
    made.close()
    with engine.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def table(shared_bench: Bench) -> Bench:
    """A database where no job is open, and nobody works any."""
    shared_bench.cancel_all()
    return shared_bench
