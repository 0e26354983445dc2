"""Runs compared topic by topic: two runs, or some runs with baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.boards.pair_statistics import PairComparison, compare_pairs, pair_up
from gainboard.evaluation.scoring.binding import customs_of, require_scores_of
from gainboard.evaluation.scoring.requests import Question, StoredScores, score
from gainboard.evaluation.scoring.turns import spend
from gainboard.evaluation.workspace import Workspace

MOST_SCORES: Final = 100_000
"""The most metrics x runs x topics, or metrics x pairs x topics, in one request: about a second for the tests."""

MOST_PAIRS: Final = 2_500
"""The most metrics x pairs in one request: about a second, even for few topics."""

PAIR_SECONDS: Final = 5e-4
"""The approximate time for the tests of a pair under a metric."""
DIFFERENCE_SECONDS: Final = 6e-6
"""The approximate time for the difference on a topic, in the tests and in the answer."""


@dataclass(frozen=True)
class ComparedRuns:
    """Pairs of runs compared under each metric. `scores` has their runs, in the order of the request."""

    scores: StoredScores
    pairs: Sequence[PairComparison]


def compare(
    workspace: Workspace,
    sender: Sender,
    name: str,
    question: Question,
    baselines: Sequence[str] = (),
    margin: float | None = None,
) -> ComparedRuns:
    """Compare the two runs of the question; with baselines, its runs, or all runs, with each of them.

    `margin` asks for a test of equivalence. Tests and intervals reveal scores of single topics, so the sender must see
    scores under any parameters. Raise JudgmentsHidden otherwise, InvalidRequest for a choice of runs that makes no
    pairs, and the errors of `score`.
    """

    def admit(view: View) -> None:
        view.require_free_scores()
        names = question.runs or ()
        if not baselines and (len(names) != 2 or len(set(names)) != 2):
            count = "none" if not names else f"{len(names)}: {', '.join(map(repr, names[:3]))}"
            message = (
                f"A comparison is of exactly two different runs, but the request names {count}"
                f"{', ...' if len(names) > 3 else ''}. Name two: `run=FIRST&run=SECOND`. To compare more runs, say "
                "with which: `baseline=NAME`."
            )
            raise InvalidRequest.at("query.run", "two-runs", message)
        if twice := [run for run in names if run in baselines]:
            message = (
                f"{twice[0]!r} is a run and a baseline, so it would be compared with itself. Name it once: `run=NAME` "
                "or `baseline=NAME`."
            )
            raise InvalidRequest.at("query.run", "run-is-baseline", message)

    # None means all runs, among them the baselines.
    runs = None if question.runs is None else [*question.runs, *baselines]
    scores = score(workspace, sender, name, replace(question, runs=runs, admit=admit, per_topic=True, most=MOST_SCORES))
    if absent := [baseline for baseline in baselines if baseline not in scores.names]:
        raise NotFound(f"There is no run {absent[0]!r} in {name!r}, or this token may not see it.")
    for _, metric in customs_of(scores.metrics):
        require_scores_of(metric, scores.runs, "query.run")
    pairs = pair_up(scores.names, baselines)
    if not pairs:
        message = "The collection has no run besides the baselines. Name fewer baselines."
        raise InvalidRequest.at("query.baseline", "no-runs", message)
    metrics, topics = len(scores.metrics), len(scores.topics)
    if (compared := metrics * len(pairs)) > MOST_PAIRS:
        message = (
            f"{metrics} metrics x {len(pairs)} pairs are {compared:,} comparisons; at most {MOST_PAIRS:,} in "
            "one request. Name fewer metrics, baselines or runs."
        )
        raise InvalidRequest.at("query", "too-many", message)
    if (differences := compared * topics) > MOST_SCORES:
        message = (
            f"{metrics} metrics x {len(pairs)} pairs x {topics} topics are {differences:,} differences; "
            f"at most {MOST_SCORES:,} in one request. Name fewer metrics, baselines or runs."
        )
        raise InvalidRequest.at("query", "too-many", message)
    spend(compared * (PAIR_SECONDS + topics * DIFFERENCE_SECONDS))
    return ComparedRuns(scores, list(compare_pairs(scores, pairs, margin)))
