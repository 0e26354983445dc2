"""`/v1/collections/{collection}/qrels/{version}/impact`: what a qrels version changes, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.judgments import FlipAnswer, ImpactAnswer
from gainboard.api.problems import documented
from gainboard.api.qrels import Version
from gainboard.api.queries import asked_by, question_of
from gainboard.api.routes import CheckedRoute
from gainboard.errors import BadExpression, BadGains, Forbidden, NeedsIntents, NoQrels
from gainboard.evaluation.boards.setting_effects import TEST, Significance
from gainboard.evaluation.judgments.differences import Corrections
from gainboard.evaluation.judgments.impact import Impact, MetricImpact, impact
from gainboard.exhibits import csv_line
from gainboard.notation.queries import ImpactQuery, completed
from gainboard.store.records import Collection, VersionName

router = APIRouter(
    prefix="/v1/collections/{collection}/qrels", tags=["qrels"], responses=documented(), route_class=CheckedRoute
)

CSV: dict[int, dict[str, Any]] = {
    200: {"description": "JSON or CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get(
    "/{version}/impact",
    response_model=ImpactAnswer,
    responses=documented(BadExpression, NeedsIntents, BadGains, Forbidden, NoQrels, also=CSV),
)
def read_qrels_impact(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[ImpactQuery, asked_by(ImpactQuery)],
) -> Response:
    """Compare a version, for example a draft, with another one (organisers)."""
    sent = completed(ImpactQuery, asked)
    named = VersionName(sent["judgments"], version)
    against = VersionName(sent["against_judgments"] or sent["judgments"], sent["against"])
    compared = impact(workspace, principal, collection, named, question_of(asked), against=against, alpha=sent["alpha"])
    if (sent["format"] or ("csv" if accepts(request, "text/csv") else "json")) == "csv":
        return PlainTextResponse("".join(_csv(compared)), media_type="text/csv")
    return answer(_json(compared))


def _json(compared: Impact) -> dict[str, Any]:
    return {
        "collection": compared.collection.name,
        "qrels_version": compared.version.version,
        "against": compared.before.version,
        "judgment_set": compared.version.judgments,
        "against_set": compared.before.judgments,
        "metrics": [metric.label for metric in compared.metrics],
        "asked": compared.labels,
        "judgments": _judgments(compared.collection, compared.judgments),
        "impact": [
            {
                "metric": metric.label,
                "runs": list(_rows(compared, metric)),
                "tau_b": metric.tau_b,
                "largest_rank_change": metric.largest_rank_change,
                "topics_become_defined": metric.become_defined,
                "topics_become_undefined": metric.become_undefined,
                "significance": metric.significance and _significance(metric.significance, compared.alpha),
            }
            for metric in compared.metrics
        ],
    }


def _judgments(collection: Collection, corrections: Corrections) -> dict[str, Any]:
    def name(level: int | None) -> str | None:
        return None if level is None else collection.level_name(level)

    counted = ("added", "removed", "changed", "unchanged", "topics_added", "topics_removed", "topics_changed")
    return {
        **{count: getattr(corrections, count) for count in counted},
        "levels": [name(level) for level in corrections.levels],
        "table": corrections.table(),
        "changes": [
            {
                "topic": correction.topic,
                "document": correction.document.decode(),
                "old": name(correction.old),
                "new": name(correction.new),
            }
            for correction in corrections.changes
        ],
    }


def _rows(compared: Impact, metric: MetricImpact) -> Iterator[dict[str, Any]]:
    columns = (*metric.means.tolist(), (metric.means[1] - metric.means[0]).tolist(), *metric.ranks.tolist())
    for run, before, after, change, rank_before, rank_after in zip(compared.runs, *columns, strict=True):
        yield {
            "name": run.name,
            "team": run.team,
            "mean_before": before,
            "mean_after": after,
            "change": change,
            "rank_before": rank_before,
            "rank_after": rank_after,
        }


def _significance(significance: Significance, alpha: float) -> dict[str, Any]:
    return {
        "test": TEST,
        "alpha": alpha,
        "topics": significance.topics,
        "counts": significance.counts,
        "flips": [{name: getattr(flip, name) for name in FlipAnswer.model_fields} for flip in significance.flips],
    }


def _csv(compared: Impact) -> Iterator[str]:
    yield "run,team,metric,mean_before,mean_after,change,rank_before,rank_after\r\n"
    for metric in compared.metrics:
        for row in _rows(compared, metric):
            name, team, *numbers = row.values()
            yield csv_line((name, team, metric.label, *numbers))
