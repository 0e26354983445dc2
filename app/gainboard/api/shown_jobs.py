"""A job as its principals see it, for every route that answers with one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from gainboard.api.answers import place
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.models.jobs import Progress, ShownFigure, ShownJob, ShownTable
from gainboard.evaluation.workspace import Workspace
from gainboard.work.results import exhibits, names_of
from gainboard.work.seen_jobs import SeenJob, find_job

JobId = Annotated[str, Path(alias="job", description="The job's id")]


def _seen_job(job: JobId, workspace: WorkspaceDep, principal: PrincipalDep) -> SeenJob:
    return find_job(workspace, principal, job)


SeenJobDep = Annotated[SeenJob, Depends(_seen_job)]


def show(request: Request, seen: SeenJob) -> ShownJob:
    """A job in a list: without the tables and figures, for which its whole result would be read."""
    job = seen.job
    return ShownJob(
        id=job.id,
        collection=seen.collection.name,
        kind=job.kind,
        state=job.state,
        progress=Progress(done=job.parts_done, total=job.parts),
        params=job.params,
        qrels_version=job.qrels_version,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        result_url=place(request, f"/v1/jobs/{job.id}/result") if job.result_sha256 else None,
        error=job.error,
        tables=None,
        figures=None,
    )


def show_whole(request: Request, workspace: Workspace, seen: SeenJob) -> ShownJob:
    """A job with its tables and figures, once it has some."""
    shown = show(request, seen)
    if seen.job.result_sha256 is None:
        return shown
    own = place(request, f"/v1/jobs/{seen.job.id}")
    # Results of earlier versions are read to find the names.
    named = seen.job.exhibits if seen.job.exhibits is not None else names_of(exhibits(workspace, seen.job))
    shown.tables = [ShownTable.below(own, **each) for each in named["tables"]]
    shown.figures = [ShownFigure.below(own, **each) for each in named["figures"]]
    return shown
