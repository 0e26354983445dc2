"""`/v1/collections/{collection}/feed`: the news of a collection, for feed readers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Request, Response

from gainboard.api.answers import server_address
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.jobs import text_answer
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.errors import JudgmentsHidden
from gainboard.evaluation.releases.releases import feed_of

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["collections"], responses=documented(), route_class=CheckedRoute
)
ATOM = "application/atom+xml"
PAGE_OF: Mapping[str, str] = {"qrels": "/judgments", "release": "", "late-run": "/runs/{subject}"}


@router.get("/feed", response_class=Response, responses=documented(JudgmentsHidden, also=text_answer(ATOM)))
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
