"""Effectiveness metrics: a judged run in, one score a topic out. NumPy and the standard library only.

Start at `catalogue` for what a metric is, at `precision` for what one looks like, at `resolve` for how one is
named, and at `BoundMetric.score` for how one is computed.
"""

# Importing a family enters its metrics into the catalogue.
from gainboard.metrics import blended, cumulative, distance, precision, reciprocal, weighted  # noqa: F401
from gainboard.metrics.bound import BoundMetric, mean_all, score_all
from gainboard.metrics.catalogue import Metric, every_metric, query_parameters
from gainboard.metrics.curves import gain_curves, precision_recall
from gainboard.metrics.expressions import resolve, without
from gainboard.metrics.gains import GainSetting, linear_ratio, parse_gains, steep
from gainboard.metrics.parameters import Parameter
from gainboard.metrics.presets import Preset, every_preset, expand
from gainboard.metrics.rankings import UNJUDGED, JudgedRun, Judgments, RetrievalScores, Scale
from gainboard.metrics.retrieval import min_max
from gainboard.metrics.trec_eval import trec_eval_name
from gainboard.metrics.views import JudgedRankings

SCORING_VERSION = 1
"""Counted on whenever a score may come out differently, whatever computes it."""

__all__ = [
    "SCORING_VERSION",
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
