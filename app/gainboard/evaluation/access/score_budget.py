"""The budget of each team: how many distinct scores of its runs are shown while the judgments are hidden.

A score is one label and one run, under whatever qrels version. Every run that can be scored is charged for all presets
when it is uploaded, so no score under a preset is ever withheld, whoever asks for it first. Scores under free
parameters are charged when the team asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gainboard.errors import BudgetExhausted
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, look
from gainboard.evaluation.runs import upload_quota
from gainboard.evaluation.runs.run_files import why_too_few
from gainboard.evaluation.runs.upload_quota import Quota
from gainboard.evaluation.scoring.binding import scale_of
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric, expand, resolve
from gainboard.store import collections, runs, teams
from gainboard.store.arrays import unpack_names
from gainboard.store.database import Transaction
from gainboard.store.records import Run

_ANY_NUMBER: Final = 64.0
"""The bits of a score under free parameters: those of a number in double precision."""


def preset_labels(view: View) -> Sequence[str]:
    """Return the distinct labels of the policy's presets."""
    # Two presets may be spellings of one metric, which is paid for once.
    return list(dict.fromkeys(metric.label for metric in _bind_presets(view)))


def _bind_presets(view: View) -> Sequence[BoundMetric]:
    collection = view.collection
    scale, defaults = scale_of(collection), {"gains": collection.gains}
    return [
        resolve(expression, scale, defaults=defaults) for expression in expand(view.policy.presets, scale.highest_level)
    ]


def bits_an_answer(view: View) -> float | None:
    """Return the most bits that an answer reveals: log2 of the number of values that its scores can have.

    The answer has one score, or one for each declared topic, too. Return None if it shows topics and none are declared.
    """
    policy, topics = view.policy, view.collection.topics
    widest = max((metric.span for metric in _bind_presets(view)), default=1.0)
    values = math.inf if policy.is_free else widest * 10**policy.decimals + 1
    bits = min(_ANY_NUMBER, math.log2(values))
    if view.scores == "own-mean":
        return bits
    # The score of a topic may also be undefined, which tells that no document is relevant.
    return bits + len(topics) * min(_ANY_NUMBER, math.log2(values + 1)) if topics else None


def find_missing(view: View, topics: Container[str]) -> set[str] | None:
    """Return the declared topics that a run with these topics lacks; None if no topics are declared."""
    declared = view.collection.topics
    return set(declared).difference(topics) if declared else None


def find_all_missing(tx: Transaction, view: View, stored: Sequence[Run]) -> dict[int, set[str] | None]:
    """Return the declared topics that each stored run lacks, by its id; None if no topics are declared."""
    ids = [run.id for run in stored]
    if not view.collection.topics:
        return dict.fromkeys(ids)
    return {run_id: find_missing(view, unpack_names(packed)) for run_id, packed in runs.list_topics(tx, ids)}


def why_unscored(view: View, missing: Container[str] | None) -> str | None:
    """Return why a run that lacks these declared topics has no score; None if it has one."""
    coverage, declared = view.policy.coverage, len(view.collection.topics or ())
    if coverage == 0:
        return None
    if missing is None:
        return (
            "No run can be scored yet: the organisers must declare this collection's topics (gainboard collection "
            f"change {view.collection.name} --topics FILE)."
        )
    return why_too_few(declared - len(missing), declared, coverage)


def count_used(tx: Transaction, view: View, team_id: int) -> int:
    """Count the scores that the team has received, with those of its runs under the presets, received or not."""
    labels = _charged_labels(view)
    if not labels:
        return teams.count_disclosed(tx, team_id)
    # Withdrawn runs count by the scores that were given, and no longer by the presets.
    live = runs.page(tx, view.collection.id, team_id=team_id)
    missing = find_all_missing(tx, view, live)
    scorable = [run.id for run in live if why_unscored(view, missing[run.id]) is None]
    return teams.count_disclosed(tx, team_id, labels, scorable)


def require_budget(tx: Transaction, view: View, topics: Container[str]) -> None:
    """Raise BudgetExhausted if the budget of the principal's team cannot pay for a new run with these topics.

    The caller has locked the collection, so that simultaneous uploads cannot exceed the budget.
    """
    labels = _charged_labels(view)
    # A run that is not scored costs nothing.
    if not labels or why_unscored(view, find_missing(view, topics)):
        return
    assert view.own_team is not None
    spent, limit = count_used(tx, view, view.own_team), view.policy.answers
    if spent + len(labels) > limit:
        raise BudgetExhausted(
            f"The run has {len(labels)} scores under the presets, and {max(0, limit - spent)} are left of the {limit} "
            "that the team may get while the judgments are hidden. Withdraw a run of which no score was shown, or ask "
            "the organisers for a larger budget (`answers`).",
            limit=limit,
            used=spent,
        )


def _charged_labels(view: View) -> Sequence[str]:
    """Return the labels under which every run is charged; none where scores are hidden, open, or free."""
    policy = view.policy
    has_budget = not view.sees_free_scores and policy.scores != "none"
    return preset_labels(view) if has_budget and not policy.is_free else ()


@dataclass(frozen=True)
class Allowance:
    """The allowance of one team.

    `answers` counts distinct scores; each reveals at most `bits_an_answer` of the judgments.
    """

    opens_at: datetime | None
    closes_at: datetime | None
    runs: Mapping[str, Quota]
    bytes: Quota
    answers: Quota
    bits_an_answer: float | None

    @property
    def runs_left(self) -> int | None:
        """The number of runs that the team may still send now."""
        return upload_quota.fewest_left(self.runs.values())

    @property
    def bits_left(self) -> float | None:
        """The most bits that the team can still learn about the judgments; None if they are open."""
        if self.answers.left is None or self.bits_an_answer is None:
            return None
        return self.answers.left * self.bits_an_answer


def allowance_of(workspace: Workspace, principal: Principal) -> Allowance | None:
    """Return what the principal's team has left; None for principals without a team, for whom nothing is counted."""
    token = principal.require_token()
    if token.team_id is None or token.collection_id is None:
        return None
    now = workspace.now()
    with workspace.database.reading() as tx:
        # By the id in the token, because a later collection may have the name.
        view = look(principal, collections.of_id(tx, token.collection_id), now)
        if view is None:
            return None
        limited = not view.sees_free_scores
        limit = (view.policy.answers if view.sees_scores else 0) if limited else None
        return Allowance(
            opens_at=view.collection.opens_at,
            closes_at=view.collection.closes_at,
            runs=upload_quota.of_team(tx, workspace, view, token.team_id, now),
            bytes=upload_quota.of_bytes(tx, view, token.team_id),
            answers=Quota(limit, count_used(tx, view, token.team_id)),
            bits_an_answer=bits_an_answer(view) if limited else None,
        )
