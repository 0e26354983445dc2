"""The effect of a setting: a leaderboard under other parameters, compared with the official one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.leaderboard import RankedRuns, leaderboard
from gainboard.evaluation.principals import Sender
from gainboard.evaluation.scoring import Question, bind
from gainboard.evaluation.verdict_changes import Significance, changed_verdicts
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric
from gainboard.statistics.correlation import discordant_pairs, kendall_matrix
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.top_weighted import tau_ap_matrix

Floats = NDArray[np.float64]
ALPHA = 0.05
MOST_DIFFERENCES = 2_000_000
"""The most pairs of runs x topics that are tested while somebody waits: some 50 milliseconds."""


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
    """Paired t-tests with Holm's correction. None for too many pairs, too few topics, and for geometric means."""

    @property
    def moved(self) -> int:
        """The number of runs that change their place."""
        return sum(move != 0 for move in self.moves.values())

    def kept_first(self, board: RankedRuns) -> int:
        """Return how many of the first runs keep their places."""
        ordered = [self.moves.get(row.run.name, 0) for row in board.rows]
        return next((place for place, move in enumerate(ordered) if move), len(ordered))


def setting_effect(
    workspace: Workspace, sender: Sender, name: str, question: Question, board: RankedRuns
) -> SettingEffect | None:
    """Compare a leaderboard, the answer to `question`, with the official one.

    Official is the collection's own metric of the same name, or else the same expression without the parameters of the
    request. Return None if the setting is the official one, if scores are rationed, or if there are not two runs with a
    mean.
    """
    if board.scores.disclosure is not None or len(board.rows) < 2:
        return None
    expression = _official(board)
    official = leaderboard(workspace, sender, name, replace(question, metrics=[expression], defaults={}), None)
    return _compared(official, board) if official.by != board.by else None


def _official(board: RankedRuns) -> str:
    """Return the expression that the collection's organisers, or its defaults, have for the metric that ranks."""
    own, _ = bind(board.scores.collection, Question())
    here = _metric(board).metric
    asked = (expression for expression, label in board.scores.asked.items() if label == board.by)
    return next((each.label for each in own if each.metric is here), next(asked))


def _compared(official: RankedRuns, board: RankedRuns) -> SettingEffect | None:
    before, after = (_scores_of(each) for each in (official, board))
    means = np.stack([each.means[each.scores.labels().index(each.by)] for each in (official, board)])
    if np.isnan(means).any():
        return None
    was, now = (competition_ranks(row) for row in means)
    names = [run.name for run in board.scores.runs]
    return SettingEffect(
        official=official.by,
        tau=float(kendall_matrix(means)[0, 1]),
        tau_ap=float(tau_ap_matrix(means)[0, 1]),
        swops=len(discordant_pairs(means[0], means[1]).pairs),
        pairs=pair_count(len(names)),
        moves=dict(zip(names, (was - now).tolist(), strict=True)),
        significance=_significance(names, before, after, [_metric(official), _metric(board)]),
    )


def _significance(
    names: Sequence[str], before: Floats, after: Floats, metrics: Sequence[BoundMetric]
) -> Significance | None:
    defined = ~(np.isnan(before[0]) | np.isnan(after[0]))
    topics = int(defined.sum())
    is_too_large = pair_count(len(names)) * topics > MOST_DIFFERENCES
    if topics < 2 or is_too_large or any(metric.is_geometric for metric in metrics):
        return None
    was, now = (np.ascontiguousarray(scores[:, defined]) for scores in (before, after))
    return changed_verdicts(names, was, now, ALPHA, corrected=True)


def _scores_of(board: RankedRuns) -> Floats:
    """Return the scores under the metric that ranks: float64 [runs, topics]."""
    scores: Floats = board.scores.scored.scores[board.scores.labels().index(board.by)]
    return scores


def _metric(board: RankedRuns) -> BoundMetric:
    return board.scores.metrics[board.scores.labels().index(board.by)]
