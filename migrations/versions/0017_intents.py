"""Collections whose documents are judged for the intents of a topic.

Revision ID: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("intents", sa.Boolean(), nullable=False, server_default=sa.false()))
