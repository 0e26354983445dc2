"""Effectiveness metrics: judged runs in, one score for each topic out.

Read `precision` for an example of a metric, `catalogue` for the parts of a metric, and `expressions` for its names.
Read `values` for the parts of a formula, and `scoring` and `plain` for the computation of formulas. All but the
compiled kernels needs only NumPy and the standard library.
"""

# Importing a module of metrics adds its metrics to the catalogue.
from gainboard.metrics import cumulative, diversity, fairness, incomplete, precision, stopping  # noqa: F401
from gainboard.metrics.catalogue import Metric, every_metric, every_parameter, query_parameters
from gainboard.metrics.curves import RECALL_STEPS, CurvesOfRun, judged_share
from gainboard.metrics.expected import TiedRun, expected_form, expected_scores, is_without_order
from gainboard.metrics.expressions import (
    BoundMetric,
    explain_ignored_defaults,
    notes_on_names,
    resolve,
    short_labels,
    trec_eval_name,
    without,
)
from gainboard.metrics.gains import GainSetting, linear_ratio, parse_gains, steep
from gainboard.metrics.judgments import UNJUDGED, Annotations, AttributeSet, Intents, Judgments, Scale
from gainboard.metrics.names import Preset, every_preset, expand
from gainboard.metrics.parameters import Parameter
from gainboard.metrics.rankings import JudgedRun, JudgedRuns, RetrievalScores
from gainboard.metrics.retrieval import min_max
from gainboard.metrics.scoring import mean_all, mean_if_relevant, mean_of, score_all
from gainboard.metrics.user_models import NUMBERS, five_numbers
from gainboard.metrics.vocabularies import translate
from gainboard.vocabulary import Names

SCORING_VERSION = 2
"""The version of the scoring. Increase it with every change that may change a score."""

__all__ = [
    "NUMBERS",
    "RECALL_STEPS",
    "SCORING_VERSION",
    "UNJUDGED",
    "Annotations",
    "AttributeSet",
    "BoundMetric",
    "CurvesOfRun",
    "GainSetting",
    "Intents",
    "JudgedRun",
    "JudgedRuns",
    "Judgments",
    "Metric",
    "Names",
    "Parameter",
    "Preset",
    "RetrievalScores",
    "Scale",
    "TiedRun",
    "every_metric",
    "every_parameter",
    "every_preset",
    "expand",
    "expected_form",
    "expected_scores",
    "explain_ignored_defaults",
    "five_numbers",
    "is_without_order",
    "judged_share",
    "linear_ratio",
    "mean_all",
    "mean_if_relevant",
    "mean_of",
    "min_max",
    "notes_on_names",
    "parse_gains",
    "query_parameters",
    "resolve",
    "score_all",
    "short_labels",
    "steep",
    "translate",
    "trec_eval_name",
    "without",
]
