"""Run the migrations on the connection that `gainboard.store.schema.migrate` provides."""

from __future__ import annotations

from alembic import context

from gainboard.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
