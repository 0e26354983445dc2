"""The quotas and the budget of scores that a team has left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gainboard.evaluation import budgets, quotas
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.quotas import Quota
from gainboard.evaluation.visibility import look
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections


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
        return quotas.fewest_left(self.runs.values())

    @property
    def bits_left(self) -> float | None:
        """The most bits that the team can still learn about the judgments; None if they are open."""
        if self.answers.left is None or self.bits_an_answer is None:
            return None
        return self.answers.left * self.bits_an_answer


def of(workspace: Workspace, principal: Principal) -> Allowance | None:
    """Return what the principal's team has left; None for principals without a team, for whom nothing is counted."""
    token = principal.require_token()
    if token.team_id is None or token.collection_id is None:
        return None
    now = workspace.now()
    with workspace.database.reading() as tx:
        view = look(principal, collections.of_id(tx, token.collection_id))
        if view is None:
            return None
        limited = not view.sees_free_scores
        limit = (view.policy.answers if view.sees_scores else 0) if limited else None
        return Allowance(
            opens_at=view.collection.opens_at,
            closes_at=view.collection.closes_at,
            runs=quotas.of_team(tx, workspace, view, token.team_id, now),
            bytes=quotas.of_bytes(tx, view, token.team_id),
            answers=Quota(limit, budgets.used(tx, view, token.team_id)),
            bits_an_answer=budgets.bits_an_answer(view) if limited else None,
        )
