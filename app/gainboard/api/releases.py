"""`/v1/collections/{collection}/releases`, `/v1/imports` of their folders, and `/feed`, the news of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import address, answer, server_address
from gainboard.api.dependencies import CollectionName, EngineDep, PrincipalDep, SenderDep, WorkspaceDep
from gainboard.api.idempotency import KeyedDep
from gainboard.api.jobs import text_answer
from gainboard.api.models.common import Page
from gainboard.api.models.releases import ImportedRelease, NewRelease, ReleaseAnswer, WholeRelease
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.scores import ON_SCORING
from gainboard.api.uploads import ReadersDep
from gainboard.errors import (
    CollectionExists,
    Conflict,
    Forbidden,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    UnsupportedMediaType,
)
from gainboard.evaluation.releases.releases import (
    cite_release,
    feed_of,
    find_release,
    list_releases,
    name_of,
    read_document,
)
from gainboard.jobs.freezing import Wanted, freeze, require_freezer
from gainboard.jobs.importing import import_release
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
def make_release(collection: CollectionName, sent: NewRelease, keyed: KeyedDep, sender: SenderDep) -> Response:
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


news = APIRouter(
    prefix="/v1/collections/{collection}", tags=["collections"], responses=documented(), route_class=CheckedRoute
)
ATOM = "application/atom+xml"
PAGE_OF: Mapping[str, str] = {"qrels": "/judgments", "release": "", "late-run": "/runs/{subject}"}


@news.get("/feed", response_class=Response, responses=documented(JudgmentsHidden, also=text_answer(ATOM)))
def read_feed(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return the news of a collection as an Atom feed (RFC 4287), the newest 100 entries: versions of the official
    judgments as they were published, the release, and runs that came after it.
    """
    feed, server = feed_of(workspace, principal, collection), server_address(request)
    root, uuid, board = (
        Element("feed", {"xmlns": "http://www.w3.org/2005/Atom"}),
        feed.collection.uuid,
        f"{server}/c/{collection}",
    )
    _add_text(root, "id", f"urn:uuid:{uuid}")
    _add_text(root, "title", feed.collection.title or collection)
    _add_text(root, "updated", _stamp(feed.updated_at))
    _add_text(SubElement(root, "author"), "name", "Gainboard")
    SubElement(root, "link", {"rel": "self", "href": f"{server}/v1/collections/{collection}/feed"})
    SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": board})
    for entry in feed.entries:
        added = SubElement(root, "entry")
        # A version that is published again is another event, so its time is part of the id.
        _add_text(added, "id", f"urn:gainboard:{uuid}:{entry.kind}:{entry.subject}:{_stamp(entry.at)}")
        _add_text(added, "title", entry.title)
        _add_text(added, "updated", _stamp(entry.at))
        _add_text(added, "published", _stamp(entry.at))
        SubElement(added, "link", {"href": board + PAGE_OF[entry.kind].format(subject=entry.subject)})
        SubElement(added, "category", {"term": entry.kind})
        _add_text(added, "content", f"{entry.title}.")
    return Response(tostring(root, encoding="utf-8", xml_declaration=True), media_type=ATOM)


def _add_text(parent: Element, name: str, text: str) -> None:
    # XML has no way to write most control characters, and titles may have any.
    SubElement(parent, name).text = "".join(each if each.isprintable() else " " for each in text)


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


imports = APIRouter(tags=["releases"], responses=documented(), route_class=CheckedRoute)

MOST_RUNS_AT_MOST = 256
"""The most bytes of a folder, in runs of the greatest size."""


@imports.post(
    "/v1/imports",
    status_code=201,
    response_model=ImportedRelease,
    responses=documented(*uploads.ON_UPLOAD, CollectionExists, Conflict),
    openapi_extra=uploads.openapi(),
)
async def import_folder(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, readers: ReadersDep, engine: EngineDep
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
