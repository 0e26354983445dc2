"""Uploads under way name the server that receives them, and its lease.

Revision ID: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # No server of the earlier schema runs any more, so none of its uploads is under way.
    op.drop_table("uploads")
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("leased_until", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_uploads_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_index(op.f("ix_uploads_team_id"), "uploads", ["team_id"])
