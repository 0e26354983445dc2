"""Collections of scores that were computed elsewhere, and what topics are a sample of.

Revision ID: 0026
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("kind", sa.String(16), nullable=False, server_default="judged"))
    op.add_column("collections", sa.Column("sample_of", sa.Text))
