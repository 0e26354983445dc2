"""Policies with times, budgets and quotas; drafts of qrels; who holds a token; the audit log.

Revision ID: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEEP = {
    "sqlite": (
        "CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
        "CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
        # INSERT OR REPLACE deletes what it replaces without asking the trigger above.
        "CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit "
        "WHEN EXISTS (SELECT 1 FROM audit WHERE number >= NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
        "CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()",
    ),
}


def upgrade() -> None:
    for name in ("opens_at", "closes_at", "releases_at"):
        op.add_column("collections", sa.Column(name, sa.DateTime(), nullable=True))
    op.add_column("collections", sa.Column("policy", sa.JSON(), nullable=True))
    op.add_column("tokens", sa.Column("holder", sa.Text(), nullable=True))
    op.add_column("tokens", sa.Column("last_used_at", sa.DateTime(), nullable=True))
    op.add_column("qrels", sa.Column("published_at", sa.DateTime(), nullable=True))
    op.execute("UPDATE qrels SET published_at = created_at")
    _create_answers()
    _create_uploads()
    _create_audit()


def _create_answers() -> None:
    op.create_table(
        "answers",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=1024), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_answers_team_id"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_answers_qrels_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_answers_run_id"),
        sa.PrimaryKeyConstraint("team_id", "label", "qrels_id", "run_id", name="pk_answers"),
    )


def _create_uploads() -> None:
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_uploads_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
    )
    op.create_index("ix_uploads_team_id", "uploads", ["team_id"])


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("token_id", sa.String(length=36), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_audit_collection_id"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_audit_token_id"),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_collection_id", "audit", ["collection_id"])
    for statement in KEEP[op.get_bind().dialect.name]:
        op.execute(statement)
