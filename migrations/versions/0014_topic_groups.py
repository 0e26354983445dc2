"""Named sets of topics.

Revision ID: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    name = sa.String(128).with_variant(sa.String(128, collation="C"), "postgresql")
    op.create_table(
        "topic_groups",
        sa.Column("collection_id", sa.Integer(), sa.ForeignKey("collections.id"), primary_key=True),
        sa.Column("name", name, primary_key=True),
        sa.Column("topics", sa.JSON(), nullable=False),
    )
