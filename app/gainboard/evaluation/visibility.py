"""What a principal may see of a collection: decided here, once, and asked by every way out.

Hidden judgments stay hidden only if no route, job, export, event, ETag or error text decides this for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from gainboard.errors import Conflict, Forbidden, JudgmentsHidden, NotFound
from gainboard.evaluation.names import is_slug
from gainboard.evaluation.policy import CollectionPolicy
from gainboard.evaluation.principals import Principal
from gainboard.store import collections
from gainboard.store.database import Transaction
from gainboard.store.records import FIXED_BY_DATA, Collection, Run, ScoresShown


@dataclass(frozen=True, slots=True)
class View:
    """One principal's view of one collection. The methods raise what the principal is to be told."""

    principal: Principal
    collection: Collection
    organises: bool
    sees_all_runs: bool
    sees_judgments: bool
    """Whether qrels and everything else that is a function of the judgments are shown, without bounds."""
    scores: ScoresShown
    """Whose scores are shown, and which of them."""
    policy: CollectionPolicy

    @property
    def sees_free_scores(self) -> bool:
        """Whether all scores under any parameters are shown, and with them what is computed of them."""
        return self.sees_judgments or (self.scores == "all" and self.policy.is_open)

    @property
    def own_team(self) -> int | None:
        """The team whose runs are shown although those of others are not."""
        return self.principal.team_id if self.principal.role == "participant" else None

    @property
    def only_team(self) -> int | None:
        """The team to which lists of runs are confined; None where all are shown."""
        return None if self.sees_all_runs else (self.own_team or 0)

    def sees_run(self, run: Run) -> bool:
        """Whether this run exists for the principal."""
        return self.sees_all_runs or run.team_id == self.own_team

    def require_organiser(self) -> None:
        """For what only the collection's organisers do."""
        self.principal.require_token()
        if not self.organises:
            raise Forbidden(f"Only organisers of {self.collection.name!r} may do this.")

    def require_judgments(self) -> None:
        """For the judgments themselves, and what would tell them."""
        if not self.sees_judgments:
            raise self._hidden()

    def require_free_scores(self) -> None:
        """For what is computed of all scores, under parameters of the asker's choice."""
        if not self.sees_free_scores:
            raise self._hidden()

    @property
    def sees_scores(self) -> bool:
        """Whether any score is shown."""
        return self.scores != "none" and bool(self.sees_free_scores or self.policy.presets or self.policy.is_free)

    def require_scores(self) -> None:
        """For scores, within what the policy gives (`disclosure`)."""
        if not self.sees_scores:
            raise self._hidden()

    def require_file(self, run: Run) -> None:
        """For the file of a run, which others than its team may read once the judgments are released."""
        if not (self.sees_judgments or run.team_id == self.own_team):
            raise JudgmentsHidden(f"The file of {run.name!r} is its team's alone until the judgments are released.")

    def _hidden(self) -> JudgmentsHidden:
        return JudgmentsHidden(
            f"The judgments of {self.collection.name!r} are hidden; scores are shown once they are released."
        )


def look(principal: Principal, collection: Collection) -> View | None:
    """The principal's view of the collection; None where it does not exist for them."""
    belongs = principal.token is not None and principal.collection_id in (None, collection.id)
    released = collection.is_released(datetime.now(UTC))
    organises = belongs and principal.role == "organiser"
    if not belongs and not (released and collection.public):
        return None
    visible = organises or released
    policy = CollectionPolicy.of(collection)
    shares_all = policy.scores == "all"
    scores: ScoresShown = "all" if visible or shares_all else policy.scores
    # Whoever comes from elsewhere to a public collection looks on, whatever their role is at home.
    principal = principal if belongs else Principal("anonymous", principal.token, principal.why_anonymous)
    if principal.role != "participant" and not visible and not shares_all:
        scores = "none"  # there is no run of its own
    return View(principal, collection, organises, visible or shares_all, visible, scores, policy)


def open_collection(tx: Transaction, principal: Principal, name: str) -> View:
    """The view of the collection of this name: the way into everything below it.

    Raises NotFound, the same whether it is absent or not the principal's; NotAuthenticated without a token.
    """
    return view_of(principal, collections.find(tx, name) if is_slug(name) else None, name)


def view_of(principal: Principal, collection: Collection | None, name: str) -> View:
    """The view of what was found under this name; raises as `open_collection`."""
    view = look(principal, collection) if collection else None
    if view is None:
        principal.require_token()
        raise NotFound(f"There is no collection {name!r} here.")
    return view


def open_locked(tx: Transaction, principal: Principal, name: str) -> View:
    """The view as it is once no other transaction changes the collection, its runs or its qrels.

    In a writing transaction only; what was seen before it began may have changed since.
    """
    collections.lock(tx, open_collection(tx, principal, name).collection.id)
    return open_collection(tx, principal, name)


def require_unchanged(read: Collection, now: Collection, *also: str) -> None:
    """For files that were read under settings which may have been changed, or with the whole collection replaced.

    `also` names further settings that count.
    """
    fixed = ("id", *FIXED_BY_DATA, *also)
    if any(getattr(read, field) != getattr(now, field) for field in fixed):
        raise Conflict(f"{now.name!r} was changed while the file was read; send it again.")


def require_participation(view: View) -> None:
    """For uploads: organisers and participants of the collection."""
    view.principal.require_token()
    if view.principal.role not in ("participant", "organiser"):
        raise Forbidden("Only participants and organisers have runs here; ask the organisers for such a token.")
