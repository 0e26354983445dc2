"""The origin of a cached answer, which tells whether the answer is still right for this principal."""

from __future__ import annotations

from dataclasses import dataclass

from gainboard.evaluation.access.principals import Sender, identify, is_use_noted
from gainboard.evaluation.access.visibility import look
from gainboard.evaluation.scoring.binding import customs_of
from gainboard.evaluation.scoring.requests import StoredScores
from gainboard.evaluation.workspace import Workspace
from gainboard.store.records import Collection
from gainboard.store.snapshots import Standing
from gainboard.vocabulary import OFFICIAL


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an answer with scores: its bytes depend only on this and on the request."""

    collection: Collection


def origin_of(scores: StoredScores) -> Origin | None:
    """Return the origin of an answer that is the same for everyone who sees every score; None for other answers.

    While judgments are hidden, scores count against a budget, so each one must pass the code that counts. Only
    organisers see drafts, and discarding a draft does not change the revision. Not everyone sees other judgment sets,
    and uploaded scores ask for more than to see every score.
    """
    if scores.disclosure is not None or scores.qrels.published_at is None:
        return None
    if scores.qrels.judgments != OFFICIAL or customs_of(scores.metrics):
        return None
    return Origin(scores.collection)


def is_current(workspace: Workspace, origin: Origin, sender: Sender, now: Standing | None) -> bool:
    """Return whether this sender may have the answer, and nothing that it was made of has changed by `now`.

    Also return False if only the normal way can decide, or must do something else: note that a token was used.
    """
    collection = origin.collection
    if now is None or (now.collection_id, now.revision) != (collection.id, collection.revision):
        return False
    principal = identify(workspace, sender, now.token)
    # Only the normal way notes the use of a token, so it must be taken from time to time.
    if principal.token is not None and not is_use_noted(workspace, principal.token):
        return False
    view = look(principal, collection, workspace.now())
    return view is not None and view.sees_free_scores
