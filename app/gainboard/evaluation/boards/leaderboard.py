"""Runs ranked by their mean scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.boards.adjusted_boards import CorrectedBoard, CorrectedMetric, Standard, correct, standardise
from gainboard.evaluation.judgments.topic_groups import ChosenTopics, choose_judged, groups_of
from gainboard.evaluation.scoring.binding import CustomMetric
from gainboard.evaluation.scoring.requests import MOST_SCORES, Question, StoredScores, refuse_more_than, score
from gainboard.evaluation.scoring.scores import rank_by_mean
from gainboard.evaluation.workspace import LRUCache, Workspace, WorkspaceCache
from gainboard.metrics import BoundMetric
from gainboard.statistics import bootstrap_range, topic_sets
from gainboard.statistics.means import pair_count, pair_differences, unit_of
from gainboard.statistics.multiple_comparisons import DifferenceGroups
from gainboard.store import audit
from gainboard.store.database import may_take_long
from gainboard.store.records import Run, TopicGroup
from gainboard.vocabulary import Action, Resample, judge_of_matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupMeans:
    """The means of the board's runs over one topic group: float64 [metrics, runs], NaN if a run has none."""

    chosen: ChosenTopics
    means: Floats
    topics_scored: Mapping[str, int]


class TopicScore(NamedTuple):
    """The score of a run on a topic, and the median of all runs of its board."""

    topic: str
    score: float
    median: float


@dataclass(frozen=True)
class Row:
    """A row of a board: a run, its rank, and all that the board says of it. Numbers are in the order of the metrics."""

    board: Board = field(repr=False)
    rank: int
    column: int
    """The place of the run among the scored runs."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.board.scores.runs[self.column]

    @property
    def is_late(self) -> bool:
        """True if the run came after the release."""
        late = self.board.late_from
        return late is not None and self.run.created_at >= late

    @property
    def means(self) -> list[float]:
        """The means, corrected if the board is."""
        return self.board.means_by_run[self.column]

    @property
    def intervals(self) -> Sequence[tuple[float, float] | None]:
        """The intervals of the means.

        The width of an interval reveals something about single topics, so there is none while these are hidden. A
        geometric mean has none, because the interval is about the arithmetic mean.
        """
        if self.board.scores.is_rationed:
            return [None] * len(self.means)
        return self.board.intervals_by_run[self.column]

    @property
    def by_group(self) -> list[list[float]]:
        """The means over the topics of each group of the board."""
        return [group.means[:, self.column].tolist() for group in self.board.by_group]

    @cached_property
    def topics(self) -> list[TopicScore]:
        """The run's scores under the metric that ranks, the lowest median first: not to be shown while rationed."""
        scores = self.board.scores.by_topic[self.board.place]
        # A topic without a relevant document has no score, whatever the run. Of uploaded scores any may be missing.
        defined = np.flatnonzero(~np.isnan(scores[self.column]))
        names = [self.board.scores.topics[topic] for topic in defined.tolist()]
        medians = np.nanmedian(scores[:, defined], axis=0).tolist()
        topics = map(TopicScore, names, scores[self.column, defined].tolist(), medians)
        return sorted(topics, key=lambda topic: topic.median)

    @property
    def beside(self) -> Mapping[str, Mapping[str, float]]:
        """The numbers that are asked for beside the means, by label: see `score_beside`."""
        beside = self.board.scores.beside
        return beside[self.column] if beside else {}

    @property
    def uncorrected(self) -> list[float]:
        """The means under the cheap judgments alone; nothing if the board is not corrected."""
        corrected = self.board.corrected
        return corrected.uncorrected[:, self.column].tolist() if corrected else []

    @cached_property
    def replicates(self) -> list[dict[str, Any]]:
        return self.board.scores.replicates_of(self.column, self.board.place)

    @property
    def letters(self) -> tuple[str, ...] | None:
        """The letters of the run's groups; None if the runs are not tested, or this one has no mean."""
        return self.board.tested.letters.get(self.run.name) if self.board.tested else None

    @property
    def rank_set(self) -> tuple[int, int] | None:
        """The best and the worst rank that the run may have; None as for letters."""
        return self.board.tested.rank_sets.get(self.run.name) if self.board.tested else None


@dataclass(frozen=True)
class Board:
    """Runs in order of the metric `by`: best first, equal means share a rank, runs without a mean last."""

    scores: StoredScores
    means: Floats
    """[metrics, runs]."""
    by: str
    ranked: Sequence[tuple[int, int]]
    """Rank and column of each row."""
    is_whole: bool
    """False if late runs are left out."""
    by_group: Sequence[GroupMeans] = ()
    standard: Standard | None = None
    """The standard of the scores; None if they are those of the metrics."""
    alike: Mapping[str, list[str]] = field(default_factory=dict)
    """The topics, if there is a standard, on which the reference runs score alike, by label: they have no scores."""
    best_per_team: bool = False
    """True if each team has the best of its runs alone."""
    corrected: CorrectedBoard | None = None
    """The correction, if the means are corrected by trusted judgments: `means` and intervals are its own."""
    exclude_family: Sequence[str] = ()
    """The families of models whose runs are left out."""

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The runs, the best first."""
        return [Row(self, rank, column) for rank, column in self.ranked]

    @property
    def place(self) -> int:
        """The place of the metric that ranks among the metrics."""
        return self.scores.labels.index(self.by)

    @property
    def metric(self) -> BoundMetric:
        """The metric that ranks."""
        return self.scores.metrics[self.place]

    @cached_property
    def late_from(self) -> datetime | None:
        """The time from which runs are late."""
        return self.scores.collection.late_from

    @cached_property
    def has_teams(self) -> bool:
        """False if each run is of a team of its own that is named like the run, as those of files are."""
        return not self.rows or any(row.run.team != row.run.name for row in self.rows)

    def topics_scored(self) -> dict[str, int] | None:
        """Return the number of topics in the means, by label. Return None if the judgments are hidden."""
        counts = self.scores.topics_scored()
        if self.corrected is None or counts is None:
            return counts
        return dict(zip(counts, (metric.counted[1] for metric in self.corrected.by_metric), strict=True))

    @property
    def judges(self) -> dict[str, float]:
        """The judges of a corrected board, the cheap one first, with the share of the topics that each has judged."""
        if self.corrected is None:
            return {}
        trusted, topics = self.corrected.by_metric[self.place].counted
        cheap = self.scores.qrels.judgments
        if isinstance(self.metric, CustomMetric):
            cheap = judge_of_matrix(self.metric.matrix.name) or self.metric.matrix.name
        return {cheap: 1.0, self.corrected.by: trusted / topics}

    @cached_property
    def groups(self) -> BoardGroups | str:
        """The runs that are not told apart under the metric `by`; or a sentence that says why there are none."""
        scores, place, metric = self.scores, self.place, self.metric
        if scores.is_rationed:
            return "Scores are rationed while the judgments are hidden."
        ranked = [column for _, column in self.ranked if not math.isnan(self.means[place, column])]
        names = [scores.names[column] for column in ranked]
        if self.corrected is not None and len(ranked) > 1 and not metric.is_geometric:
            return corrected_groups(self.corrected.by_metric[place], metric, names, self.means[place], ranked)
        noise = None if scores.arrays.noise is None else scores.arrays.noise[place, ranked]
        return tested_groups(metric, names, scores.by_topic[place, ranked], noise)

    @cached_property
    def variance_shares(self) -> Mapping[str, float] | None:
        """The share of each source in the variance of scores, if systems have replicates; None as for intervals."""
        rows, groups = self.scores.arrays.rows, self.scores.arrays.groups
        is_scored = ~np.isnan(self.scores.by_topic[self.place]).any(axis=0)
        if self.scores.is_rationed or rows is None or groups is None or is_scored.sum() < LEAST_TOPICS:
            return None
        counts = np.ones((np.count_nonzero(is_scored), 1))
        components = topic_sets.replicate_components(rows[self.place][:, is_scored], groups, counts)
        return topic_sets.variance_shares(components[:, 0])

    @property
    def tested(self) -> BoardGroups | None:
        """The test of all pairs; None if there is none."""
        return None if isinstance(self.groups, str) else self.groups

    @property
    def tells(self) -> BoardGroups | None:
        """The test of all pairs if it tells some runs apart: else every row would say the same."""
        return self.tested if self.tested and self.tested.different_pairs else None

    @cached_property
    def means_by_run(self) -> list[list[float]]:
        """The means of each run, in the order of the metrics."""
        means: list[list[float]] = self.means.T.tolist()
        return means

    @cached_property
    def intervals_by_run(self) -> Sequence[Sequence[tuple[float, float] | None]]:
        """The intervals of each run, in the order of the metrics: not to be shown while scores are rationed."""
        lower, upper = self.corrected.intervals if self.corrected else self.scores.arrays.intervals
        geometric = np.array([metric.is_geometric for metric in self.scores.metrics], np.bool_)
        has_none = (np.isnan(lower) | geometric[:, np.newaxis]).T
        ends: list[list[tuple[float, float] | None]] = [
            list(zip(*both, strict=True)) for both in zip(lower.T.tolist(), upper.T.tolist(), strict=True)
        ]
        for run, metric in np.argwhere(has_none).tolist():
            ends[run][metric] = None
        return ends


def leaderboard(
    workspace: Workspace,
    sender: Sender,
    name: str,
    question: Question,
    by: str | None,
    by_group: Sequence[str] = (),
    standard: Standard | None = None,
    *,
    best_per_team: bool = False,
    corrected_by: str | None = None,
    resample: Resample = "topics",
    exclude_family: Sequence[str] = (),
) -> Board:
    """Rank the collection's runs by the metric `by`, which is added to the request if it is not part of it.

    `by_group` names topic groups whose means are added, for principals who may see scores under any parameters; `all`
    names all groups. With a `standard`, scores are standardised, for the same principals: they tell of single topics.
    With `best_per_team`, each team has the best of its runs alone, of equal ones the first by name. `corrected_by` is
    the judgment set that corrects the means, for the same principals. `resample` says whether intervals and groups draw
    topics alone, each with all replicates of a system, or these anew as well. Runs of `exclude_family` are left out.
    """
    if by_group or standard or corrected_by:
        may_take_long()
        admit = question.admit

        def admit_free_scores(view: View) -> None:
            admit(view)
            view.require_free_scores()

        question = replace(question, admit=admit_free_scores)
    anew = "resample" if resample != "topics" else ""
    if corrected_by and (what := "by_group" if by_group else "standardise" if standard else anew):
        message = f"A corrected board has no {what}. Leave out {what}, or corrected_by."
        raise InvalidRequest.at(f"query.{what}", "not-together", message)
    if standard and anew:
        message = "Intervals of standardised scores draw topics alone. Leave out resample, or standardise."
        raise InvalidRequest.at("query.resample", "not-together", message)
    question = replace(question, also=(by,) if by else (), by_system=resample)
    scores = score(workspace, sender, name, replace(question, as_many_as_may=True))
    alike: Mapping[str, list[str]] = {}
    if standard:
        scores, alike = standardise(scores, standard)
    label = scores.label_by_expression[by] if by else scores.metrics[0].label
    corrected = correct(workspace, sender, name, question, scores, corrected_by) if corrected_by else None
    means = corrected.means if corrected else scores.means
    is_whole = question.late == "include" or scores.collection.late_from is None
    place = scores.labels.index(label)
    sign = -1 if scores.metrics[place].is_reversed else 1
    if absent := set(exclude_family) - {run.family for run in scores.members}:
        message = f"No run on this board is of the family {min(absent)!r}. Name a family as runs are marked."
        raise InvalidRequest.at("query.exclude_family", "unknown-family", message)
    families = [{run.family for run in runs} for runs in scores.runs_of]
    kept = [column for column, of_system in enumerate(families) if of_system.isdisjoint(exclude_family)]
    among = rank_by_mean([scores.names[column] for column in kept], sign * means[place, kept])
    ranked = [(rank, kept[number]) for rank, number in among]
    ranked = _best_of_teams(ranked, [run.team for run in scores.runs]) if best_per_team else ranked
    by_groups: list[GroupMeans] = []
    if by_group:
        with workspace.database.reading() as tx:
            groups = groups_of(tx, scores.collection, by_group)
        # Scores of a board about one group lack the topics of the others. The whole ones may be in memory.
        whole = scores
        if scores.chosen is not None:
            whole = score(workspace, sender, name, replace(question, topics=None, bounds=False, cwl=False))
            whole = standardise(whole, standard)[0] if standard else whole
        by_groups = _group_means(whole, groups, scores.runs)
    return Board(
        scores, means, label, ranked, is_whole, by_groups, standard, alike, best_per_team, corrected, exclude_family
    )


def _group_means(whole: StoredScores, groups: Sequence[TopicGroup], runs: Sequence[Run]) -> list[GroupMeans]:
    """Return the means of the runs over each of the groups, from scores on all topics."""
    refuse_more_than(MOST_SCORES, len(whole.metrics), len(whole.runs), sum(len(group.topics) for group in groups))
    column_of_run = {run.id: column for column, run in enumerate(whole.runs)}
    here = [column for column, run in enumerate(runs) if run.id in column_of_run]
    there = [column_of_run[runs[column].id] for column in here]
    by_group = []
    for group in groups:
        chosen = choose_judged(whole.judged, group)
        topics = chosen.judged.places
        assert topics is not None, "these are some of the topics"
        means = np.full((len(whole.metrics), len(runs)), np.nan)
        means[:, here] = whole.means_over(topics)[:, there]
        defined = np.count_nonzero(~whole.arrays.undefined[:, topics], axis=1).tolist()
        by_group.append(GroupMeans(chosen, means, dict(zip(whole.labels, defined, strict=True))))
    return by_group


def _best_of_teams(ranked: Sequence[tuple[int, int]], teams: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first row of each team, ranked among these. Rows that shared a rank share one again."""
    best: list[tuple[int, int]] = []
    seen: set[str] = set()
    before: int | None = None
    for rank, column in ranked:
        if teams[column] not in seen:
            seen.add(teams[column])
            best.append((best[-1][0] if rank == before else len(best) + 1, column))
            before = rank
    return best


_CHANGES: Final[Sequence[Action]] = (
    "collection-created",
    "collection-changed",
    "collection-released",
    "run-uploaded",
    "run-withdrawn",
    "score-matrix-uploaded",
    "score-matrix-deleted",
)
"""The entries of the audit log that may change a board, beside its own version of the judgments."""


LAST_CHANGES: WorkspaceCache[tuple[int, int], datetime | None] = WorkspaceCache(1_000)
"""The time of the last of these entries, by a collection's id and revision: each entry comes with a new revision."""


def changed_at(workspace: Workspace, board: Board) -> datetime | None:
    """Return when the judgments, runs or settings behind a board last changed; None while scores are rationed."""
    scores = board.scores
    if scores.is_rationed:
        return None
    collection, version = scores.collection, scores.qrels

    def read() -> datetime | None:
        with workspace.database.reading() as tx:
            return audit.last_at(tx, collection.id, _CHANGES)

    logged = LAST_CHANGES.of(workspace).get((collection.id, collection.revision), read)
    versions = [version, board.corrected.trusted] if board.corrected and board.corrected.trusted else [version]
    judged = [qrels.published_at or qrels.created_at for qrels in versions]
    times = [logged, *judged, collection.releases_at]
    return max(time for time in times if time is not None and time <= workspace.now())


BOARDS_VERSION: Final = 1
"""The version of letters and rank sets. 1: by ranges that are stretched. Increase it if any of them may change."""
ALPHA: Final = 0.05
SEED: Final = 0
"""The seed of all boards: equal boards have equal groups."""
LEAST_TOPICS: Final = bootstrap_range.BootstrapRange.least_topics


@dataclass(frozen=True)
class BoardGroups:
    """The runs with a mean, and the test of all their pairs. A difference above `critical` is significant.

    `means` is float64 [runs] over the `topics` that are drawn, higher is better. `ranges` is [draws].
    """

    names: Sequence[str]
    means: Floats
    topics: int
    ranges: Floats
    missing: int = 0
    """The number of scores that are missing: the mean of a run is over those that it has."""
    detectable: float | None = None
    """The smallest difference that the topics show, with the power 0.8 and for all pairs together; None if unknown."""

    @classmethod
    def of(cls, names: Sequence[str], scores: Floats, noise: Floats | None = None) -> BoardGroups:
        """Test all pairs of the runs: float64 [runs, topics], at least two runs and `LEAST_TOPICS`.

        A score may be missing (NaN), if its run has `LEAST_TOPICS` others.
        """
        runs, topics = scores.shape
        # Names are part of it, because letters and rank sets are by name. Equal scores have equal bytes.
        hashed = sha256("\n".join((str(topics), *names)).encode())
        hashed.update(scores.data)
        hashed.update(b"" if noise is None else np.ascontiguousarray(noise).data)
        key = hashed.digest()
        if (tested := _TESTED.find(key)) is None:
            resamples = bootstrap_range.affordable_resamples(runs, topics)
            ranges = bootstrap_range.bootstrap_ranges(scores, resamples, SEED, noise)
            missing = int(np.count_nonzero(np.isnan(scores)))
            means = np.nanmean(scores, axis=1) if missing else scores.mean(axis=1)
            # The differences of the average pair vary twice as much as the residuals of runs and topics.
            variance = 2 * topic_sets.residual_variance(scores / unit_of(scores)) if not missing else 0.0
            seen = topic_sets.detectable_difference(topics, variance, ALPHA / pair_count(runs))
            detectable = seen and seen * unit_of(scores)
            tested = _TESTED.keep(key, cls(names, means, topics, ranges, missing, detectable))
        return tested

    @cached_property
    def critical(self) -> float:
        """The difference of means above which runs are told apart."""
        return bootstrap_range.critical_difference(self.ranges, ALPHA)

    @cached_property
    def told_apart(self) -> DifferenceGroups:
        """The groups and rank sets of the runs, in their order."""
        return DifferenceGroups.of(self.means, self.critical)

    @cached_property
    def letters(self) -> Mapping[str, tuple[str, ...]]:
        """The letters of each run. Runs that share a letter are not told apart."""
        return LettersByRun(self.names, self.told_apart)

    @cached_property
    def rank_sets(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst rank that each run may have."""
        sets = self.told_apart.rank_sets.tolist()
        return {name: (best, worst) for name, (best, worst) in zip(self.names, sets, strict=True)}

    def described(self) -> dict[str, Any]:
        """Return the test and its settings as a board has them, over HTTP and offline."""
        settings = {"name": bootstrap_range.BootstrapRange.name, "alpha": ALPHA, "seed": SEED, "draws": self.draws}
        pairs = {"pairs": self.pairs, "different_pairs": self.different_pairs, "detectable_difference": self.detectable}
        return settings | pairs | {"topics": self.topics, "missing": self.missing}

    @property
    def draws(self) -> int:
        """The number of resamples."""
        return len(self.ranges)

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""
        return pair_count(len(self.names))

    @property
    def different_pairs(self) -> int:
        """The number of pairs that the test tells apart."""
        return self.told_apart.different_pairs

    def levels(self) -> Floats:
        """Return the level of each pair: float64 [pairs]."""
        return bootstrap_range.range_levels(pair_differences(self.means), self.ranges)

    def verdicts(self) -> NDArray[np.int8]:
        """Return for each pair 1 if the first run is better, -1 if the second is, 0 if they are not told apart."""
        gaps = pair_differences(self.means)
        return ((np.abs(gaps) > self.critical) * np.sign(gaps)).astype(np.int8)


class LettersByRun(Mapping[str, tuple[str, ...]]):
    """The letters of runs by name, made when they are asked for: those of 10,000 runs may be millions."""

    def __init__(self, names: Sequence[str], groups: DifferenceGroups) -> None:
        self._places, self._groups = {name: place for place, name in enumerate(names)}, groups

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._groups.letters_of(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def corrected_groups(
    corrected: CorrectedMetric, metric: BoundMetric, names: Sequence[str], means: Floats, ranked: Sequence[int]
) -> BoardGroups:
    """Return the groups of the ranked runs by their corrected means: there are enough topics for a correction."""
    _, topics = corrected.counted
    sample = corrected.only(np.array(ranked, np.intp))
    ranges = sample.ranges(corrected.weight, bootstrap_range.affordable_resamples(len(ranked), topics), SEED)
    return BoardGroups(names, (-1 if metric.is_reversed else 1) * means[ranked], topics, ranges)


def tested_groups(metric: BoundMetric, names: Sequence[str], scores: Floats, noise: Floats | None) -> BoardGroups | str:
    """Return the groups of the runs that have a mean, or a sentence that says why there are none.

    `scores` is float64 [runs, topics], NaN where a run has none; `noise` [runs] is that of `bootstrap_ranges`.
    """
    if metric.is_geometric:
        return "The test compares arithmetic means, and this metric's mean is geometric."
    if len(names) < 2:
        return "Two runs with a mean are needed."
    is_missing = np.isnan(scores)
    # As in `mean_all`, the layout in memory would decide about the last bits.
    tested = np.ascontiguousarray(scores[:, ~is_missing.all(axis=0)])
    if is_missing.any() and np.isnan(tested).any():
        # Too few scores do not tell how much a run varies.
        has_enough = np.count_nonzero(~is_missing, axis=1) >= LEAST_TOPICS
        names, tested = [name for name, is_in in zip(names, has_enough, strict=True) if is_in], tested[has_enough]
        noise = None if noise is None else noise[has_enough]
        if len(names) < 2:
            return f"The test needs at least {LEAST_TOPICS} scores of each of two runs."
        tested = np.ascontiguousarray(tested[:, ~np.isnan(tested).all(axis=0)])
    if (topics := tested.shape[1]) < LEAST_TOPICS:
        return f"The test needs at least {LEAST_TOPICS} topics on which all runs have a score, not {topics}."
    return BoardGroups.of(names, -tested if metric.is_reversed else tested, noise)


def _weight(tested: BoardGroups) -> int:
    """Return the most bytes that a tested board takes, once it has answered everything."""
    runs = len(tested.names)
    return tested.ranges.nbytes + 1024 * runs + (1 << 12)


MOST_TESTED_BYTES = 8 << 20
_TESTED: LRUCache[bytes, BoardGroups] = LRUCache(MOST_TESTED_BYTES, _weight)
"""Tested boards by a hash of their runs' names and scores, which takes a hundredth of the test's time.

A page, its exports and each step of its sliders ask for the official board again, and a parameter that the metric `by`
does not have leaves its scores as they were. There is room for 74 boards of 45 runs: more than a page has columns.
"""
