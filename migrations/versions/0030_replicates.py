"""Replicates: the system of a run, and what tells the run from the system's other runs.

A run without a system is the only one of its own, as all are that were stored before.

Revision ID: 0030
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

NAME = sa.String(128).with_variant(sa.String(128, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("runs", sa.Column("system", NAME, nullable=True))
    op.add_column("runs", sa.Column("replicate", NAME, nullable=True))
    op.create_index("ix_runs_system", "runs", ["collection_id", "system"])
