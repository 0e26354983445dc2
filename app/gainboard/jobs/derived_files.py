"""Files that are derived from results, by jobs that nobody asks for and nobody sees.

`layout` lays out a report as soon as its jobs have succeeded; it is the last part of the report. `figures` draws the
figures of a job or report when somebody first asks for one: most figures are never looked at, and drawing takes longer
than many jobs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import to_json

from gainboard.errors import JobNotFinished, NoResult, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits.latex import as_latex
from gainboard.jobs.files import FileWriter
from gainboard.jobs.report_assembly import answer_as_json, lay_out, names_of_answer
from gainboard.jobs.results import read_back, require_current, write_figures, write_tables
from gainboard.store import blobs, claims, jobs, reports
from gainboard.store.database import Transaction
from gainboard.store.job_records import Claim, StoredJob, StoredReport, StoredWork, derived_id
from gainboard.trec.bodies import compress
from gainboard.vocabulary import DerivedKind

REPORT_LATEX = "result.tex"
"""The file with all tables of a report."""
BETWEEN_TABLES = "\n\\clearpage\n"
r"""LaTeX keeps only a limited number of tables waiting for a page; more need a \clearpage."""
_MINUTES = 10
TRIED_AGAIN_AFTER = timedelta(minutes=_MINUTES)


def enqueue_derived_files(tx: Transaction, now: datetime, files: DerivedKind, work: StoredWork) -> StoredJob:
    """Return the job that makes files from the result of a job or report.

    It is queued unless it exists, or again if it has failed.
    """
    # A job is about one collection and version. Of a report, those of its first job stand for all.
    main = work if isinstance(work, StoredJob) else work.jobs[0]
    subject = {"job": work.id} if isinstance(work, StoredJob) else {"report": work.id}
    about: dict[str, Any] = {"collection_id": main.collection_id, "qrels_id": main.qrels_id}
    about |= {"run_ids": [], "token_id": None}
    return jobs.add(tx, now, [1], id=derived_id(files, work.id), kind=files, params=subject, **about)[0]


def enqueue_layouts(tx: Transaction, now: datetime, job_number: int) -> None:
    """Queue the layout of those reports whose last job has just succeeded: the job with this number."""
    for report in reports.list_needing(tx, job_number):
        if all(job.state == "succeeded" for job in report.jobs):
            enqueue_derived_files(tx, now, "layout", report)


def ask_for_derived_files(workspace: Workspace, files: DerivedKind, work: StoredWork) -> StoredJob:
    """Return the job that makes, or made, these files of a job or report; it is queued if it does not exist.

    What has failed is not tried again for a while: otherwise every reader would start it again in vain.
    Raise ResultOutdated if it would have to read a result of another version.
    """
    identity, now = derived_id(files, work.id), workspace.now()
    with workspace.database.reading() as tx:
        making = jobs.among(tx, [identity]).get(identity)
    if making is not None and making.state != "cancelled":
        is_long_ago = making.finished_at is not None and now - making.finished_at > TRIED_AGAIN_AFTER
        if making.state != "failed" or not is_long_ago:
            return making
    require_current(work)
    with workspace.database.writing() as tx:
        return enqueue_derived_files(tx, now, files, work)


def require_done(making: StoredJob) -> StoredJob:
    """Return the job. Raise JobNotFinished or NoResult unless it is done."""
    if making.state == "succeeded":
        return making
    if not making.is_over:
        raise JobNotFinished("The tables and figures are being made. Ask again in a few seconds.")
    why = (making.error or "the work was cancelled").removesuffix(".")
    raise NoResult(f"The tables and figures could not be made: {why}. They are tried again after {_MINUTES} minutes.")


@dataclass(frozen=True)
class _Made:
    """The names of exhibits, and a result as JSON, that were made besides files."""

    exhibits: Mapping[str, Sequence[Mapping[str, Any]]]
    result: bytes | None = None


def make_derived_files(workspace: Workspace, claim: Claim, making: StoredJob) -> None:
    """Make the files that a worker has claimed, and end their job. Raise ClaimLost or ResultOutdated."""
    writer = FileWriter(workspace, claim)
    with workspace.database.reading() as tx:
        if "report" in making.params:
            subject: StoredWork | None = reports.find(tx, making.params["report"])
        else:
            subject = jobs.find(tx, making.params["job"])
    if subject is None:
        raise NotFound("The job or report of these tables and figures does not exist any more.")
    require_current(subject)  # it may have been queued before an upgrade
    files = _MAKERS[making.kind](workspace, writer, subject)
    prepared: AbstractContextManager[blobs.Content | None] = nullcontext()
    if files.result is not None:
        sha256 = hashlib.sha256(files.result).hexdigest()
        prepared = blobs.prepared(workspace.database, sha256, len(files.result), compress(files.result))
    # Content that is kept outside of the database is written before the transaction.
    with prepared as content, workspace.database.writing() as tx:
        if not claims.holds(tx, claim):
            return
        if content is not None:
            blobs.put(tx, content)
        writer.keep(tx)
        claims.finish(tx, claim, content.sha256 if content else None, workspace.now(), files.exhibits)


def _draw_figures(workspace: Workspace, writer: FileWriter, work: StoredWork) -> _Made:
    if isinstance(work, StoredJob):
        figures = read_back(workspace, work).figures()
    else:
        figures = [figure.exhibit for figure in lay_out(workspace, work).figures]
    write_figures(writer, figures)
    return _Made({"figures": [{"name": figure.name, "caption": figure.caption} for figure in figures]})


def _lay_out(workspace: Workspace, writer: FileWriter, work: StoredWork) -> _Made:
    assert isinstance(work, StoredReport), "only reports are laid out"
    answer = lay_out(workspace, work)
    write_tables(writer, [placed.exhibit for placed in answer.tables])
    latex = BETWEEN_TABLES.join(as_latex(placed.exhibit) for placed in answer.tables)
    writer.write(REPORT_LATEX, [latex.encode()])
    body = to_json(answer_as_json(work, answer), inf_nan_mode="null")
    return _Made(names_of_answer(answer), body)


_MAKERS: Mapping[str, Callable[[Workspace, FileWriter, StoredWork], _Made]] = {
    "figures": _draw_figures,
    "layout": _lay_out,
}
