"""The metrics that the expressions of a request mean: computed from judgments, or uploaded as `custom:NAME`.

The scores of answers, such as `nuggets:vital_strict`, follow from verdicts and are stored in the same way. Labels of
stored scores have the version, so that a label always means the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression, BadGains, InvalidRequest, NoQrels, ScoresAlone
from gainboard.evaluation.runs.join import JudgedTopics, make_empty_run
from gainboard.metrics import (
    BoundMetric,
    JudgedRuns,
    Metric,
    Names,
    Scale,
    expand,
    explain_ignored_defaults,
    resolve,
    score_all,
    translate,
)
from gainboard.metrics.answers import METRICS_OF_ANSWERS
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings
from gainboard.vocabulary import OF_ANSWERS, OFFICIAL, Direction, is_of_answers, metric_of_matrix

if TYPE_CHECKING:
    # Commands on files bind metrics, too, and do without SQLAlchemy.
    from gainboard.evaluation.access.visibility import View
    from gainboard.evaluation.workspace import Workspace
    from gainboard.store.database import Transaction
    from gainboard.store.records import Collection, Run, ScoreMatrix
    from gainboard.trec.nuggets import Verdicts

Floats = NDArray[np.float64]
PREFIX: Final = "custom:"
_FORM_OF_ANSWERS = re.compile(
    rf"({'|'.join(OF_ANSWERS)}):([a-z_]+)"
    r"(?:\((?:judge=([A-Za-z0-9][A-Za-z0-9._-]*))?(?:,? ?version=([1-9][0-9]{0,8}))?\))?"
)
FIRST_OF_ANSWERS: Final = "nuggets:vital_strict(judge=model)"
_FORM = re.compile(r"custom:([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?:\(version=([1-9][0-9]{0,8})\))?")


class _Uploaded(Metric):
    """A metric without a formula of ours, and so without parameters."""

    parameters = ()


def _no_formula(rankings: BinaryRankings) -> Value:
    """Raise an error, because the scores were computed elsewhere and uploaded as a score matrix."""
    raise NotImplementedError("the scores are stored")


class UploadedMetric(BoundMetric):
    """A metric whose scores were computed elsewhere."""

    is_uploaded = True

    def __init__(self, name: str, label: str, direction: Direction) -> None:
        self.direction = direction
        self.metric = _Uploaded(
            name=name,
            aliases=(),
            title=f"{name.removeprefix(PREFIX)} (uploaded scores{', lower is better' if direction == 'down' else ''})",
            reference="",
            bounded=False,
            sorted_is_best=False,
            kernel=_no_formula,
        )
        # Analyses read these two parameters of every metric.
        self.parameters = {"mean": "arithmetic", "rel": 1}  # type: ignore[assignment]
        self.cutoff = None
        self.label = label
        self.is_geometric = self.is_averaged = self.needs_intents = False

    @property
    def is_reversed(self) -> bool:
        return self.direction == "down"


class CustomMetric(UploadedMetric):
    """A version of a score matrix as a metric. `scores` takes its scores from the store."""

    def __init__(self, matrix: ScoreMatrix) -> None:
        super().__init__(matrix.metric, matrix.label, matrix.direction)
        self.matrix = matrix

    @property
    def is_bounded(self) -> bool:
        return self.matrix.low is not None and self.matrix.high is not None

    def in_unit(self, scores: Floats) -> Floats:
        low, high = self.matrix.low, self.matrix.high
        assert low is not None, "analyses that need a range refuse metrics without one"
        assert high is not None, "a range has two ends"
        # Scores of metrics that are better if lower are negated already.
        return np.asarray((scores + high if self.is_reversed else scores - low) / (high - low))

    def scores(self, workspace: Workspace, runs: Sequence[Run], topics: Sequence[str]) -> Floats:
        """Return the scores as they were uploaded: float64 [runs, topics], NaN for runs or topics without any."""
        from gainboard.store import score_matrices  # noqa: PLC0415 (with SQLAlchemy)

        with workspace.database.reading() as tx:
            stored = score_matrices.scores_of(tx, self.matrix)
        rows = [self._row_of(run) for run in runs]
        columns = [self._column.get(topic, -1) for topic in topics]
        if -1 in rows or -1 in columns:
            # The last row and column stand for what the matrix does not have.
            stored = np.pad(stored, ((0, 1), (0, 1)), constant_values=np.nan)
        return np.ascontiguousarray(stored[np.ix_(rows, columns)])

    def verdicts(self, workspace: Workspace) -> Verdicts:
        """Return what the judge of the metric says of answers: of `nuggets:vital_strict` and `support:precision` alone.

        `scores` has the scores that follow. Raise BadExpression for others, whose scores come without verdicts.
        """
        from gainboard.store import score_matrices  # noqa: PLC0415 (with SQLAlchemy)

        with workspace.database.reading() as tx:
            verdicts = score_matrices.verdicts_of(tx, self.matrix)
        if verdicts is None:
            raise BadExpression(f"{self.label} has no verdicts. Name a judge by its first metric: {FIRST_OF_ANSWERS}.")
        return verdicts

    def undefined(self, topics: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the topics the matrix does not have: [topics]."""
        return np.array([topic not in self._column for topic in topics], np.bool_)

    def without_scores(self, runs: Iterable[Run]) -> list[str]:
        """Return the names of the runs that the matrix does not have."""
        return [run.name for run in runs if self._row_of(run) < 0]

    def _row_of(self, run: Run) -> int:
        # A run that came later has only the name of the run that was meant, which was withdrawn.
        return self._row.get(run.name, -1) if run.created_at <= self.matrix.created_at else -1

    def described(self) -> dict[str, Any]:
        """Return what a result says of the metric."""
        matrix = self.matrix
        return {
            "metric": self.label,
            "direction": matrix.direction,
            "range": [matrix.low, matrix.high] if self.is_bounded else None,
            "sha256": matrix.sha256,
            "negated": self.is_reversed,
        }

    @cached_property
    def _row(self) -> Mapping[str, int]:
        return {run: row for row, run in enumerate(self.matrix.runs)}

    @cached_property
    def _column(self) -> Mapping[str, int]:
        return {topic: column for column, topic in enumerate(self.matrix.topics)}


@dataclass(frozen=True)
class CustomMetrics:
    """The score matrices that a request may name, or None for each request that names none."""

    collection: str = ""
    stored: Sequence[ScoreMatrix] = ()
    are_all: bool = False
    """True for a collection of scores, where there are no others: a bare name means one of them."""

    @property
    def names(self) -> list[str]:
        """The names of the matrices that were not deleted."""
        return sorted({matrix.name for matrix in self.stored if matrix.deleted_at is None}, key=str.encode)

    @property
    def expressions(self) -> list[str]:
        """The metrics of a collection of scores, as people write them: bare names, but for metrics of answers."""
        return [metric_of_matrix(name) if is_of_answers(name) else name for name in self.names]

    def defaults(self, official: Sequence[str]) -> list[str]:
        """Return the metrics of a request that names none, in a collection of scores: the official ones, or all.

        Raise NoQrels before the first matrix.
        """
        if not self.names:
            raise NoQrels(f"{self.collection!r} has no scores yet. Upload a score matrix.")
        # An official metric may be named before its scores are there.
        there = [name for name in official if (matrix_of(name) or name.removeprefix(PREFIX)) in self.names]
        # The first metric ranks: of answers, that of TREC.
        return there or sorted(self.expressions, key=lambda name: not name.startswith("nuggets:vital_strict"))

    def available(self, official: Sequence[str]) -> list[str]:
        """Return the official metrics without those of answers whose scores are not there."""
        return [name for name in official if not is_custom(name) or matrix_of(name) in self.names]

    def bind(self, expression: str, scale: Scale, defaults: Mapping[str, str] = {}) -> BoundMetric:
        """Return the metric of our expression, or of uploaded scores. Raise what `resolve` of `metrics` raises."""
        if self.are_all and not is_custom(expression):
            if expression not in self.names:
                why = f"it has no judgments, so {expression[:80]} cannot be computed"
                message = f"{self.collection!r} is a collection of scores: {why}. Its metrics: "
                raise ScoresAlone(f"{message}{', '.join(self.expressions)}.", metrics=self.expressions)
            expression = PREFIX + expression
        if is_custom(expression):
            return self.resolve(expression)
        return resolve(expression, scale, defaults=defaults)

    def resolve(self, expression: str) -> CustomMetric:
        """Return the metric of an expression `custom:NAME`, or of a label with a version. Raise BadExpression."""
        match = _FORM_OF_ANSWERS.fullmatch(expression) or _FORM.fullmatch(expression)
        if match is None:
            example = FIRST_OF_ANSWERS if not expression.startswith(PREFIX) else "custom:nuggets"
            raise BadExpression(f"{expression[:80]!r} is not the name of uploaded scores. Write it as {example}")
        name = match[1] if expression.startswith(PREFIX) else matrix_of(expression)
        version = int(match[match.re.groups]) if match[match.re.groups] else None
        for matrix in reversed(self.stored):
            is_wanted = matrix.deleted_at is None if version is None else matrix.version == version
            if matrix.name == name and is_wanted:
                return CustomMetric(matrix)
        live = sorted({matrix.metric for matrix in self.stored if matrix.deleted_at is None})
        available = f"Available: {', '.join(live)}" if live else "None has been uploaded"
        raise BadExpression(f"{self.collection!r} has no scores {expression}. {available}")


NO_CUSTOM: Final = CustomMetrics()


def is_custom(expression: str) -> bool:
    """Return whether an expression means uploaded scores, or scores of answers, which follow from uploaded verdicts."""
    return expression.startswith((PREFIX, *(f"{family}:" for family in OF_ANSWERS)))


def matrix_of(expression: str) -> str | None:
    """Return the name of the score matrix of a metric of answers; None for another expression."""
    match = _FORM_OF_ANSWERS.fullmatch(expression)
    if match is None or match[2] not in METRICS_OF_ANSWERS[match[1]]:
        return None
    return name_of_answers(match[1], match[2], match[3] or OFFICIAL)


def name_of_answers(family: str, metric: str, judge: str) -> str:
    """Return the name of the score matrix of a metric of answers under a judge."""
    return f"{family}--{metric}" if judge == OFFICIAL else f"{family}--{metric}--{judge}"


def custom_labels(value: Any) -> list[str]:
    """Return the texts of JSON that mean uploaded scores, each once, without a qrels version."""
    if isinstance(value, str):
        return [value.partition(" ")[0]] if is_custom(value) else []
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return list(dict.fromkeys(label for part in parts for label in custom_labels(part)))


def names_custom(value: Any) -> bool:
    """Return whether any text of a request, as JSON, means uploaded scores."""
    return bool(custom_labels(value))


def custom_metrics(tx: Transaction, view: View, wanted: Any) -> CustomMetrics:
    """Return the score matrices for a request, whose expressions are among the texts of `wanted`.

    Uploaded scores tell of judgments. So whoever names any must see the judgments, whether it exists or not: raise
    JudgmentsHidden otherwise. In a collection of scores, every request names some.
    """
    if not (view.collection.has_scores_alone or custom_labels(wanted)):
        return NO_CUSTOM
    view.require_judgments()
    return stored_custom_metrics(tx, view.collection)


def stored_custom_metrics(tx: Transaction, collection: Collection) -> CustomMetrics:
    """Return the score matrices of a collection, for a request that was admitted before."""
    from gainboard.store import score_matrices  # noqa: PLC0415 (with SQLAlchemy)

    stored = score_matrices.list_versions(tx, collection.id, deleted=True)
    return CustomMetrics(collection.name, stored, collection.has_scores_alone)


def customs_of(bound: Iterable[BoundMetric]) -> list[tuple[int, CustomMetric]]:
    """Return the metrics whose scores were uploaded, with their places."""
    return [(row, metric) for row, metric in enumerate(bound) if isinstance(metric, CustomMetric)]


def refuse_custom(wanted: Any, location: str, why: str) -> None:
    """Raise InvalidRequest if the texts of a request name uploaded scores, which are of no use for it."""
    if labels := custom_labels(wanted):
        raise InvalidRequest.at(location, "uploaded-scores", f"{labels[0]} was uploaded. {why} Leave it out.")


def require_scores_of(metric: CustomMetric, runs: Sequence[Run], location: str) -> None:
    """Raise InvalidRequest if the matrix lacks one of the runs."""
    if missing := metric.without_scores(runs):
        message = (
            f"{len(missing)} of {len(runs)} runs, such as {missing[0]!r}, have no scores in {metric.label}. Name the "
            "runs that have: `run=NAME`, or `runs` of a job; or upload a matrix with all runs."
        )
        raise InvalidRequest.at(location, "not-in-matrix", message)


def require_rankings(runs: Sequence[Run], location: str) -> None:
    """Raise InvalidRequest if one of the runs has answers alone, so that no formula scores it."""
    if without := [run.name for run in runs if not run.has_ranking]:
        message = (
            f"{len(without)} of {len(runs)} runs, such as {without[0]!r}, have answers and no ranking, so that only "
            "uploaded scores and those of answers are theirs. Leave them out, or ask for these metrics alone."
        )
        raise InvalidRequest.at(location, "no-ranking", message)


DEFAULT_METRICS = ("AP", "Q", "nDCG@10")
"""The metrics of a request, if neither the request nor the collection names any."""


def scale_of(collection: Collection) -> Scale:
    """Return what metric expressions depend on in a collection."""
    return Scale(collection.highest_level, collection.depth, collection.intents)


def in_our_names(expressions: Sequence[str], names: Names, highest_level: int) -> dict[str, str]:
    """Return our expression for each expression, with each preset replaced by its expressions.

    Raises BadExpression if the tool `names` has no such metric, or none that is here.
    """
    if names == "gainboard":
        return {expression: expression for expression in expand(expressions, highest_level)}
    return {expression: in_ours(expression, names) for expression in expressions}


def bind_all(
    expressions: Mapping[str, str],
    scale: Scale,
    query: Mapping[str, str],
    gains: str,
    custom: CustomMetrics = NO_CUSTOM,
) -> tuple[list[BoundMetric], dict[str, str]]:
    """Return the distinct metrics, in the order of the request, and the label of each expression.

    `expressions` has our expression for each expression of the request (see `in_our_names`). `query` are the request's
    defaults for parameters, `gains` the collection's. Raise what `resolve` raises, with the request's expression in the
    message.
    """
    defaults = {"gains": gains, **query}
    metrics: dict[str, BoundMetric] = {}
    labels: dict[str, str] = {}
    for expression, ours in expressions.items():
        try:
            metric = custom.bind(ours, scale, defaults)
        except (BadExpression, BadGains) as error:
            if expression == ours:
                raise
            link = " means " if error.message.startswith(ours) else ": "
            raise type(error)(f"{expression}{link}{error.message}") from error
        if not isinstance(metric, CustomMetric) and (
            notes := explain_ignored_defaults(expression, ours, metric, query)
        ):
            metric = copy(metric)  # equal metrics of other requests are this object
            metric.ignored = notes
        labels[expression] = metric.label
        metrics.setdefault(metric.label, metric)
    return list(metrics.values()), labels


def in_ours(expression: str, names: Names) -> str:
    """Return our expression for one of a tool; uploaded scores have one name."""
    return expression if is_custom(expression) else translate(expression, names)


def undefined(bound: Sequence[BoundMetric], topics: JudgedTopics) -> NDArray[np.bool_]:
    """Return where no run has a score because the topic has no relevant document: [metrics, topics]."""
    # Whether a formula is undefined depends on the topic alone, so a run without documents tells it.
    empty = JudgedRuns.of([make_empty_run(len(topics.topics))], topics.judgments)
    missing = np.empty((len(bound), len(topics.topics)), np.bool_)
    formulas = [row for row, metric in enumerate(bound) if not isinstance(metric, CustomMetric)]
    missing[formulas] = np.isnan(score_all([bound[row] for row in formulas], empty)[:, 0])
    for row, metric in customs_of(bound):
        missing[row] = metric.undefined(topics.topics)
    return missing
