"""judge-validity: whether a judge may be believed: its boards, its drift, its own family, and runs that know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, StringConstraints

from gainboard.analyses import common
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.judge_agreement import MOST_SETS, RunName, SetsParams, refuse_incomparable, require_runs
from gainboard.analyses.judged_labels import Estimate, resampled, shown_estimate, statistic
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import MOST_RUNS, DrawCount, Judgments, Seed, SetVersion
from gainboard.analyses.result_models import METRIC, JobResult, Number, ResultModel, Shown, table
from gainboard.evaluation.scoring.binding import is_custom
from gainboard.evaluation.scoring.matrices import CommonPairs, Floats, Matrices, judged_pairs
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series
from gainboard.notation.texts import SLUG_PATTERN, counted, listed, said
from gainboard.statistics import judging, validity
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import pair_count
from gainboard.store.records import Run

ALPHA = validity.ALPHA
UNDEFINED = "a judge ties all runs, or gives this level to no document that both judge"
SECONDS_A_JUDGMENT, SECONDS_A_RUN, SECONDS_A_DRAW, SECONDS_A_PAIR = 4e-6, 3e-3, 3e-4, 4e-8
MOST_DRAWN_PAIRS = 50_000_000
"""The most resamples x pairs of runs of one board: ten seconds."""
Family = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
Finding = tuple[str, str, Panel | HeatMap]
"""A name, a sentence, and the picture that shows it."""


class JudgeValidityParams(SetsParams):
    """Judges beside a trusted one. With `sets`, they are judgment sets, and `judgments` is trusted: runs are scored on the
    pairs of topic and document that both judge. Without, each metric is a judge, and the first is trusted: scores of
    answers, such as `nuggets:vital_strict(judge=model)`, or uploaded ones. These say nothing about levels.

    Boards: tau, tau_ap, rank-biased overlap (with ties), the ranks that a run gains (`rise`), and its `shift`: how much
    more its mean grows than that of the average run. `asl` is by the paired t-test, corrected for all runs (Holm).
    `families` have the same of the runs of a family of models minus the others.

    Levels: `bias` is the mean of the judge's level minus the trusted one. `flips` count the documents whose level rises
    or drops, with McNemar's exact test, also for all levels together. `symmetry_asl` is Bowker's test, by chi-square.
    Of two versions of one judge, they show drift. Both tests take documents as independent.

    Circle (Clarke and Dietz, 2024): each run is put in the order of the judge's levels, equal ones in its own order, and
    both boards are made again (`reranked`). `near_trusted` and `near_judge` are how far a run's own order is that of the
    levels (gamma, mean over topics). A `suspicious` run is significantly nearer to the judge's order: one that knows
    nothing of a judge's own errors is not.

    Every interval is a 95 % bootstrap over topics, widened for few topics (Hesterberg, 2015).
    """

    sets: Annotated[list[Judgments | SetVersion], Field(max_length=MOST_SETS)] = Field(
        [], description="Names of the judgment sets that are compared with the trusted one, or their versions"
    )
    families: dict[Family, Annotated[list[RunName], Field(max_length=MOST_RUNS)]] | None = Field(
        None, description="Names of runs by family of models; by default as the runs are marked"
    )
    p: Annotated[float, Field(gt=0, lt=1)] = Field(0.9, description="Persistence of rank-biased overlap")
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the intervals")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with the runs of each family in order, each once."""
        families = self.families and {name: sorted(set(runs)) for name, runs in sorted(self.families.items())}
        return super().settled(label).model_copy(update={"families": families})

    def about_runs(self, runs: Sequence[Run]) -> Self:
        names = sorted({run.family for run in runs if run.family is not None})
        families = {family: sorted(run.name for run in runs if run.family == family) for family in names}
        return self if self.families is not None else self.model_copy(update={"families": families})


class BiasAt(ResultModel):
    """The mean of the judge's level minus the trusted one, at a trusted level or on a topic."""

    at: Annotated[str, Shown()] = Field(description="The level, or the topic")
    pairs: Annotated[int, Shown()]
    bias: Annotated[Estimate, shown_estimate("bias")] = Field(description="Of a topic without an interval")


class LevelFlips(ResultModel):
    """The documents to which the two judges give these two levels."""

    lower: Annotated[str, Shown()]
    higher: Annotated[str, Shown()]
    up: Annotated[int, Shown()] = Field(description="Documents to which the judge gives the higher level")
    down: Annotated[int, Shown()]
    asl: Annotated[float, Shown(digits=4)] = Field(description="McNemar's exact test")


class JudgedLevels(ResultModel):
    """The levels of a judge and of the trusted one, on the documents that both judge."""

    confusion: list[list[int]] = Field(description="Documents [level of the trusted judge, level of the judge]")
    bias: Estimate
    by_level: list[BiasAt]
    by_topic: list[BiasAt]
    flips: list[LevelFlips] = Field(description="The first entry is about any two levels")
    symmetry_asl: float = Field(description="Bowker's test, by chi-square")


class RunUnderJudge(ResultModel):
    """A run under both judges. All about the judge's order is null for scores that are stored."""

    run: Annotated[str, Shown()]
    rank_trusted: Annotated[int, Shown("trusted", group="rank")]
    rank: Annotated[int, Shown("judge", group="rank")]
    rise: Annotated[Estimate, shown_estimate("ranks", "rise")]
    mean_trusted: Annotated[float, Shown("trusted", digits=4, group="mean")]
    mean: Annotated[float, Shown("judge", digits=4, group="mean")]
    shift: Annotated[Estimate, shown_estimate("score", "shift")]
    asl: Annotated[Number, Shown(digits=4)] = Field(description="Of the shift, corrected for all runs")
    near_trusted: Annotated[Number, Shown("trusted", digits=3, group="near the order of")] = None
    near_judge: Annotated[Number, Shown("judge", digits=3, group="near the order of")] = None
    near_asl: Annotated[Number, Shown("asl", digits=4, group="near the order of")] = Field(
        None, description="Of the difference of both, corrected for all runs"
    )
    suspicious: Annotated[bool | None, Shown(by=lambda suspicious: "yes" if suspicious else "no")] = None
    rank_trusted_reranked: Annotated[int | None, Shown("trusted", group="rank in the judge's order")] = None
    rank_reranked: Annotated[int | None, Shown("judge", group="rank in the judge's order")] = None


class FamilyUnderJudge(ResultModel):
    """The runs of a family minus all others."""

    family: Annotated[str, Shown()]
    runs: Annotated[int, Shown()] = Field(description="How many are of the family")
    rise: Annotated[Estimate, shown_estimate("ranks", "rise beside the others")]
    shift: Annotated[Estimate, shown_estimate("score", "shift beside the others")]
    asl: Annotated[Number, Shown(digits=4)] = Field(description="Of the shift, corrected for all families")


class BoardUnderJudge(ResultModel):
    """The board of a metric under a judge, beside that of the trusted one."""

    metric: str
    topics: Annotated[int, Shown()]
    tau: Annotated[Estimate, shown_estimate("value", "tau")]
    tau_ap: Annotated[Estimate, shown_estimate("value", "tau_ap")]
    rbo: Annotated[Estimate, shown_estimate("value", "RBO")]
    tau_reranked: Annotated[Estimate | None, shown_estimate("value", "tau in the judge's order")] = None
    runs: list[RunUnderJudge]
    families: list[FamilyUnderJudge]


class ComparedJudge(ResultModel):
    """A judge beside the trusted one."""

    judge: str
    levels: JudgedLevels | None = Field(description="Null for scores that are stored")
    boards: list[BoardUnderJudge]


class JudgeValidityResult(JobResult):
    """Judges, each compared with a trusted one."""

    kind: Literal["judge-validity"]
    trusted: str
    p: float
    resamples: int
    seed: int
    level_names: list[str]
    judges: list[ComparedJudge]

    def verdict(self) -> str:
        found = [found for judge in self.judges for found in self._findings_of_board(judge)]
        return " ".join(sentence for name, sentence, _ in found if name in ("boards", "families"))

    def tables(self) -> Sequence[Table]:
        """Return boards, runs, families, levels, topics and flips."""
        boards = [(judge.judge, board.metric, board) for judge in self.judges for board in judge.boards]
        judged = [(judge.judge, judge.levels) for judge in self.judges if judge.levels is not None]
        caption = f"beside {self.trusted}. Intervals are over {self.resamples:,} resamples of the topics."
        bias = f"Mean of the judge's level minus the trusted one, {caption}"
        judge = Column("judge")
        forms: Sequence[tuple[str, str, Any, Sequence[Any], str]] = (
            ("runs", f"Runs under each judge, {caption}", (judge, METRIC, RunUnderJudge), boards, "runs"),
            ("families", f"Families of models, {caption}", (judge, METRIC, FamilyUnderJudge), boards, "families"),
            ("levels", bias, (judge, BiasAt), judged, "by_level"),
            ("topics", bias, (judge, BiasAt), judged, "by_topic"),
            ("flips", f"Documents whose level differs, {caption}", (judge, LevelFlips), judged, "flips"),
        )
        return (
            table((judge, METRIC, BoardUnderJudge), "boards", f"Boards under each judge, {caption}", boards),
            *(
                table(columns, name, about, [(*of, row) for *of, found in rows for row in getattr(found, members)])
                for name, about, columns, rows, members in forms
            ),
        )

    def figures(self) -> Sequence[Figure]:
        """Return for each judge what was found, each a sentence with a picture; of boards, under the first metric."""
        return [
            Figure(f"{name}-{number}", sentence, [panel])
            for number, judge in enumerate(self.judges, start=1)
            for findings in (self._findings_of_board(judge), self._findings_of_levels(judge))
            for name, sentence, panel in findings
        ]

    def _findings_of_board(self, judge: ComparedJudge) -> Iterator[Finding]:
        board, of = judge.boards[0], judge.judge
        runs = sorted(board.runs, key=lambda run: (run.shift.value or 0.0, run.run))
        axes = Axis(f"mean under {self.trusted}"), Axis(f"mean under {of}")
        means = Series("run", [run.mean_trusted for run in runs], [run.mean for run in runs], "points")
        sentence = f"Beside {self.trusted}, {of} ranks the runs with a tau of {_in_words(board.tau)} by {board.metric}."
        yield "boards", sentence, Panel(*axes, [means], has_diagonal=True)
        moved = [run for run in runs if run.asl is not None and run.asl < ALPHA]
        more, fewer = ([run.run for run in moved if (run.shift.value > 0) is gains] for gains in (True, False))
        sentence = f"Under {of}, {_named(more)} gain beyond chance beside the average run, and {_named(fewer)} lose."
        yield "moves", sentence, _panel("runs", {run.run: run.shift for run in runs}, "shift of the mean")
        if board.families:
            told = [
                f"{family.family}: {_in_words(family.shift, 4)} in the mean, {_in_words(family.rise)} in ranks"
                for family in board.families
                if family.asl is not None and family.asl < ALPHA
            ]
            what = f"shifts beyond chance beside the other runs: {listed(told) or 'none'}"
            shifts = {family.family: family.shift for family in board.families}
            yield "families", f"Under {of}, a family of models {what}.", _panel("families", shifts, "shift of the mean")
        if board.tau_reranked is not None:
            known = [run.run for run in runs if run.suspicious]
            axes = Axis(f"near the order of {self.trusted}"), Axis(f"near the order of {of}")
            points = [
                Series(label, [run.near_trusted for run in those], [run.near_judge for run in those], "points")
                for label, is_known in (("run", False), ("run that looks as if it had used the judge", True))
                if (those := [run for run in runs if run.suspicious is is_known])
            ]
            sentence = (
                f"In the order of {of}, the boards have a tau of {_in_words(board.tau_reranked)}; {_named(known)} look "
                "as if they had used the judge."
            )
            yield "circle", sentence, Panel(*axes, points, has_diagonal=True)

    def _findings_of_levels(self, judge: ComparedJudge) -> Iterator[Finding]:
        if (levels := judge.levels) is None:
            return
        topics = sorted(levels.by_topic, key=lambda topic: (topic.bias.value or 0.0, topic.at))
        first, last = (f"{topic.at} ({said(topic.bias.value, 2)})" for topic in (topics[0], topics[-1]))
        sentence = (
            f"{judge.judge} gives a mean of {_in_words(levels.bias, 3)} levels more than {self.trusted}: the least on "
            f"topic {first}, the most on {last}."
        )
        yield "leniency", sentence, _panel("trusted level", {of.at: of.bias for of in levels.by_level}, "bias")
        any_two = levels.flips[0]
        sentence = (
            f"{judge.judge} gives {any_two.up:,} documents a higher and {any_two.down:,} a lower level than {self.trusted} "
            f"(McNemar, exact: {any_two.asl:.4f}; Bowker, chi-square: {levels.symmetry_asl:.4f})."
        )
        shares = [[count / (sum(row) or 1) for count in row] for row in levels.confusion]
        scale = Axis("share of the trusted level", limits=(0, 1))
        yield "drift", sentence, HeatMap(self.level_names, self.level_names, shares, scale)


def _in_words(estimate: Estimate, digits: int = 2) -> str:
    """Return a value with its interval."""
    low, high = (said(end, digits) for end in estimate.interval or (None, None))
    return said(estimate.value, digits) + (f" ({low} to {high})" if estimate.interval else "")


def _named(runs: Sequence[str]) -> str:
    return counted(len(runs), "run") + (f" ({listed(runs)})" if runs else "")


def _panel(title: str, estimates: Mapping[str, Estimate], of: str) -> Panel:
    """Return the estimates in a row, with their intervals."""
    x: list[float | None] = []
    ends: list[float | None] = []
    for place, estimate in enumerate(estimates.values()):
        # None ends the line of an interval, so that one series has all of them.
        x, ends = [*x, place, place, None], [*ends, *(estimate.interval or (None, None)), None]
    values = [estimate.value for estimate in estimates.values()]
    series = [Series(of, list(range(len(values))), values, "points"), Series("95 % interval", x, ends, "intervals")]
    return Panel(Axis(title, categories=list(estimates)), Axis(of), series, [Reference(0, "no difference")])


@enter
class JudgeValidity(Analysis[JudgeValidityParams, JudgeValidityResult]):
    """One or more judges beside a trusted one: judgment sets, or metrics whose scores are stored.

    The first parts are about the levels of each set, and the others about each board.
    """

    name = "judge-validity"
    title = "Validity of judges"
    question = "judges"
    summary = (
        "Whether a judge may be believed: what changes on the board, whether the judge drifted or favours a family of "
        "models, and which runs look as if they had used it."
    )
    compares_pairs = True

    def __init__(self, matrices: Matrices, params: JudgeValidityParams) -> None:
        super().__init__(matrices, params)
        self._sets = [matrices.under(named) for named in params.named_sets()]
        self._families = params.families or {}
        if self._sets:
            refuse_incomparable(matrices, self._sets, params.metrics, "")
        elif len(params.metrics) < 2 or not all(map(is_custom, params.metrics)):
            message = (
                'Name judgment sets, such as "sets": ["model"]; or several metrics whose scores are stored, the trusted '
                'one first: "metrics": ["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"].'
            )
            raise common.refuse("sets", "no-judge", message)
        if geometric := [label for label in params.metrics if matrices.metric(label).is_geometric]:
            message = f"{geometric[0]} has a geometric mean, but arithmetic means are compared here. Leave it out."
            raise common.refuse("metrics", "geometric-mean", message)
        if (runs := matrices.run_count) < 2:
            raise common.refuse("runs", "too-few-runs", f"Selected runs: {runs}. A comparison needs at least 2.")
        require_runs(matrices, "families", [run for named in self._families.values() for run in named])
        drawn = params.resamples * max(pair_count(runs), len(matrices.topics))
        common.require_at_most(MOST_DRAWN_PAIRS, drawn, "resamples x pairs of runs, or topics", "resamples")

    @cached_property
    def _boards(self) -> list[tuple[CommonPairs | None, str]]:
        """The boards: a set with the trusted one and a metric, or a metric of another judge than the first."""
        sets = [CommonPairs(self.matrices, other) for other in self._sets]
        return [(of, label) for of in sets for label in self.params.metrics] or [
            (None, label) for label in self.params.metrics[1:]
        ]

    def parts(self) -> list[float]:
        judged = sum(matrices.qrels.judged for matrices in (self.matrices, *self._sets)) if self._sets else 0
        drawn = SECONDS_A_DRAW + SECONDS_A_PAIR * pair_count(self.matrices.run_count)
        board = SECONDS_A_RUN * self.matrices.run_count + 2 * self.params.resamples * drawn
        return [*[judged * SECONDS_A_JUDGMENT] * len(self._sets), *[board] * len(self._boards)]

    def work(self, part: int) -> Arrays:
        if part < len(self._sets):
            return self._compare_levels(self._sets[part])
        pairs, label = self._boards[part - len(self._sets)]
        if pairs is None:
            return self._compare_boards(self.matrices.scores(self.params.metrics[0]), self.matrices.scores(label))
        again = self._compare_boards(*pairs.scores(label, reranked=True))
        levels = self.matrices.collection.highest_level + 1
        orders = [[validity.order_agreement(run.starts, run.level, levels) for run in both] for both in pairs.runs]
        return {
            **self._compare_boards(*pairs.scores(label)),
            **validity.compare_orders(*np.array(orders).transpose(1, 0, 2)),
            **{f"{name}_reranked": again[name] for name in ("tau", "rank_trusted", "rank")},
        }

    def _compare_boards(self, trusted: Floats, judged: Floats) -> Arrays:
        defined = ~(np.isnan(trusted).any(axis=0) | np.isnan(judged).any(axis=0))
        if (topics := int(defined.sum())) < 2:
            message = f"{topics} topics have a score under both judges, but at least 2 are needed. Judge more topics."
            raise common.refuse("metrics", "too-few-topics", message)
        names = [run.name for run in self.matrices.runs]
        groups = np.array([np.isin(names, self._families[family]) for family in self._shown])
        # Contiguous, so that sums add the topics of a run in the order in which scoring adds them.
        tables = [np.ascontiguousarray(table[:, defined]) for table in (trusted, judged)]
        counts = self._count_draws(topics)
        found = validity.compare_boards(*tables, counts, self.params.p, groups.reshape(-1, len(names)).astype(np.bool_))
        return {"topics": np.array(topics), **found}

    @cached_property
    def _shown(self) -> list[str]:
        """The families that have some of the runs, and not all."""
        names = {run.name for run in self.matrices.runs}
        return [family for family, runs in self._families.items() if 0 < len(names & set(runs)) < len(names)]

    def _count_draws(self, topics: int) -> Floats:
        drawn = Draws(self.params.seed, "judge-validity").resamples(self.params.resamples, topics)
        return resample_counts(drawn, topics)

    def _compare_levels(self, other: Matrices) -> Arrays:
        levels, tables = self.matrices.collection.highest_level + 1, []
        for pairs in judged_pairs((self.matrices, other)):
            both = pairs.levels[(pairs.levels != judging.UNJUDGED).all(axis=1)].astype(np.intp)
            if len(both):
                tables.append(np.bincount(both @ [levels, 1], minlength=levels**2).reshape(levels, levels))
        by_topic = np.array(tables, np.float64).reshape(-1, levels, levels)
        drawn = resampled(by_topic, self._count_draws(len(by_topic)))
        # The first row is about all levels together.
        whole, over = (
            np.vstack((judging.label_agreement(each, 1)["bias"], judging.bias_by_level(each).T))
            for each in (by_topic.sum(axis=0)[np.newaxis], drawn)
        )
        ends = [judging.percentile_interval(row) for row in over]
        return {"tables": by_topic, "bias": np.column_stack((whole, ends))}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        versions = [matrices.qrels for matrices in (self.matrices, *self._sets)]
        sets = [version.judgments for version in versions]
        # A set has its version only where the version tells it apart.
        names = [of.judgments if sets.count(of.judgments) == 1 else of.named.subject for of in versions]
        trusted, *judges = names if self._sets else self.params.metrics
        boards = list(map(self._describe_board, self._boards, findings[len(self._sets) :]))
        collection, each = self.matrices.collection, len(boards) // len(judges)
        levels = [collection.level_name(level) for level in range(collection.highest_level + 1)] if self._sets else []
        of_levels = [
            _describe_levels(self._boards[place * each][0].topics, levels, findings[place]) if self._sets else None
            for place in range(len(judges))
        ]
        return {
            "runs": [run.name for run in self.matrices.runs],
            "trusted": trusted,
            **{name: getattr(self.params, name) for name in ("p", "resamples", "seed")},
            "level_names": levels,
            "judges": [
                ComparedJudge(judge=judge, levels=of_levels[place], boards=boards[place * each :][:each])
                for place, judge in enumerate(judges)
            ],
        }

    def _describe_board(self, board: tuple[CommonPairs | None, str], found: Arrays) -> BoardUnderJudge:
        names = [run.name for run in self.matrices.runs]
        of_groups = {name.removeprefix("group_"): values for name, values in found.items() if "group_" in name}
        of_groups |= {"runs": np.array([np.isin(names, self._families[family]).sum() for family in self._shown])}
        of_board = {name: found.get(name) for name in BoardUnderJudge.model_fields if name not in ("metric", "topics")}
        return BoardUnderJudge(
            metric=board[1],
            topics=int(found["topics"]),
            **{name: statistic(values, UNDEFINED) for name, values in of_board.items() if values is not None},
            runs=_rows(RunUnderJudge, names, found),
            families=_rows(FamilyUnderJudge, self._shown, of_groups),
        )


M = TypeVar("M", bound=ResultModel)


def _rows(model: type[M], names: Sequence[str], found: Arrays) -> list[M]:
    """Return a row for each name, from the findings that are called like its fields: three values are an estimate."""
    first, *others = model.model_fields
    return [
        model(
            **{first: name},
            **{
                field: statistic(cell, UNDEFINED) if (cell := found[field][place]).ndim else cell.item()
                for field in others
                if field in found
            },
        )
        for place, name in enumerate(names)
    ]


def _describe_levels(topics: Sequence[str], names: Sequence[str], found: Arrays) -> JudgedLevels:
    tables, total = found["tables"], found["tables"].sum(axis=0).astype(int)
    by_topic = np.full((len(tables), 3), np.nan)
    by_topic[:, 0] = judging.label_agreement(tables, 1)["bias"]
    changes = [("any", "any", int(np.triu(total, 1).sum()), int(np.tril(total, -1).sum()))]
    for low, high in combinations(range(len(names)), 2):
        changes.append((names[low], names[high], int(total[low, high]), int(total[high, low])))
    return JudgedLevels(
        confusion=total.tolist(),
        bias=statistic(found["bias"][0], UNDEFINED),
        by_level=_rows(BiasAt, names, {"pairs": total.sum(axis=1), "bias": found["bias"][1:]}),
        by_topic=_rows(BiasAt, topics, {"pairs": tables.sum(axis=(1, 2)).astype(int), "bias": by_topic}),
        flips=[
            LevelFlips(lower=low, higher=high, up=up, down=down, asl=validity.mcnemar_level(up, down))
            for low, high, up, down in changes
        ],
        symmetry_asl=validity.bowker_level(total),
    )
