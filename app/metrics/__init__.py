"""Effectiveness metrics: a judged run in, one score a topic out. NumPy and the standard library only.

Start at `catalogue` for what a metric is, at `precision` for what one looks like, at `resolve` for how one is
named, and at `BoundMetric.score` for how one is computed.
"""

# Importing a family enters its metrics into the catalogue.
from app.metrics import blended, cumulative, distance, precision, reciprocal, weighted  # noqa: F401
from app.metrics.bound import BoundMetric, mean_all, score_all
from app.metrics.catalogue import Metric, every_metric, query_parameters
from app.metrics.curves import gain_curves, precision_recall
from app.metrics.expressions import resolve, without
from app.metrics.gains import GainSetting, linear_ratio, parse_gains, steep
from app.metrics.parameters import Parameter
from app.metrics.presets import Preset, every_preset, expand
from app.metrics.rankings import UNJUDGED, JudgedRun, Judgments, RetrievalScores, Scale
from app.metrics.retrieval import min_max
from app.metrics.trec_eval import trec_eval_name
from app.metrics.views import JudgedRankings

__all__ = [
    "UNJUDGED",
    "BoundMetric",
    "GainSetting",
    "JudgedRankings",
    "JudgedRun",
    "Judgments",
    "Metric",
    "Parameter",
    "Preset",
    "RetrievalScores",
    "Scale",
    "every_metric",
    "every_preset",
    "expand",
    "gain_curves",
    "linear_ratio",
    "mean_all",
    "min_max",
    "parse_gains",
    "precision_recall",
    "query_parameters",
    "resolve",
    "score_all",
    "steep",
    "trec_eval_name",
    "without",
]
