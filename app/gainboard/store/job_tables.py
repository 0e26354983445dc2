"""The schema of work outside of requests: jobs, and the reports that lay out their results."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, String, Table, Text

from gainboard.store.tables import UtcTime, metadata

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
    Column(
        "claim", String(128)
    ),  # the owner and process that work on it, with the number of the attempt; null while there is none
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

workers = Table(  # the workers of a fleet; whether one lives is known from its heartbeat (`fleet`)
    "workers",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("release", String(64), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("started_at", UtcTime, nullable=False),
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
