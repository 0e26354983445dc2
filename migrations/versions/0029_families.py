"""The family of the models that a run was built with.

Revision ID: 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("family", sa.String(128), nullable=True))
