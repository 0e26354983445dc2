"""A second database of each kind, for what goes from one into another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url


@pytest.fixture(params=["sqlite", "postgresql"])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Another empty database; that of SQLite is not even a file yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'other' / 'gainboard.db'}"
        return
    url = request.getfixturevalue("postgres_url")
    schema = f"other_{uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    yield make_url(url).update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()
