"""The migrations build the tables that the store works with."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from gainboard.store.database import Database
from gainboard.store.schema import migrate
from gainboard.store.tables import metadata


def test_the_schema_after_all_migrations_is_that_of_the_tables(database_url):
    database = Database(database_url)
    migrate(database)
    with database.writing() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}
    database.close()
