"""The scores that are shown while judgments are hidden. Every route with scores asks this module.

Free parameters or scores of single topics would reveal the judgments one by one. The policy says what does not. Every
score that is given is counted, in the transaction that gives it, for the team whose run it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BudgetExhausted, NotPreset
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.score_budget import find_all_missing, preset_labels, why_unscored
from gainboard.evaluation.access.visibility import View, open_locked
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric
from gainboard.store import teams
from gainboard.store.database import Transaction
from gainboard.store.records import Qrels, Run

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Disclosure:
    """The part of the scores that is shown. `topics_missing` and `withheld` refer only to the declared topics."""

    decimals: int
    topics_missing: Mapping[int, set[str] | None]
    """The declared topics that a run lacks, by the run's id; None if no topics are declared."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """The reason why a run has no score, by the run's name."""

    def shown(self, scores: Floats) -> Floats:
        """Return the scores with the decimal places that the policy allows. Adding 0 turns -0 into 0."""
        # Means are rounded as they are shown, after they are computed: means of rounded scores would be others.
        return np.asarray(np.round(scores, self.decimals) + 0.0)


def list_presets(view: View) -> Sequence[str]:
    """Return the metrics of a request that names none, if scores are shown only under presets.

    Those that are metrics of the collection, too, come first, so that the official metric stays at release.
    """
    if view.sees_free_scores or view.policy.is_free:
        return ()
    chosen, shown = view.collection.metrics or (), view.policy.presets
    return [*(metric for metric in chosen if metric in shown), *(metric for metric in shown if metric not in chosen)]


def limit(
    tx: Transaction, view: View, bound: Sequence[BoundMetric], chosen: Sequence[Run], per_topic: bool
) -> tuple[list[Run], Disclosure | None]:
    """Return the runs whose scores may be shown, and how; None for the latter if judgments are open. Count nothing yet.

    Raise NotPreset for parameters that the organisers have not allowed, and for scores of single topics if only means
    are shown.
    """
    if view.sees_free_scores:
        return list(chosen), None
    policy = view.policy
    if not policy.is_free:
        # Labels are compared, not expressions: an equal metric may be spelt in another way.
        named = preset_labels(view)
        if others := [metric.label for metric in bound if metric.label not in named]:
            message = (
                f"While the judgments are hidden, there are no scores under {others[0]}. Use one of: "
                f"{', '.join(named)}."
            )
            raise NotPreset(message, presets=named)
    if per_topic and view.scores == "own-mean":
        raise NotPreset(
            "While the judgments are hidden, only means over all topics are shown. Leave out `topics`.",
            presets=policy.presets,
        )
    missing = find_all_missing(tx, view, chosen)
    withheld = {run.name: why for run in chosen if (why := why_unscored(view, missing[run.id]))}
    scorable = [run for run in chosen if run.name not in withheld]
    return scorable, Disclosure(policy.decimals, missing, withheld)


def charge(
    workspace: Workspace,
    view: View,
    bound: Sequence[BoundMetric],
    version: Qrels,
    scorable: Sequence[Run],
    all_or_none: bool,
) -> tuple[list[Run], dict[str, str]]:
    """Count the scores against the budgets of the teams whose runs they are about.

    It does not matter who asks: otherwise another team could reveal what the team itself may not. Scores that were
    given before cost nothing, under whatever qrels version, and scores under presets were paid for by the upload.

    Return the runs whose scores are given, and by name why others have none: their team's budget is used up. Raise
    BudgetExhausted if that is true for all runs or, with `all_or_none`, for one of the asking team's runs.
    """
    labels = [metric.label for metric in bound]
    # Most requests repeat earlier ones and cost nothing. A reading transaction finds this out without blocking writers.
    with workspace.database.reading() as tx:
        bill = _Bill.of(tx, view, labels, scorable)
    if bill.new:
        with workspace.database.writing() as tx:
            # Called for its lock, and to fail if the collection was removed meanwhile.
            open_locked(tx, view.principal, view.collection.name)
            # Another request may have used the budget meanwhile, so the bill is made again under the lock.
            bill = _Bill.of(tx, view, labels, scorable)
            bill.refuse(view, all_or_none)
            teams.disclose(tx, bill.new, version.id, workspace.now())
    bill.refuse(view, all_or_none)
    why = f"Its team has received the {view.policy.answers} scores that it may get while the judgments are hidden."
    return [run for run in scorable if run not in bill.unpaid], {run.name: why for run in bill.unpaid}


@dataclass(frozen=True)
class _Bill:
    """The cost of a request: scores not given before, by team, and the runs that exceed their team's budget."""

    new: Mapping[teams.Answer, int]
    unpaid: Sequence[Run]
    used: Mapping[int, int]
    most: int
    paid: int

    @classmethod
    def of(cls, tx: Transaction, view: View, labels: Sequence[str], scorable: Sequence[Run]) -> _Bill:
        answers_of = {run.id: [(label, run.id) for label in labels] for run in scorable}
        unknown = teams.find_undisclosed(tx, (answer for of_run in answers_of.values() for answer in of_run))
        used = {team_id: score_budget.count_used(tx, view, team_id) for team_id in {run.team_id for run in scorable}}
        left = {team_id: view.policy.answers - count for team_id, count in used.items()}
        new: dict[teams.Answer, int] = {}
        unpaid: list[Run] = []
        # In the order in which runs came, whatever the order of the request: otherwise the request decides which of a
        # team's runs the rest of the budget pays for, and a later run could take a score away from an earlier one.
        for run in sorted(scorable, key=lambda run: run.id):
            cost = [answer for answer in answers_of[run.id] if answer in unknown]
            if view.policy.is_free and len(cost) > max(0, left[run.team_id]):
                unpaid.append(run)
                continue
            left[run.team_id] -= len(cost)
            new |= dict.fromkeys(cost, run.team_id)
        return cls(new, unpaid, used, view.policy.answers, len(scorable) - len(unpaid))

    def refuse(self, view: View, all_or_none: bool) -> None:
        """Raise BudgetExhausted if no score can be given, or fewer than all with `all_or_none`."""
        unpaid_of_team = [run for run in self.unpaid if run.team_id == view.own_team]
        if (all_or_none and unpaid_of_team) or (self.unpaid and not self.paid):
            used = self.used[(unpaid_of_team or self.unpaid)[0].team_id]
            message = (
                f"The team has received {used} of {self.most} scores that it may get while the judgments are hidden, "
                "and this request would exceed them. Scores that it has received before are still available."
            )
            raise BudgetExhausted(message, limit=self.most, used=used)
