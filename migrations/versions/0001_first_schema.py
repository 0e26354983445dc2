"""The first schema: collections, teams, tokens, qrels versions, runs and their judged rankings.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Names sort in byte order on every database.
NAME = sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blobs"),
    )
    op.create_table(
        "collections",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("level_names", sa.JSON(), nullable=True),
        sa.Column("highest_level", sa.Integer(), nullable=False),
        sa.Column("gains", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("order_by", sa.String(length=16), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=True),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_collections"),
        sa.UniqueConstraint("uuid", name="uq_collections_uuid"),
    )
    op.create_index(
        "uq_collections_live_name",
        "collections",
        ["name"],
        unique=True,
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("principal", sa.String(length=64), nullable=False),
        sa.Column("route", sa.String(length=256), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("principal", "route", "key", name="pk_idempotency_keys"),
    )
    op.create_table(
        "blob_parts",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_blob_parts_sha256", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("sha256", "position", name="pk_blob_parts"),
    )
    op.create_table(
        "qrels",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("columns", sa.String(length=32), nullable=False),
        sa.Column("topics", sa.Integer(), nullable=False),
        sa.Column("judged", sa.Integer(), nullable=False),
        sa.Column("relevant", sa.Integer(), nullable=False),
        sa.Column("per_level", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_qrels_collection_id"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_qrels_sha256"),
        sa.PrimaryKeyConstraint("id", name="pk_qrels"),
        sa.UniqueConstraint("collection_id", "version", name="uq_qrels_collection_id_version"),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_teams_collection_id"),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("collection_id", "name", name="uq_teams_collection_id_name"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("pooled", sa.Boolean(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("topics", sa.LargeBinary(), nullable=False),
        sa.Column("topic_count", sa.Integer(), nullable=False),
        sa.Column("retrieved", sa.Integer(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_runs_collection_id"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_runs_sha256"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_runs_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index(
        "uq_runs_live_name",
        "runs",
        ["collection_id", "name"],
        unique=True,
        sqlite_where=sa.text("withdrawn_at IS NULL"),
        postgresql_where=sa.text("withdrawn_at IS NULL"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=True),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_tokens_collection_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_tokens_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index("ix_tokens_collection_id", "tokens", ["collection_id"], unique=False)
    op.create_table(
        "judged_runs",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("rankings", sa.LargeBinary(), nullable=False),
        sa.Column("retrieval_scores", sa.LargeBinary(), nullable=False),
        sa.Column("retrieved", sa.Integer(), nullable=False),
        sa.Column("unjudged", sa.Integer(), nullable=False),
        sa.Column("topics_missing", sa.Integer(), nullable=False),
        sa.Column("topics_unknown", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_judged_runs_qrels_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_judged_runs_run_id"),
        sa.PrimaryKeyConstraint("run_id", "qrels_id", name="pk_judged_runs"),
    )
