"""Whether an answer that was given before is what would be given now: to this principal, of these data."""

from __future__ import annotations

from dataclasses import dataclass

from gainboard.evaluation.principals import Sender, behind, is_use_noted
from gainboard.evaluation.scoring import ScoreTable
from gainboard.evaluation.visibility import look
from gainboard.evaluation.workspace import Workspace
from gainboard.store.job_records import JobState
from gainboard.store.records import Collection
from gainboard.store.standing import Standing


@dataclass(frozen=True, slots=True)
class Origin:
    """What an answer with scores was made of: its bytes are a function of this and of the request, and of nothing else.

    `job` is the id of the job whose groups it shows, or would show, and the state that this was in.
    """

    collection: Collection
    job: str | None = None
    job_state: JobState | None = None


def origin_of(scores: ScoreTable, job: str | None = None, job_state: JobState | None = None) -> Origin | None:
    """The origin of an answer that is the same for all who see every score; None where there is none such.

    While judgments are hidden scores are counted against a budget, so each is given by what counts them. A draft is
    there for organisers alone, and its discarding counts no revision on.
    """
    if scores.disclosure is not None or scores.qrels.published_at is None:
        return None
    return Origin(scores.collection, job, job_state)


def is_current(workspace: Workspace, origin: Origin, sender: Sender, now: Standing | None) -> bool:
    """Whether this sender may have the answer, and nothing that it was made of has changed by `now`.

    False as well where only the long way can tell, or has something to do besides: to note that a token was used.
    """
    collection = origin.collection
    if now is None or (now.collection_id, now.revision) != (collection.id, collection.revision):
        return False
    if now.job_state != origin.job_state:
        return False
    principal = behind(sender, now.token, workspace.now())
    if principal.token is not None and not is_use_noted(workspace, principal.token):
        return False
    view = look(principal, collection)
    return view is not None and view.sees_free_scores
