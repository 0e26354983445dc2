"""`/v1/me/limits`: what this token may still send and ask for."""

from __future__ import annotations

from fastapi import APIRouter

from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.models.service import MyLimits, ShownQuota, Team, UploadLimits
from gainboard.api.problems import documented
from gainboard.evaluation import budgets

router = APIRouter(prefix="/v1/me", tags=["tokens"], responses=documented())


@router.get("/limits")
def read_my_limits(workspace: WorkspaceDep, principal: PrincipalDep) -> MyLimits:
    """Return what is left of quotas and budgets, and the limits on a file."""
    found = budgets.allowance_of(workspace, principal)
    upload = UploadLimits.model_validate(workspace.limits)
    if found is None:
        return MyLimits(submissions_left=None, answers_left=None, team=None, upload=upload)
    team = Team(
        opens_at=found.opens_at,
        closes_at=found.closes_at,
        runs={name: ShownQuota.model_validate(quota) for name, quota in found.runs.items()},
        bytes=ShownQuota.model_validate(found.bytes),
        answers=ShownQuota.model_validate(found.answers),
        bits_an_answer=found.bits_an_answer,
        bits_left=found.bits_left,
    )
    return MyLimits(submissions_left=found.runs_left, answers_left=found.answers.left, team=team, upload=upload)
