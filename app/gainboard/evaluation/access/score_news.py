"""The news for a team whose scores are shown while the judgments are hidden: when these scores changed."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter

import numpy as np

from gainboard.evaluation.boards.leaderboard import Board
from gainboard.evaluation.judgments.versions import JudgedVersion
from gainboard.evaluation.scoring.scorer import kept_scores
from gainboard.evaluation.workspace import Workspace
from gainboard.store import qrels


def shown_scores_changed_at(workspace: Workspace, board: Board) -> datetime | None:
    """Return when new judgments last changed a score of this rationed board, as it is rounded.

    None if they did not, and if scores are not rationed: then everybody sees the versions. Only scores that the team
    sees anyway are compared, and both are of runs that were there before.
    """
    scores = board.scores
    disclosure, newest = scores.disclosure, scores.qrels
    if disclosure is None or newest.published_at is None:
        return None
    rows = [row for row, run in enumerate(scores.runs) if run.created_at < newest.published_at]
    with workspace.database.reading() as tx:
        versions = qrels.page(tx, scores.collection.id, drafts=False, after=None, limit=10_000)
        published = sorted((version for version in versions if version.published_at), key=attrgetter("published_at"))
        if len(published) < 2 or not rows:
            return None
        older = JudgedVersion.of(workspace, tx, published[-2])
    runs = [scores.runs[row] for row in rows]
    before = kept_scores(workspace, scores.collection, older, runs, scores.metrics, is_chosen=False).means
    now = scores.means[:, rows]
    # Rounded before they are compared: a change that nobody can see would still tell that there was one.
    return None if np.array_equal(disclosure.shown(before), now, equal_nan=True) else newest.published_at
