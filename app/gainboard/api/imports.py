"""`/v1/imports`: collections made of the folders of releases."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import EngineDep, PrincipalDep, WorkspaceDep
from gainboard.api.models.releases import ImportedRelease
from gainboard.api.problems import documented
from gainboard.api.releases import show
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import (
    CollectionExists,
    Conflict,
)
from gainboard.jobs.importing import import_release

router = APIRouter(tags=["releases"], responses=documented(), route_class=CheckedRoute)

MOST_RUNS_AT_MOST = 256
"""The most bytes of a folder, in runs of the greatest size."""


@router.post(
    "/v1/imports",
    status_code=201,
    response_model=ImportedRelease,
    responses=documented(
        *uploads.ON_UPLOAD,
        CollectionExists,
        Conflict,
    ),
    openapi_extra=uploads.openapi(),
)
async def import_folder(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
    engine: EngineDep,
) -> Response:
    """Make a collection of the folder of a release, sent as a tar archive (organisers of the instance): the same runs,
    versions, settings, times and results, with the release. The collection keeps its uuid, so that the ids of jobs
    stay; one that is here already is refused. Ids are computed anew, and `origin` of a result says that it was not
    computed here. `left_out` names results that this version does not know.
    """
    principal.require_instance_organiser()
    most = MOST_RUNS_AT_MOST * workspace.limits.compressed_bytes
    async with (
        readers.reading(principal),
        uploads.received(request, most) as sent,
        uploads.watched(request) as require_client,
    ):
        made = await run_in_threadpool(import_release, workspace, principal, sent.body, most, require_client)
    engine.wake()  # reports are laid out
    location = address(request, f"/v1/collections/{made.collection.name}/releases/{made.release.number}")
    shown = show(made.collection, made.release).model_dump() | {"left_out": [asdict(each) for each in made.left_out]}
    return answer(shown, 201, Location=location)
