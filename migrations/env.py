"""Runs the migrations on the connection that `app.store.schema.migrate` hands over."""

from __future__ import annotations

from alembic import context

from app.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
