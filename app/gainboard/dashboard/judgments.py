"""`/c/{collection}/judgments`: judgment sets, their versions, what a draft would change, and uploads."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field, ValidationError

from gainboard.api import uploads
from gainboard.api.answers import address, answer, uploaded_file
from gainboard.api.dependencies import CollectionName, JudgmentsName, WorkspaceDep
from gainboard.api.judgment_sets import SetName
from gainboard.api.middleware import JSON_BYTES
from gainboard.api.models.collections import CollectionChange
from gainboard.api.qrels import Version, publish_qrels
from gainboard.api.score_matrices import ScoreMatrixUploadQuery, put_score_matrix
from gainboard.api.uploads import PlainUpload, ReadersDep
from gainboard.dashboard.jobs import JobContextDep
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import FromForm, PageLook, PrintedRequest, page, pages
from gainboard.dashboard.sessions import FormDep, UploaderDep, VisitorDep
from gainboard.errors import InvalidRequest
from gainboard.evaluation import collections
from gainboard.evaluation.judgments import publication, qrels, versions
from gainboard.evaluation.judgments.impact import Impact, MetricImpact, impact
from gainboard.evaluation.judgments.qrels import list_versions
from gainboard.evaluation.judgments.topic_groups import list_groups
from gainboard.evaluation.judgments.versions import list_sets
from gainboard.evaluation.releases.releases import list_releases
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.scoring.requests import Question
from gainboard.evaluation.scoring.score_matrices import list_matrices
from gainboard.notation.types import INTEGER, Slug
from gainboard.store.records import Run, VersionName
from gainboard.vocabulary import FROM_QRELS, OFFICIAL, SetState

router = pages()


class JudgmentSetQuery(BaseModel):
    """The query that names a judgment set."""

    judgments: JudgmentsName = OFFICIAL


class ComparedVersionQuery(FromForm, JudgmentSetQuery):
    """The query of a version's page: its set, and the version to compare it with."""

    against: Annotated[int | None, Field(ge=1, le=2**31 - 1), INTEGER] = None


LAYOUTS = ("trec", "topic-document-level", "topic-level-document", "topic-document")
INTENT_LAYOUTS = ("topic-intent-document-level",)
MOST = 200
MOST_MOVED = 30


@router.get("/c/{collection}/judgments")
def show_judgments(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Show the judgment sets that this visitor may know of, and the versions of one of them."""
    place = enter(workspace, visitor, collection)
    principal, shown = place.view.principal, asked.judgments
    found = list_versions(workspace, principal, collection, shown, None, MOST)
    look = PageLook(f"Judgments of {place.title}", place, "Judgments")
    asking = PrintedRequest.of(request, "qrels", collection, of_set(shown))
    return page(
        *(request, visitor, "judgments.html", look),
        versions=found[::-1],
        matrices=list_matrices(workspace, principal, collection),
        groups=list_groups(workspace, principal, collection),
        releases=list_releases(workspace, principal, collection)[1],
        sets=list_sets(workspace, principal, collection),
        layouts=INTENT_LAYOUTS if place.view.collection.intents else LAYOUTS,
        shown=shown,
        of_set=f"?{of_set(shown)}" if of_set(shown) else "",
        asking=asking,
    )


def of_set(judgments: str) -> str:
    """Return the query that names a judgment set; empty for the official one."""
    return "" if judgments == OFFICIAL else f"judgments={judgments}"


@router.get("/c/{collection}/judgments/{version}")
def show_impact(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[ComparedVersionQuery, Query()],
) -> Response:
    """Show a version, and what it changes compared with the one of its set in use, or with another (organisers)."""
    place = enter(workspace, visitor, collection)
    place.view.require_organiser()
    principal, named = place.view.principal, VersionName(asked.judgments, version)
    seen, title = qrels.version(workspace, principal, collection, named), str(named)
    every = list_versions(workspace, principal, collection, asked.judgments, None, MOST)
    others = [each.qrels.version for each in every if each.qrels.version != version]
    against = asked.against or next((each.qrels.version for each in every if each.in_use), None)
    found = None
    if against not in (None, version):
        before = VersionName(asked.judgments, against)
        found = impact(workspace, principal, collection, named, Question(), against=before)
    return page(
        request,
        visitor,
        "version.html",
        PageLook(f"{title[0].upper()}{title[1:]} of {place.title}", place, "Judgments"),
        seen=seen,
        impact=found,
        others=others,
        moved=[_moved(found, metric) for metric in found.metrics] if found else (),
        level_name=lambda level: "not judged" if level is None else place.view.collection.level_name(level),
        of_set=f"?{of_set(asked.judgments)}" if of_set(asked.judgments) else "",
    )


def _moved(found: Impact, metric: MetricImpact) -> Sequence[tuple[Run, float, float, int, int]]:
    """Return the runs that change their rank, the largest change first: means and ranks, before and after."""
    columns = zip(found.runs, *metric.means.tolist(), *metric.ranks.tolist(), strict=True)
    rows = sorted(columns, key=lambda row: (-abs(row[4] - row[3]), row[4]))
    return [row for row in rows if row[3] != row[4]][:MOST_MOVED]


@router.get("/c/{collection}/judgments/{version}/file.txt")
def download(
    collection: CollectionName,
    version: Version,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Return the file of a version, as it was uploaded."""
    found = qrels.version(workspace, visitor.principal, collection, VersionName(asked.judgments, version)).qrels
    return uploaded_file(qrels.file(workspace, found), found.sha256, f"{collection}-{asked.judgments}-{version}")


class NamedMatrixQuery(ScoreMatrixUploadQuery):
    """The query of an upload of scores from a page: that of the API, and the matrix's name."""

    name: Slug


@router.post("/c/{collection}/score-matrices")
async def put_matrix(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: UploaderDep,
    readers: ReadersDep,
    asked: Annotated[NamedMatrixQuery, Query()],
) -> Response:
    """Upload scores from elsewhere, as the API does."""
    sent = ScoreMatrixUploadQuery(**asked.model_dump(exclude={"name"}, exclude_unset=True))
    return await put_score_matrix(collection, asked.name, request, workspace, visitor.principal, readers, sent)


@router.post("/c/{collection}/declared-topics")
async def declare(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: UploaderDep
) -> Response:
    """Declare the topics of a file, which are separated by white space."""
    async with uploads.received(request, JSON_BYTES, PlainUpload()) as sent:
        text = await run_in_threadpool(_whole, sent.body)
    try:
        topics = text.decode().split()
        values = {"topics": CollectionChange.model_validate({"topics": topics}).topics}
    except (UnicodeError, ValidationError):
        message = "The file is no list of topics: write their ids, separated by spaces or lines, in UTF-8."
        raise InvalidRequest.at("body", "bad-topics", message) from None
    await run_in_threadpool(collections.change, workspace, visitor.principal, collection, values)
    return answer({"topics": len(topics)})


def _whole(body: Body) -> bytes:
    body.file.seek(0)  # it is where the last byte was written
    return body.file.read()


@router.post("/c/{collection}/declared-topics/from-qrels")
def declare_judged(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: FormDep
) -> Response:
    """Declare the topics of the published judgments."""
    collections.change(workspace, visitor.principal, collection, {"topics": FROM_QRELS})
    return _back(request, collection, OFFICIAL)


@router.post("/c/{collection}/judgments/{version}/publish")
def publish(
    collection: CollectionName,
    version: Version,
    request: Request,
    context: JobContextDep,
    form: FormDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Publish a version: scores are then those under it. If that takes a job, show the job."""
    published = publish_qrels(collection, version, context, asked.judgments)
    if published.status_code == HTTPStatus.ACCEPTED:
        return RedirectResponse(address(request, f"/jobs/{published.headers['location'].rpartition('/')[2]}"), 303)
    return _back(request, collection, asked.judgments)


@router.post("/c/{collection}/judgments/{version}/discard")
def discard(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Discard a draft."""
    publication.discard(workspace, visitor.principal, collection, VersionName(asked.judgments, version))
    return _back(request, collection, asked.judgments)


@router.post("/c/{collection}/judgment-sets/{judgments}/{state}")
def change_set(
    collection: CollectionName,
    judgments: SetName,
    state: SetState,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
) -> Response:
    """Release a judgment set, or hide it again."""
    versions.release(workspace, visitor.principal, collection, judgments, is_released=state == "released")
    return _back(request, collection, OFFICIAL)


def _back(request: Request, collection: str, judgments: str) -> Response:
    query = of_set(judgments)
    path = f"/c/{collection}/judgments" + (f"?{query}" if query else "")
    return RedirectResponse(address(request, path), 303)
