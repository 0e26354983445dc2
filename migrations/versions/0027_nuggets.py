"""Nuggets, and what judges say of the answers of runs.

Revision ID: 0027
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

NAME = sa.String(128).with_variant(sa.String(128, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "nuggets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("topics", sa.Integer(), nullable=False),
        sa.Column("nuggets", sa.Integer(), nullable=False),
        sa.Column("strays", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("published_at", sa.DateTime(), nullable=True),
        sa.Column("discarded_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_nuggets"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_nuggets_collection_id"),
        sa.UniqueConstraint("collection_id", "version", name="uq_nuggets_collection_id_version"),
    )
    op.create_table(
        "verdicts",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("judge", NAME, nullable=False),
        sa.Column("nuggets_id", sa.Integer(), nullable=True),
        sa.Column("assigned", sa.JSON(), nullable=False),
        sa.Column("support", sa.JSON(), nullable=False),
        sa.Column("sample", sa.Boolean(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "judge", name="pk_verdicts"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_verdicts_run_id"),
        sa.ForeignKeyConstraint(["nuggets_id"], ["nuggets.id"], name="fk_verdicts_nuggets_id"),
    )
