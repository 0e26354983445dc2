"""`/v1/collections`"""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from gainboard.analyses.rejudge import RejudgeParams
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import KeyedDep
from gainboard.api.job_answers import JobContextDep
from gainboard.api.models.collections import (
    ChangeableSettings,
    CollectionAnswer,
    CollectionChange,
    CollectionLinks,
    NewCollection,
    Relevant,
)
from gainboard.api.models.common import Page, WarningAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.errors import (
    BadGains,
    CollectionExists,
    Conflict,
    Forbidden,
    HeldByRelease,
    KeyInUse,
    KeyReused,
    NoQrels,
    SettingFixed,
    SettingsChanged,
    TooManyJobs,
    UnsupportedMediaType,
)
from gainboard.evaluation import collections
from gainboard.evaluation.collection_settings import OF_COLLECTION, Policy
from gainboard.evaluation.collections import Described
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.submission import change_order
from gainboard.vocabulary import RunOrder

router = APIRouter(prefix="/v1/collections", tags=["collections"], responses=documented(), route_class=CheckedRoute)

QUEUED = (
    "A job will change the order of the runs. `Location` leads to the job; the collection keeps the old order until "
    "the job is done"
)


def show(request: Request, described: Described) -> CollectionAnswer:
    """Return a collection as this principal may see it."""
    collection, qrels, relevant = described.collection, described.qrels, described.relevant
    workspace: Workspace = request.app.state.workspace
    path = f"/v1/collections/{collection.name}"
    paths = {name: f"{path}/{name}" for name in ("leaderboard", "scores", "runs", "teams", "qrels")}
    paths |= {name: f"/v1/{name}?collection={collection.name}" for name in ("jobs", "reports")}
    links = {name: address(request, path) for name, path in {"self": path, **paths}.items()}
    return CollectionAnswer(
        name=collection.name,
        kind=collection.kind,
        title=collection.title,
        levels=collection.levels,
        gains=collection.gains,
        depth=collection.depth,
        order_by=collection.order_by,
        ignore_identical_ids=collection.ignore_identical_ids,
        intents=collection.intents,
        topics=collection.topics,
        queries=described.queries,
        metrics=collection.metrics,
        # The time of the release may have come.
        policy=Policy.of(collection).model_copy(
            update={"phase": "released" if collection.is_released(workspace.now()) else "hidden"}
        ),
        public=collection.public,
        sample_of=collection.sample_of,
        created_at=collection.created_at,
        qrels_version=qrels.version if qrels else None,
        relevant=Relevant(**relevant) if relevant else None,
        warnings=[WarningAnswer(**warning.as_json()) for warning in described.warnings],
        links=CollectionLinks(**links),
    )


def values_of(sent: NewCollection | ChangeableSettings) -> dict[str, Any]:
    # What a collection of scores does not have is refused if it is sent, whatever its value is.
    is_sent_alone = isinstance(sent, ChangeableSettings) or sent.kind == "scores"
    values = sent.model_dump(exclude={"seen"}, exclude_unset=is_sent_alone)
    if (levels := values.pop("levels", None)) is not None:
        is_named = isinstance(levels, list)
        values |= {"level_names": levels if is_named else None, "highest_level": len(levels) if is_named else levels}
    if (policy := values.pop("policy", None)) is not None:
        values |= {name: policy.pop(name) for name in OF_COLLECTION if name in policy}
        values["policy"] = policy | (policy.pop("quotas", None) or {})
    return values


@router.post(
    "",
    status_code=201,
    response_model=CollectionAnswer,
    responses=documented(Forbidden, CollectionExists, BadGains, UnsupportedMediaType, KeyReused, KeyInUse),
)
def create_collection(sent: NewCollection, keyed: KeyedDep) -> Response:
    """Create a collection (organisers of the instance)."""

    def act() -> Response:
        made = collections.create(keyed.workspace, keyed.principal, values_of(sent))
        location = address(keyed.request, f"/v1/collections/{made.collection.name}")
        return answer(show(keyed.request, made), 201, Location=location)

    return keyed.answer_once(act, permit=partial(collections.require_creator, keyed.principal))


@router.get("", openapi_extra={"security": [{}]})  # besides that with a token
def list_collections(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[CollectionAnswer]:
    """List the collections that this token may see, by name. Without a token, these are the public ones that are
    released.
    """
    found = collections.list_collections(workspace, principal, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.collection.name, lambda each: show(request, each))


@router.get("/{collection}")
def read_collection(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> CollectionAnswer:
    """Return one collection. Principals who may see its judgments also get their counts."""
    return show(request, collections.find_collection(workspace, principal, collection))


@router.patch(
    "/{collection}",
    response_model=CollectionAnswer,
    responses=documented(
        Forbidden,
        SettingFixed,
        SettingsChanged,
        NoQrels,
        Conflict,
        BadGains,
        TooManyJobs,
        UnsupportedMediaType,
        also={202: {"model": CollectionAnswer, "description": QUEUED}},
    ),
)
def change_collection(collection: CollectionName, sent: CollectionChange, context: JobContextDep) -> Response:
    """Change settings of a collection; settings that are not named stay (organisers). Once runs are judged, `order_by`
    and `ignore_identical_ids` must be changed alone: the answer is 202, and `Location` leads to a job of kind
    `rejudge`. The old order stays in use until that job has published its result.
    """
    values, seen = values_of(sent), values_of(sent.seen) if sent.seen else {}
    if not values or not values.keys() <= set(RunOrder._fields):
        changed = collections.change(context.workspace, context.principal, collection, values, seen)
        return answer(show(context.request, changed))
    job = change_order(context.workspace, context.principal, collection, RejudgeParams(**values))
    shown = show(context.request, collections.find_collection(context.workspace, context.principal, collection))
    if job is None or job.is_over:
        return answer(shown)
    context.engine.wake()
    return answer(shown, 202, Location=address(context.request, f"/v1/jobs/{job.id}"), Retry_After="1")


@router.delete(
    "/{collection}", status_code=204, response_class=Response, responses=documented(Forbidden, HeldByRelease)
)
def delete_collection(collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Delete a collection. Its name may then be used again (organisers)."""
    collections.delete(workspace, principal, collection)
