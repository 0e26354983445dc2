"""Drafts of qrels can be discarded.

Revision ID: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("qrels", sa.Column("discarded_at", sa.DateTime(), nullable=True))
