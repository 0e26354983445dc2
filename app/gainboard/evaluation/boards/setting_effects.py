"""The effect of a setting: a leaderboard under other parameters, compared with the official one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.boards.leaderboard import Board, leaderboard
from gainboard.evaluation.scoring.binding import CustomMetric
from gainboard.evaluation.scoring.requests import Question, bind
from gainboard.evaluation.workspace import Workspace
from gainboard.statistics.agreement import discordant_pairs
from gainboard.statistics.correlation import kendall_matrix, tau_ap_matrix
from gainboard.statistics.means import competition_ranks, pair_count, pair_indices, verdicts
from gainboard.statistics.significance import SignificanceSettings, find_test

MOST_PAIRS = 100_000
"""The most pairs of runs that are listed while somebody waits: those of 447 runs, some 25 milliseconds."""


@dataclass(frozen=True)
class SettingEffect:
    """A leaderboard under a setting, compared with the same runs under the official setting.

    `moves` are the places that each run gains, by name; `swops` counts the pairs of runs in the opposite order. The
    correlations are NaN if a setting ties all runs (`tau`) or any runs (`tau_ap`).
    """

    official: str
    """The label of the official setting."""
    tau: float
    tau_ap: float
    swops: int
    pairs: int
    moves: Mapping[str, int]
    significance: Significance | None
    """The pairs that the test of the boards' groups tells apart. None for too many pairs, or without such a test."""

    @property
    def moved(self) -> int:
        """The number of runs that change their place."""
        return sum(move != 0 for move in self.moves.values())

    def kept_first(self, board: Board) -> int:
        """Return how many of the first runs keep their places."""
        ordered = [self.moves.get(row.run.name, 0) for row in board.rows]
        return next((place for place, move in enumerate(ordered) if move), len(ordered))


def setting_effect(
    workspace: Workspace, sender: Sender, name: str, question: Question, board: Board
) -> SettingEffect | None:
    """Compare a leaderboard, the answer to `question`, with the official one.

    Official is the collection's own metric of the same name, or else the same expression without the parameters of the
    request. Return None if the setting is the official one, if scores are rationed, if each team has its best run alone
    (another setting may make another run the best), if means are corrected, or if there are not two runs with a mean.
    """
    if board.scores.is_rationed or board.best_per_team or board.corrected or len(board.rows) < 2:
        return None
    if isinstance(board.metric, CustomMetric):
        return None  # uploaded scores have no parameters
    of_collection, _ = bind(board.scores.collection, Question())
    by = next(expression for expression, label in board.scores.label_by_expression.items() if label == board.by)
    expression = next((bound.label for bound in of_collection if bound.metric is board.metric.metric), by)
    asked = replace(question, metrics=[expression], defaults={})
    official = leaderboard(workspace, sender, name, asked, None, exclude_family=board.exclude_family)
    if official.by == board.by:
        return None
    means = np.stack([ranked.means[ranked.place] for ranked in (official, board)])
    if np.isnan(means).any():
        return None
    was, now = (competition_ranks(row) for row in means)
    names = board.scores.names
    significance, before, after = None, official.groups, board.groups
    if not isinstance(before, str) and not isinstance(after, str) and after.pairs <= MOST_PAIRS:
        # What the two boards' own groups say, so that the sentence and the letters agree.
        levels, says = (before.levels(), after.levels()), (before.verdicts(), after.verdicts())
        significance = compared_verdicts(after.names, after.topics, levels, says)
    return SettingEffect(
        official=official.by,
        tau=float(kendall_matrix(means)[0, 1]),
        tau_ap=float(tau_ap_matrix(means)[0, 1]),
        swops=len(discordant_pairs(means[0], means[1]).pairs),
        pairs=pair_count(len(names)),
        moves=dict(zip(names, (was - now).tolist(), strict=True)),
        significance=significance,
    )


Floats = NDArray[np.float64]
TEST = "t-test"
"""This test draws nothing, so verdicts change only because of the change, never because of another draw."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A pair of runs whose verdict changed. `better_*` is None if the runs did not differ."""

    runs: tuple[str, str]
    asl_before: float
    asl_after: float
    better_before: str | None
    better_after: str | None


@dataclass(frozen=True)
class Significance:
    """The verdicts of a test on all pairs, before and after, and the number of topics afterwards."""

    topics: int
    counts: Mapping[str, int]
    """Numbers of pairs by verdict: `same_better`, `no_difference`, or now `appears`, `disappears`, `reverses`."""
    flips: Sequence[Flip]


def changed_verdicts(names: Sequence[str], before: Floats, after: Floats, alpha: float) -> Significance:
    """Return the verdicts of `TEST` before and after, from scores float64 [runs, topics] of the same runs and topics.

    There must be at least two runs and two topics.
    """
    asls = [find_test(TEST).decide(scores, SignificanceSettings()).asl for scores in (before, after)]
    says = [verdicts(scores.mean(axis=1), asl, alpha) for scores, asl in zip((before, after), asls, strict=True)]
    return compared_verdicts(names, before.shape[1], asls, says)


def compared_verdicts(
    names: Sequence[str], topics: int, asls: Sequence[Floats], says: Sequence[NDArray[np.int8]]
) -> Significance:
    """Compare verdicts before and after, [pairs] each, that belong to these two `asls` [pairs]."""
    was, now = says
    kinds = {
        "same_better": (was == now) & (was != 0),
        "no_difference": (was == 0) & (now == 0),
        "appears": (was == 0) & (now != 0),
        "disappears": (was != 0) & (now == 0),
        "reverses": was * now == -1,
    }
    first, second = pair_indices(len(names))
    flips = []
    for pair in np.flatnonzero(was != now).tolist():
        runs = names[first[pair]], names[second[pair]]
        better = {1: runs[0], -1: runs[1], 0: None}
        before, after = (float(asl[pair]) for asl in asls)
        flips.append(Flip(runs, before, after, better[int(was[pair])], better[int(now[pair])]))
    return Significance(topics, {kind: int(pairs.sum()) for kind, pairs in kinds.items()}, flips)
