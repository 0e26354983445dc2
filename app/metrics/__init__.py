"""Effectiveness metrics: a judged run in, one score a topic out. NumPy and the standard library only.

Start at `catalogue` for what a metric is, at `precision` for what one looks like, at `resolve` for how one is
named, and at `BoundMetric.score` for how one is computed.
"""

# Importing a family enters its metrics into the catalogue.
from app.metrics import blended, cumulative, distance, precision, reciprocal, weighted  # noqa: F401
from app.metrics.bound import BoundMetric
from app.metrics.catalogue import Metric, every_metric, query_parameters
from app.metrics.curves import gain_curves, precision_recall
from app.metrics.distance import min_max
from app.metrics.expressions import resolve, without
from app.metrics.gains import GainSetting, parse_gains
from app.metrics.parameters import Parameter
from app.metrics.rankings import UNJUDGED, JudgedRun, Judgments, RetrievalScores, Scale
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
    "RetrievalScores",
    "Scale",
    "every_metric",
    "gain_curves",
    "min_max",
    "parse_gains",
    "precision_recall",
    "query_parameters",
    "resolve",
    "trec_eval_name",
    "without",
]
