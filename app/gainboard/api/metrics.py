"""`/v1/metrics`: the catalogue of metrics, as their kernels describe it, and the presets."""

from __future__ import annotations

from fastapi import APIRouter

from gainboard.api.models.service import Catalogue, ShownMetric, ShownParameter, ShownPreset
from gainboard.api.problems import documented
from gainboard.metrics import Metric, Preset, every_metric, every_preset

router = APIRouter(prefix="/v1", tags=["metrics"], responses=documented())


@router.get("/metrics")
def list_metrics() -> Catalogue:
    """List every metric with its names, parameters, definition and source, and every preset."""
    presets = [_show_preset(preset) for preset in every_preset()]
    return Catalogue(items=[_show(metric) for metric in every_metric()], presets=presets)


def _show(metric: Metric) -> ShownMetric:
    return ShownMetric(
        name=metric.name,
        title=metric.title,
        aliases=list(metric.aliases),
        implied={alias: dict(values) for alias, values in metric.implied.items() if values},
        definition=metric.definition,
        reference=metric.reference,
        graded=metric.graded,
        bounded=metric.bounded,
        needs_intents=metric.needs_intents,
        takes_cutoff=metric.takes_cutoff,
        parameters=[
            ShownParameter(
                name=each.name,
                default=each.default,
                limits=each.limits,
                schema=dict(each.schema),
                description=each.description,
                only_in_expressions=each.only_in_expressions,
            )
            for each in metric.parameters
        ],
    )


def _show_preset(preset: Preset) -> ShownPreset:
    return ShownPreset(
        name=preset.name,
        title=preset.title,
        definition=preset.definition,
        reference=preset.reference,
        expressions=list(preset.expressions(3)),
    )
