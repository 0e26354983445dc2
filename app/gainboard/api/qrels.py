"""`/v1/collections/{collection}/qrels`, and the judgment sets that versions belong to, at `/judgments`.

`/v1/survey` is a qrels file in numbers, before there is a collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.analyses.rejudge import JudgeParams, JudgingRuns
from gainboard.api import uploads
from gainboard.api.answers import address, answer, uploaded_file
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.job_answers import JobContext, JobContextDep
from gainboard.api.models.common import Page, ReceiptAnswer
from gainboard.api.models.judgments import JudgmentSetAnswer, JudgmentSetChange, QrelsAnswer, SurveyAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import (
    Conflict,
    Forbidden,
    HeldByRelease,
    JobNotFinished,
    JudgmentsHidden,
    NoResult,
    ResultOutdated,
    TooManyJobs,
    UnsupportedMediaType,
)
from gainboard.evaluation.judgments import publication, qrels, versions
from gainboard.evaluation.judgments.versions import SeenSet
from gainboard.evaluation.runs.receipts import QRELS, receipt_of
from gainboard.jobs.pools import find_pool, pool_warnings
from gainboard.jobs.submission import launch
from gainboard.notation.queries import JudgmentsQuery, QrelsUploadQuery, completed
from gainboard.notation.types import INTEGER
from gainboard.store.records import Qrels, VersionName, Warnings
from gainboard.vocabulary import OFFICIAL

router = APIRouter(
    prefix="/v1/collections/{collection}/qrels", tags=["qrels"], responses=documented(), route_class=CheckedRoute
)
surveys = APIRouter(tags=["qrels"], responses=documented(), route_class=CheckedRoute)

Version = Annotated[int, Path(ge=1, le=2**31 - 1), INTEGER]  # the largest integer of the column


async def _read_name(asked: Annotated[JudgmentsQuery, asked_by(JudgmentsQuery)]) -> str:
    return asked.get("judgments") or OFFICIAL


JudgmentsDep = Annotated[str, Depends(_read_name)]
QUEUED = "Judging all runs takes a job, to which `Location` leads. Until it ends, the version is a draft."


def show(found: Qrels, *, in_use: bool, job: str | None = None, also: Sequence[dict[str, Any]] = ()) -> QrelsAnswer:
    """Return a stored version as JSON, with warnings that are about this request alone."""
    state = "draft" if found.published_at is None else "published"
    warnings = [*found.warnings, *also]
    own = {"state": state, "in_use": in_use, "job": job, "warnings": warnings}
    return QrelsAnswer.model_validate({**asdict(found), **own})


def _judged_by_job(
    context: JobContext, collection: str, version: Qrels, *, publish: bool, also: Sequence[dict[str, Any]] = ()
) -> Response:
    """Start the job that judges all runs by a draft, and return the answer that says so."""
    asked = JudgeParams(judgments=version.judgments, qrels=version.version, publish=publish)
    job = launch(context.workspace, context.principal, collection, JudgingRuns, asked)
    context.engine.wake()
    location = address(context.request, f"/v1/jobs/{job.id}")
    return answer(show(version, in_use=False, job=job.id, also=also), 202, Location=location, Retry_After="1")


@router.put(
    "",
    status_code=201,
    response_model=QrelsAnswer,
    responses=documented(
        *uploads.ON_UPLOAD,
        Conflict,
        TooManyJobs,
        JobNotFinished,
        NoResult,
        ResultOutdated,
        also={
            200: {
                "model": QrelsAnswer,
                "description": "The newest version or a draft has the same bytes: nothing was stored",
            },
            202: {"model": QrelsAnswer, "description": QUEUED},
        },
    ),
    openapi_extra=uploads.openapi(QrelsUploadQuery),
)
async def put_qrels(
    collection: CollectionName,
    request: Request,
    context: JobContextDep,
    readers: ReadersDep,
    asked: Annotated[QrelsUploadQuery, asked_by(QrelsUploadQuery)],
) -> Response:
    """Upload a qrels file in TREC's or NTCIR's format as the next version; all stored runs are judged by it.

    In a collection with intents, a line is a judgment (topic, intent, document id, level) or the probability of an
    intent (topic, intent, probability). Without probabilities, the intents of a topic are equally likely.

    With `draft=true` the version is not used before it is published, unless an organiser asks for it by number. If the
    stored runs have more than 256 MiB, the answer is 202, and `Location` leads to a job of kind `judge`. The version
    before stays in use until that job has judged all runs.
    """
    workspace, principal = context.workspace, context.principal
    sending = request, workspace, principal, readers, collection
    async with uploads.from_organiser(*sending, QrelsUploadQuery, asked) as sent:
        wish = completed(QrelsUploadQuery, sent.query)
        columns, draft, judgments, pool = wish["columns"], wish["draft"], wish["judgments"], wish["pool"]
        made = (
            await run_in_threadpool(find_pool, workspace, principal, collection, pool, "query.pool") if pool else None
        )
        published = await run_in_threadpool(
            qrels.publish, workspace, principal, collection, sent.body, columns, draft=draft, judgments=judgments
        )
        also: Warnings = []
        if made is not None:
            also = await run_in_threadpool(pool_warnings, workspace, principal, collection, made, published.qrels)
        if published.takes_job:
            judging = partial(_judged_by_job, publish=not draft, also=also)
            return await run_in_threadpool(judging, context, collection, published.qrels)
    version = published.qrels.version
    of_set = "" if judgments == OFFICIAL else f"?judgments={judgments}"
    location = address(request, f"/v1/collections/{collection}/qrels/{version}{of_set}")
    in_use = published.qrels.published_at is not None  # an upload gives back a draft or the newest published version
    shown = show(published.qrels, in_use=in_use, also=also)
    made_by = (workspace, published.qrels.collection_id, QRELS, published.qrels.subject, published.qrels.sha256)
    receipt = await run_in_threadpool(receipt_of, *made_by)
    shown = shown.model_copy(update={"receipt": ReceiptAnswer(**asdict(receipt))})
    return answer(shown, 201 if published.created else 200, Location=location)


@surveys.post(
    "/v1/survey", response_model=SurveyAnswer, responses=documented(*uploads.ON_UPLOAD), openapi_extra=uploads.openapi()
)
async def survey_qrels(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, readers: ReadersDep
) -> Response:
    """Tell which levels and topics a qrels file has, and store nothing (organisers of the instance)."""
    principal.require_instance_organiser()
    most = workspace.limits.compressed_bytes
    async with readers.reading(principal), uploads.received(request, most) as sent:
        return answer(asdict(await run_in_threadpool(qrels.survey, workspace, principal, sent.body)))


@router.get("", responses=documented(JudgmentsHidden))
def list_qrels(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    judgments: JudgmentsDep,
    paging: PagingDep,
) -> Page[QrelsAnswer]:
    """List the versions of a judgment set by number; only organisers see drafts. One has `in_use`: it answers requests
    that name no version.
    """
    found = qrels.list_versions(workspace, principal, collection, judgments, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.qrels.version, lambda each: show(each.qrels, in_use=each.in_use))


TEXT: dict[int, dict[str, Any]] = {
    200: {
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "description": "The version as JSON, or the file itself",
    }
}


@router.get("/{version}", response_model=QrelsAnswer, responses=documented(JudgmentsHidden, also=TEXT))
def read_qrels(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    judgments: JudgmentsDep,
) -> Response:
    """Return one version; with `Accept: text/plain` the file as it was uploaded."""
    found = qrels.find_version(workspace, principal, collection, VersionName(judgments, version))
    if accepts(request, "text/plain"):
        name = f"{collection}-{judgments}-{version}"
        return uploaded_file(qrels.read_file(workspace, found.qrels), found.qrels.sha256, name)
    return answer(show(found.qrels, in_use=found.in_use))


@router.post(
    "/{version}/publish",
    response_model=QrelsAnswer,
    responses=documented(Forbidden, Conflict, TooManyJobs, also={202: {"model": QrelsAnswer, "description": QUEUED}}),
)
def publish_qrels(
    collection: CollectionName, version: Version, context: JobContextDep, judgments: JudgmentsDep
) -> Response:
    """Publish a draft or an earlier version: from now on its judgments are used.

    All stored runs are judged by it first. If those have more than 256 MiB, the answer is 202, and `Location` leads to
    a job of kind `judge`, which publishes the version. Scores under the other versions stay available by number.
    """
    workspace, principal, named = context.workspace, context.principal, VersionName(judgments, version)
    if publication.takes_job(workspace, principal, collection, named):
        found = qrels.find_version(workspace, principal, collection, named).qrels
        return _judged_by_job(context, collection, found, publish=True)
    return answer(show(publication.publish(workspace, principal, collection, named), in_use=True))


@router.delete("/{version}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict))
def discard_qrels(
    collection: CollectionName,
    version: Version,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    judgments: JudgmentsDep,
) -> None:
    """Discard a draft and the jobs about it. Its number is not used again."""
    publication.discard(workspace, principal, collection, VersionName(judgments, version))


sets = APIRouter(
    prefix="/v1/collections/{collection}/judgments", tags=["qrels"], responses=documented(), route_class=CheckedRoute
)

SetName = Annotated[str, Path(alias="judgments", description="The name of the set")]


def show_set(seen: SeenSet) -> JudgmentSetAnswer:
    """Return a judgment set as JSON."""
    found = seen.in_use
    return JudgmentSetAnswer(
        name=seen.name,
        state="released" if seen.is_released else "hidden",
        created_at=seen.created_at,
        released_at=seen.released_at,
        versions=len(seen.versions),
        qrels_version=found.version if found else None,
        topics=found.topics if found else None,
        judged=found.judged if found else None,
        relevant=found.relevant if found else None,
    )


@sets.get("", responses=documented(JudgmentsHidden))
def list_judgment_sets(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[JudgmentSetAnswer]:
    """List the judgment sets by name: parallel judgments, for example of a second assessor or of a language model. The
    set `official` answers requests that name none.
    """
    sets = [each for each in versions.list_sets(workspace, principal, collection) if each.name > (paging.after or "")]
    return paging.page(sets[: paging.wanted], lambda each: each.name, show_set)


@sets.patch(
    "/{judgments}",
    response_model=JudgmentSetAnswer,
    responses=documented(Forbidden, Conflict, HeldByRelease, UnsupportedMediaType),
)
def change_judgment_set(
    collection: CollectionName,
    judgments: SetName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    sent: JudgmentSetChange,
) -> JudgmentSetAnswer:
    """Release a judgment set, or hide it again (organisers). Each set is released on its own, and shown once the
    collection is released as well.
    """
    is_released = sent.state == "released"
    return show_set(versions.release(workspace, principal, collection, judgments, is_released=is_released))


@sets.delete(
    "/{judgments}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict, HeldByRelease)
)
def delete_judgment_set(
    collection: CollectionName, judgments: SetName, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Delete a judgment set with all its versions and the jobs about them (organisers). The official set stays."""
    versions.delete(workspace, principal, collection, judgments)
