"""What is shown of scores while judgments are hidden: the one way out for them, asked by every route that has scores.

With free parameters or single topics, scores tell the judgments one by one; the policy says what does not. Whatever
is given is counted, in the transaction that gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.errors import BudgetExhausted, NotPreset
from app.evaluation.policy import Policy
from app.evaluation.visibility import View, open_locked
from app.evaluation.workspace import Workspace
from app.metrics import BoundMetric, Scale, resolve
from app.store import answers, runs
from app.store.arrays import unpack_names
from app.store.database import Transaction
from app.store.records import Qrels, Run

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Disclosure:
    """What of the asked scores is given. `topics_missing` and `withheld` refer to the declared topics alone."""

    decimals: int
    topics_missing: Mapping[int, int | None]
    """By run id: declared topics that the run lacks; None where no topics are declared."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """By name of the run: why it has no score."""

    def shown(self, scores: Floats) -> Floats:
        """The scores as precise as the policy allows; adding 0 takes the sign off -0."""
        return np.asarray(np.round(scores, self.decimals) + 0.0)


def presets(view: View) -> Sequence[str]:
    """What is answered where no metric is named, if scores are given under presets only."""
    return () if view.sees_free_scores or view.policy.is_free else view.policy.presets


def limit(
    tx: Transaction, view: View, bound: Sequence[BoundMetric], chosen: Sequence[Run], per_topic: bool
) -> tuple[list[Run], Disclosure | None]:
    """The runs whose scores may be given, and how; None where judgments are open. Counts nothing yet.

    Raises NotPreset for parameters that the organisers have not named, and for scores of single topics where means
    are shown alone.
    """
    if view.sees_free_scores:
        return list(chosen), None
    policy = view.policy
    _require_presets(view, bound)
    if per_topic and view.scores == "own-mean":
        raise NotPreset("Only means over all topics are shown while the judgments are hidden.", presets=policy.presets)
    missing = {run.id: _missing(tx, view, run) for run in chosen}
    withheld = {run.name: why for run in chosen if (why := _too_little(view, missing[run.id]))}
    given = [run for run in chosen if run.name not in withheld]
    return given, Disclosure(policy.decimals, missing, withheld)


def _require_presets(view: View, bound: Sequence[BoundMetric]) -> None:
    if view.policy.is_free:
        return
    collection = view.collection
    scale, defaults = Scale(collection.highest_level, collection.depth), {"gains": collection.gains}
    named = [resolve(preset, scale, collection=defaults).label for preset in view.policy.presets]
    if other := [metric.label for metric in bound if metric.label not in named]:
        message = f"While the judgments are hidden there are no scores under {other[0]}, but under {', '.join(named)}."
        raise NotPreset(message, presets=named)


def _missing(tx: Transaction, view: View, run: Run) -> int | None:
    if not view.collection.topics:
        return None
    return len(set(view.collection.topics) - set(unpack_names(runs.topics(tx, run.id))))


def _too_little(view: View, missing: int | None) -> str | None:
    """Why a run of so many missing topics gets no score, if it gets none."""
    coverage, declared = view.policy.coverage, len(view.collection.topics or ())
    if coverage == 0:
        return None
    if missing is None:
        return "The collection declares no topics, of which a run must cover a share for a score; its organisers can."
    if declared - missing < coverage * declared:
        return f"It covers {declared - missing} of {declared} declared topics; a score takes {coverage:.0%} of them."
    return None


def charge(
    workspace: Workspace, view: View, bound: Sequence[BoundMetric], version: Qrels, given: Sequence[Run]
) -> None:
    """Counts the scores of the team's own runs against its budget; raises BudgetExhausted where it is used up.

    Scores that it was given before cost nothing. All of a request is given, or none of it.
    """
    team_id, policy = view.own_team, view.policy
    asked = {(metric.label, version.id, run.id) for metric in bound for run in given if run.team_id == team_id}
    if team_id is None or not asked:
        return
    with workspace.database.reading() as tx:
        if not answers.new_among(tx, team_id, asked):
            return
    with workspace.database.writing() as tx:
        open_locked(tx, view.principal, view.collection.name)
        new, used = answers.new_among(tx, team_id, asked), answers.count(tx, team_id)
        if used + len(new) > policy.answers:
            raise _exhausted(policy, used, len(new))
        answers.give(tx, team_id, new, workspace.now())


def _exhausted(policy: Policy, used: int, more: int) -> BudgetExhausted:
    message = (
        f"The team has been given {used} of {policy.answers} scores that it gets while the judgments are hidden; these "
        f"would be {more} more. Scores that it was given before are given again."
    )
    return BudgetExhausted(message, limit=policy.answers, used=used)
