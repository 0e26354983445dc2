"""A job records the version of the code that computes it, and the tables and figures of its result.

Revision ID: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("engine_version", sa.Integer(), nullable=True))
    op.add_column("jobs", sa.Column("exhibits", sa.JSON(), nullable=True))
