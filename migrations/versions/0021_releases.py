"""Releases of collections, and what each of them holds.

Revision ID: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("doi", sa.Text(), nullable=True),
        sa.Column("corrects", sa.Integer(), nullable=True),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("evidence_sha256", sa.String(64), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_releases_collection_id"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_releases_sha256"),
        sa.ForeignKeyConstraint(["evidence_sha256"], ["blobs.sha256"], name="fk_releases_evidence_sha256"),
        sa.PrimaryKeyConstraint("id", name="pk_releases"),
        sa.UniqueConstraint("collection_id", "number", name="uq_releases_collection_id_number"),
    )
    for held, table in (("run", "runs"), ("qrels", "qrels")):
        op.create_table(
            f"release_{table}",
            sa.Column("release_id", sa.Integer(), nullable=False),
            sa.Column(f"{held}_id", sa.Integer(), nullable=False),
            sa.ForeignKeyConstraint(["release_id"], ["releases.id"], name=f"fk_release_{table}_release_id"),
            sa.ForeignKeyConstraint([f"{held}_id"], [f"{table}.id"], name=f"fk_release_{table}_{held}_id"),
            sa.PrimaryKeyConstraint("release_id", f"{held}_id", name=f"pk_release_{table}"),
        )
        op.create_index(f"ix_release_{table}_{held}_id", f"release_{table}", [f"{held}_id"])
