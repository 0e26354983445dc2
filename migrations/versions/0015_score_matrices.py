"""Scores of metrics that were computed elsewhere.

Revision ID: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    name = sa.String(128).with_variant(sa.String(128, collation="C"), "postgresql")
    op.create_table(
        "score_matrices",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("collection_id", sa.Integer(), sa.ForeignKey("collections.id"), nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("direction", sa.String(8), nullable=False),
        sa.Column("low", sa.Float()),
        sa.Column("high", sa.Float()),
        sa.Column("missing", sa.String(32)),
        sa.Column("filled", sa.Integer(), nullable=False),
        sa.Column("dropped", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("runs", sa.JSON(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime()),
        sa.UniqueConstraint("collection_id", "name", "version"),
    )
