"""The setting that leaves out lines of runs whose document id is their topic's.

It is a setting of a collection, and part of the order in which the runs of a qrels version are joined with it.

Revision ID: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("collections", "qrels"):
        op.add_column(table, sa.Column("ignore_identical_ids", sa.Boolean(), nullable=False, server_default=sa.false()))
