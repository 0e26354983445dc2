"""Reports: for each of their collections, the jobs whose results they lay out.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reports",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("token_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("cancelled_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_reports_token_id"),
        sa.PrimaryKeyConstraint("number", name="pk_reports"),
        sa.UniqueConstraint("id", name="uq_reports_id"),
    )
    op.create_table(
        "report_chapters",
        sa.Column("report_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("left_out", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["report_number"], ["reports.number"], name="fk_report_chapters_report_number"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_report_chapters_collection_id"),
        sa.PrimaryKeyConstraint("report_number", "position", name="pk_report_chapters"),
    )
    op.create_index("ix_report_chapters_collection_id", "report_chapters", ["collection_id"])
    op.create_table(
        "report_jobs",
        sa.Column("report_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("queued", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["report_number"], ["reports.number"], name="fk_report_jobs_report_number"),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_report_jobs_job_number"),
        sa.PrimaryKeyConstraint("report_number", "position", "key", name="pk_report_jobs"),
    )
    op.create_index("ix_report_jobs_job_number", "report_jobs", ["job_number"])
