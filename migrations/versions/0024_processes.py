"""The register of living processes, which uploads and idempotency keys under way name.

Revision ID: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "processes",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("release", sa.String(64), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("leased_until", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_processes"),
    )
    # Whoever had a row here has ended, or has another version and must end.
    op.drop_table("workers")
    op.drop_table("uploads")
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("process", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_uploads_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
    )
    op.create_index("ix_uploads_team_id", "uploads", ["team_id"])
    op.add_column("idempotency_keys", sa.Column("process", sa.String(32)))
