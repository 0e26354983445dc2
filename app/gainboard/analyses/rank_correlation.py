"""rank-correlation: how similarly metrics rank the same runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gainboard.analyses import common, versioned_metrics
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import DrawCount, Params, Seed
from gainboard.analyses.result_models import CountedTopics, JobResult, Number, ResultModel
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Series
from gainboard.notation.queries import MOST_METRICS
from gainboard.notation.texts import counted, said_extremes
from gainboard.statistics import correlation
from gainboard.statistics.agreement import discordant_pairs
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import pair_count, round_scores, tied_pairs
from gainboard.store.records import VersionName

Coefficient = Literal["kendall", "kendall_a", "spearman", "tau_ap", "rbo"]
BLOCK = 100
"""The number of resamples in one part of the accuracy."""
MOST_TAUS = 20_000_000
"""The most metrics x metrics x resamples of the accuracy, which are kept until the result."""
SECONDS_A_SCORE = 2e-7
SECONDS_AN_ASL = 5e-4
NAMES = {
    "kendall": "Kendall's tau-b",
    "kendall_a": "Kendall's tau-a",
    "spearman": "Spearman's rho",
    "tau_ap": "AP correlation",
    "rbo": "rank-biased overlap",
}


class CorrelationParams(Params):
    """Correlation of the rankings of runs by mean score, between all metrics (often the same metric under several gain
    settings). Means are rounded to 12 decimals, and equal means are ties; `ties` counts the tied pairs of each metric.
    AP correlation is null between rankings of which one has ties, because each order of the tied runs would give
    another value; `tau_ap_ties` is a form for ties. Rank-biased overlap has three (`rbo_ties`). `against` adds the
    swops: pairs of runs that a metric orders otherwise than that one. `sweep` adds the curve of a parameter, and
    `accuracy` the bootstrap standard error of each tau over topics (Sakai, SIGIR 2006).

    A metric may name a published qrels version, `{"metric": "P@10", "qrels": 1}`, and is then called `P@10 (qrels 1)`.
    It may also name another judgment set, `{"metric": "P@10", "judgments": "second"}`. This answers how similar the
    rankings by the judgments of two assessors are (Kekalainen, IPM, 2005). Runs are selected by the version of the job,
    and every metric is scored on the topics that all these versions judge.
    """

    metrics: Annotated[list[versioned_metrics.Entry], Field(min_length=1, max_length=MOST_METRICS)] = Field(
        description="Metric expressions, each of which may name a qrels version or a judgment set",
        examples=[["AP", "Q", "nDCG@10"]],
    )
    coefficients: Annotated[list[Coefficient], Field(min_length=1, max_length=len(NAMES))] = Field(
        ["kendall", "spearman"], description="Coefficients to compute; for tau_ap, the row is the reference"
    )
    against: versioned_metrics.Entry | None = Field(None, description="The metric against which swops are listed")
    sweep: versioned_metrics.SweepRequest | None = Field(None, description="A parameter of one metric to vary")
    accuracy: bool = Field(False, description="Whether to compute the standard error of each tau over topics")
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the accuracy")
    p: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.9, description="Persistence of rank-biased overlap: higher values look deeper"
    )
    rbo_ties: Literal["a", "b", "w"] = Field(
        "b",
        description="How rbo treats ties (Corsi and Urbano, SIGIR 2024). `b`: equal rankings give 1; `a`: the mean "
        "over all orders of the tied runs; `w`: tied runs share the best of their ranks",
    )
    tau_ap_ties: Literal["b"] | None = Field(
        None,
        description="How tau_ap treats ties. `b`: Urbano and Marrero's form; without it, tau_ap is undefined if "
        "there are ties",
    )
    seed: Seed = 0

    @model_validator(mode="after")
    def _once(self) -> Self:
        if len(set(self.coefficients)) < len(self.coefficients):
            raise ValueError("a coefficient is named twice; name each once")
        return self

    def settled(self, label: Labels) -> Self:
        """Return the same request without the parameters that have no effect on its result."""
        used = {"seed", "resamples"} if self.accuracy else set()
        used |= {"p", "rbo_ties"} if "rbo" in self.coefficients else set()
        used |= {"tau_ap_ties"} if "tau_ap" in self.coefficients else set()
        fields = type(self).model_fields
        names = ("seed", "resamples", "p", "rbo_ties", "tau_ap_ties")
        unused = {name: fields[name].default for name in names if name not in used}
        return super().settled(label).model_copy(update=unused)

    def expressions(self, label: Labels) -> dict[str, Any]:
        """Return the metrics, with `against` among them, and those of the sweep."""
        against, metrics = (
            versioned_metrics.settled_entry(self.against, label),
            versioned_metrics.settled_entries(self.metrics, label),
        )
        if against is not None and against not in metrics:
            metrics.append(against)
        written = {"metrics": metrics, "against": against, "sweep": self.sweep.settled(label) if self.sweep else None}
        return super().expressions(label) | written

    def versions(self) -> dict[str, VersionName]:
        return versioned_metrics.named_versions(
            {f"metrics.{position}": entry for position, entry in enumerate(self.metrics)} | {"against": self.against}
        )

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        metrics = list(dict.fromkeys(versioned_metrics.pinned_entry(entry, versions) for entry in self.metrics))
        against = versioned_metrics.pinned_entry(self.against, versions) if self.against is not None else None
        return self.model_copy(update={"metrics": metrics, "against": against})


class SweptTaus(ResultModel):
    """A metric under several values of a parameter, correlated with other metrics."""

    metric: str
    parameter: str
    values: list[str | int | float]
    labels: list[str] = Field(description="The metric under each value")
    against: dict[str, dict[Coefficient, list[Number]]] = Field(
        description="By the other metric and the coefficient: one number for each value"
    )

    def table(self) -> Table:
        """Return the coefficients, a row for each value."""
        columns, rows = [Column(self.parameter, align="right")], [list[Cell]([value]) for value in self.values]
        for label, coefficients in self.against.items():
            for name, values in coefficients.items():
                columns.append(Column(NAMES[name], digits=4, group=label))
                for row, value in zip(rows, values, strict=True):
                    row.append(value)
        caption = f"{self.metric} under several values of {self.parameter}, against other metrics."
        return Table("sweep", caption, columns, rows)

    def figure(self) -> Figure:
        """Return the curves of the coefficients over the values, a panel for each."""
        numbers = [value for value in self.values if not isinstance(value, str)]
        is_numeric = len(numbers) == len(self.values)
        values = numbers if is_numeric else list(range(len(self.values)))
        names = list(next(iter(self.against.values())))
        axis = (
            Axis(self.parameter, scale="log")
            if is_numeric
            else Axis(self.parameter, categories=list(map(str, self.values)))
        )
        panels = [
            Panel(
                axis,
                Axis(NAMES[name]),
                [Series(label, values, coefficients[name]) for label, coefficients in self.against.items()],
            )
            for name in names
        ]
        caption = f"{self.metric} with another {self.parameter}: its correlation with other metrics."
        return Figure("sweep", caption, panels)


class TauAccuracies(CountedTopics):
    """The accuracy of tau-b over resamples of the topics: matrices [metrics, metrics]."""

    standard_error: list[list[Number]]
    low: list[list[Number]] = Field(description="2.5th percentile")
    high: list[list[Number]] = Field(description="97.5th percentile")
    dropped: list[list[int]] = Field(description="Resamples for which tau is undefined")

    def table(self, metrics: Sequence[str], resamples: int | None) -> Table:
        """Return the accuracies of each two metrics."""
        rows: list[Sequence[Cell]] = [
            (
                first,
                second,
                self.standard_error[row][column],
                self.low[row][column],
                self.high[row][column],
                self.dropped[row][column],
            )
            for row, first in enumerate(metrics)
            for column, second in enumerate(metrics)
            if row < column
        ]
        columns = (
            Column("first metric"),
            Column("second metric"),
            Column("standard error", digits=4),
            Column("2.5th percentile", digits=4),
            Column("97.5th percentile", digits=4),
            Column("resamples dropped"),
        )
        return Table("accuracy", f"Kendall's tau-b over {resamples} topic resamples.", columns, rows)


class RankCorrelations(ResultModel):
    """Coefficients of each two metrics. Matrices are [metrics, metrics], in the order of `metrics`."""

    topics: int = Field(description="Topics, whether or not a metric is defined for them")
    topics_scored: dict[str, int] = Field(description="Topics in the means of each metric")
    topics_undefined: dict[str, list[str]] = Field(description="The other topics of each metric")
    qrels_versions: list[int | str] | None = Field(
        None, description="The versions of all metrics; this and the next two only if a metric names one of its own"
    )
    topics_left_out: list[str] | None = Field(None, description="Topics that not every version judges")
    left_out_because: str | None = Field(None, description="Why; null if none is left out")
    seed: int
    resamples: int | None = Field(description="Null without `accuracy`")
    metrics: list[str]
    coefficients: dict[Coefficient, list[list[Number]]] = Field(description="Matrices by coefficient")
    p_values: dict[Coefficient, list[list[Number]]] = Field(description="Of Kendall's and Spearman's")
    ties: dict[str, int] = Field(description="Tied pairs of runs by metric")
    means: dict[str, list[float]] = Field(description="Mean scores by metric, in the order of `runs`")
    p: float | None = Field(None, description="Persistence; only with `rbo`")
    against: str | None = Field(None, description="The metric of `swops`; only if one was named")
    swops: dict[str, list[tuple[str, str]]] | None = Field(
        None, description="Pairs of runs that a metric orders otherwise than `against`"
    )
    half_ties: dict[str, int] | None = Field(None, description="Pairs that only one of the two ties")
    sweep: SweptTaus | None = Field(None, description="Only if one was asked for")
    accuracy: TauAccuracies | None = Field(None, description="Only with `accuracy`")


class OrderedRuns(ResultModel):
    """The runs, from the best under the first metric."""

    runs: list[str]


class RankCorrelationOfRuns(RankCorrelations, OrderedRuns):
    """The correlations inside another result, with their runs."""


class RankCorrelationResult(RankCorrelations, JobResult):
    """The agreement of metrics on the order of the runs, which are listed from the best under the first metric."""

    kind: Literal["rank-correlation"]

    def verdict(self) -> str:
        name, matrix = next(iter(self.coefficients.items()))
        taus = {
            f"{first} and {second}": matrix[row][column]
            for (row, first), (column, second) in combinations(enumerate(self.metrics), 2)
        }
        return f"Between rankings of {counted(len(self.runs), 'run')}, {said_extremes(taus, NAMES[name])}."

    def tables(self) -> Sequence[Table]:
        """Return a matrix for each coefficient, the means, and the other parts that were asked for."""
        labels, shown = self.metrics, []
        under_each = [Column(label, digits=4) for label in labels]
        for name, matrix in self.coefficients.items():
            rows = [(label, *values) for label, values in zip(labels, matrix, strict=True)]
            caption = f"{NAMES[name]} between the rankings of {len(self.runs)} runs."
            notes = self._why_undefined(name)
            shown.append(Table(name.replace("_", "-"), caption, (Column("metric"), *under_each), rows, notes=notes))
        means = list(zip(self.runs, *(self.means[label] for label in labels), strict=True))
        shown.append(Table("means", f"Mean scores, in the order of {labels[0]}.", (Column("run"), *under_each), means))
        if self.swops is not None:
            ties = self.half_ties or {}
            counts = [(label, len(pairs), ties[label]) for label, pairs in self.swops.items()]
            caption = f"Pairs of runs ordered otherwise than by {self.against}, and pairs that only one of both ties."
            shown.append(Table("swops", caption, (Column("metric"), Column("swops"), Column("half ties")), counts))
        if self.sweep is not None:
            shown.append(self.sweep.table())
        if self.accuracy is not None:
            shown.append(self.accuracy.table(labels, self.resamples))
        return shown

    def _why_undefined(self, name: Coefficient) -> list[str]:
        """Return why a coefficient of rankings without ties is undefined, and under which metrics; else nothing."""
        coefficients, tied = self.coefficients[name], self.ties
        row_of = {label: row for row, label in enumerate(self.metrics)}
        lacking = [
            f"{label} ({count})"
            for label, count in tied.items()
            if count and coefficients[row_of[label]][row_of[label]] is None
        ]
        if name != "tau_ap" or not lacking:
            return []
        why = "Each order of tied runs would give another value, so it is undefined where a metric ties runs"
        return [f"{why}. Tied pairs: {', '.join(lacking)}."]

    def figures(self) -> Sequence[Figure]:
        """Return a map of each coefficient, the curves of the means with marked swops, the means of two metrics as
        points, and the curves of the sweep.
        """
        labels = self.metrics
        shown = [
            Figure(
                name.replace("_", "-"),
                f"{NAMES[name]} between metrics.",
                (HeatMap(labels, labels, matrix, Axis(NAMES[name], limits=(None, 1))),),
            )
            for name, matrix in self.coefficients.items()
        ]
        places, first = list(range(len(self.runs))), labels[0]
        series = [Series(label, places, self.means[label], highlighted=risen(self, label)) for label in labels]
        panel = Panel(Axis(f"runs, sorted by {first}", categories=self.runs), Axis("mean score"), series)
        caption = f"Mean scores of runs in the order of {first}; an increase in a curve is a swop with it."
        shown.append(Figure("means", caption, (panel,), highlight=f"swop with {first}: above the run before"))
        if len(labels) == 2:
            # Of more metrics, the map says more than so many panels: this one is for two tasks, side by side.
            points = Series("runs", self.means[first], self.means[labels[1]], "points")
            caption = f"Mean scores of runs by {first} and by {labels[1]}."
            shown.append(Figure("scatter", caption, (Panel(Axis(first), Axis(labels[1]), [points]),)))
        return [*shown, self.sweep.figure()] if self.sweep is not None else shown


@enter
class RankCorrelation(Analysis[CorrelationParams, RankCorrelationResult]):
    """Coefficients between all metrics, swops against one metric, the curve of a swept parameter, and accuracy.

    The label of a metric may name a qrels version, as `on_version` writes it.
    """

    name = "rank-correlation"
    title = "Correlation of rankings"
    question = "which-metric"
    summary = "How similarly the metrics, or gain settings of one metric, rank the runs."
    changes = 3  # near-duplicates are named; rank-biased overlap has a form for ties

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: CorrelationParams) -> None:
        super().__init__(matrices, params)
        metrics, sweep = list(map(versioned_metrics.label_of, params.metrics)), params.sweep
        self.metrics, self.coefficients, self.sweep = metrics, params.coefficients, sweep
        self.against = versioned_metrics.label_of(params.against) if params.against is not None else None
        self.resamples = params.resamples if params.accuracy else None
        swept = [*sweep.labels, *sweep.against] if sweep else []
        self._labels = list(dict.fromkeys([*metrics, *swept]))
        self._scored = versioned_metrics.MixedMatrices(matrices, self._labels)
        self._require_rankings()
        if self.against:
            # At worst every pair is swopped, and the answer names each swop.
            common.require_at_most(
                common.MOST_PAIRS, pair_count(matrices.run_count) * len(metrics), common.PAIRS, "against"
            )
        self._topics: common.CommonTopics | None = None
        if params.accuracy:
            if (taus := len(metrics) ** 2 * params.resamples) > MOST_TAUS:
                message = (
                    f"{len(metrics)} metrics squared x {params.resamples} resamples are {taus:,} taus. Choose fewer "
                    "metrics or resamples: at most "
                )
                raise common.refuse("accuracy", "too-many", f"{message}{MOST_TAUS:,}.")
            scores = len(metrics) * matrices.run_count * len(self._scored.topics)
            common.require_at_most(
                common.MOST_KEPT, scores, "scores (metrics x runs x topics) are resampled together", "accuracy"
            )
            self._topics = common.common_topics(self._scored, metrics)

    def _require_rankings(self) -> None:
        if self.matrices.run_count < 2:
            message = f"Selected runs: {self.matrices.run_count}. A ranking needs at least 2."
            raise common.refuse("runs", "too-few-runs", message)
        if not self._scored.topics:
            message = (
                f"No topic is judged by all of the qrels versions {', '.join(map(str, self._scored.version_names))}. "
                "Choose versions that share topics."
            )
            raise common.refuse("metrics", "too-few-topics", message)
        for label in self._labels:
            if not self._scored.defined(label).any():
                raise common.refuse(
                    "metrics",
                    "too-few-topics",
                    f"{label} is not defined for any topic, so it cannot rank the runs. Choose another metric.",
                )

    def parts(self) -> list[float]:
        matrix = self.matrices.run_count * len(self._scored.topics)
        first = len(self._labels) * (matrix * SECONDS_A_SCORE + len(self._labels) / 2 * SECONDS_AN_ASL)
        if self.resamples is None:
            return [first]
        signs = len(self.metrics) * self.matrices.run_count**2 / 2
        scores = len(self.metrics) * matrix
        block = BLOCK * (5e-5 + signs * (3e-9 + len(self.metrics) * 4e-11) + scores * 2e-10)
        return [first] + [block] * -(-self.resamples // BLOCK)

    def work(self, part: int) -> Arrays:
        if part > 0:
            assert self._topics is not None
            assert self.resamples is not None
            block = part - 1
            size = min(BLOCK, self.resamples - block * BLOCK)
            # Each block has random numbers of its own, so that blocks can be drawn in any order.
            drawn = Draws(self.params.seed, "rank-correlation", block).resamples(size, self._topics.count)
            tables = np.array([self._topics.scores(label) for label in self.metrics])
            return {"taus": correlation.resampled_taus(tables, resample_counts(drawn, self._topics.count))}
        means = np.array([self._scored.means(label) for label in self._labels])
        of_metrics = means[: len(self.metrics)]
        asls = {"kendall": correlation.kendall_asls, "spearman": correlation.spearman_asls}
        wanted = {name: level(of_metrics) for name, level in asls.items() if name in self.coefficients}
        return {"means": means, **{f"asl {name}": levels for name, levels in wanted.items()}}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        means = findings[0]["means"]
        of_metrics = means[: len(self.metrics)]
        names = [run.name for run in self.matrices.runs]
        # Means that differ by a rounding error are ties, which names order.
        order = sorted(range(len(names)), key=lambda run: (-round_scores(of_metrics[0])[run], names[run]))
        asls = {
            name: findings[0][f"asl {name}"].tolist() for name in ("kendall", "spearman") if name in self.coefficients
        }
        result: dict[str, Any] = {
            "runs": [names[run] for run in order],
            **self._scored.described(),
            "seed": self.params.seed,
            "resamples": self.resamples,
            "metrics": list(self.metrics),
            "coefficients": {name: self._matrix(name, of_metrics).tolist() for name in self.coefficients},
            "p_values": asls,
            "ties": dict(zip(self.metrics, tied_pairs(of_metrics).tolist(), strict=True)),
            "means": {label: row[order].tolist() for label, row in zip(self.metrics, of_metrics, strict=True)},
        }
        if "rbo" in self.coefficients:
            result["p"] = self.params.p
        if self.against:
            reference = of_metrics[list(self.metrics).index(self.against)]
            pairs = {
                label: discordant_pairs(reference, row) for label, row in zip(self.metrics, of_metrics, strict=True)
            }
            result["against"] = self.against
            result["swops"] = {label: [[names[x], names[y]] for x, y in swops.pairs] for label, swops in pairs.items()}
            result["half_ties"] = {label: swops.half_ties for label, swops in pairs.items()}
        if self.sweep:
            result["sweep"] = self._sweep(self.sweep, means)
        if self._topics:
            accuracy = correlation.tau_accuracy(np.concatenate([part["taus"] for part in findings[1:]]))
            by_pair = {name: matrix.tolist() for name, matrix in accuracy._asdict().items()}
            result["accuracy"] = TauAccuracies(**self._topics.described(), **by_pair)
        return result

    def _matrix(self, name: Coefficient, means: Floats) -> Floats:
        if name == "kendall":
            return correlation.kendall_matrix(means)
        if name == "kendall_a":
            return correlation.kendall_matrix(means, "a")
        if name == "spearman":
            return correlation.spearman_matrix(means)
        # The first ranking is the reference unless ties are weighed from both sides, so the matrix may be asymmetric.
        if name == "tau_ap":
            return correlation.tau_ap_matrix(means, self.params.tau_ap_ties)
        return correlation.rbo_matrix(means, self.params.p, self.params.rbo_ties)

    def _sweep(self, sweep: versioned_metrics.SweepRequest, means: Floats) -> SweptTaus:
        row_of = {label: row for row, label in enumerate(self._labels)}
        swept = [row_of[label] for label in sweep.labels]
        matrices = {name: self._matrix(name, means) for name in self.coefficients}
        against = {
            label: {name: matrix[row_of[label], swept].tolist() for name, matrix in matrices.items()}
            for label in sweep.against
        }
        return SweptTaus(
            metric=sweep.metric, parameter=sweep.parameter, values=sweep.values, labels=sweep.labels, against=against
        )


def risen(result: RankCorrelations, label: str) -> list[int]:
    """Return the indexes, in the order of the first metric, where the mean rises: swops with that metric."""
    means, first = result.means[label], result.means[result.metrics[0]]
    return [
        column
        for column in range(1, len(means))
        if round(means[column], 12) > round(means[column - 1], 12)
        and round(first[column], 12) < round(first[column - 1], 12)
    ]
