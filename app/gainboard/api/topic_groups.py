"""`/v1/collections/{collection}/topic-groups`"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from pydantic import Field

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.collections import TopicGroupAnswer, WholeTopicGroup
from gainboard.api.models.common import Page
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import Conflict, Forbidden, UnsupportedMediaType
from gainboard.evaluation.judgments import topic_groups
from gainboard.evaluation.judgments.topic_groups import MOST_MEMBERS, SeenGroup
from gainboard.notation.queries import TopicGroupsQuery
from gainboard.notation.types import Slug

router = APIRouter(
    prefix="/v1/collections/{collection}/topic-groups",
    tags=["topic groups"],
    responses=documented(),
    route_class=CheckedRoute,
)

GroupName = Annotated[str, Path(description="The group's name")]
CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with the columns `topic` and `group` and a row for each topic of each group",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


def show(seen: SeenGroup) -> TopicGroupAnswer:
    """Return a group without its topics."""
    return TopicGroupAnswer(name=seen.group.name, topics=len(seen.group.topics), judged=seen.judged)


def show_whole(seen: SeenGroup) -> WholeTopicGroup:
    """Return a group with its topics."""
    unjudged = None if seen.unjudged is None else list(seen.unjudged)
    return WholeTopicGroup(**show(seen).model_dump(), members=list(seen.group.topics), unjudged=unjudged)


@router.put(
    "",
    response_model=Page[TopicGroupAnswer],
    responses=documented(*uploads.ON_UPLOAD, Conflict),
    openapi_extra=uploads.openapi(),
)
async def put_topic_groups(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep, readers: ReadersDep
) -> Response:
    """Replace all topic groups by those of a CSV file (organisers). Its header is `topic,group`, and it has a row for
    each topic of each group; a topic may be in several groups. Groups that are not in the file are deleted.
    """
    async with uploads.from_organiser(request, workspace, principal, readers, collection) as sent:
        groups = await run_in_threadpool(topic_groups.replace_groups, workspace, principal, collection, sent.body)
    return answer(Page[TopicGroupAnswer](items=list(map(show, groups)), next_cursor=None))


@router.get("", response_model=Page[TopicGroupAnswer], responses=documented(also=CSV))
def list_topic_groups(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[TopicGroupsQuery, asked_by(TopicGroupsQuery)],
    paging: PagingDep,
) -> Any:
    """List the topic groups by name; as CSV, all of them with their topics."""
    form = asked.get("format")
    if form == "csv" or (form is None and accepts(request, "text/csv")):
        every = topic_groups.list_groups(workspace, principal, collection)
        text = topic_groups.csv_of_groups(each.group for each in every)
        return PlainTextResponse(text, media_type="text/csv")
    groups = topic_groups.list_groups(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(groups, lambda each: each.group.name, show)


@router.get("/{group}")
def read_topic_group(
    collection: CollectionName, group: GroupName, workspace: WorkspaceDep, principal: PrincipalDep
) -> WholeTopicGroup:
    """Return one topic group, with its topics."""
    return show_whole(topic_groups.find_group(workspace, principal, collection, group))


@router.put(
    "/{group}",
    status_code=201,
    response_model=WholeTopicGroup,
    responses=documented(
        Forbidden,
        UnsupportedMediaType,
        also={200: {"model": WholeTopicGroup, "description": "The group was there, and has these topics now"}},
    ),
)
def put_topic_group(
    collection: CollectionName,
    group: Annotated[Slug, Path(description="The group's name")],
    topics: Annotated[
        Annotated[list[Annotated[str, Field(max_length=1000)]], Field(fail_fast=True)],
        Body(min_length=1, max_length=MOST_MEMBERS, examples=[["301", "302", "310"]]),
    ],
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
) -> Response:
    """Store a topic group: a JSON list of topics, in place of the group with this name (organisers). If the collection
    declares topics, the topics must be among these. `all` is reserved, because it stands for all topics.
    """
    seen, created = topic_groups.put_group(workspace, principal, collection, group, topics)
    location = address(request, f"/v1/collections/{collection}/topic-groups/{group}")
    return answer(show_whole(seen), 201 if created else 200, Location=location)


@router.delete("/{group}", status_code=204, response_class=Response, responses=documented(Forbidden))
def delete_topic_group(
    collection: CollectionName, group: GroupName, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Delete a topic group (organisers). Jobs and reports about it stay."""
    topic_groups.delete_group(workspace, principal, collection, group)
