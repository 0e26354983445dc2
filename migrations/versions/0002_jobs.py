"""Jobs, and the chunks in which they are computed.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("run_ids", sa.JSON(), nullable=False),
        sa.Column("token_id", sa.String(length=36), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("result_sha256", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_jobs_collection_id"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_jobs_qrels_id"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_jobs_token_id"),
        sa.ForeignKeyConstraint(["result_sha256"], ["blobs.sha256"], name="fk_jobs_result_sha256"),
        sa.PrimaryKeyConstraint("number", name="pk_jobs"),
        sa.UniqueConstraint("id", name="uq_jobs_id"),
    )
    op.create_index("ix_jobs_collection_id", "jobs", ["collection_id"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_table(
        "job_chunks",
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("first_part", sa.Integer(), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("parts_done", sa.Integer(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("claim", sa.String(length=128), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("interruptions", sa.Integer(), nullable=False),
        sa.Column("found", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_job_chunks_job_number"),
        sa.PrimaryKeyConstraint("job_number", "position", name="pk_job_chunks"),
    )
