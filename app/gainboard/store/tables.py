"""The schema. Tables never leave the store: its functions take and return records.

Every change here needs a migration; a test compares the result of the migrations with these tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Name = String(128).with_variant(String(128, collation="C"), "postgresql")
"""Names sort in byte order on every database; SQLite's default collation does so already."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored value that is no JSON, or no time. No type of a record allows it (`damage`)."""

    stored: Any

    def __repr__(self) -> str:
        return str(self.stored)


def read_json(text: str) -> Any:
    """Return the value of a JSON column, as every engine reads it: text that is no JSON is Unreadable."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return Unreadable(text)


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC. It is stored without its zone, which SQLite would lose anyway."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC).replace(tzinfo=None) if value is not None else None

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Return the function that reads a time. A text of SQLite that is no time is Unreadable."""
        read = super().result_processor(dialect, coltype)

        def read_time(value: Any) -> Any:
            try:
                return read(value) if read is not None else value
            except (TypeError, ValueError):
                return Unreadable(value)

        return read_time


collections = Table(
    "collections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", Name, nullable=False),
    Column("title", Text, nullable=False),
    Column("level_names", JSON),  # lowest first; null if only their number was given
    Column("highest_level", Integer, nullable=False),
    Column("gains", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("order_by", String(16), nullable=False),
    Column("topics", JSON),
    Column("metrics", JSON),
    Column("phase", String(16), nullable=False),
    Column("public", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),  # increases with every change that can alter an answer
    Column("created_at", UtcTime, nullable=False),
    Column("deleted_at", UtcTime),
    Column("opens_at", UtcTime),
    Column("closes_at", UtcTime),
    Column("releases_at", UtcTime),
    Column("policy", JSON),  # values that differ from the safe defaults
    Column("released_at", UtcTime),  # the first release after a hidden phase; null: none, or by `releases_at` alone
    Column("intents", Boolean, nullable=False, server_default=false()),  # documents are judged for intents of a topic
    Column("ignore_identical_ids", Boolean, nullable=False, server_default=false()),
    Column("kind", String(16), nullable=False, server_default="judged"),
    Column("sample_of", Text),  # what the topics are a sample of; null: nothing is said
    Column("queries", JSON),  # texts by topic; no part of the record, because most requests need none
    # Deleted collections keep their rows, and their names may be used again.
    Index(
        "uq_collections_live_name",
        "name",
        unique=True,
        sqlite_where=text("deleted_at IS NULL"),
        postgresql_where=text("deleted_at IS NULL"),
    ),
)

topic_groups = Table(
    "topic_groups",
    metadata,
    Column("collection_id", ForeignKey("collections.id"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("topics", JSON, nullable=False),  # in byte order
)

score_matrices = Table(  # a version never changes, so jobs may refer to it
    "score_matrices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("name", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("direction", String(8), nullable=False),
    Column("low", Float),
    Column("high", Float),
    Column("missing", String(32)),  # what the uploader said of missing cells
    Column("filled", Integer, nullable=False),
    Column("dropped", JSON, nullable=False),
    Column("sha256", String(64), nullable=False),  # of the file
    Column("runs", JSON, nullable=False),
    Column("topics", JSON, nullable=False),
    Column("scores", LargeBinary, nullable=False),  # runs x topics, packed
    Column("verdicts", LargeBinary),  # what the scores of answers follow from, compressed JSON; null for all others
    Column("created_at", UtcTime, nullable=False),
    Column("deleted_at", UtcTime),
    UniqueConstraint("collection_id", "name", "version"),
)

nuggets = Table(  # versions of the facts that good answers to topics have
    "nuggets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),  # the file, compressed
    Column("topics", Integer, nullable=False),
    Column("nuggets", Integer, nullable=False),
    Column("strays", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("published_at", UtcTime),  # null: a draft
    Column("discarded_at", UtcTime),  # for drafts; the row stays, because its number is not used again
    UniqueConstraint("collection_id", "version"),
)

teams = Table(
    "teams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("name", Name, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    UniqueConstraint("collection_id", "name"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("collection_id", ForeignKey("collections.id"), index=True),  # null: organiser of the instance
    Column("team_id", ForeignKey("teams.id")),
    Column("origin", String(16), nullable=False),  # "environment", "first-start" or "created"
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    Column("holder", Text),  # a note of the organisers
    Column("last_used_at", UtcTime),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),  # the hash of the secret in the cookie
    Column("token_hash", String(64), nullable=False, index=True),  # a rotated token has another: its sessions end
    Column("began_at", UtcTime, nullable=False),
    Column("used_at", UtcTime, nullable=False),
)

blobs = Table(
    "blobs",
    metadata,
    Column("sha256", String(64), primary_key=True),  # of the content before compression
    Column("size", BigInteger, nullable=False),
    Column("object_name", ForeignKey("objects.name"), index=True),  # null: the content is in `blob_parts`, or deleted
)

objects = Table(  # every object that was, or was to be, written outside of the database
    "objects", metadata, Column("name", String(128), primary_key=True), Column("created_at", UtcTime, nullable=False)
)

blob_parts = Table(
    "blob_parts",
    metadata,
    Column("sha256", ForeignKey("blobs.sha256", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

judgment_sets = Table(  # sets of judgments beside the official one
    "judgment_sets",
    metadata,
    Column("collection_id", ForeignKey("collections.id"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
    Column("released_at", UtcTime),  # null: only organisers see it
)

qrels = Table(
    "qrels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("serial", Integer, nullable=False),  # among the versions of all sets of the collection
    Column("sha256", ForeignKey("blobs.sha256"), nullable=False),
    Column("columns", String(32), nullable=False),
    Column("topics", Integer, nullable=False),
    Column("judged", Integer, nullable=False),
    Column("relevant", Integer, nullable=False),
    Column("per_level", JSON, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("counts", LargeBinary, nullable=False),  # topics, and judged documents by level, packed
    Column("created_at", UtcTime, nullable=False),
    Column("published_at", UtcTime),  # null: a draft, which is not in use
    Column("discarded_at", UtcTime),  # for drafts; the row stays, because neither its id nor its number is used again
    Column("order_by", String(16), nullable=False, server_default="score"),  # of the runs that are joined with it
    Column("judgments", Name, nullable=False, server_default="official"),  # the name of a set
    Column("version", Integer, nullable=False, server_default="0"),  # among the versions of its set, from 1
    Column("ignore_identical_ids", Boolean, nullable=False, server_default=false()),  # part of that order
    UniqueConstraint("collection_id", "serial", name="uq_qrels_collection_id_version"),  # named before sets came
    Index("uq_qrels_version", "collection_id", "judgments", "version", unique=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("team_id", ForeignKey("teams.id"), nullable=False),
    Column("name", Name, nullable=False),
    Column("tag", Text, nullable=False),
    Column("description", Text),
    Column("type", Text),
    Column("pooled", Boolean, nullable=False),
    Column("sha256", ForeignKey("blobs.sha256"), nullable=False),
    Column("topics", LargeBinary, nullable=False),  # names of its topics, packed
    Column("topic_count", Integer, nullable=False),
    Column("retrieved", Integer, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("withdrawn_at", UtcTime),
    Column("pruned_at", UtcTime),  # when the content of the withdrawn run was deleted
    Column("priority", Integer),  # among the runs of its team, from 1
    Column("system", Name),  # of which it is a replicate; null: of its own, called like it
    Column("replicate", Name),
    Index("ix_runs_system", "collection_id", "system"),
    Column("family", String(128)),  # of the models that it uses, which a judge may favour
    # Withdrawn runs keep their rows, and their names may be used again.
    Index(
        "uq_runs_live_name",
        "collection_id",
        "name",
        unique=True,
        sqlite_where=text("withdrawn_at IS NULL"),
        postgresql_where=text("withdrawn_at IS NULL"),
    ),
)

run_metadata = Table(  # the file of ir_metadata that came beside a run
    "run_metadata",
    metadata,
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
)

judged_runs = Table(
    "judged_runs",
    metadata,
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("qrels_id", ForeignKey("qrels.id"), primary_key=True),
    Column("rankings", LargeBinary, nullable=False),  # ranks and levels of the judged retrieved documents
    Column("retrieval_scores", LargeBinary, nullable=False),  # separate, because only ADM reads them
    Column("retrieved", Integer, nullable=False),
    Column("unjudged", Integer, nullable=False),
    Column("topics_missing", Integer, nullable=False),
    Column("topics_unknown", Integer, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal", String(64), primary_key=True),
    Column("route", String(256), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("status", Integer),  # null while the first request is under way
    Column("headers", JSON),
    Column("body", LargeBinary),
    Column("created_at", UtcTime, nullable=False),
    Column("process", String(32)),  # the process that answers the request; null in rows of 0.2
)

answers = Table(  # scores that a team has received while scores are rationed; each is counted once
    "answers",
    metadata,
    Column("team_id", ForeignKey("teams.id"), primary_key=True),
    Column("label", String(1024), primary_key=True),
    Column("qrels_id", ForeignKey("qrels.id"), primary_key=True),
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("created_at", UtcTime, nullable=False),
)

uploads = Table(  # uploads under way
    "uploads",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("team_id", ForeignKey("teams.id"), nullable=False, index=True),
    Column("process", String(32), nullable=False),  # the process that receives the file
)

releases = Table(  # a row never changes
    "releases",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("doi", Text),
    Column("corrects", Integer),  # the number of the release that this one corrects
    Column("citation", Text, nullable=False),
    Column("sha256", ForeignKey("blobs.sha256"), nullable=False),  # of the document with all that was frozen
    Column("evidence_sha256", ForeignKey("blobs.sha256")),  # of the log of the instance that made it; null: this one
    Column("created_at", UtcTime, nullable=False),
    UniqueConstraint("collection_id", "number"),
)

release_runs = Table(  # the runs that a release holds
    "release_runs",
    metadata,
    Column("release_id", ForeignKey("releases.id"), primary_key=True),
    Column("run_id", ForeignKey("runs.id"), primary_key=True, index=True),
)

release_qrels = Table(  # the versions that a release holds
    "release_qrels",
    metadata,
    Column("release_id", ForeignKey("releases.id"), primary_key=True),
    Column("qrels_id", ForeignKey("qrels.id"), primary_key=True, index=True),
)

release_matrices = Table(  # the score matrices that a release holds
    "release_matrices",
    metadata,
    Column("release_id", ForeignKey("releases.id"), primary_key=True),
    Column("matrix_id", ForeignKey("score_matrices.id"), primary_key=True, index=True),
)

audit = Table(  # triggers refuse to change or to delete rows
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), index=True),  # null: about the instance
    Column("at", String(32), nullable=False),  # as it was hashed
    Column("token_id", ForeignKey("tokens.id")),
    Column("role", String(16), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("details", Text, nullable=False),  # JSON, as it was hashed
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True),  # in the order of their first request
    Column("id", String(64), nullable=False, unique=True),  # SHA-256 of everything that the result depends on
    Column("collection_id", ForeignKey("collections.id"), nullable=False, index=True),
    Column("kind", String(64), nullable=False),
    Column("params", JSON, nullable=False),
    Column("qrels_id", ForeignKey("qrels.id")),  # null: a job about runs alone
    Column("run_ids", JSON, nullable=False),
    Column("token_id", ForeignKey("tokens.id")),  # the token that asked for it
    Column("state", String(16), nullable=False, index=True),
    Column("parts", Integer, nullable=False),
    Column("engine_version", Integer),  # of the code that computes it; null where files are made from a result
    Column("error", Text),
    Column("result_sha256", ForeignKey("blobs.sha256")),
    Column("exhibits", JSON),  # names of the result's tables and figures; null without a result
    Column("origin", String(16), nullable=False, server_default="computed"),  # of the result
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
)

job_chunks = Table(
    "job_chunks",
    metadata,
    Column("job_number", ForeignKey("jobs.number"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("first_part", Integer, nullable=False),
    Column("parts", Integer, nullable=False),
    Column("parts_done", Integer, nullable=False),
    Column("done", Boolean, nullable=False),
    Column("claim", String(128)),  # the process that works on it, and what tells attempts apart; or null
    Column("attempts", Integer, nullable=False),
    Column("interruptions", Integer, nullable=False),
    Column("found", LargeBinary),
)

job_qrels = Table(  # the qrels versions that a job compares with its own
    "job_qrels",
    metadata,
    Column("job_number", ForeignKey("jobs.number", ondelete="CASCADE"), primary_key=True),
    Column("qrels_id", ForeignKey("qrels.id"), primary_key=True, index=True),
)

job_files = Table(  # the exhibits of a result: its tables and figures in each form
    "job_files",
    metadata,
    Column("job_number", ForeignKey("jobs.number", ondelete="CASCADE"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("sha256", String(64), nullable=False),  # of the content, which is stored as gzip
    Column("size", BigInteger, nullable=False),  # in bytes, compressed
)

job_file_parts = Table(  # parts written before their file is complete; large ones each have a transaction of their own
    "job_file_parts",
    metadata,
    Column("job_number", ForeignKey("jobs.number", ondelete="CASCADE"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

processes = Table(  # the processes that live
    "processes",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("release", String(64), nullable=False),
    Column("slots", Integer, nullable=False),  # in which it may run jobs
    Column("started_at", UtcTime, nullable=False),  # both times are of the database's clock
    Column("leased_until", UtcTime, nullable=False),
)

reports = Table(
    "reports",
    metadata,
    Column("number", Integer, primary_key=True),  # in the order of their first request
    Column("id", String(64), nullable=False, unique=True),  # SHA-256 of everything that it depends on
    Column("name", String(64), nullable=False),
    Column("params", JSON, nullable=False),
    Column("token_id", ForeignKey("tokens.id")),  # the token that asked for it
    Column("created_at", UtcTime, nullable=False),
    Column("cancelled_at", UtcTime),
)

report_chapters = Table(  # a report's part about one collection
    "report_chapters",
    metadata,
    Column("report_number", ForeignKey("reports.number"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("collection_id", ForeignKey("collections.id"), nullable=False, index=True),
    Column("about", JSON, nullable=False),
    Column("left_out", JSON, nullable=False),
)

report_jobs = Table(
    "report_jobs",
    metadata,
    Column("report_number", ForeignKey("reports.number"), primary_key=True),
    Column("position", Integer, primary_key=True),  # of the chapter
    Column("key", String(64), primary_key=True),
    Column("job_number", ForeignKey("jobs.number"), nullable=False, index=True),
    Column("queued", Boolean, nullable=False),  # queued by this report; false if it existed before
)
