"""Files outside of the database.

Revision ID: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "objects",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    # Alembic would make the table anew on SQLite, and delete all content with the old table.
    op.execute("ALTER TABLE blobs ADD COLUMN object_name VARCHAR(128) REFERENCES objects (name)")
    op.create_index("ix_blobs_object_name", "blobs", ["object_name"])
