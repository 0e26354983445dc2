"""The decision what a principal may see of a collection: made once, here, and asked for by every way out.

Hidden judgments stay hidden only if no route, job, export, event, ETag or error text decides this on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from gainboard.errors import Conflict, Forbidden, JudgmentsHidden, NotFound, RowDamaged, ScoresAlone
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.collection_settings import Policy, is_readable
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import collections
from gainboard.store.damage import add_rule
from gainboard.store.database import Transaction, machine_of
from gainboard.store.records import FIXED_BY_DATA, Collection, Run
from gainboard.trec import FileWarning
from gainboard.vocabulary import ScoresShown


@dataclass(frozen=True, slots=True)
class View:
    """One principal's view of one collection. Its methods raise the error that the principal should get."""

    principal: Principal
    collection: Collection
    organises: bool
    sees_all_runs: bool
    sees_judgments: bool
    """True if qrels and everything that depends on the judgments are shown without limits."""
    scores: ScoresShown
    """The teams whose scores are shown, and which scores."""
    policy: Policy

    @property
    def sees_free_scores(self) -> bool:
        """Return whether all scores under any parameters are shown, with everything computed from them."""
        return self.sees_judgments or (self.scores == "all" and self.policy.is_open)

    @property
    def own_team(self) -> int | None:
        """The team whose runs are shown although those of others are not."""
        return self.principal.team_id if self.principal.role == "participant" else None

    @property
    def only_team(self) -> int | None:
        """The only team in lists of runs; None if all teams are shown."""
        # No team has the id 0, so whoever has no team sees no run.
        return None if self.sees_all_runs else (self.own_team or 0)

    @property
    def counts_uploads(self) -> bool:
        """Return whether the policy limits how many files the principal's team sends at the same time."""
        return self.own_team is not None and self.policy.quotas.concurrent is not None

    def sees_run(self, run: Run) -> bool:
        """Return whether this run exists for the principal."""
        return self.sees_all_runs or run.team_id == self.own_team

    def require_organiser(self) -> None:
        """Raise Forbidden unless the principal organises the collection."""
        self.principal.require_token()
        if not self.organises:
            raise Forbidden(f"Only organisers of {self.collection.name!r} may do this. Use a token of theirs.")

    def require_judgments(self) -> None:
        """Raise JudgmentsHidden unless the principal may see the judgments, or what would reveal them."""
        if not self.sees_judgments:
            raise self._hidden()

    def require_judged(self, need: str = "this needs them") -> None:
        """Raise ScoresAlone for a collection that has neither judgments nor rankings. `need` is a clause."""
        require_judged(self.collection, need)

    def require_free_scores(self) -> None:
        """Raise JudgmentsHidden unless the principal may see all scores under any parameters."""
        if not self.sees_free_scores:
            raise self._hidden()

    @property
    def sees_scores(self) -> bool:
        """Return whether any score is shown."""
        return self.scores != "none" and bool(self.sees_free_scores or self.policy.presets or self.policy.is_free)

    def require_scores(self) -> None:
        """Raise JudgmentsHidden unless the principal may see scores within the policy (`disclosure`)."""
        if not self.sees_scores:
            raise self._hidden()

    def sees_file(self, run: Run) -> bool:
        """Return whether the file of a run that exists for the principal may be read."""
        is_there = not self.collection.has_scores_alone
        return is_there and (self.sees_judgments or run.team_id == self.own_team)

    def require_file(self, run: Run) -> None:
        """Raise JudgmentsHidden unless the principal may read the run's file, which is its team's until the release."""
        self.require_judged("no run has a file")
        if not self.sees_file(run):
            raise JudgmentsHidden(f"Only the team of {run.name!r} may read its file until the judgments are released.")

    def _hidden(self) -> JudgmentsHidden:
        return JudgmentsHidden(
            f"The judgments of {self.collection.name!r} are hidden. Scores are shown once the organisers release them."
        )


def require_judged(collection: Collection, need: str = "this needs them") -> None:
    """Raise ScoresAlone for a collection that has neither judgments nor rankings. `need` is a clause."""
    if collection.has_scores_alone:
        raise ScoresAlone(
            f"{collection.name!r} is a collection of scores: it has no judgments and no rankings, and {need}."
        )


def look(principal: Principal, collection: Collection, now: datetime) -> View | None:
    """Return the principal's view of the collection now; None if the collection does not exist for the principal."""
    # A token without a collection is that of an organiser of the instance, who organises all of them.
    belongs = principal.token is not None and principal.collection_id in (None, collection.id)
    released = collection.is_released(now)
    organises = belongs and principal.role == "organiser"
    if not belongs and not (released and collection.public):
        return None
    visible = organises or released
    policy = Policy.of(collection)
    shares_all = policy.scores == "all"
    scores: ScoresShown = "all" if visible or shares_all else policy.scores
    # A token of another collection may look at a public one, but has no role in it.
    principal = principal if belongs else Principal("anonymous", principal.token, principal.why_anonymous)
    if principal.role != "participant" and not visible and not shares_all:
        # Scores of its own runs are shown to a team, and such a token has no runs here.
        scores = "none"
    return View(principal, collection, organises, visible or shares_all, visible, scores, policy)


def open_collection(tx: Transaction, principal: Principal, name: str, *, even_damaged: bool = False) -> View:
    """Return the view of the collection of this name: the way to everything in it.

    Raise NotFound both if it is absent and if the principal may not see it, NotAuthenticated without a token, and
    RowDamaged if its row cannot be read.
    """
    # The name of a collection that is being imported is no slug, so no request finds it.
    is_name = is_slug(name) or name == principal.importing
    return view_of(tx, principal, collections.find(tx, name) if is_name else None, name, even_damaged=even_damaged)


def view_of(
    tx: Transaction, principal: Principal, collection: Collection | None, name: str, *, even_damaged: bool = False
) -> View:
    """Return the view of the collection that was found under this name. Raise errors as `open_collection` does."""
    view = look(principal, collection, machine_of(tx).now()) if collection else None
    if view is None:
        # Whoever has sent no token is asked for one, whether or not the collection exists.
        principal.require_token()
        raise NotFound(f"There is no collection {name!r} here, or this token may not see it.")
    # After the decision above: only those who see the collection learn of its damage.
    if view.collection.is_damaged and not even_damaged:
        raise RowDamaged(damage_of(view.collection))
    return view


def damage_of(collection: Collection) -> str:
    """Return in a sentence which settings of a collection cannot be read, and what its organisers can do."""
    what, name = ", ".join(map(str, collection.damage)), collection.name
    if collection.is_damaged:
        return (
            f"The settings of {name!r} cannot be read: {what}. Restore a backup from before the damage, or delete the "
            f"collection: gainboard collection delete {name}"
        )
    return (
        f"The policy of {name!r} cannot be read: {what}. So the strictest is used. Set it again: "
        f"gainboard collection change {name} --policy scores=own-mean"
    )


def unscorable(collection: Collection) -> FileWarning:
    """Return the warning of a hidden collection without declared topics, in which a team gets no scores."""
    message = (
        f"{collection.name!r} declares no topics, so teams get no scores while the judgments are hidden. Its "
        f"organisers can declare them: PATCH /v1/collections/{collection.name} with a list of `topics`, or with "
        '{"topics": "from-qrels"}'
    )
    return FileWarning("no-topics-declared", message)


def require_organiser(workspace: Workspace, principal: Principal, name: str) -> Collection:
    """Return the collection if the principal organises it, for example before a file is sent in vain.

    Raise Forbidden for others, and errors as `open_collection` does.
    """
    with organising(workspace, principal, name) as (_, view):
        return view.collection


@contextmanager
def organising(workspace: Workspace, principal: Principal, name: str) -> Iterator[tuple[Transaction, View]]:
    """Yield a transaction that reads, and the view of an organiser. Raise as `require_organiser` does."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        yield tx, view


@contextmanager
def reading_judgments(workspace: Workspace, principal: Principal, name: str) -> Iterator[tuple[Transaction, View]]:
    """Yield a transaction that reads, and a view with judgments. Raise JudgmentsHidden if they are not shown."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        yield tx, view


@contextmanager
def changing(workspace: Workspace, principal: Principal, name: str) -> Iterator[tuple[Transaction, View]]:
    """Yield a transaction that has locked the collection, and the view of an organiser. Raise Forbidden for others."""
    with workspace.database.writing() as tx:
        view = open_locked(tx, principal, name)
        view.require_organiser()
        yield tx, view


def open_locked(tx: Transaction, principal: Principal, name: str, *, even_damaged: bool = False) -> View:
    """Return the view once no other transaction can change the collection, its runs or its qrels.

    Use it only in a writing transaction. What was read before that transaction may have changed.
    """
    # The first look finds what is to be locked. Only what is read under the lock counts.
    seen = open_collection(tx, principal, name, even_damaged=even_damaged).collection
    return view_of(tx, principal, collections.lock(tx, seen), name, even_damaged=even_damaged)


def require_unchanged(read: Collection, now: Collection, *also: str) -> None:
    """Raise Conflict if the settings under which a file was read have changed, or the collection was replaced.

    `also` names further settings that count.
    """
    fixed = ("id", *FIXED_BY_DATA, *also)
    if any(getattr(read, field) != getattr(now, field) for field in fixed):
        raise Conflict(f"{now.name!r} was changed while the file was read. Send the file again.")


def require_participation(view: View) -> None:
    """Raise Forbidden unless the principal may upload: organisers and participants of the collection."""
    view.principal.require_token()
    view.require_judged("its systems come from score matrices: PUT .../score-matrices/NAME")
    if view.principal.role not in ("participant", "organiser"):
        raise Forbidden(
            "Only participants and organisers have runs here. Ask the organisers for a token of a participant."
        )


add_rule(Collection, "policy", is_readable)
