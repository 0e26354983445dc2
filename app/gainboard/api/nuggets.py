"""`/v1/collections/{collection}/nuggets`, and `/v1/collections/{collection}/answers`: what judges say of answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.models.common import Page
from gainboard.api.models.judgments import JudgeAnswer, NuggetCounts, NuggetsAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.qrels import Version
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import Conflict, Forbidden, HeldByRelease, JudgmentsHidden
from gainboard.evaluation.judgments import nuggets
from gainboard.evaluation.judgments.nuggets import SeenNuggets
from gainboard.notation.queries import NuggetsUploadQuery, VerdictsUploadQuery
from gainboard.notation.texts import SLUG_PATTERN

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["answers"], responses=documented(), route_class=CheckedRoute
)
LINES = "application/x-ndjson"
LONGEST_JUDGE = 96
"""The names of score matrices have the judge's name in them."""
Judge = Annotated[
    str,
    Path(
        description="The judge: a person, a model or a version of one", pattern=SLUG_PATTERN, max_length=LONGEST_JUDGE
    ),
]


def show(seen: SeenNuggets) -> NuggetsAnswer:
    """Return a version of the nuggets as JSON."""
    state = "draft" if seen.version.published_at is None else "published"
    return NuggetsAnswer.model_validate(
        {**asdict(seen.version), "state": state, "in_use": seen.in_use, "unfit": list(seen.unfit)}
    )


@router.put(
    "/nuggets",
    status_code=201,
    response_model=NuggetsAnswer,
    responses=documented(
        *uploads.ON_UPLOAD, also={200: {"model": NuggetsAnswer, "description": "The version in use has the same bytes"}}
    ),
    openapi_extra=uploads.openapi(NuggetsUploadQuery),
)
async def put_nuggets(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
    asked: Annotated[NuggetsUploadQuery, asked_by(NuggetsUploadQuery)],
) -> Response:
    """Upload nuggets as JSON Lines, `{"qid", "nuggets": [{"text", "importance"}]}`, as the next version (organisers).
    The scores of all answers follow.
    """
    sending = request, workspace, principal, readers, collection
    async with uploads.from_organiser(*sending, NuggetsUploadQuery, asked) as sent:
        options = {name: value for name, value in sent.query.items() if value is not None}
        seen = await run_in_threadpool(nuggets.put_nuggets, workspace, principal, collection, sent.body, **options)
    location = address(request, f"/v1/collections/{collection}/nuggets/{seen.version.version}")
    return answer(show(seen), 201 if seen.created else 200, Location=location)


@router.get("/nuggets", responses=documented(JudgmentsHidden))
def list_nuggets(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[NuggetsAnswer]:
    """List the versions of the nuggets by number (principals who may see the judgments); drafts only for organisers."""
    versions = nuggets.list_nuggets(workspace, principal, collection, paging.after_number, paging.wanted)
    return paging.page(versions, lambda seen: seen.version.version, show)


@router.get(
    "/nuggets/{version}",
    response_class=Response,
    responses=documented(
        JudgmentsHidden, also={200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "The file"}}
    ),
)
def read_nuggets(
    collection: CollectionName, version: Version, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return the file of a version of the nuggets as it was uploaded (principals who may see the judgments)."""
    return Response(nuggets.read_file(workspace, principal, collection, version), media_type=LINES)


@router.post("/nuggets/{version}/publish", responses=documented(Forbidden))
def publish_nuggets(
    collection: CollectionName, version: Version, workspace: WorkspaceDep, principal: PrincipalDep
) -> NuggetsAnswer:
    """Publish a draft, or an earlier version: the scores of all answers follow (organisers)."""
    return show(nuggets.publish_nuggets(workspace, principal, collection, version))


@router.delete(
    "/nuggets/{version}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict)
)
def discard_nuggets(
    collection: CollectionName, version: Version, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Discard a draft of the nuggets (organisers). Its number is not used again."""
    nuggets.discard_nuggets(workspace, principal, collection, version)


@router.put(
    "/answers/{judge}",
    status_code=201,
    response_model=JudgeAnswer,
    responses=documented(
        *uploads.ON_UPLOAD,
        Conflict,
        also={200: {"model": JudgeAnswer, "description": "The judge has said the same before: nothing was stored"}},
    ),
    openapi_extra=uploads.openapi(VerdictsUploadQuery),
)
async def put_verdicts(
    collection: CollectionName,
    judge: Judge,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
    asked: Annotated[VerdictsUploadQuery, asked_by(VerdictsUploadQuery)],
) -> Response:
    """Upload what a judge says of the answers of runs as JSON Lines (organisers): which nuggets they have, `{"qid",
    "run_id", "nuggets": [{"text", "importance", "assignment"}]}`, or whether what they cite supports them, `{"qid",
    "run_id", "answer": [{"text", "citations", "support"}]}`. Then `nuggets:vital_strict` and `support:precision` are
    metrics, as `nuggets:vital_strict(judge=NAME)` unless the judge is `official`. A `run_id` that no run has becomes a
    run without a ranking.
    """
    sending = request, workspace, principal, readers, collection
    async with uploads.from_organiser(*sending, VerdictsUploadQuery, asked) as sent:
        options = {name: value for name, value in sent.query.items() if value is not None}
        put = nuggets.put_verdicts
        judged = await run_in_threadpool(put, workspace, principal, collection, judge, sent.body, **options)
    location = address(request, f"/v1/collections/{collection}/answers/{judge}")
    return answer(JudgeAnswer(**asdict(judged)), 201 if judged.created else 200, Location=location)


@router.get("/answers", responses=documented(JudgmentsHidden))
def list_judges(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[JudgeAnswer]:
    """List the judges of answers by name (principals who may see the judgments)."""
    judges = [it for it in nuggets.list_judges(workspace, principal, collection) if it.judge > (paging.after or "")]
    return paging.page(
        judges[: paging.wanted], lambda judged: judged.judge, lambda judged: JudgeAnswer(**asdict(judged))
    )


@router.get("/answers/{judge}", responses=documented(JudgmentsHidden))
def read_verdicts(
    collection: CollectionName, judge: Judge, workspace: WorkspaceDep, principal: PrincipalDep
) -> NuggetCounts:
    """Return how many runs have each nugget, as a judge says (principals who may see the judgments)."""
    judged, counted = nuggets.count_nuggets(workspace, principal, collection, judge)
    return NuggetCounts.model_validate({**asdict(judged), "by_topic": counted}, from_attributes=True)


@router.delete(
    "/answers/{judge}", status_code=204, response_class=Response, responses=documented(Forbidden, HeldByRelease)
)
def delete_verdicts(collection: CollectionName, judge: Judge, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Delete all that a judge says of answers, with the scores that follow (organisers). Jobs about it keep their
    results.
    """
    nuggets.delete_verdicts(workspace, principal, collection, judge)
