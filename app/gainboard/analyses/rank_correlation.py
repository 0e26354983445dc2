"""rank-correlation: how similarly metrics rank the same runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gainboard.analyses.analysis import Analysis, Arrays
from gainboard.analyses.common import (
    MOST_KEPT,
    MOST_PAIRS,
    PAIRS,
    CommonTopics,
    common_topics,
    refuse,
    require_at_most,
)
from gainboard.analyses.job_kinds import JobKind, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import DrawCount, Params, Seed
from gainboard.analyses.result_models import CountedTopics, JobResult, Number, ResultModel
from gainboard.analyses.versioned_metrics import (
    Entry,
    MixedMatrices,
    SweepRequest,
    label_of,
    named_versions,
    pinned_entry,
    settled_entries,
    settled_entry,
)
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Series
from gainboard.notation.queries import MOST_METRICS
from gainboard.statistics.agreement import discordant_pairs
from gainboard.statistics.correlation import (
    kendall_asls,
    kendall_matrix,
    rbo_matrix,
    resampled_taus,
    spearman_asls,
    spearman_matrix,
    tau_accuracy,
    tau_ap_matrix,
)
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import round_scores, tied_pairs
from gainboard.statistics.pairs import pair_count
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

NEED_ORDER = ("tau_ap", "rbo")
"""The coefficients that are undefined where there are ties."""


class CorrelationParams(Params):
    """Correlation of the rankings of runs by mean score, between all metrics (often the same metric under several gain
    settings). Means are rounded to 12 decimals, and equal means are ties; `ties` counts the tied pairs of each metric.
    AP correlation and rank-biased overlap are null between rankings of which one has ties, because each order of the
    tied runs would give another value; `tau_ap_ties` is a form of the former for ties. `against` adds the swops: pairs
    of runs that a metric orders otherwise than that one. `sweep` adds the curve of a parameter, and `accuracy` the
    bootstrap standard error of each tau over topics (Sakai, SIGIR 2006).

    A metric may name a published qrels version, `{"metric": "P@10", "qrels": 1}`, and is then called `P@10 (qrels 1)`.
    It may also name another judgment set, `{"metric": "P@10", "judgments": "second"}`. This answers how similar the
    rankings by the judgments of two assessors are (Kekalainen, IPM, 2005). Runs are selected by the version of the job,
    and every metric is scored on the topics that all these versions judge.
    """

    metrics: Annotated[list[Entry], Field(min_length=1, max_length=MOST_METRICS)] = Field(
        description="Metric expressions, each of which may name a qrels version or a judgment set",
        examples=[["AP", "Q", "nDCG@10"]],
    )
    coefficients: Annotated[list[Coefficient], Field(min_length=1, max_length=len(NAMES))] = Field(
        ["kendall", "spearman"],
        description="Coefficients to compute; for tau_ap, the row is the reference. rbo is undefined if there are ties",
    )
    against: Entry | None = Field(None, description="The metric against which swops are listed")
    sweep: SweepRequest | None = Field(None, description="A parameter of one metric to vary")
    accuracy: bool = Field(False, description="Whether to compute the standard error of each tau over topics")
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the accuracy")
    p: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.9, description="Persistence of rank-biased overlap: higher values look deeper"
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
        used |= {"p"} if "rbo" in self.coefficients else set()
        used |= {"tau_ap_ties"} if "tau_ap" in self.coefficients else set()
        fields = type(self).model_fields
        unused = {name: fields[name].default for name in ("seed", "resamples", "p", "tau_ap_ties") if name not in used}
        return super().settled(label).model_copy(update=unused)

    def expressions(self, label: Labels) -> dict[str, Any]:
        """Return the metrics, with `against` among them, and those of the sweep."""
        against, metrics = settled_entry(self.against, label), settled_entries(self.metrics, label)
        if against is not None and against not in metrics:
            metrics.append(against)
        own = {"metrics": metrics, "against": against, "sweep": self.sweep.settled(label) if self.sweep else None}
        return super().expressions(label) | own

    def versions(self) -> dict[str, VersionName]:
        return named_versions(
            {f"metrics.{place}": each for place, each in enumerate(self.metrics)} | {"against": self.against}
        )

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        metrics = list(dict.fromkeys(pinned_entry(each, versions) for each in self.metrics))
        against = pinned_entry(self.against, versions) if self.against is not None else None
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


class TauAccuracies(CountedTopics):
    """The accuracy of tau-b over resamples of the topics: matrices [metrics, metrics]."""

    standard_error: list[list[Number]]
    low: list[list[Number]] = Field(description="2.5th percentile")
    high: list[list[Number]] = Field(description="97.5th percentile")
    dropped: list[list[int]] = Field(description="Resamples for which tau is undefined")


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


class RankCorrelation(Analysis[CorrelationParams]):
    """Coefficients between all metrics, swops against one metric, the curve of a swept parameter, and accuracy.

    The label of a metric may name a qrels version, as `on_version` writes it.
    """

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: CorrelationParams) -> None:
        super().__init__(matrices, params)
        metrics, sweep = list(map(label_of, params.metrics)), params.sweep
        self.metrics, self.coefficients, self.sweep = metrics, params.coefficients, sweep
        self.against = label_of(params.against) if params.against is not None else None
        self.resamples = params.resamples if params.accuracy else None
        swept = [*sweep.labels, *sweep.against] if sweep else []
        self._labels = list(dict.fromkeys([*metrics, *swept]))
        self._scored = MixedMatrices(matrices, self._labels)
        self._require_rankings()
        if self.against:
            # At worst every pair is swopped, and the answer names each swop.
            require_at_most(MOST_PAIRS, pair_count(matrices.run_count) * len(metrics), PAIRS, "against")
        self._topics: CommonTopics | None = self._topics_of_accuracy() if params.accuracy else None

    def _require_rankings(self) -> None:
        if self.matrices.run_count < 2:
            message = f"Selected runs: {self.matrices.run_count}. A ranking needs at least 2."
            raise refuse("runs", "too-few-runs", message)
        if not self._scored.topics:
            message = (
                f"No topic is judged by all of the qrels versions {', '.join(map(str, self._scored.version_names))}. "
                "Choose versions that share topics."
            )
            raise refuse("metrics", "too-few-topics", message)
        for label in self._labels:
            if not self._scored.defined(label).any():
                raise refuse(
                    "metrics",
                    "too-few-topics",
                    f"{label} is not defined for any topic, so it cannot rank the runs. Choose another metric.",
                )

    def _topics_of_accuracy(self) -> CommonTopics:
        assert self.resamples is not None
        if (taus := len(self.metrics) ** 2 * self.resamples) > MOST_TAUS:
            message = (
                f"{len(self.metrics)} metrics squared x {self.resamples} resamples are {taus:,} taus. Choose fewer "
                "metrics or resamples: at most "
            )
            raise refuse("accuracy", "too-many", f"{message}{MOST_TAUS:,}.")
        scores = len(self.metrics) * self.matrices.run_count * len(self._scored.topics)
        require_at_most(MOST_KEPT, scores, "scores (metrics x runs x topics) are resampled together", "accuracy")
        return common_topics(self._scored, self.metrics)

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
            drawn = Draws(self.params.seed, "rank-correlation", block).resamples(size, self._topics.count)
            tables = np.array([self._topics.scores(label) for label in self.metrics])
            return {"taus": resampled_taus(tables, resample_counts(drawn, self._topics.count))}
        means = np.array([self._scored.means(label) for label in self._labels])
        own = means[: len(self.metrics)]
        asls = {"kendall": kendall_asls, "spearman": spearman_asls}
        wanted = {name: level(own) for name, level in asls.items() if name in self.coefficients}
        return {"means": means, **{f"asl {name}": found for name, found in wanted.items()}}

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        means = found[0]["means"]
        own = means[: len(self.metrics)]
        names = [run.name for run in self.matrices.runs]
        # Means that differ by a rounding error are ties, which names order.
        order = sorted(range(len(names)), key=lambda run: (-round_scores(own[0])[run], names[run]))
        asls = {name: found[0][f"asl {name}"].tolist() for name in ("kendall", "spearman") if name in self.coefficients}
        return {
            "runs": [names[run] for run in order],
            **self._scored.described(),
            "seed": self.params.seed,
            "resamples": self.resamples,
            "metrics": list(self.metrics),
            "coefficients": {name: self._matrix(name, own).tolist() for name in self.coefficients},
            "p_values": asls,
            "ties": dict(zip(self.metrics, tied_pairs(own).tolist(), strict=True)),
            "means": {label: row[order].tolist() for label, row in zip(self.metrics, own, strict=True)},
            **({"p": self.params.p} if "rbo" in self.coefficients else {}),
            **(self._swops(own, names) if self.against else {}),
            **(self._sweep(means) if self.sweep else {}),
            **(self._accuracy(found[1:]) if self._topics else {}),
        }

    def _matrix(self, name: Coefficient, means: Floats) -> Floats:
        if name == "kendall":
            return kendall_matrix(means)
        if name == "kendall_a":
            return kendall_matrix(means, "a")
        if name == "spearman":
            return spearman_matrix(means)
        if name == "tau_ap":
            return tau_ap_matrix(means, self.params.tau_ap_ties)
        return rbo_matrix(means, self.params.p)

    def _swops(self, means: Floats, names: Sequence[str]) -> dict[str, Any]:
        assert self.against is not None
        reference = means[list(self.metrics).index(self.against)]
        swops = {label: discordant_pairs(reference, row) for label, row in zip(self.metrics, means, strict=True)}
        return {
            "against": self.against,
            "swops": {label: [[names[x], names[y]] for x, y in found.pairs] for label, found in swops.items()},
            "half_ties": {label: found.half_ties for label, found in swops.items()},
        }

    def _sweep(self, means: Floats) -> dict[str, Any]:
        assert self.sweep is not None
        place = {label: row for row, label in enumerate(self._labels)}
        swept = [place[label] for label in self.sweep.labels]
        matrices = {name: self._matrix(name, means) for name in self.coefficients}
        against = {
            label: {name: matrix[place[label], swept].tolist() for name, matrix in matrices.items()}
            for label in self.sweep.against
        }
        swept_taus = SweptTaus(
            metric=self.sweep.metric,
            parameter=self.sweep.parameter,
            values=self.sweep.values,
            labels=self.sweep.labels,
            against=against,
        )
        return {"sweep": swept_taus}

    def _accuracy(self, found: Sequence[Arrays]) -> dict[str, Any]:
        assert self._topics is not None
        accuracy = tau_accuracy(np.concatenate([part["taus"] for part in found]))
        shown = {name: matrix.tolist() for name, matrix in accuracy._asdict().items()}
        return {"accuracy": TauAccuracies(**self._topics.described(), **shown)}


def tables(result: RankCorrelationResult) -> Sequence[Table]:
    """Return a matrix for each coefficient, the means, and the other parts that were asked for."""
    labels, shown = result.metrics, []
    under_each = [Column(label, digits=4) for label in labels]
    for name, matrix in result.coefficients.items():
        rows = [(label, *values) for label, values in zip(labels, matrix, strict=True)]
        caption = f"{NAMES[name]} between the rankings of {len(result.runs)} runs."
        notes = _ties(result, name)
        shown.append(Table(name.replace("_", "-"), caption, (Column("metric"), *under_each), rows, notes=notes))
    means = list(zip(result.runs, *(result.means[label] for label in labels), strict=True))
    shown.append(Table("means", f"Mean scores, in the order of {labels[0]}.", (Column("run"), *under_each), means))
    if result.swops is not None:
        ties = result.half_ties or {}
        counts = [(label, len(pairs), ties[label]) for label, pairs in result.swops.items()]
        caption = f"Pairs of runs ordered otherwise than by {result.against}, and pairs that only one of both ties."
        shown.append(Table("swops", caption, (Column("metric"), Column("swops"), Column("half ties")), counts))
    if result.sweep is not None:
        shown.append(_sweep_table(result.sweep))
    if result.accuracy is not None:
        shown.append(_accuracy(result, result.accuracy))
    return shown


def _ties(result: RankCorrelationResult, name: Coefficient) -> list[str]:
    """Return why a coefficient of rankings without ties is undefined, and under which metrics; else nothing."""
    coefficients, tied = result.coefficients[name], result.ties
    place = {label: row for row, label in enumerate(result.metrics)}
    lacking = [
        f"{label} ({count})"
        for label, count in tied.items()
        if count and coefficients[place[label]][place[label]] is None
    ]
    if name not in NEED_ORDER or not lacking:
        return []
    why = "Each order of tied runs would give another value, so it is undefined where a metric ties runs"
    return [f"{why}. Tied pairs: {', '.join(lacking)}."]


def _sweep_table(sweep: SweptTaus) -> Table:
    columns, rows = [Column(sweep.parameter, align="right")], [list[Cell]([value]) for value in sweep.values]
    for label, coefficients in sweep.against.items():
        for name, values in coefficients.items():
            columns.append(Column(NAMES[name], digits=4, group=label))
            for row, value in zip(rows, values, strict=True):
                row.append(value)
    caption = f"{sweep.metric} under several values of {sweep.parameter}, against other metrics."
    return Table("sweep", caption, columns, rows)


def _accuracy(result: RankCorrelationResult, found: TauAccuracies) -> Table:
    labels = result.metrics
    rows: list[Sequence[Cell]] = [
        (
            first,
            second,
            found.standard_error[row][column],
            found.low[row][column],
            found.high[row][column],
            found.dropped[row][column],
        )
        for row, first in enumerate(labels)
        for column, second in enumerate(labels)
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
    return Table("accuracy", f"Kendall's tau-b over {result.resamples} topic resamples.", columns, rows)


def figures(result: RankCorrelationResult) -> Sequence[Figure]:
    """Return a map of each coefficient, the curves of the means with marked swops, and the curves of the sweep."""
    labels = result.metrics
    shown = [
        Figure(
            name.replace("_", "-"),
            f"{NAMES[name]} between metrics.",
            (HeatMap(labels, labels, matrix, Axis(NAMES[name], limits=(None, 1))),),
        )
        for name, matrix in result.coefficients.items()
    ]
    places, first = list(range(len(result.runs))), labels[0]
    series = [Series(label, places, result.means[label], highlighted=risen(result, label)) for label in labels]
    panel = Panel(Axis(f"runs, sorted by {first}", categories=result.runs), Axis("mean score"), series)
    caption = f"Mean scores of runs in the order of {first}; an increase in a curve is a swop with it."
    shown.append(Figure("means", caption, (panel,), highlight=f"swop with {first}: above the run before"))
    return [*shown, _sweep_curves(result.sweep)] if result.sweep is not None else shown


def risen(result: RankCorrelations, label: str) -> list[int]:
    """Return the indexes, in the order of the first metric, where the mean rises: swops with that metric."""
    means, first = result.means[label], result.means[result.metrics[0]]
    return [
        place
        for place in range(1, len(means))
        if round(means[place], 12) > round(means[place - 1], 12)
        and round(first[place], 12) < round(first[place - 1], 12)
    ]


def _sweep_curves(sweep: SweptTaus) -> Figure:
    numbers = [value for value in sweep.values if not isinstance(value, str)]
    is_numeric = len(numbers) == len(sweep.values)
    values = numbers if is_numeric else list(range(len(sweep.values)))
    names = list(next(iter(sweep.against.values())))
    axis = (
        Axis(sweep.parameter, scale="log")
        if is_numeric
        else Axis(sweep.parameter, categories=list(map(str, sweep.values)))
    )
    panels = [
        Panel(axis, Axis(NAMES[name]), [Series(label, values, found[name]) for label, found in sweep.against.items()])
        for name in names
    ]
    caption = f"{sweep.metric} with another {sweep.parameter}: its correlation with other metrics."
    return Figure("sweep", caption, panels)


RANK_CORRELATION = enter(
    JobKind(
        name="rank-correlation",
        title="Correlation of rankings",
        question="which-metric",
        summary="How similarly the metrics, or gain settings of one metric, rank the runs.",
        changes=2,  # near-duplicates are named; rank-biased overlap is null where there are ties
        params=CorrelationParams,
        result=RankCorrelationResult,
        analysis=RankCorrelation,
        tables=tables,
        figures=figures,
    )
)
