"""What is shown of scores while judgments are hidden: the one way out for them, asked by every route that has scores.

With free parameters or single topics, scores tell the judgments one by one; the policy says what does not. Whatever
is given is counted, in the transaction that gives it, against the team whose run it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BudgetExhausted, NotPreset
from gainboard.evaluation.visibility import View, open_locked
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric, Scale, expand, resolve
from gainboard.store import answers, runs
from gainboard.store.arrays import unpack_names
from gainboard.store.database import Transaction
from gainboard.store.records import Qrels, Run

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
    expressions = expand(view.policy.presets, scale.highest_level)
    named = [resolve(expression, scale, collection=defaults).label for expression in expressions]
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
    workspace: Workspace,
    view: View,
    bound: Sequence[BoundMetric],
    version: Qrels,
    given: Sequence[Run],
    all_or_none: bool,
) -> tuple[list[Run], dict[str, str]]:
    """Counts the scores against the budgets of the teams whose runs these are, whoever asks; else what one team may
    not learn by its runs, another one or a reader would. Scores that were given before cost nothing.

    The runs whose scores are given, and by name why others are not, for their team's budget is used up. Raises
    BudgetExhausted where that goes for all of them or, with `all_or_none`, for one of the asking team's own.
    """
    labels = [metric.label for metric in bound]
    with workspace.database.reading() as tx:
        bill = _Bill.of(tx, view, labels, version, given)
    if bill.new:
        with workspace.database.writing() as tx:
            open_locked(tx, view.principal, view.collection.name)
            bill = _Bill.of(tx, view, labels, version, given)
            bill.refuse(view, all_or_none)
            answers.give(tx, bill.new, workspace.now())
    bill.refuse(view, all_or_none)
    why = f"Its team has been given the {view.policy.answers} scores that it gets while the judgments are hidden."
    return [run for run in given if run not in bill.unpaid], {run.name: why for run in bill.unpaid}


@dataclass(frozen=True)
class _Bill:
    """What a request costs: answers not given before, by team; and the runs for which the budgets are too small."""

    new: Mapping[answers.Answer, int]
    unpaid: Sequence[Run]
    used: Mapping[int, int]
    most: int
    paid: int

    @classmethod
    def of(cls, tx: Transaction, view: View, labels: Sequence[str], version: Qrels, given: Sequence[Run]) -> _Bill:
        asked = {run.id: [(label, version.id, run.id) for label in labels] for run in given}
        unknown = answers.new_among(tx, (answer for each in asked.values() for answer in each))
        used = answers.counts(tx, {run.team_id for run in given})
        left = {team_id: view.policy.answers - count for team_id, count in used.items()}
        new: dict[answers.Answer, int] = {}
        unpaid: list[Run] = []
        # In the order of their arrival, so that a run that has a score does not lose it to one that came later.
        for run in sorted(given, key=lambda run: run.id):
            cost = [answer for answer in asked[run.id] if answer in unknown]
            if len(cost) > max(0, left[run.team_id]):
                unpaid.append(run)
                continue
            left[run.team_id] -= len(cost)
            new |= dict.fromkeys(cost, run.team_id)
        return cls(new, unpaid, used, view.policy.answers, len(given) - len(unpaid))

    def refuse(self, view: View, all_or_none: bool) -> None:
        """Raises BudgetExhausted where nothing could be given, or less than was asked for and must be whole."""
        own = [run for run in self.unpaid if run.team_id == view.own_team]
        if (all_or_none and own) or (self.unpaid and not self.paid):
            team_id = (own or self.unpaid)[0].team_id
            raise _exhausted(self.most, self.used[team_id])


def _exhausted(most: int, used: int) -> BudgetExhausted:
    message = (
        f"The team has been given {used} of {most} scores that it gets while the judgments are hidden; these would be "
        "more. Scores that were given before are given again."
    )
    return BudgetExhausted(message, limit=most, used=used)
