"""The whole schema: what the migrations 0001 to 0018 gave together, before anything was released.

Its tables, columns and constraints are those of `tests/operations/recorded/0018.sql`, to the letter: backups are
compared with them.

Revision ID: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = None
branch_labels = None
depends_on = None

# Names sort in byte order on every database.
NAME = sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql")

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
    _create_collections()
    _create_judgments_and_runs()
    _create_work()
    _create_audit()


def _create_collections() -> None:
    op.create_table(
        "objects",
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_objects"),
    )
    op.create_table(
        "blobs",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blobs"),
    )
    # A constraint of the column itself, without a name of ours.
    op.execute("ALTER TABLE blobs ADD COLUMN object_name VARCHAR(128) REFERENCES objects (name)")
    op.create_index("ix_blobs_object_name", "blobs", ["object_name"])
    op.create_table(
        "blob_parts",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", "position", name="pk_blob_parts"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_blob_parts_sha256", ondelete="CASCADE"),
    )
    op.create_table(
        "collections",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("level_names", sa.JSON(), nullable=True),
        sa.Column("highest_level", sa.Integer(), nullable=False),
        sa.Column("gains", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("order_by", sa.String(16), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=True),
        sa.Column("phase", sa.String(16), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
        sa.Column("opens_at", sa.DateTime(), nullable=True),
        sa.Column("closes_at", sa.DateTime(), nullable=True),
        sa.Column("releases_at", sa.DateTime(), nullable=True),
        sa.Column("policy", sa.JSON(), nullable=True),
        sa.Column("released_at", sa.DateTime(), nullable=True),
        sa.Column("intents", sa.Boolean(), nullable=False, server_default=sa.false()),
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
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_teams_collection_id"),
        sa.UniqueConstraint("collection_id", "name", name="uq_teams_collection_id_name"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=True),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("last_used_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_tokens_collection_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_tokens_team_id"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index("ix_tokens_collection_id", "tokens", ["collection_id"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("began_at", sa.DateTime(), nullable=False),
        sa.Column("used_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_token_hash", "sessions", ["token_hash"])
    op.create_table(
        "topic_groups",
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "name", name="pk_topic_groups"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_topic_groups_collection_id"),
    )
    op.create_table(
        "score_matrices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("direction", sa.String(8), nullable=False),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("missing", sa.String(32), nullable=True),
        sa.Column("filled", sa.Integer(), nullable=False),
        sa.Column("dropped", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("runs", sa.JSON(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_score_matrices"),
        sa.UniqueConstraint("collection_id", "name", "version", name="uq_score_matrices_collection_id_name_version"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_score_matrices_collection_id"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("principal", sa.String(64), nullable=False),
        sa.Column("route", sa.String(256), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("principal", "route", "key", name="pk_idempotency_keys"),
    )


def _create_judgments_and_runs() -> None:
    op.create_table(
        "judgment_sets",
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("released_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("collection_id", "name", name="pk_judgment_sets"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_judgment_sets_collection_id"),
    )
    op.create_table(
        "qrels",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("serial", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("columns", sa.String(32), nullable=False),
        sa.Column("topics", sa.Integer(), nullable=False),
        sa.Column("judged", sa.Integer(), nullable=False),
        sa.Column("relevant", sa.Integer(), nullable=False),
        sa.Column("per_level", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("published_at", sa.DateTime(), nullable=True),
        sa.Column("discarded_at", sa.DateTime(), nullable=True),
        sa.Column("order_by", sa.String(16), nullable=False, server_default="score"),
        sa.Column("judgments", NAME, nullable=False, server_default="official"),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_qrels"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_qrels_collection_id"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_qrels_sha256"),
        sa.UniqueConstraint("collection_id", "serial", name="uq_qrels_collection_id_version"),
    )
    op.create_index("uq_qrels_version", "qrels", ["collection_id", "judgments", "version"], unique=True)
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
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("topics", sa.LargeBinary(), nullable=False),
        sa.Column("topic_count", sa.Integer(), nullable=False),
        sa.Column("retrieved", sa.Integer(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(), nullable=True),
        sa.Column("pruned_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_runs_collection_id"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_runs_sha256"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_runs_team_id"),
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
        "judged_runs",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("rankings", sa.LargeBinary(), nullable=False),
        sa.Column("retrieval_scores", sa.LargeBinary(), nullable=False),
        sa.Column("retrieved", sa.Integer(), nullable=False),
        sa.Column("unjudged", sa.Integer(), nullable=False),
        sa.Column("topics_missing", sa.Integer(), nullable=False),
        sa.Column("topics_unknown", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "qrels_id", name="pk_judged_runs"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_judged_runs_qrels_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_judged_runs_run_id"),
    )
    op.create_table(
        "answers",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(1024), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("team_id", "label", "qrels_id", "run_id", name="pk_answers"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_answers_team_id"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_answers_qrels_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_answers_run_id"),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("leased_until", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_uploads_team_id"),
    )
    op.create_index("ix_uploads_team_id", "uploads", ["team_id"])


def _create_work() -> None:
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.Column("run_ids", sa.JSON(), nullable=False),
        sa.Column("token_id", sa.String(36), nullable=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("result_sha256", sa.String(64), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("engine_version", sa.Integer(), nullable=True),
        sa.Column("exhibits", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_jobs"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_jobs_collection_id"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_jobs_qrels_id"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_jobs_token_id"),
        sa.ForeignKeyConstraint(["result_sha256"], ["blobs.sha256"], name="fk_jobs_result_sha256"),
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
        sa.Column("claim", sa.String(128), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("interruptions", sa.Integer(), nullable=False),
        sa.Column("found", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("job_number", "position", name="pk_job_chunks"),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_job_chunks_job_number"),
    )
    op.create_table(
        "job_qrels",
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("qrels_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("job_number", "qrels_id", name="pk_job_qrels"),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_job_qrels_job_number", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name="fk_job_qrels_qrels_id"),
    )
    op.create_index("ix_job_qrels_qrels_id", "job_qrels", ["qrels_id"])
    op.create_table(
        "job_files",
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_number", "path", name="pk_job_files"),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_job_files_job_number", ondelete="CASCADE"),
    )
    op.create_table(
        "job_file_parts",
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("job_number", "path", "position", name="pk_job_file_parts"),
        sa.ForeignKeyConstraint(
            ["job_number"], ["jobs.number"], name="fk_job_file_parts_job_number", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("release", sa.String(64), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
    op.create_table(
        "reports",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("token_id", sa.String(36), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("cancelled_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_reports"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_reports_token_id"),
        sa.UniqueConstraint("id", name="uq_reports_id"),
    )
    op.create_table(
        "report_chapters",
        sa.Column("report_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("left_out", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("report_number", "position", name="pk_report_chapters"),
        sa.ForeignKeyConstraint(["report_number"], ["reports.number"], name="fk_report_chapters_report_number"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_report_chapters_collection_id"),
    )
    op.create_index("ix_report_chapters_collection_id", "report_chapters", ["collection_id"])
    op.create_table(
        "report_jobs",
        sa.Column("report_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("job_number", sa.Integer(), nullable=False),
        sa.Column("queued", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("report_number", "position", "key", name="pk_report_jobs"),
        sa.ForeignKeyConstraint(["report_number"], ["reports.number"], name="fk_report_jobs_report_number"),
        sa.ForeignKeyConstraint(["job_number"], ["jobs.number"], name="fk_report_jobs_job_number"),
    )
    op.create_index("ix_report_jobs_job_number", "report_jobs", ["job_number"])


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("collection_id", sa.Integer(), nullable=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("token_id", sa.String(36), nullable=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name="fk_audit_collection_id"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_audit_token_id"),
    )
    op.create_index("ix_audit_collection_id", "audit", ["collection_id"])
    for statement in KEEP[op.get_bind().dialect.name]:
        op.execute(statement)
