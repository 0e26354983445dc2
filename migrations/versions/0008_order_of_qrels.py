"""A qrels version records the order of the runs that were joined with it.

Revision ID: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # SQLite adds a column that is never null only with a default. Every row then gets its collection's order.
    op.add_column("qrels", sa.Column("order_by", sa.String(16), nullable=False, server_default="score"))
    op.execute(
        "UPDATE qrels SET order_by = (SELECT order_by FROM collections WHERE collections.id = qrels.collection_id)"
    )
