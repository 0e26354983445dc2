"""judge-validity: whether a judge may be believed: its boards, its drift, its own family, and runs that know it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, StringConstraints

from gainboard.analyses import common, judged_labels
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.judged_labels import Estimate, resampled, shown_estimate, statistic
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import MOST_RUNS, DrawCount, Expression, Params, Seed, SetVersion
from gainboard.analyses.result_models import JobResult, Number, ResultModel, Shown, table
from gainboard.analyses.versioned_metrics import MixedMatrices, on_version
from gainboard.evaluation.scoring.binding import is_custom
from gainboard.evaluation.scoring.matrices import CommonPairs, Floats, Matrices, judged_pairs
from gainboard.exhibits import Column, Level, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series
from gainboard.notation.texts import SLUG_PATTERN, counted, listed, said
from gainboard.statistics import judging, validity
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import pair_count
from gainboard.store.records import Run, VersionName

UNDEFINED = "a judge ties all runs, or gives this level to no document that both judge"
SECONDS_A_JUDGMENT, SECONDS_A_RUN, SECONDS_A_DRAW, SECONDS_A_PAIR = 4e-6, 3e-3, 1e-3, 3e-7
MOST_DRAWN_PAIRS = 50_000_000
"""The most resamples x pairs of runs of one judge: ten seconds."""
Family = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
RunName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Judge = Annotated[
    SetVersion | Expression,
    BeforeValidator(lambda judge: {"judgments": judge} if isinstance(judge, str) and not is_custom(judge) else judge),
]
Finding = tuple[str, str, Panel | HeatMap]


class JudgeValidityParams(Params):
    """Judges beside the first one, which is trusted. A judge is a judgment set, whose board is by `metric`; or scores
    that are stored, such as `nuggets:vital_strict(judge=model)`. Two sets are compared on the documents that both have.

    Boards: tau, tau_ap, rank-biased overlap, the ranks that a run gains (`rise`), and its `shift`: how much more its
    mean grows than that of the average run. `asl` is by the paired t-test, corrected for all runs (Holm). A run gains
    beyond chance if that is below 0.05 and its rank rises, too. `families` have the same of the runs of a family of
    models minus the others. Intervals are a 95 % bootstrap over topics, widened for few topics (Hesterberg, 2015).

    Levels (sets; judges of answers, named by `nuggets:vital_strict` or `support:precision`): `bias` is the mean of the
    judge's level minus the trusted one. `flips` count the documents, nuggets or citations whose level rises or drops,
    with McNemar's exact test, first for all levels; `symmetry_asl` is Bowker's test, by chi-square. Both take these as
    independent. Of two versions of one judge, they show drift.

    Circle (sets alone, as answers have no order; Clarke and Dietz, 2024): runs are put in the order of the judge's
    levels, stably, and both boards are made again (`reranked`). `near_trusted` and `near_judge` are how far a run's own
    order is that of the levels (gamma, mean over topics). A `suspicious` run is significantly nearer to the judge: one
    that knows nothing of a judge's own errors is not.
    """

    judges: Annotated[list[Judge], Field(min_length=2, max_length=20)] = Field(
        description='Judgment sets, such as `"second"` or `{"judgments": "second", "qrels": 1}`, or metrics whose '
        "scores are stored; the trusted judge first",
        examples=[["official", "second"]],
    )
    metric: Expression = Field("nDCG@10", description="The metric of the boards under judgment sets")
    families: dict[Family, Annotated[list[RunName], Field(max_length=MOST_RUNS)]] | None = Field(
        None, description="Names of runs by family of models; by default as the runs are marked"
    )
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the intervals")
    seed: Seed = 0

    def expressions(self, label: Labels) -> dict[str, Any]:
        judges = [judge if isinstance(judge, SetVersion) else label(judge) for judge in self.judges]
        families = self.families and {name: sorted(set(runs)) for name, runs in sorted(self.families.items())}
        metric = label(self.metric) if self.versions() else self.metric
        return super().expressions(label) | {"judges": judges, "families": families, "metric": metric}

    def versions(self) -> dict[str, VersionName]:
        places = enumerate(self.judges)
        return {f"judges.{place}": judge.named() for place, judge in places if isinstance(judge, SetVersion)}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        judges = [of if isinstance(of, str) else SetVersion.of(versions[of.named()]) for of in self.judges]
        return self.model_copy(update={"judges": judges})

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
    """The documents, nuggets or citations to which the two judges give these two levels."""

    lower: Annotated[str, Shown()]
    higher: Annotated[str, Shown()]
    up: Annotated[int, Shown()] = Field(description="How many get the higher level by the judge")
    down: Annotated[int, Shown()]
    asl: Annotated[float, Shown(digits=4, level=True)] = Field(description="McNemar's exact test")


class JudgedLevels(ResultModel):
    """The levels of a judge and of the trusted one, on what both judge."""

    confusion: list[list[int]] = Field(description="Counts [level of the trusted judge, level of the judge]")
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
    asl: Annotated[Number, Shown(digits=4, level=True)] = Field(description="Of the shift, corrected for all runs")
    near_trusted: Annotated[Number, Shown("trusted", digits=3, group="near the order of")] = None
    near_judge: Annotated[Number, Shown("judge", digits=3, group="near the order of")] = None
    near_asl: Annotated[Number, Shown("asl", digits=4, group="near the order of", level=True)] = None
    suspicious: Annotated[bool | None, Shown(by=lambda suspicious: "yes" if suspicious else "no")] = None
    rank_trusted_reranked: Annotated[int | None, Shown("trusted", group="rank in the judge's order")] = None
    rank_reranked: Annotated[int | None, Shown("judge", group="rank in the judge's order")] = None


class FamilyUnderJudge(ResultModel):
    """The runs of a family minus all others."""

    family: Annotated[str, Shown()]
    runs: Annotated[int, Shown()] = Field(description="How many are of the family")
    rise: Annotated[Estimate, shown_estimate("ranks", "rise beside the others")]
    shift: Annotated[Estimate, shown_estimate("score", "shift beside the others")]
    asl: Annotated[Number, Shown(digits=4, level=True)] = Field(description="Of the shift, corrected for all families")


class ComparedJudge(ResultModel):
    """A judge beside the trusted one."""

    judge: Annotated[str, Shown()]
    topics: Annotated[int, Shown()]
    tau: Annotated[Estimate, shown_estimate("value", "tau")]
    tau_ap: Annotated[Estimate, shown_estimate("value", "tau_ap")]
    rbo: Annotated[Estimate, shown_estimate("value", "RBO")]
    tau_reranked: Annotated[Estimate | None, shown_estimate("value", "tau in the judge's order")] = None
    runs: list[RunUnderJudge] = Field([], description="By name, or as the request has them")
    families: list[FamilyUnderJudge] = Field([], description="The families that have some of the runs, and not all")
    levels: JudgedLevels | None = Field(None, description="Null for scores that follow from no labels")


class JudgeValidityResult(JobResult):
    """Judges, each compared with the first one."""

    kind: Literal["judge-validity"]
    trusted: str
    metric: str = Field(description="The metric of the boards under judgment sets")
    resamples: int
    seed: int
    level_names: list[str] = Field(description="Of judgments or, if the trusted judge is of answers, its verdicts")
    judges: list[ComparedJudge]

    def verdict(self) -> str:
        found = [found for judge in self.judges for found in self._findings_of_board(judge)]
        return " ".join(sentence for name, sentence, _ in found if name in ("boards", "families"))

    def tables(self) -> Sequence[Table]:
        of = [(judge.judge, judge) for judge in self.judges]
        levels = [(judge.judge, judge.levels) for judge in self.judges if judge.levels is not None]
        about = f"The trusted judge is {self.trusted}. Intervals are over {self.resamples:,} resamples of the topics."
        forms: Sequence[tuple[str, type[ResultModel], Sequence[tuple[str, Any]], str]] = (
            ("runs", RunUnderJudge, of, "runs"),
            ("families", FamilyUnderJudge, of, "families"),
            ("levels", BiasAt, levels, "by_level"),
            ("topics", BiasAt, levels, "by_topic"),
            ("flips", LevelFlips, levels, "flips"),
        )
        tables = [table(ComparedJudge, "boards", f"{ComparedJudge.__doc__} {about}", self.judges)]
        for name, row, judged, members in forms:
            rows = [(judge, member) for judge, whole in judged for member in getattr(whole, members)]
            tables.append(table((Column("judge"), row), name, f"{row.__doc__} {about}", rows))
        return tables

    def figures(self) -> Sequence[Figure]:
        """Return for each judge what was found, each a sentence with a picture."""
        return [
            Figure(f"{name}-{number}", sentence, [panel])
            for number, judge in enumerate(self.judges, start=1)
            for name, sentence, panel in (*self._findings_of_board(judge), *self._findings_of_levels(judge))
        ]

    def _findings_of_board(self, judge: ComparedJudge) -> Iterator[Finding]:
        of, runs = judge.judge, judge.runs
        sentence = f"Beside {self.trusted}, {of} ranks the runs with a tau of {_in_words(judge.tau)}."
        yield "boards", sentence, self._scatter("mean under", of, "mean_trusted", "mean", runs)
        more, fewer = (_named(run.run for run in runs if _moves(run) == sign) for sign in (1, -1))
        sentence = f"Under {of}, {more} gain beyond chance beside the average run, and {fewer} lose."
        yield "moves", sentence, _panel("runs", {run.run: run.shift for run in runs}, "shift of the mean")
        if judge.families:
            told = [
                f"{family.family} by {_in_words(family.shift, 4)} in the mean and {_in_words(family.rise)} ranks"
                for family in judge.families
                if _moves(family)
            ]
            sentence = f"Under {of}, families that move beyond chance beside the other runs: {listed(told) or 'none'}."
            shifts = {family.family: family.shift for family in judge.families}
            yield "families", sentence, _panel("families", shifts, "shift of the mean")
        if judge.tau_reranked is not None:
            known = _named(run.run for run in runs if run.suspicious)
            sentence = (
                f"Reordered by {of}, tau is {_in_words(judge.tau_reranked)}; {known} seem to have used the judge."
            )
            yield "circle", sentence, self._scatter("near the order of", of, "near_trusted", "near_judge", runs)

    def _findings_of_levels(self, judge: ComparedJudge) -> Iterator[Finding]:
        if (levels := judge.levels) is None:
            return
        topics = sorted((topic.bias.value or 0.0, topic.at) for topic in levels.by_topic)
        first, last = (f"topic {topic} ({bias:.2f})" for bias, topic in (topics[0], topics[-1]))
        bias, flips = _in_words(levels.bias, 3), levels.flips[0]
        judged = {"nuggets": "nuggets", "support": "citations"}.get(self.trusted.partition(":")[0], "documents")
        sentence = f"{judge.judge} gives {bias} levels more than {self.trusted}: least on {first}, most on {last}."
        yield "leniency", sentence, _panel("trusted level", {of.at: of.bias for of in levels.by_level}, "bias")
        exact, symmetry = (Level(asl, None).bound or f"{asl:.2g}" for asl in (flips.asl, levels.symmetry_asl))
        sentence = (
            f"{judge.judge} gives {flips.up:,} {judged} a higher and {flips.down:,} a lower level than {self.trusted} "
            f"(McNemar, exact: {exact}; Bowker, chi-square: {symmetry})."
        )
        shares = [[count / (sum(row) or 1) for count in row] for row in levels.confusion]
        scale = Axis("share of the trusted level", limits=(0, 1))
        yield "drift", sentence, HeatMap(self.level_names, self.level_names, shares, scale)

    def _scatter(self, title: str, judge: str, x: str, y: str, runs: Sequence[RunUnderJudge]) -> Panel:
        series = [
            Series(label, [getattr(run, x) for run in of], [getattr(run, y) for run in of], "points")
            for label, known in (("run", False), ("run that seems to know the judge", True))
            if (of := [run for run in runs if bool(run.suspicious) is known])
        ]
        values = [getattr(run, name) or 0.0 for run in runs for name in (x, y)]
        limits = min(values), max(values) + 1e-6
        first, second = (Axis(f"{title} {of}", limits=limits) for of in (self.trusted, judge))
        return Panel(first, second, series, has_diagonal=True)


def _moves(of: RunUnderJudge | FamilyUnderJudge) -> int:
    """Return 1 for what gains beyond chance, -1 for what loses, else 0."""
    # A lenient judge squeezes all means together, so that good runs lose in the mean and keep their ranks.
    sign = int(np.sign(of.shift.value or 0.0))
    return sign if sign == np.sign(of.rise.value or 0.0) and of.asl is not None and of.asl < validity.ALPHA else 0


def _in_words(estimate: Estimate, digits: int = 2) -> str:
    """Return a value with its interval."""
    low, high = (said(end, digits) for end in estimate.interval or (None, None))
    return said(estimate.value, digits) + (f" ({low} to {high})" if estimate.interval else "")


def _named(runs: Iterable[str]) -> str:
    names = list(runs)
    return counted(len(names), "run") + (f" ({listed(names)})" if names else "")


def _panel(title: str, estimates: Mapping[str, Estimate], of: str) -> Panel:
    """Return the estimates with their intervals, the least first."""
    ordered = sorted(estimates.items(), key=lambda item: item[1].value or 0.0) if of != "bias" else estimates.items()
    # None ends the line of an interval, so that one series has all of them.
    ends = [end for _, estimate in ordered for end in (*(estimate.interval or (None, None)), None)]
    numbers = list(range(len(ordered)))
    places = [place for number in numbers for place in (number, number, None)]
    values = Series(of, numbers, [estimate.value for _, estimate in ordered], "points")
    axis, intervals = Axis(title, categories=[name for name, _ in ordered]), Series("95 %", places, ends, "intervals")
    return Panel(axis, Axis(of), [values, intervals], [Reference(0, "no difference")])


@enter
class JudgeValidity(Analysis[JudgeValidityParams, JudgeValidityResult]):
    """Judges beside a trusted one: judgment sets, or scores that are stored. A part is about one judge."""

    name = "judge-validity"
    title = "Validity of judges"
    question = "judges"
    summary = "Whether a judge may be believed: its board, its drift, whom it favours, and which runs seem to know it."
    compares_pairs = takes_common_runs = by_replicate = True

    def __init__(self, matrices: Matrices, params: JudgeValidityParams) -> None:
        super().__init__(matrices, params)
        self._judges = [judge if isinstance(judge, str) else matrices.under(judge.named()) for judge in params.judges]
        sets = [judge for judge in self._judges if isinstance(judge, Matrices)]
        if len({of_set.qrels.order for of_set in sets}) > 1:
            message = "These versions have runs in different orders. Publish versions whose runs are in the same order."
            raise common.refuse("judges", "other-order", message)
        of = matrices.metric(params.metric) if sets else None
        if of and (of.needs_retrieval_scores or of.needs_intents or of.is_geometric):
            message = f"{of.label} is no arithmetic mean, or needs more than ranks and levels. Use another, such as Q."
            raise common.refuse("metric", "not-comparable", message)
        drawn = params.resamples * max(pair_count(matrices.run_count), len(matrices.topics))
        common.require_at_most(MOST_DRAWN_PAIRS, drawn, "resamples x pairs of runs, or topics", "resamples")

    @cached_property
    def _families(self) -> Mapping[str, NDArray[np.bool_]]:
        """The masks of the runs, bool [runs], of each family that has some of the runs, and not all."""
        names = [run.name for run in self.matrices.runs]
        masks = {family: np.isin(names, runs) for family, runs in (self.params.families or {}).items()}
        return {family: mask for family, mask in masks.items() if 0 < mask.sum() < len(names)}

    def parts(self) -> list[float]:
        judged = sum(of_set.qrels.judged for of_set in self._judges if isinstance(of_set, Matrices))
        draw = SECONDS_A_DRAW + SECONDS_A_PAIR * pair_count(self.matrices.run_count)
        board = SECONDS_A_RUN * self.matrices.run_count + self.params.resamples * draw
        return [board + judged * SECONDS_A_JUDGMENT] * (len(self._judges) - 1)

    def work(self, part: int) -> Arrays:
        trusted, judge, metric = self._judges[0], self._judges[part + 1], self.params.metric
        if isinstance(trusted, str) or isinstance(judge, str):
            labels = [of if isinstance(of, str) else on_version(metric, of.qrels.named) for of in (trusted, judge)]
            boards = self._compare_boards(*map(MixedMatrices(self.matrices, labels).scores, labels))
            if not all(map(judged_labels.names_judge, labels)):
                return boards
            verdicts = judged_labels.count_verdicts(self.matrices, *labels)
            return {**boards, **self._compare_levels(verdicts[judged_labels.ALL])}
        pairs, levels, tables = CommonPairs(trusted, judge), self.matrices.collection.highest_level + 1, []
        again = self._compare_boards(*pairs.scores(metric, reranked=True))
        orders = [[validity.order_agreement(run.starts, run.level, levels) for run in both] for both in pairs.runs]
        for of_topic in judged_pairs((trusted, judge)):
            both = of_topic.levels[(of_topic.levels != judging.UNJUDGED).all(axis=1)].astype(np.intp)
            tables.append(np.bincount(both @ [levels, 1], minlength=levels**2).reshape(levels, levels))
        by_topic = np.array(tables, np.float64)
        return {
            **self._compare_boards(*pairs.scores(metric)),
            **validity.compare_orders(*np.array(orders).transpose(1, 0, 2)),
            **{f"{name}_reranked": again[name] for name in ("tau", "rank_trusted", "rank")},
            **self._compare_levels(by_topic),
        }

    def _compare_levels(self, by_topic: Floats) -> Arrays:
        """Return the tables [topics, levels, levels] of the topics that both judge, and the bias over resamples."""
        # Topics without anything in common would be drawn for nothing.
        judged = by_topic.any(axis=(1, 2))
        if not judged.any():
            return {}
        tables = by_topic[judged]
        # The first row is about all levels together.
        whole, over = (
            np.vstack((judging.label_agreement(each, 1)["bias"], judging.bias_by_level(each).T))
            for each in (tables.sum(axis=0)[np.newaxis], resampled(tables, self._count_draws(len(tables))))
        )
        return {
            "tables": tables,
            "judged": np.flatnonzero(judged),
            "bias": np.column_stack((whole, [judging.percentile_interval(row) for row in over])),
        }

    def _compare_boards(self, trusted: Floats, judged: Floats) -> Arrays:
        defined = ~(np.isnan(trusted).any(axis=0) | np.isnan(judged).any(axis=0))
        if (topics := int(defined.sum())) < 2:
            message = f"Topics that have a score under both judges: {topics}. At least 2 are needed. Judge more topics."
            raise common.refuse("judges", "too-few-topics", message)
        # Contiguous, so that sums add the topics of a run in the order in which scoring adds them.
        first, second = (np.ascontiguousarray(table[:, defined]) for table in (trusted, judged))
        groups = np.array(list(self._families.values()), np.bool_).reshape(-1, len(trusted))
        found = validity.compare_boards(first, second, self._count_draws(topics), groups)
        return {"topics": np.array(topics), **found}

    def _count_draws(self, topics: int) -> Floats:
        drawn = Draws(self.params.seed, "judge-validity").resamples(self.params.resamples, topics)
        return resample_counts(drawn, topics)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        sets = [judge if isinstance(judge, str) else judge.qrels for judge in self._judges]
        trusted, *names = [of if isinstance(of, str) else f"{of.judgments}/{of.version}" for of in sets]
        first, of_collection = self._judges[0], self.matrices.collection
        levels: Sequence[str] = [of_collection.level_name(level) for level in range(of_collection.highest_level + 1)]
        levels = judged_labels.VERDICTS if isinstance(first, str) else levels
        judges: list[ComparedJudge] = []
        for name, judge, found in zip(names, self._judges[1:], findings, strict=True):
            of_groups = {key.removeprefix("group_"): values for key, values in found.items() if "group_" in key}
            of_groups |= {"runs": np.array([mask.sum() for mask in self._families.values()])}
            judges += _rows(ComparedJudge, [name], {key: values[np.newaxis] for key, values in found.items()})
            judges[-1].runs = _rows(RunUnderJudge, [run.name for run in self.matrices.runs], found)
            judges[-1].families = _rows(FamilyUnderJudge, list(self._families), of_groups)
            if "tables" in found:
                if isinstance(first, Matrices) and isinstance(judge, Matrices):
                    topics = CommonPairs(first, judge).topics
                else:
                    topics = [self.matrices.topics[place] for place in found["judged"].tolist()]
                judges[-1].levels = _describe_levels(topics, levels, found)
        return {
            "runs": [run.name for run in self.matrices.runs],
            "trusted": trusted,
            **{name: getattr(self.params, name) for name in ("metric", "resamples", "seed")},
            "level_names": list(levels),
            "judges": judges,
        }


def _rows(model: type[Any], names: Sequence[str], found: Arrays) -> list[Any]:
    """Return a row for each name, from the findings that are called like its fields: three values are an estimate."""
    first, *others = model.model_fields
    cells = {field: found[field] for field in others if field in found}
    rows = []
    for row, name in enumerate(names):
        values = {field: of[row] for field, of in cells.items()}
        shown = {field: statistic(of, UNDEFINED) if of.ndim else of.item() for field, of in values.items()}
        rows.append(model(**{first: name}, **shown))
    return rows


def _describe_levels(topics: Sequence[str], names: Sequence[str], found: Arrays) -> JudgedLevels:
    tables, total = found["tables"], found["tables"].sum(axis=0).astype(int)
    pairs = list(combinations(range(len(names)), 2))
    changes = [(total[pair], total[pair[::-1]]) for pair in pairs]
    up, down = (np.array([sum(flips), *flips]) for flips in zip(*changes, strict=True))
    flips = {"higher": np.array(["any", *(names[high] for _, high in pairs)]), "up": up, "down": down}
    flips["asl"] = np.array(list(map(validity.mcnemar_level, up, down)))
    by_topic = np.full((len(tables), 3), np.nan)
    by_topic[:, 0] = judging.label_agreement(tables, 1)["bias"]
    return JudgedLevels(
        confusion=total.tolist(),
        bias=statistic(found["bias"][0], UNDEFINED),
        by_level=_rows(BiasAt, names, {"pairs": total.sum(axis=1), "bias": found["bias"][1:]}),
        by_topic=_rows(BiasAt, topics, {"pairs": tables.sum(axis=(1, 2)).astype(int), "bias": by_topic}),
        flips=_rows(LevelFlips, ["any", *(names[low] for low, _ in pairs)], flips),
        symmetry_asl=validity.bowker_level(total),
    )
