"""`/v1/collections/{collection}/topics/{topic}/rankings`: the levels that runs found for one topic, by rank."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.models.scores import TopicRankingsAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, version_of
from gainboard.api.routes import CheckedRoute
from gainboard.errors import JudgmentsHidden, NoQrels
from gainboard.evaluation.access.policy import is_late
from gainboard.evaluation.boards.rankings import TopicRankings, topic_rankings
from gainboard.notation.queries import TopicRankingsQuery, completed

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)


# Names of topics may contain slashes.
@router.get(
    "/topics/{topic:path}/rankings",
    response_model=TopicRankingsAnswer,
    responses=documented(JudgmentsHidden, NoQrels),
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
    return answer(show(rankings))


def show(rankings: TopicRankings) -> dict[str, Any]:
    """Return the rankings as JSON."""
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
                "late": is_late(here, ranking.run),
                "retrieved": ranking.retrieved,
                "ranks": ranking.ranks.tolist(),
                "levels": ranking.levels.tolist(),
            }
            for ranking in rankings.rankings
        ],
    }
