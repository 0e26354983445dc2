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
    found = topic_rankings(workspace, principal, collection, topic, depth=sent["depth"], qrels=qrels, late=sent["late"])
    return answer(show(found))


def show(found: TopicRankings) -> dict[str, Any]:
    """Return the rankings as JSON."""
    here = found.collection
    return {
        "collection": here.name,
        "qrels_version": found.qrels.version,
        "judgment_set": found.qrels.judgments,
        "topic": found.topic,
        "depth": found.depth,
        "judged": [
            {"level": level, "name": here.level_name(level), "documents": documents}
            for level, documents in reversed([*enumerate(found.counts.tolist())])
        ],
        "judged_below_0": found.negative,
        "ideal": found.ideal.tolist(),
        "runs": [
            {
                "name": each.run.name,
                "team": each.run.team,
                "late": here.is_late(each.run),
                "retrieved": each.retrieved,
                "ranks": each.ranks.tolist(),
                "levels": each.levels.tolist(),
            }
            for each in found.rankings
        ],
    }
