"""`/v1/collections/{collection}/releases`: immutable releases of a collection."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from gainboard.api.answers import address, answer, server_address
from gainboard.api.dependencies import CollectionName, PrincipalDep, SenderDep, WorkspaceDep
from gainboard.api.idempotency import KeyedDep
from gainboard.api.models.common import Page
from gainboard.api.models.releases import NewRelease, ReleaseAnswer, WholeRelease
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.scores import ON_SCORING
from gainboard.errors import Conflict, Forbidden, JudgmentsHidden, KeyInUse, KeyReused, UnsupportedMediaType
from gainboard.evaluation.releases.releases import cite_release, find_release, list_releases, name_of, read_document
from gainboard.jobs.freezing import Wanted, freeze, require_freezer
from gainboard.notation.types import INTEGER
from gainboard.store.records import Collection, Release

router = APIRouter(
    prefix="/v1/collections/{collection}/releases", tags=["releases"], responses=documented(), route_class=CheckedRoute
)

ReleaseNumber = Annotated[int, Path(alias="number", ge=1, lt=2**31, description="The number of the release"), INTEGER]


def show(collection: Collection, release: Release) -> ReleaseAnswer:
    """Return a release without what it holds."""
    return ReleaseAnswer(
        name=name_of(collection, release.number),
        collection=collection.name,
        number=release.number,
        title=release.title,
        doi=release.doi,
        corrects=release.corrects,
        citation=release.citation,
        sha256=release.sha256,
        created_at=release.created_at,
    )


@router.post(
    "",
    status_code=201,
    response_model=ReleaseAnswer,
    responses=documented(*ON_SCORING, Forbidden, Conflict, UnsupportedMediaType, KeyReused, KeyInUse),
)
def make_release(
    collection: CollectionName,
    sent: NewRelease,
    keyed: KeyedDep,
    sender: SenderDep,
) -> Response:
    """Make a release of the collection as it is now (organisers, once the judgments are released). It never changes. A
    later one names it as what it corrects. What it holds can no longer be withdrawn or deleted.
    """

    def act() -> Response:
        wanted = Wanted(**sent.model_dump())
        found, release = freeze(keyed.workspace, keyed.principal, sender, collection, wanted)
        location = address(keyed.request, f"/v1/collections/{collection}/releases/{release.number}")
        return answer(show(found, release), 201, Location=location)

    return keyed.answer_once(act, permit=partial(require_freezer, keyed.workspace, keyed.principal, collection))


@router.get("", name="list_releases", responses=documented(JudgmentsHidden))
def list_all_releases(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[ReleaseAnswer]:
    """List the releases, newest first."""
    here, found = list_releases(workspace, principal, collection, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.number, lambda each: show(here, each))


@router.get("/{number}", response_model=WholeRelease, responses=documented(JudgmentsHidden))
def read_release(
    collection: CollectionName, number: ReleaseNumber, asked: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return a release with all that was frozen, and how to cite it."""
    here, release = find_release(workspace, principal, collection, number)
    # The document is as it was frozen, maybe by an older version.
    document = read_document(workspace, release)
    cited = cite_release(document, release.sha256, server_address(asked))
    return answer(show(here, release).model_dump() | {"content": document, "cite": cited})
