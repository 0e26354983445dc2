"""Judgment sets compared with a reference set: their labels, their leniency, and the rankings of runs under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import MOST_KEPT, MOST_TESTED_PAIRS, PAIRS, refuse, require_at_most
from gainboard.evaluation.analyses.mixed import MixedMatrices, on_version
from gainboard.evaluation.analyses.two_judges import (
    EXPECTED,
    described_labels,
    described_ranking,
    labels_of,
    resampled,
    statistic,
)
from gainboard.evaluation.common_pairs import CommonPairs, JudgedPairs, judged_pairs
from gainboard.evaluation.custom_metrics import is_custom
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.metrics import mean_of
from gainboard.statistics.classical import t_levels
from gainboard.statistics.draws import Draws, Indices, resample_counts
from gainboard.statistics.judges import (
    MEASUREMENTS,
    UNJUDGED,
    coincidences,
    krippendorff_alpha,
    percentile_interval,
)
from gainboard.statistics.pairs import pair_count, pair_differences
from gainboard.store.records import VersionName

Pairs = Literal["common", "all"]
SECONDS_A_JUDGMENT, SECONDS_A_RUN, SECONDS_A_SCORE, SECONDS_A_PAIR = 4e-6, 2e-3, 4e-7, 2e-6
SECONDS_A_COUNT = 5e-9


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """The parameters of the comparison: the threshold of relevance for labels, and those of rankings."""

    threshold: int
    pairs: Pairs
    k: int
    p: float
    alpha: float
    flagged: Sequence[str]
    resamples: int
    seed: int


class JudgeAgreement(Analysis):
    """One or more judgment sets, compared with the reference set that the matrices are over.

    The first part compares the labels of all sets together, the next ones those of each set with the reference, and
    the others the rankings under each set and metric.
    """

    compares_pairs = True

    def __init__(
        self, matrices: Matrices, metrics: Sequence[str], sets: Sequence[VersionName], settings: JudgeSettings
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.settings = metrics, settings
        self._sets = [matrices.under(each) for each in sets]
        self._refuse_what_cannot_be()

    def _refuse_what_cannot_be(self) -> None:
        own = self.matrices.qrels
        for each in self._sets:
            if each.qrels.id == own.id:
                raise refuse("sets", "same-version", f"The reference is the {own.named}, too. Name another set.")
            if each.qrels.order_by != own.order_by:
                message = (
                    f"The {each.qrels.named} has runs ordered by {each.qrels.order_by}, and the {own.named} by "
                    f"{own.order_by}. Publish versions whose runs are in the same order."
                )
                raise refuse("sets", "other-order", message)
        highest = self.matrices.collection.highest_level
        if self.settings.threshold > highest:
            message = f"threshold is {self.settings.threshold}, but the highest level is {highest}."
            raise refuse("threshold", "out-of-range", message)
        known = {run.name for run in self.matrices.candidates}
        if missing := [name for name in self.settings.flagged if name not in known]:
            message = f"{self.matrices.collection.name!r} has no run {missing[0]!r} among the selected ones."
            raise refuse("flagged", "unknown-run", message)
        for label in self.metrics:
            if is_custom(label):
                message = f"{label} was uploaded, so it has the same scores under all judgments. Leave it out."
                raise refuse("metrics", "uploaded-scores", message)
            if self.settings.pairs == "common" and self.matrices.metric(label).needs_retrieval_scores:
                message = (
                    f'{label} needs more than the ranks of relevant documents. Leave it out, or give "pairs": "all".'
                )
                raise refuse("metrics", "needs-retrieval-scores", message)
            if self.settings.pairs == "common" and self.matrices.metric(label).needs_intents:
                message = f'{label} needs judgments by intent. Leave it out, or give "pairs": "all".'
                raise refuse("metrics", "needs-intents", message)
        tested = pair_count(self.matrices.run_count) * len(self.metrics) * len(self._sets)
        require_at_most(MOST_TESTED_PAIRS, tested, PAIRS, "runs", "too-many-pairs")
        topics = max(len(each.topics) for each in (self.matrices, *self._sets))
        drawn = self.settings.resamples * topics
        require_at_most(MOST_KEPT, drawn, "draws (resamples x topics)", "resamples")

    def parts(self) -> list[float]:
        judged = [each.qrels.judged for each in (self.matrices, *self._sets)]
        topics, levels = len(self.matrices.topics), self.matrices.collection.highest_level + 1
        counts = self.settings.resamples * topics * levels**2 * SECONDS_A_COUNT
        runs = self.matrices.run_count
        ranking = SECONDS_A_RUN * runs + SECONDS_A_SCORE * runs * topics + SECONDS_A_PAIR * pair_count(runs)
        labels = [sum(judged) * SECONDS_A_JUDGMENT + counts] * (1 + len(self._sets))
        return [*labels, *([ranking] * (len(self._sets) * len(self.metrics)))]

    def work(self, part: int) -> Arrays:
        if part == 0:
            return self._together()
        if part <= len(self._sets):
            return self._labels(part)
        place, metric = divmod(part - 1 - len(self._sets), len(self.metrics))
        return self._ranking(place, self.metrics[metric])

    @cached_property
    def _pairs(self) -> list[JudgedPairs]:
        return list(judged_pairs((self.matrices, *self._sets)))

    def _counts(self, topics: int) -> Floats:
        """Return how often each topic is in each resample."""
        drawn: Indices = Draws(self.settings.seed, "judge-agreement").resamples(self.settings.resamples, topics)
        return resample_counts(drawn, topics)

    def _together(self) -> Arrays:
        levels = self.matrices.collection.highest_level + 1
        used, once = [], 0
        for each in self._pairs:
            judged = (each.levels != UNJUDGED).sum(axis=1)
            once += int((judged == 1).sum())
            if (judged > 1).any():
                used.append((coincidences(each.levels, levels), int((judged > 1).sum())))
        matrices = np.array([matrix for matrix, _ in used]).reshape(-1, levels, levels)
        found = {"units": np.array([sum(count for _, count in used), once, len(used)])}
        drawn = resampled(matrices, self._counts(len(used))) if len(used) > 1 else matrices[:0]
        for name in MEASUREMENTS:
            value = krippendorff_alpha(matrices.sum(axis=0), name)
            found[name] = np.array([value, *percentile_interval(krippendorff_alpha(drawn, name))])
        return found

    def _labels(self, number: int) -> Arrays:
        levels = self.matrices.collection.highest_level + 1
        tables, names, only = [], [], np.zeros(2, np.int64)
        for place, each in enumerate(self._pairs):
            judged = each.levels[:, (0, number)]
            both = judged[(judged != UNJUDGED).all(axis=1)]
            only += ((judged != UNJUDGED) & (judged[:, ::-1] == UNJUDGED)).sum(axis=0)
            if len(both):
                table = np.zeros((levels, levels))
                np.add.at(table, (both[:, 0].astype(np.intp), both[:, 1].astype(np.intp)), 1)
                tables.append(table)
                names.append(place)
        found = np.array(tables).reshape(-1, levels, levels)
        kept = {"tables": found, "topics": np.array(names, np.int64), "only": only}
        counts = self._counts(len(found)) if len(found) > 1 else np.zeros((0, len(found)))
        return {**kept, **labels_of(found, counts, self.settings.threshold)}

    def _ranking(self, place: int, label: str) -> Arrays:
        """Return the means [2, runs] under the two sets, and the levels of the paired t-test: [2, pairs]."""
        first, second = self._scores(place, label)
        defined = ~(np.isnan(first).any(axis=0) | np.isnan(second).any(axis=0))
        tables = [np.ascontiguousarray(table[:, defined]) for table in (first, second)]
        metric, topics = self.matrices.metric(label), int(defined.sum())
        runs = self.matrices.run_count
        found = {"topics": np.array([topics]), "means": np.full((2, runs), np.nan), "asl": np.zeros((2, 0))}
        if topics and runs:
            found["means"] = np.array([mean_of(metric, table) for table in tables])
        if topics > 1 and runs > 1 and metric.parameters["mean"] == "arithmetic":
            found["asl"] = np.array([t_levels(pair_differences(table)) for table in tables])
        return found

    def _scores(self, place: int, label: str) -> tuple[Floats, Floats]:
        other = self._sets[place]
        if self.settings.pairs == "common":
            return self._common[place].scores(label)
        there = on_version(label, other.qrels.named)
        mixed = MixedMatrices(self.matrices, [label, there])
        return mixed.scores(label), mixed.scores(there)

    @cached_property
    def _common(self) -> Sequence[CommonPairs]:
        return [CommonPairs(self.matrices, each) for each in self._sets]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        together, labels, rankings = found[0], found[1 : 1 + len(self._sets)], found[1 + len(self._sets) :]
        settings = self.settings
        units, once, topics = together["units"].tolist()
        return {
            "runs": [run.name for run in self.matrices.runs],
            "threshold": settings.threshold,
            "pairs": settings.pairs,
            "k": settings.k,
            "p": settings.p,
            "alpha": settings.alpha,
            "seed": settings.seed,
            "resamples": settings.resamples,
            "flagged": list(settings.flagged),
            "levels": self._levels(),
            "krippendorff": {
                "units": units,
                "units_judged_once": once,
                "topics": topics,
                **{
                    name: statistic(together[name], EXPECTED if units else "no pair is judged by two sets")
                    for name in MEASUREMENTS
                },
            },
            "sets": [
                {
                    "judgments": each.qrels.judgments,
                    "qrels_version": each.qrels.version,
                    **described_labels(labels[place], self._names(labels[place]), self._levels(), settings.threshold),
                    "metrics": list(self._rankings(rankings, place)),
                }
                for place, each in enumerate(self._sets)
            ],
        }

    def _levels(self) -> list[str]:
        collection = self.matrices.collection
        return [collection.level_name(level) for level in range(collection.highest_level + 1)]

    def _names(self, labels: Mapping[str, Any]) -> list[str]:
        names = sorted({topic for each in (self.matrices, *self._sets) for topic in each.topics}, key=str.encode)
        return [names[place] for place in labels["topics"]]

    def _rankings(self, found: Sequence[Arrays], place: int) -> Iterator[dict[str, Any]]:
        runs = [run.name for run in self.matrices.runs]
        for metric, label in enumerate(self.metrics):
            own = found[place * len(self.metrics) + metric]
            yield {"metric": label, **described_ranking(own, runs, self.settings)}
