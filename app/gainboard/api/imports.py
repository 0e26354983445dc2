"""`/v1/imports`: collections made of the folders of releases."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.models.releases import ReleaseAnswer
from gainboard.api.problems import documented
from gainboard.api.releases import show
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import PlainUpload, ReadersDep
from gainboard.errors import (
    CollectionExists,
    Conflict,
)
from gainboard.jobs.importing import import_release
from gainboard.store.records import Collection, Release

router = APIRouter(tags=["releases"], responses=documented(), route_class=CheckedRoute)

MOST_RUNS_AT_MOST = 256
"""The most bytes of a folder, in runs of the greatest size."""


@router.post(
    "/v1/imports",
    status_code=201,
    response_model=ReleaseAnswer,
    responses=documented(
        *uploads.ON_UPLOAD,
        CollectionExists,
        Conflict,
    ),
    openapi_extra=uploads.openapi(PlainUpload),
)
async def import_folder(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
    asked: Annotated[PlainUpload, Query()],
) -> Response:
    """Make a collection of the folder of a release, sent as a tar archive (organisers of the instance): the same runs,
    versions, settings, times and results, with the release. The collection keeps its uuid, so that the ids of jobs
    stay; one that is here already is refused.
    """
    principal.require_instance_organiser()
    most = MOST_RUNS_AT_MOST * workspace.limits.compressed_bytes
    async with readers.reading(principal), uploads.received(request, most, asked) as sent:
        made: tuple[Collection, Release] = await run_in_threadpool(
            import_release, workspace, principal, sent.body, most
        )
    location = address(request, f"/v1/collections/{made[0].name}/releases/{made[1].number}")
    return answer(show(*made), 201, Location=location)
