"""bootstrap-sensitivity: a significance test for every pair of runs under every metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses import pair_tests
from gainboard.analyses.common import unsure
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import DrawCount, Expression, MetricsParams, Seed, Seeds
from gainboard.analyses.result_models import METRIC, Fields, Number, ResultModel, Shown, TopicsResult, fields
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Column, Level, LongTable, Marked, Share, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.exhibits.tables import MarkStyle
from gainboard.notation.texts import counted, listed
from gainboard.statistics import multiple_comparisons
from gainboard.statistics.draws import Indices
from gainboard.statistics.means import pair_count
from gainboard.statistics.significance import Correction, find_test, uncertain_pairs

MOST_POINTS = 2_000
"""The most points that an ASL curve lists: more than a reader can see."""
BASELINE = "AP"


class SensitivityParams(MetricsParams):
    """Discriminative power of each metric: the share of all pairs of runs that differ significantly, and the difference
    of means that this needs (Sakai, SIGIR 2006). The result also has every pair's ASL, effect size and 95 % interval,
    the curve of all ASLs in decreasing order and, with the bootstrap range and Tukey's test, the groups of runs that
    are not told apart.

    Levels that are shares of the resamples are count / B, as in the paper. Before a correction they are (1 + count) /
    (B + 1), because 0 would stay 0. If B is too small for any pair to be significant after Holm's correction, `note`
    says so.

    An ASL from resamples depends on the seed. A pair is uncertain if its ASL is within two standard errors of alpha,
    and `significant_range` is the count of significant pairs without and with the uncertain ones. It is null after a
    correction of resampled levels by Holm's or Benjamini and Hochberg's method. With several `seeds`,
    `significant_pairs_by_seed` has the count under each, `first_by_seed` the most sensitive metric, and
    `uncertain_marks` the metrics that beat the baseline under some seeds only. The pairs and all other numbers are
    those of the first seed. `estimated_difference_range` has the least and the largest difference at levels within two
    standard errors of alpha.
    """

    test: pair_tests.Test = Field("paired-bootstrap", description="The significance test")  # type: ignore[valid-type]
    resamples: DrawCount | None = Field(None, description="Number of resamples; by default the test's own")
    alphas: Annotated[list[pair_tests.Alpha], Field(min_length=1, max_length=20)] = Field(
        [0.05, 0.01], description="Significance levels"
    )
    correction: Correction = Field(
        "none",
        description=f"{pair_tests.CORRECTION}. With max-t, an infinite t counts only for its own pair, and "
        "`resamples_with_infinite_t` is the number of resamples with one",
    )
    baseline: Expression | None = Field(
        None,
        description="The metric to compare the others with; by default AP, if it is among the metrics",
        examples=["AP"],
    )
    seed: Seed = 0
    seeds: Seeds = 1

    def expressions(self, label: Labels) -> dict[str, Any]:
        """Return the metrics, with the baseline among them."""
        written = super().expressions(label)
        metrics: list[str] = written["metrics"]
        ap = label(BASELINE) if label.has_formulas else None
        baseline = label(self.baseline) if self.baseline is not None else ap if ap in metrics else None
        joined = metrics if baseline is None or baseline in metrics else [*metrics, baseline]
        return written | {"metrics": joined, "baseline": baseline}

    def settled(self, label: Labels) -> Self:
        """Return the same request with the test's own number of resamples, and without seeds if nothing is drawn."""
        default_resamples = find_test(self.test).default_resamples
        settled = {"resamples": self.resamples or default_resamples, "alphas": list(dict.fromkeys(self.alphas))}
        return (
            super()
            .settled(label)
            .model_copy(update=settled | ({"seed": 0, "seeds": 1} if default_resamples is None else {}))
        )


class SensitivityAtLevel(ResultModel):
    """The pairs that a metric separates at a significance level."""

    alpha: float
    significant_pairs: int
    pairs: int
    sensitivity: float = Field(description="Share of the pairs that are significant: discriminative power")
    significant_pairs_by_seed: list[int]
    uncertain_pairs: int | None = Field(description="Pairs that other resamples may decide otherwise")
    significant_range: Annotated[tuple[int, int] | None, Shown(("fewest pairs", "most pairs"))] = Field(
        description="Significant pairs without and with the uncertain"
    )
    estimated_difference: Annotated[Number, Shown(digits=2)] = Field(
        description="The difference that is needed for significance"
    )
    estimated_difference_range: Annotated[
        tuple[Number, Number] | None, Shown(("least difference", "largest difference"), digits=2)
    ]
    estimated_difference_printed: str | None
    groups: dict[str, list[str]] | None = Field(
        default=None, description="Letters by run: two runs that share one do not differ. Only of simultaneous tests"
    )


class SensitivityOfMetric(ResultModel):
    """The verdicts of the test on all pairs of runs under a metric."""

    metric: str
    levels: list[SensitivityAtLevel] = Field(description="In the order of `alphas`")
    pairs: list[pair_tests.TestedPair] | None = Field(
        description="Null if there are too many: the job has pages of pairs"
    )
    asl_curve: list[Number] = Field(description="Levels of all pairs, the highest first; not corrected")
    resamples_with_infinite_t: int | None = Field(default=None, description="Only with max-t")
    pairs_url: str | None = Field(
        default=None, description="The address of the pages of pairs; only where `pairs` is null"
    )


class SensitivityResult(TopicsResult):
    """The pairs of runs that each metric separates."""

    kind: Literal["bootstrap-sensitivity"]
    test: str
    seed: int
    seeds: int
    resamples: int | None = Field(description="Null for a test that draws nothing")
    correction: Correction
    resamples_needed: int | None = Field(description="For Holm's correction; null with others")
    note: str | None = Field(description="A warning about too few resamples, or about levels that few topics allow")
    alphas: list[float]
    baseline: str | None
    metrics: list[SensitivityOfMetric]
    asl_curve_ranks: list[int] | None = Field(None, description="Ranks on the curves; only if not all are listed")
    by_sensitivity: list[str] = Field(description="The metrics, the most sensitive first")
    first_by_seed: list[str] = Field(description="The most sensitive metric under each seed")
    beats_baseline: list[str] = Field(description="Metrics that are more sensitive at every level")
    uncertain_marks: list[str] = Field(description="Metrics of which that is so only under some of the seeds")

    @property
    def _title(self) -> str:
        drawn = f", {self.resamples} resamples" if self.resamples is not None else ""
        corrected = pair_tests.CORRECTION_TITLES[self.correction]
        return f"{find_test(self.test).title}{drawn}{corrected}, {len(self.runs)} runs, {self.topics} topics"

    def verdict(self) -> str:
        levels = {of.metric: of.levels[0] for of in self.metrics}
        best, *others = self.by_sensitivity
        most = f"{best} tells {levels[best].significant_pairs:,} of {counted(levels[best].pairs, 'pair')} of runs apart"
        told = listed([most, *(f"{name} {levels[name].significant_pairs:,}" for name in others)])
        return f"{told} (alpha {levels[best].alpha:g})."

    def tables(self) -> Sequence[Table | LongTable]:
        """Return sensitivity by metric, the most sensitive first, all pairs if the result has them, and the groups."""
        shown: list[Table | LongTable] = [self._table_of_metrics()]
        if all(metric.pairs is not None for metric in self.metrics):
            shown.append(self._table_of_pairs())
        letters = [
            (metric.metric, level.alpha, run, "".join(letters))
            for metric in self.metrics
            for level in metric.levels
            for run, letters in sorted((level.groups or {}).items(), key=_best_first)
        ]
        if letters:
            caption = "Groups. Runs that share a letter do not differ significantly."
            shown.append(Table("groups", caption, (METRIC, Column("alpha"), Column("run"), Column("groups")), letters))
        return shown

    def _table_of_metrics(self) -> Table:
        metrics = {metric.metric: metric.levels for metric in self.metrics}
        levels = [level for metric in metrics.values() for level in metric]
        names = []
        if self.resamples is not None and all(level.significant_range is not None for level in levels):
            names.append("significant_range")
        if all(level.estimated_difference is not None for level in levels):
            names += ["estimated_difference", "estimated_difference_range"]
        styles: dict[str, MarkStyle] = dict.fromkeys(self.beats_baseline, "bold")
        styles |= dict.fromkeys(self.uncertain_marks, "italic")
        columns = [METRIC]
        rows: list[list[Any]] = [
            [Marked(label, styles[label]) if label in styles else label] for label in self.by_sensitivity
        ]
        for position, alpha in enumerate(self.alphas):
            group = f"alpha {alpha:g}"
            columns.append(Column("sensitivity", group=group))
            shown = Fields(SensitivityAtLevel, names, group)
            columns += shown.columns()
            for row, label in zip(rows, self.by_sensitivity, strict=True):
                level = metrics[label][position]
                row += [Share(level.significant_pairs, level.pairs), *shown.cells(level)]
        mark = f"more sensitive than {self.baseline} at every level" if self.baseline else ""
        second_mark = unsure(mark, self.seeds) if mark and self.seeds > 1 else ""
        notes = [self.note] if self.note else []
        if len(first := dict.fromkeys(self.first_by_seed)) > 1:
            notes.insert(0, f"It depends on the seed which metric is the most sensitive: {' or '.join(first)}.")
        caption = f"Discriminative power. {self._title}."
        return Table("sensitivity", caption, columns, rows, mark=mark, second_mark=second_mark, notes=notes)

    def _table_of_pairs(self) -> Table | LongTable:
        """Return the table of all pairs: with its rows if the result lists them, else with rows made while it is
        written.
        """
        is_corrected, resamples = self.correction != "none", self.resamples
        corrected = ("asl_corrected",) if is_corrected else ()
        shown = fields(pair_tests.TestedPair, "runs", "difference", "asl", *corrected, "effect_size", "interval")
        columns = [METRIC, *shown.columns(), *((Column("resamples"),) if resamples is not None else ())]
        drawn = (resamples,) if resamples is not None else ()

        def rows() -> Iterator[Sequence[Any]]:
            for metric in self.metrics:
                for tested in metric.pairs or ():
                    pair = tested.as_json(is_corrected) if isinstance(tested, pair_tests.ComparedPair) else tested
                    level = None if (asl := pair["asl"]) is None else Level(asl, resamples)
                    yield (metric.metric, *shown.cells({**pair, "asl": level}), *drawn)

        caption = f"All pairs of runs. {self._title}."
        if isinstance(self.metrics[0].pairs, pair_tests.ComparedPairs):
            return LongTable("pairs", caption, columns, rows)
        return Table("pairs", caption, columns, list(rows()))

    def figures(self) -> Sequence[Figure]:
        """Return the ASL curves of all metrics."""
        series = [curve(self, metric.metric, metric.asl_curve) for metric in self.metrics]
        panel = Panel(
            Axis("run pairs, sorted by ASL", counts=True),
            Axis("ASL", limits=(0, None)),
            series,
            [Reference(alpha, f"alpha {alpha:g}") for alpha in self.alphas],
        )
        return (Figure("asl-curves", f"ASL curves. {self._title}.", (panel,)),)


def curve_points(pairs: int) -> Indices:
    """Return which points of a curve over all pairs are listed: all, or `MOST_POINTS` of them: intp [points]."""
    if pairs <= MOST_POINTS:
        return np.arange(pairs)
    return np.rint(np.linspace(0, pairs - 1, MOST_POINTS)).astype(np.intp)


@enter
class Sensitivity(Analysis[SensitivityParams, SensitivityResult]):
    """The pairs of runs that each metric separates, and the differences that this needs."""

    name = "bootstrap-sensitivity"
    title = "Discriminative power"
    question = "which-metric"
    summary = "How many pairs of runs each metric tells apart, and which difference of means that needs."
    # 1: in max-T, an infinite t counts only for its own pair; 2: pairs and marks may be uncertain; 3: levels of
    # resamples are above 0 before a correction, Wilcoxon's are exact with ties, and differences have ranges;
    # 4: ranges are stretched, and levels that few topics allow are noted
    changes = 4

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: SensitivityParams) -> None:
        super().__init__(matrices, params)
        self._tests = pair_tests.PairTests(
            matrices,
            params.metrics,
            test=params.test,
            resamples=params.resamples,
            correction=params.correction,
            seed=params.seed,
            seeds=params.seeds,
            alphas=params.alphas,
        )

    def parts(self) -> list[float]:
        return self._tests.parts()

    def work(self, part: int) -> Arrays:
        return self._tests.work(part)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        metrics, resamples, doubtful = [], None, 0
        # One metric at a time, because the arrays of half a million pairs need much memory while they are computed.
        for decision, further in self._tests.decisions(findings):
            metrics.append(self._metric(decision, further))
            resamples = decision.outcome.resamples
            doubtful += decision.doubtful
        seeds, params = range(self.params.seeds), self.params
        beating = [self._beats_baseline(metrics, seed) for seed in seeds]
        pairs = pair_count(self.matrices.run_count)
        # A level is at least 1 / (B + 1) before Holm's correction, so with few resamples no pair can be significant.
        needs_resamples = params.correction == "holm" and resamples is not None
        return {
            **self._tests.topics.described(),
            "test": params.test,
            "seed": params.seed,
            "seeds": params.seeds,
            "resamples": resamples,
            "correction": params.correction,
            "resamples_needed": multiple_comparisons.needed_resamples(pairs, min(params.alphas))
            if needs_resamples
            else None,
            "note": self._tests.note(resamples, self.params.alphas, doubtful),
            "alphas": params.alphas,
            "baseline": params.baseline,
            "metrics": metrics,
            **({"asl_curve_ranks": (curve_points(pairs) + 1).tolist()} if pairs > MOST_POINTS else {}),
            "by_sensitivity": self._by_sensitivity(metrics, 0),
            "first_by_seed": [self._by_sensitivity(metrics, seed)[0] for seed in seeds],
            "beats_baseline": beating[0],
            "uncertain_marks": [
                label for label in params.metrics if len({label in under_seed for under_seed in beating}) > 1
            ],
        }

    def _by_sensitivity(self, metrics: Sequence[SensitivityOfMetric], seed: int) -> list[str]:
        # At equal counts at the first level the next one decides, and at last the order of the request.
        counts = [[-level.significant_pairs_by_seed[seed] for level in metric.levels] for metric in metrics]
        return [self.params.metrics[row] for row in sorted(range(len(metrics)), key=counts.__getitem__)]

    def _metric(self, decision: pair_tests.Decision, further: Sequence[Floats]) -> SensitivityOfMetric:
        outcome = decision.outcome
        corrected = pair_tests.as_counts(decision.asl, outcome.resamples) if self.params.correction != "none" else None
        # Levels without a correction are shares of the resamples, as in the papers, and may be 0.
        levels = pair_tests.as_counts(outcome.asl, outcome.resamples)
        names = [run.name for run in self.matrices.runs]
        curve = np.sort(outcome.asl)[::-1]
        metric = SensitivityOfMetric(
            metric=decision.label,
            levels=[self._level(decision, further, row, alpha) for row, alpha in enumerate(self.params.alphas)],
            pairs=None,
            asl_curve=curve[curve_points(len(curve))].tolist(),
        )
        if outcome.any_infinite is not None:
            metric.resamples_with_infinite_t = int(outcome.any_infinite.sum())
        # They may be millions, so the job lists them, or stores them beside the result.
        metric.pairs = pair_tests.ComparedPairs(  # type: ignore[assignment]
            decision.label, self._tests.test.name, outcome.resamples, names, decision.scores, levels, corrected
        )
        return metric

    def _level(
        self, decision: pair_tests.Decision, further: Sequence[Floats], row: int, alpha: float
    ) -> SensitivityAtLevel:
        significant, pairs = int((decision.asl < alpha).sum()), len(decision.asl)
        resamples = None if self._tests.test.is_exact(self._tests.topics.count) else decision.outcome.resamples
        uncertain: int | None = None
        significant_range: tuple[int, int] | None = None
        # The other corrections multiply the error of resampled levels, so nobody knows which pairs are uncertain.
        if self.params.correction not in ("holm", "benjamini-hochberg") or resamples is None:
            is_uncertain = uncertain_pairs(decision.asl, alpha, resamples)
            uncertain, sure = int(is_uncertain.sum()), int(((decision.asl < alpha) & ~is_uncertain).sum())
            significant_range = (sure, sure + uncertain)
        estimated = decision.outcome.estimated_differences
        by_share = estimated[row].max(axis=-1).tolist() if estimated is not None else None
        level = SensitivityAtLevel(
            alpha=alpha,
            significant_pairs=significant,
            pairs=pairs,
            sensitivity=significant / pairs,
            significant_pairs_by_seed=[significant, *(int((asl < alpha).sum()) for asl in further)],
            uncertain_pairs=uncertain,
            significant_range=significant_range,
            estimated_difference=by_share[0] if by_share is not None else None,
            estimated_difference_range=(min(by_share), max(by_share)) if by_share is not None else None,
            estimated_difference_printed=f"{by_share[0]:.2f}" if by_share is not None else None,
        )
        if self._tests.test.is_simultaneous:
            differs = multiple_comparisons.differing_pairs(decision.asl, self.matrices.run_count, alpha)
            groups = multiple_comparisons.significance_groups(decision.scores.mean(axis=1), differs)
            level.groups = {run.name: list(letters) for run, letters in zip(self.matrices.runs, groups, strict=True)}
        return level

    def _beats_baseline(self, metrics: Sequence[SensitivityOfMetric], seed: int) -> list[str]:
        """Return the metrics that are more sensitive than the baseline at every level, under one of the seeds."""
        by_label = {
            metric.metric: [level.significant_pairs_by_seed[seed] for level in metric.levels] for metric in metrics
        }
        if self.params.baseline not in by_label:
            return []
        return [
            label
            for label, counts in by_label.items()
            if all(
                count > of_baseline for count, of_baseline in zip(counts, by_label[self.params.baseline], strict=True)
            )
        ]


def _best_first(group: tuple[str, Sequence[str]]) -> tuple[list[tuple[int, str]], str]:
    run, letters = group
    return [(len(letter), letter) for letter in letters], run  # z is before aa


def curve(result: SensitivityResult, label: str, asls: Sequence[Number]) -> Series:
    """Return the ASL curve of a metric. Long curves have only some of their ranks."""
    ranks = result.asl_curve_ranks or range(1, len(asls) + 1)
    return Series(label, list(ranks), asls, style="line")
