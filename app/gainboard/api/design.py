"""`/v1/design`: how many topics a new collection needs."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from gainboard.api.bodies import JsonRoute
from gainboard.api.dependencies import PrincipalDep
from gainboard.api.models.service import AskedDesign, ShownDesign
from gainboard.api.problems import documented
from gainboard.errors import UnsupportedMediaType
from gainboard.evaluation.design import DesignQuestion, design_topics, pool

router = APIRouter(prefix="/v1", tags=["metrics"], responses=documented(), route_class=JsonRoute)


@router.post("/design", responses=documented(UnsupportedMediaType))
def design(asked: AskedDesign, principal: PrincipalDep) -> ShownDesign:
    """Compute how many topics are enough for a wanted power or interval (holders of any token). Nothing is stored."""
    principal.require_token()
    given = asked.model_dump()
    if isinstance(asked.variance, list):
        given["variance"] = pool([(each.variance, each.degrees_of_freedom) for each in asked.variance])
    found = design_topics(DesignQuestion(**given))
    return ShownDesign(method=asked.method, **asdict(found))
