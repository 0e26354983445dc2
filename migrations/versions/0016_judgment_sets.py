"""Sets of judgments beside the official one.

Revision ID: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# Names sort in byte order on every database.
NAME = sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "judgment_sets",
        sa.Column("collection_id", sa.Integer(), sa.ForeignKey("collections.id"), primary_key=True),
        sa.Column("name", NAME, primary_key=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("released_at", sa.DateTime()),
    )
    # The old numbers are unique in the collection, by a constraint that SQLite cannot change. New ones are per set.
    op.execute("ALTER TABLE qrels RENAME COLUMN version TO serial")
    op.add_column("qrels", sa.Column("judgments", NAME, nullable=False, server_default="official"))
    op.add_column("qrels", sa.Column("version", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE qrels SET version = serial")
    op.create_index("uq_qrels_version", "qrels", ["collection_id", "judgments", "version"], unique=True)
    op.create_table(
        "job_qrels",
        sa.Column("job_number", sa.Integer(), sa.ForeignKey("jobs.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("qrels_id", sa.Integer(), sa.ForeignKey("qrels.id"), primary_key=True),
    )
    op.create_index("ix_job_qrels_qrels_id", "job_qrels", ["qrels_id"])
