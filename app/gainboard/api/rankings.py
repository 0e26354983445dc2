"""`/v1/collections/{collection}/topics/{topic}/rankings`, `/runs/{run}/profile`, `/judged-shares`: runs by rank."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.models.runs import IdentifyAnswer, JudgedSharesAnswer, RunProfileAnswer
from gainboard.api.models.scores import TopicRankingsAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, version_of
from gainboard.api.routes import CheckedRoute
from gainboard.api.runs import RunName
from gainboard.errors import (
    BadExpression,
    BadGains,
    BadInput,
    JudgmentsHidden,
    NeedsIntents,
    NoQrels,
    TooManyDearRequests,
)
from gainboard.evaluation.boards.rankings import RunProfile, TopicRankings, run_profile, topic_rankings
from gainboard.evaluation.judgments.judged_shares import judged_shares
from gainboard.evaluation.runs import run_properties
from gainboard.evaluation.scoring.identification import Numbers, in_words
from gainboard.metrics import RECALL_STEPS
from gainboard.notation.queries import IdentifyQuery, RunProfileQuery, TopicRankingsQuery, VersionQuery, completed

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)


# Names of topics may contain slashes.
@router.get(
    "/topics/{topic:path}/rankings", response_model=TopicRankingsAnswer, responses=documented(JudgmentsHidden, NoQrels)
)
def read_topic_rankings(
    collection: CollectionName,
    topic: Annotated[str, Path(description="The topic's name")],
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[TopicRankingsQuery, asked_by(TopicRankingsQuery)],
) -> Response:
    """Return the relevance levels of the judged documents that each visible run found for a topic, by rank, and those
    of the ideal ranking (principals who may see the judgments).
    """
    sent, qrels = completed(TopicRankingsQuery, asked), version_of(asked)
    rankings = topic_rankings(
        workspace, principal, collection, topic, depth=sent["depth"], qrels=qrels, late=sent["late"]
    )
    return answer(_show_rankings(rankings))


def _show_rankings(rankings: TopicRankings) -> dict[str, Any]:
    here = rankings.collection
    return {
        "collection": here.name,
        "qrels_version": rankings.qrels.version,
        "judgment_set": rankings.qrels.judgments,
        "topic": rankings.topic,
        "depth": rankings.depth,
        "judged": [
            {"level": level, "name": here.level_name(level), "documents": documents}
            for level, documents in reversed([*enumerate(rankings.counts.tolist())])
        ],
        "judged_below_0": rankings.negative,
        "ideal": rankings.ideal.tolist(),
        "runs": [
            {
                "name": ranking.run.name,
                "team": ranking.run.team,
                "late": here.is_late(ranking.run),
                "retrieved": ranking.retrieved,
                "ranks": ranking.ranks.tolist(),
                "levels": ranking.levels.tolist(),
            }
            for ranking in rankings.rankings
        ],
    }


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
    profile = run_profile(workspace, principal, collection, run, **setting, qrels=qrels)
    return answer(_show_profile(profile))


@router.get(
    "/runs/{run}/identify",
    response_model=IdentifyAnswer,
    responses=documented(BadInput, BadExpression, NeedsIntents, JudgmentsHidden, NoQrels, TooManyDearRequests),
)
def identify_numbers(
    collection: CollectionName,
    run: RunName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[IdentifyQuery, asked_by(IdentifyQuery)],
) -> Response:
    """Return which metric, order of ties, topics and rounding give a number of a run, and which tool prints it
    (principals who may see the judgments).
    """
    numbers, versioned = [Numbers([number], asked.get("called", "")) for number in asked["number"]], version_of(asked)
    version, variants = run_properties.identify_numbers(workspace, principal, collection, run, numbers, versioned)
    named = {"qrels_version": version.version, "judgment_set": version.judgments, "name": run}
    return answer({"collection": collection, **named, "sentences": in_words(variants), "variants": variants})


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
    judged = judged_shares(workspace, principal, collection, version_of(asked))
    return answer(
        {
            "collection": collection,
            "qrels_version": judged.qrels.version,
            "judgment_set": judged.qrels.judgments,
            "depth": judged.shares.shape[1],
            "mean": judged.mean.tolist(),
            "run_count": judged.run_count,
            "runs": [
                {"name": run.name, "team": run.team, "shares": shares.tolist()}
                for run, shares in zip(judged.runs, judged.shares, strict=True)
            ],
        }
    )


def _show_profile(profile: RunProfile) -> dict[str, Any]:
    return {
        "collection": profile.collection.name,
        "qrels_version": profile.qrels.version,
        "judgment_set": profile.qrels.judgments,
        "name": profile.run.name,
        "team": profile.run.team,
        "late": profile.collection.is_late(profile.run),
        "gains": profile.gains,
        "rel": profile.rel,
        "depth": len(profile.gain),
        "judged_share": profile.judged_share.tolist(),
        "gain": profile.gain.tolist(),
        "ideal_gain": profile.ideal_gain.tolist(),
        "recall": [step / RECALL_STEPS for step in range(RECALL_STEPS + 1)],
        "precision": profile.precision.tolist(),
        "topics_scored": profile.topics_scored,
    }
