"""`/v1/collections/{collection}/judgments`: the judgment sets of a collection."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.models.common import Page
from gainboard.api.models.judgments import JudgmentSetAnswer, JudgmentSetChange
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.errors import Conflict, Forbidden, HeldByRelease, JudgmentsHidden, UnsupportedMediaType
from gainboard.evaluation.judgments import versions
from gainboard.evaluation.judgments.versions import SeenSet

router = APIRouter(
    prefix="/v1/collections/{collection}/judgments", tags=["qrels"], responses=documented(), route_class=CheckedRoute
)

SetName = Annotated[str, Path(alias="judgments", description="The name of the set")]


def show(seen: SeenSet) -> JudgmentSetAnswer:
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


@router.get("", responses=documented(JudgmentsHidden))
def list_judgment_sets(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[JudgmentSetAnswer]:
    """List the judgment sets by name: parallel judgments, for example of a second assessor or of a language model. The
    set `official` answers requests that name none.
    """
    sets = [each for each in versions.list_sets(workspace, principal, collection) if each.name > (paging.after or "")]
    return paging.page(sets[: paging.wanted], lambda each: each.name, show)


@router.patch(
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
    return show(versions.release(workspace, principal, collection, judgments, is_released=is_released))


@router.delete(
    "/{judgments}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict, HeldByRelease)
)
def delete_judgment_set(
    collection: CollectionName, judgments: SetName, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Delete a judgment set with all its versions and the jobs about them (organisers). The official set stays."""
    versions.delete(workspace, principal, collection, judgments)
