"""Boards whose means are not those of the metrics.

Scores are standardised by topic over reference runs that the request names, or the means under a cheap judgment set are
corrected by a trusted one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput, InvalidRequest
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.scoring.binding import CustomMetric, is_custom, name_of_answers
from gainboard.evaluation.scoring.requests import Question, StoredScores, score
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric, mean_all
from gainboard.statistics.corrected_means import LEAST_OTHERS, LEAST_TRUSTED, TwiceJudged
from gainboard.statistics.means import standardise_scores
from gainboard.store.records import Qrels, VersionName
from gainboard.vocabulary import Standardisation, is_of_answers, metric_of_matrix

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
LEAST_REFERENCE = 2
"""Fewer runs have no spread."""


@dataclass(frozen=True)
class Standard:
    """A form of standardised scores, and the names of the reference runs.

    The request names them, so the scores of a run do not change when another run arrives.
    """

    form: Standardisation
    reference: Sequence[str]


def standard_of(form: Standardisation | None, reference: Sequence[str]) -> Standard | None:
    """Return the standard that a request asks for; None if it asks for none.

    Raise InvalidRequest for a form without reference runs, and for reference runs without a form.
    """
    names = list(dict.fromkeys(reference))
    if form is None and not names:
        return None
    if form is None:
        raise InvalidRequest.at(
            "query.standardise", "missing", "Reference runs need a form: standardise=normal, linear or empirical."
        )
    if len(names) < LEAST_REFERENCE:
        raise InvalidRequest.at(
            "query.reference",
            "too-few-runs",
            f"Standardised scores need at least {LEAST_REFERENCE} reference runs; the request names {len(names)}. Name "
            "them, each with reference=RUN. Keep the list: with another one, all scores change.",
        )
    return Standard(form, names)


def standardise(scores: StoredScores, standard: Standard) -> tuple[StoredScores, Mapping[str, list[str]]]:
    """Return the table with standardised scores, and by label the topics on which the reference runs score alike.

    These topics have no standardised scores. Raise InvalidRequest if a reference run is not among the runs, or has no
    scores, and if a mean is geometric.
    """
    row_of_run = {name: number for number, name in enumerate(scores.names)}
    if absent := [name for name in standard.reference if name not in row_of_run]:
        message = f"The reference run {absent[0]!r} is not on this board. Name runs of the board: reference=RUN."
        raise InvalidRequest.at("query.reference", "unknown-run", message)
    references = np.array([row_of_run[name] for name in standard.reference], np.intp)
    arrays, undefined, alike = scores.arrays, scores.arrays.undefined.copy(), {}
    # Systems, then their replicates.
    table = np.concatenate([scores.by_topic, *([] if arrays.rows is None else [arrays.rows])], axis=1)
    for row, metric in enumerate(scores.metrics):
        if metric.is_geometric:
            message = f"Standardised scores have no geometric mean. Leave out mean=geometric of {metric.label}."
            raise InvalidRequest.at("query.metric", "geometric-mean", message)
        defined = np.flatnonzero(~scores.arrays.undefined[row])
        by_topic = table[row][:, defined]
        if (lacking := np.isnan(by_topic[references]).any(axis=1)).any():
            name = standard.reference[int(np.argmax(lacking))]
            message = f"{name!r} has no scores under {metric.label}, so it cannot be a reference run."
            raise InvalidRequest.at("query.reference", "no-scores", message)
        standardised_scores = np.where(
            np.isnan(by_topic), np.nan, standardise_scores(by_topic, references, standard.form)
        )
        table[row][:, defined] = standardised_scores
        lost = defined[np.isnan(standardised_scores[references[0]])]
        undefined[row, lost] = True
        alike[metric.label] = [scores.topics[topic] for topic in lost]
    means, count = mean_all(scores.metrics, table), len(scores.names)
    rows = {} if arrays.rows is None else {"rows": table[:, count:], "row_means": means[:, count:]}
    arrays = replace(arrays, by_topic=table[:, :count], means=means[:, :count], undefined=undefined, **rows)
    return replace(scores, arrays=arrays), alike


ASSUMED: Final = "The trusted topics are a random sample of all topics."
"""Without this, the correction says nothing. Nothing in the data can show it, so whoever asks must know it."""
Refuse = Callable[[str, str], BadInput]
"""Returns the error of a code and a message, at the place of the request that names the trusted set."""


@dataclass(frozen=True)
class TopicsJudgedTwice:
    """The topics that count under one metric, as places in tables over the topics of the cheap and the trusted set.

    `trusted` and `cheap` [n] are the places of the sample in both tables, `others` [N - n] those of all other topics in
    the cheap one. `left_out` are topics for which the metric is undefined under one of the sets, or which only the
    trusted set judges.
    """

    trusted: Places
    cheap: Places
    others: Places
    left_out: Sequence[str]

    @classmethod
    def of(
        cls, cheap: tuple[Sequence[str], NDArray[np.bool_]], trusted: tuple[Sequence[str], NDArray[np.bool_]]
    ) -> TopicsJudgedTwice:
        """Return the topics of two sets. Each comes with whether the metric is defined: bool [topics]."""
        column = {topic: number for number, topic in enumerate(trusted[0])}
        is_trusted = np.array([topic in column for topic in cheap[0]], np.bool_)
        # A topic that people have judged, and for which they find nothing relevant, has no true score.
        has_truth = np.array([bool(trusted[1][column[t]]) if t in column else True for t in cheap[0]], np.bool_)
        counts = cheap[1] & has_truth
        sample, in_cheap = np.flatnonzero(counts & is_trusted), set(cheap[0])
        lost = {cheap[0][number] for number in np.flatnonzero(~counts).tolist()}
        lost |= {topic for topic in trusted[0] if topic not in in_cheap}
        return cls(
            np.array([column[cheap[0][number]] for number in sample.tolist()], np.intp),
            sample,
            np.flatnonzero(counts & ~is_trusted),
            sorted(lost, key=str.encode),
        )

    def scores(self, cheap: Floats, trusted: Floats) -> TwiceJudged:
        """Return the scores on these topics, from tables over all topics of each set: [runs, topics]."""
        # Chosen columns lie apart in memory, where NumPy would add the topics of a run in another order.
        tables = (trusted[:, self.trusted], cheap[:, self.cheap], cheap[:, self.others])
        return TwiceJudged(*map(np.ascontiguousarray, tables))

    def correct(self, label: str, cheap: Floats, trusted: Floats, runs: Places, refuse: Refuse) -> CorrectedMetric:
        """Return the correction of a metric, from tables over all topics of each set: [runs, topics].

        `runs` are the places of the runs on the board. Runs that lack a score on a topic that counts are left out.
        Raise the error unless there are enough topics.
        """
        self.require_enough(label, refuse)
        sample = self.scores(cheap, trusted)
        complete = np.flatnonzero(~np.isnan(np.hstack((sample.trusted, sample.all_cheap()))).any(axis=1))
        if len(complete) < len(runs):
            sample = TwiceJudged(sample.trusted[complete], sample.cheap[complete], sample.others[complete])
        return CorrectedMetric(self, sample, runs[complete], sample.weight() if len(complete) else 0.0)

    def require_enough(self, label: str, refuse: Refuse) -> None:
        """Raise the error unless there are enough topics of both kinds."""
        if (trusted := len(self.trusted)) < LEAST_TRUSTED:
            message = (
                f"{label} has a score on {trusted} topics with trusted judgments, and the correction needs at least "
                f"{LEAST_TRUSTED}: with fewer, 95 % intervals hold the truth in less than 92 % of simulations, on "
                "average over runs; those of single runs, less often (docs/judgments.md). Let people judge more topics."
            )
            raise refuse("too-few-topics", message)
        if (others := len(self.others)) < LEAST_OTHERS:
            message = (
                f"{label} has a score on {others} topics without trusted judgments, and the correction needs at least "
                f"{LEAST_OTHERS}. Take the trusted judgments alone, or judge more topics cheaply."
            )
            raise refuse("too-few-others", message)


def require_correctable(metric: BoundMetric, refuse: Refuse) -> None:
    """Raise the error if the mean of a metric cannot be corrected by other judgments."""
    if is_custom(metric.label):
        message = f"{metric.label} was uploaded, so it has the same scores under all judgments. Leave it out."
        raise refuse("uploaded-scores", message)
    if metric.is_geometric:
        message = f"{metric.label} has a geometric mean, but arithmetic means are corrected. Choose another metric."
        raise refuse("geometric-mean", message)


@dataclass(frozen=True)
class CorrectedMetric:
    """The correction of a board under one metric: the scores of its runs, and the weight of the cheap ones.

    `runs` are the places of the runs with scores, in the order of the board's tables.
    """

    topics: TopicsJudgedTwice
    sample: TwiceJudged
    runs: Places
    weight: float

    @property
    def counted(self) -> tuple[int, int]:
        """The numbers of trusted topics and of all topics that count."""
        return len(self.topics.trusted), len(self.topics.trusted) + len(self.topics.others)

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """The ends of the 95 % intervals of the corrected means: float64 [runs] both."""
        return self.sample.corrected(self.weight).intervals(self.sample.freedom)

    def only(self, runs: Places) -> TwiceJudged:
        """Return the scores of some runs, by their places on the board."""
        row_of_run = {run: row for row, run in enumerate(self.runs.tolist())}
        rows = [row_of_run[run] for run in runs.tolist()]
        return TwiceJudged(self.sample.trusted[rows], self.sample.cheap[rows], self.sample.others[rows])


@dataclass(frozen=True)
class CorrectedBoard:
    """The means of a board, corrected by a trusted set. Tables are float64 [metrics, runs]; NaN for a run without."""

    by: str
    """The name of the judgment set, the judge or the score matrix of people."""
    trusted: Qrels | None
    """The version of the judgments that trusted scores are about; None for those of files."""
    by_metric: Sequence[CorrectedMetric]
    run_count: int

    @cached_property
    def means(self) -> Floats:
        """The corrected means."""
        return self._table(lambda metric: metric.sample.corrected(metric.weight).means)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of the 95 % intervals of the corrected means."""
        return self._table(lambda metric: metric.interval[0]), self._table(lambda metric: metric.interval[1])

    @cached_property
    def uncorrected(self) -> Floats:
        """The means under the cheap judgments alone, over the same topics."""
        return self._table(lambda metric: metric.sample.by_cheap().means)

    def _table(self, values: Callable[[CorrectedMetric], Floats]) -> Floats:
        table = np.full((len(self.by_metric), self.run_count), np.nan)
        for row, metric in enumerate(self.by_metric):
            table[row, metric.runs] = values(metric)
        return table


def correct(
    workspace: Workspace, sender: Sender, name: str, question: Question, scores: StoredScores, by: str
) -> CorrectedBoard:
    """Return the answer to a question, corrected by what people say on a sample of the topics.

    That is the published version of the judgment set `by`; for the scores of answers, the verdicts of the judge `by`;
    and for other uploaded scores, the score matrix `by`. Raise NotFound or BadExpression if there is none for the
    sender, and InvalidRequest if the means cannot be corrected.
    """

    def refuse(code: str, message: str) -> InvalidRequest:
        return InvalidRequest.at("query.corrected_by", code, message)

    uploaded = {
        metric.label: metric_of_people(metric, by) for metric in scores.metrics if isinstance(metric, CustomMetric)
    }
    formulas = [metric.label for metric in scores.metrics if metric.label not in uploaded]
    by_people: dict[str, tuple[StoredScores, int]] = {}
    asked = replace(question, also=(), names="gainboard", repeats=())
    if formulas:
        trusted = score(workspace, sender, name, replace(asked, metrics=formulas, qrels=VersionName(by)))
        if trusted.qrels.judgments == scores.qrels.judgments:
            message = f"Both sets are {by!r}. Name the cheap judgments of all topics: judgments=NAME."
            raise refuse("same-set", message)
        by_people |= {label: (trusted, trusted.labels.index(trusted.label_by_expression[label])) for label in formulas}
    if uploaded:
        stored = score(workspace, sender, name, replace(asked, metrics=list(dict.fromkeys(uploaded.values()))))
        for label, expression in uploaded.items():
            if stored.label_by_expression[expression] == label:
                raise refuse("same-set", f"{label} cannot correct itself. Name the scores of people on some topics.")
            by_people[label] = stored, stored.labels.index(stored.label_by_expression[expression])
    by_metric = []
    for row, metric in enumerate(scores.metrics):
        if metric.label not in uploaded:
            require_correctable(metric, refuse)
        table, place = by_people[metric.label]
        row_of_run = {run.id: number for number, run in enumerate(table.runs)}
        # A run that came between the two readings is in one of them only.
        runs = np.array([number for number, run in enumerate(scores.runs) if run.id in row_of_run], np.intp)
        same = np.array([row_of_run[scores.runs[number].id] for number in runs.tolist()], np.intp)
        has_truth = ~table.arrays.undefined[place]
        # Of uploaded scores, a topic without any was not judged. Of judgments, it has nothing relevant, so no truth.
        kept = np.flatnonzero(has_truth) if metric.label in uploaded else np.arange(len(has_truth))
        topics = TopicsJudgedTwice.of(
            (scores.topics, ~scores.arrays.undefined[row]), ([table.topics[t] for t in kept.tolist()], has_truth[kept])
        )
        by_topic = table.by_topic[place][np.ix_(same, kept)]
        by_metric.append(topics.correct(metric.label, scores.by_topic[row][runs], by_topic, runs, refuse))
    return CorrectedBoard(by, by_people[scores.metrics[0].label][0].qrels, by_metric, len(scores.runs))


def metric_of_people(metric: CustomMetric, by: str) -> str:
    """Return the expression of the scores that correct those of a metric: of the judge `by`, or of the matrix `by`."""
    name = metric.matrix.name
    family, _, rest = name.partition("--")
    return metric_of_matrix(name_of_answers(family, rest.partition("--")[0], by) if is_of_answers(name) else by)
