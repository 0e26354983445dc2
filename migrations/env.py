"""Runs the migrations on the connection that `app.store.schema.migrate` hands over."""

from __future__ import annotations

from alembic import context

from app.store import job_tables, tables  # noqa: F401 (importing them fills the metadata)
from app.store.metadata import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
