"""Stored reports: the jobs that each one needs, by collection. The jobs' states are in `jobs`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, exists, insert, select, update

from gainboard.store import jobs
from gainboard.store.damage import read_row
from gainboard.store.database import Transaction, insert_for
from gainboard.store.job_records import Chapter, StoredJob, StoredReport, derived_id
from gainboard.store.tables import collections, report_chapters, report_jobs
from gainboard.store.tables import reports as table


@dataclass(frozen=True, slots=True)
class NewChapter:
    """A chapter to be stored: `jobs` by key, each with whether it was queued for this report."""

    collection_id: int
    about: dict[str, Any]
    left_out: list[dict[str, str]]
    jobs: Mapping[str, tuple[StoredJob, bool]]


def find(tx: Transaction, identity: str) -> StoredReport | None:
    """Return the report with this id, unless one of its jobs is about a discarded draft."""
    return among(tx, [identity]).get(identity)


def among(tx: Transaction, identities: Container[str]) -> dict[str, StoredReport]:
    """Return those of the reports that exist, by id."""
    rows = tx.execute(select(table).where(table.c.id.in_(identities))).all()
    return {report.id: report for report in _records(tx, rows)}


def page(
    tx: Transaction, *, before: int | None, limit: int, collection_id: int | None = None, name: str | None = None
) -> list[StoredReport]:
    """Return reports whose collections are all live, newest first: about one collection or any, of one name or any."""
    chapter = report_chapters.c
    dead = collections.c.deleted_at.is_not(None)
    join = report_chapters.join(collections, collections.c.id == chapter.collection_id)
    query = select(table).where(~exists().select_from(join).where(chapter.report_number == table.c.number, dead))
    if collection_id is not None:
        about = (chapter.report_number == table.c.number) & (chapter.collection_id == collection_id)
        query = query.where(exists().where(about))
    if before is not None:
        query = query.where(table.c.number < before)
    if name is not None:
        query = query.where(table.c.name == name)
    return _records(tx, tx.execute(query.order_by(table.c.number.desc()).limit(limit)).all())


def _records(tx: Transaction, rows: Sequence[Row[Any]]) -> list[StoredReport]:
    numbers = [row.number for row in rows]
    needed = tx.execute(select(report_jobs).where(report_jobs.c.report_number.in_(numbers))).all()
    by_number = jobs.of_numbers(tx, {row.job_number for row in needed})
    keys: dict[tuple[int, int], dict[str, StoredJob]] = defaultdict(dict)
    for row in needed:
        if row.job_number in by_number:
            keys[row.report_number, row.position][row.key] = by_number[row.job_number]
    lost = {row.report_number for row in needed if row.job_number not in by_number}
    columns = report_chapters.c
    chapters: dict[int, list[Chapter]] = defaultdict(list)
    for row in tx.execute(select(report_chapters).where(columns.report_number.in_(numbers)).order_by(columns.position)):
        stored = {name: row._mapping[name] for name in ("collection_id", "about", "left_out")}
        of_chapter = keys.get((row.report_number, row.position), {})
        chapters[row.report_number].append(read_row(Chapter, stored, jobs=of_chapter))
    layouts = jobs.among(tx, {derived_id("layout", row.id) for row in rows})
    return [
        read_row(
            StoredReport,
            row._mapping,
            chapters=tuple(chapters[row.number]),
            layout=layouts.get(derived_id("layout", row.id)),
            damage=tuple(fault for chapter in chapters[row.number] for fault in chapter.damage),
        )
        for row in rows
        if row.number not in lost
    ]


def add(tx: Transaction, now: datetime, chapters: Sequence[NewChapter], **values: Any) -> tuple[StoredReport, bool]:
    """Return the report with this id, and whether this call started it: it is new, or had failed or been cancelled."""
    # Jobs are locked before reports, as at the end of a job. With different orders, two transactions could wait for
    # each other.
    numbers = {job.number for chapter in chapters for job, _ in chapter.jobs.values()}
    # This is the shared lock that the new rows below need anyway; the end of a job takes an exclusive one.
    jobs.lock(tx, numbers, keys_only=True)
    query = insert_for(tx)(table).values(**values, created_at=now).on_conflict_do_nothing(index_elements=["id"])
    number = tx.execute(query.returning(table.c.number)).scalar()
    is_begun = number is not None
    if number is None:
        report = tx.execute(select(table).where(table.c.id == values["id"])).one()
        number = report.number
        # Whoever asks for a report again wants what of it is missing, and not what others have asked for already.
        is_begun = (
            report.cancelled_at is not None
            or any(was_queued for chapter in chapters for _, was_queued in chapter.jobs.values())
            or any(
                layout.state in ("failed", "cancelled")
                for layout in jobs.among(tx, [derived_id("layout", report.id)]).values()
            )
        )
    else:
        rows = [
            {
                "report_number": number,
                "position": position,
                "collection_id": chapter.collection_id,
                "about": chapter.about,
                "left_out": chapter.left_out,
            }
            for position, chapter in enumerate(chapters)
        ]
        tx.execute(insert(report_chapters), rows)
    _add_jobs(tx, number, chapters)
    if is_begun:
        # the token that asks now may cancel it
        again = {"cancelled_at": None, "token_id": values["token_id"]}
        tx.execute(update(table).where(table.c.number == number).values(**again))
    return among(tx, [values["id"]])[values["id"]], is_begun


def _add_jobs(tx: Transaction, number: int, chapters: Sequence[NewChapter]) -> None:
    # Jobs that an earlier call queued for the report stay marked: its end may cancel them.
    kept = {
        (row.position, row.key): row.queued
        for row in tx.execute(select(report_jobs).where(report_jobs.c.report_number == number))
    }
    rows = [
        {"position": position, "key": key, "job_number": job.number, "queued": queued or kept.get((position, key))}
        for position, chapter in enumerate(chapters)
        for key, (job, queued) in chapter.jobs.items()
    ]
    tx.execute(delete(report_jobs).where(report_jobs.c.report_number == number))
    if rows:
        new = [{"report_number": number, **row, "queued": bool(row["queued"])} for row in rows]
        tx.execute(insert(report_jobs), new)


def cancel(tx: Transaction, report: StoredReport, now: datetime) -> None:
    """Cancel a report, and those of its jobs that a report queued and no other report waits for."""
    layout = {report.layout.number} if report.layout is not None else set()
    jobs.lock(tx, {job.number for job in report.jobs} | layout)
    tx.execute(update(table).where(table.c.number == report.number).values(cancelled_at=now))
    needed = report_jobs.c
    of_report = select(needed.job_number).where(needed.report_number == report.number)
    queued = select(needed.job_number).where(needed.job_number.in_(of_report), needed.queued)
    waiting = (table.c.number == needed.report_number) & table.c.cancelled_at.is_(None)
    elsewhere = select(needed.job_number).join(table, waiting).where(needed.job_number.in_(of_report))
    numbers = set(tx.execute(queued).scalars()) - set(tx.execute(elsewhere).scalars())
    jobs.cancel_numbers(tx, numbers | layout, now)


def remove(tx: Transaction, report: StoredReport) -> None:
    """Delete a report, and the job that lays it out. Its other jobs stay."""
    jobs.remove_reports(tx, [report.number])
    if report.layout is not None:
        jobs.remove(tx, report.layout)


def list_needing(tx: Transaction, job_number: int) -> list[StoredReport]:
    """Return the reports that need a job and are not cancelled.

    They are locked: if two jobs end at the same time, the later one sees that the earlier one has ended.
    """
    reports_of_job = select(report_jobs.c.report_number).where(report_jobs.c.job_number == job_number)
    waiting = select(table).where(table.c.number.in_(reports_of_job), table.c.cancelled_at.is_(None))
    return _records(tx, tx.execute(waiting.order_by(table.c.number).with_for_update()).all())
