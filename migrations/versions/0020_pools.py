"""Priorities of runs, and jobs about runs alone: a pool is made before there are judgments.

Revision ID: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("priority", sa.Integer(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        _allow_null()
    else:
        op.alter_column("jobs", "qrels_id", nullable=True)


def _allow_null() -> None:
    # SQLite has no statement for this. To copy the table and drop the old one would delete the rows that refer to it,
    # because foreign keys cannot be switched off in a transaction. Its documentation has these steps for constraints
    # that do not affect what is stored (https://sqlite.org/lang_altertable.html, section 7).
    connection = op.get_bind()
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    connection.execute(
        sa.text(
            "UPDATE sqlite_master SET sql = replace(sql, 'qrels_id INTEGER NOT NULL', 'qrels_id INTEGER') "
            "WHERE type = 'table' AND name = 'jobs'"
        )
    )
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
    columns = {row.name: row.notnull for row in connection.execute(sa.text("PRAGMA table_info(jobs)"))}
    if columns["qrels_id"]:
        raise RuntimeError("SQLite did not let jobs.qrels_id be null")
