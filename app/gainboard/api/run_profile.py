"""`/v1/collections/{collection}/runs/{run}/profile` and `/judged-shares`: curves by rank, of one run and of all."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.models.runs import JudgedSharesAnswer, RunProfileAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, version_of
from gainboard.api.routes import CheckedRoute
from gainboard.api.runs import RunName
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NeedsIntents, NoQrels, TooManyDearRequests
from gainboard.evaluation.boards.rankings import RunProfile, run_profile
from gainboard.evaluation.judgments.judged_shares import judged_shares
from gainboard.metrics import RECALL_STEPS
from gainboard.notation.queries import RunProfileQuery, VersionQuery, completed

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)


@router.get(
    "/runs/{run}/profile",
    response_model=RunProfileAnswer,
    responses=documented(BadExpression, NeedsIntents, BadGains, JudgmentsHidden, NoQrels),
)
def read_run_profile(
    collection: CollectionName,
    run: RunName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[RunProfileQuery, asked_by(RunProfileQuery)],
) -> Response:
    """Return the curves of a run: the share of judged documents and the cumulated gain by rank, and the interpolated
    precision by recall (principals who may see the judgments).
    """
    sent, qrels = completed(RunProfileQuery, asked), version_of(asked)
    setting = {name: sent[name] for name in ("gains", "rel", "depth")}
    found = run_profile(workspace, principal, collection, run, **setting, qrels=qrels)
    return answer(show(found))


@router.get(
    "/judged-shares",
    response_model=JudgedSharesAnswer,
    responses=documented(JudgmentsHidden, NoQrels, TooManyDearRequests),
)
def read_judged_shares(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[VersionQuery, asked_by(VersionQuery)],
) -> Response:
    """Return for each rank the share of judged documents down to it, of each run and in the mean (principals who may
    see the judgments).
    """
    found = judged_shares(workspace, principal, collection, version_of(asked))
    return answer(
        {
            "collection": collection,
            "qrels_version": found.qrels.version,
            "judgment_set": found.qrels.judgments,
            "depth": found.shares.shape[1],
            "mean": found.mean.tolist(),
            "run_count": found.run_count,
            "runs": [
                {"name": run.name, "team": run.team, "shares": shares.tolist()}
                for run, shares in zip(found.runs, found.shares, strict=True)
            ],
        }
    )


def show(found: RunProfile) -> dict[str, Any]:
    """Return the curves as JSON."""
    return {
        "collection": found.collection.name,
        "qrels_version": found.qrels.version,
        "judgment_set": found.qrels.judgments,
        "name": found.run.name,
        "team": found.run.team,
        "late": found.collection.is_late(found.run),
        "gains": found.gains,
        "rel": found.rel,
        "depth": len(found.gain),
        "judged_share": found.judged_share.tolist(),
        "gain": found.gain.tolist(),
        "ideal_gain": found.ideal_gain.tolist(),
        "recall": [step / RECALL_STEPS for step in range(RECALL_STEPS + 1)],
        "precision": found.precision.tolist(),
        "topics_scored": found.topics_scored,
    }
