"""The groups of a leaderboard: the job that computes them, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gainboard.errors import Conflict
from gainboard.evaluation.custom_metrics import NO_CUSTOM, customs_of, names_custom, stored_custom_metrics
from gainboard.evaluation.leaderboard import RankedRuns, leaderboard
from gainboard.evaluation.principals import Principal, Sender
from gainboard.evaluation.scoring import Question
from gainboard.evaluation.visibility import open_collection
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.statistics.rank_intervals import rank_sets_of_groups
from gainboard.store import jobs
from gainboard.store.job_records import JobState, StoredJob
from gainboard.store.records import OFFICIAL
from gainboard.work.job_kinds import find_kind
from gainboard.work.orders import identity, launch, settle, with_topics
from gainboard.work.params import MOST_CHARACTERS, MOST_RUNS
from gainboard.work.results import parsed

KIND = "bootstrap-sensitivity"
TUKEY = {"test": "randomised-tukey-hsd", "resamples": 5000, "alphas": [0.05], "seed": 0}

Groups = Mapping[str, list[str]]
"""The letters of each run, by its name. Runs that share a letter do not differ significantly."""
IDENTITIES: Cache[tuple[int, int, int, int, str, bool, str | None], Sequence[str]] = Cache(1000)
"""The present and earlier ids of the groups' job, by collection, revision, qrels version, version of the kind, label,
whether late runs are included, and topic group.
"""
GROUPS: Cache[str, Groups] = Cache(256)
"""The groups, by the id of the job that computed them."""


@dataclass(frozen=True)
class GroupsJob:
    """The job of a leaderboard's groups: the request for it, and its state.

    `state` is None if nobody has asked for it.
    """

    kind: str
    params: Mapping[str, Any]
    id: str
    state: JobState | None
    groups: Groups | None
    outdated: bool
    """True if only an earlier version of Gainboard has computed the groups, under another id."""

    @cached_property
    def rank_sets(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst rank that each run may have, by its name; empty without groups."""
        return rank_sets_of_groups(self.groups or {})


def groups_job(workspace: Workspace, board: RankedRuns) -> GroupsJob | None:
    """Return the job of this leaderboard's groups; None if there is nothing to compare. Start nothing.

    Also return None if scores are standardised, because the job compares the scores themselves, and if they are
    rationed, because the job's id depends on the judgments.
    """
    scores = board.scores
    means = {metric.label: metric.parameters["mean"] for metric in scores.metrics}
    if (
        board.standard is not None
        or scores.disclosure is not None
        or len(scores.runs) < 2
        or means[board.by] != "arithmetic"
    ):
        return None
    if len(board.by) > MOST_CHARACTERS:
        return None  # the gains of a hundred levels are too long for a request, so nobody could ask for this job
    if any(metric.label == board.by and metric.without_scores(scores.runs) for _, metric in customs_of(scores.metrics)):
        return None  # the job would refuse the runs without scores
    asked: dict[str, Any] = {"metrics": [board.by], "qrels": scores.qrels.version, **TUKEY}
    if scores.chosen is not None:
        asked["topics"] = scores.chosen.name
    if scores.qrels.judgments != OFFICIAL:
        asked["judgments"] = scores.qrels.judgments
    if not board.is_whole:
        if len(scores.runs) > MOST_RUNS:
            return None  # a request cannot name so many runs
        asked["runs"] = [run.name for run in scores.runs]
    key, *earlier = _identities(workspace, board, asked)
    if (known := GROUPS.of(workspace).find(key)) is not None:
        return GroupsJob(KIND, asked, key, "succeeded", known, outdated=False)
    with workspace.database.reading() as tx:
        found = jobs.among(tx, [key, *earlier])
    job = found.pop(key, None)
    done = job is not None and job.state == "succeeded"
    groups = GROUPS.of(workspace).get(key, lambda: _groups(workspace, job)) if job and done else None
    outdated = not done and any(each.state == "succeeded" for each in found.values())
    return GroupsJob(KIND, asked, key, job.state if job else None, groups, outdated)


def ask_for_groups(
    workspace: Workspace, principal: Principal, sender: Sender, name: str, question: Question, by: str | None
) -> StoredJob:
    """Return the job of the groups of this leaderboard: queued now, or the one that exists.

    Raise errors as `launch` does, and Conflict if there is nothing to compare.
    """
    kind = find_kind(KIND)
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        principal.require_token()
        # Before scoring, which would charge the budget of somebody who may not ask.
        kind.admit(view)
    wanted = groups_job(workspace, leaderboard(workspace, sender, name, question, by))
    if wanted is None:
        raise Conflict(
            f"The leaderboard of {name!r} has nothing to compare. Groups need two runs, and a metric whose mean is "
            "arithmetic."
        )
    return launch(workspace, principal, name, kind, kind.params.model_validate(dict(wanted.params)))


def _identities(workspace: Workspace, board: RankedRuns, asked: Mapping[str, Any]) -> Sequence[str]:
    """Return the id of the job, followed by the ids that earlier versions of its kind gave it."""
    scores, kind = board.scores, find_kind(KIND)
    here, version = scores.collection, scores.qrels

    def derive() -> Sequence[str]:
        with workspace.database.reading() as tx:
            params = with_topics(tx, here, kind.params.model_validate(asked))
            custom = stored_custom_metrics(tx, here) if names_custom(asked) else NO_CUSTOM
        settled = settle(here, params, custom)
        versions = (kind.engine_version, *range(1, kind.engine_version))
        return [identity(kind, settled, here, version, scores.runs, engine_version=each) for each in versions]

    key = (here.id, here.revision, version.id, kind.engine_version, board.by, board.is_whole, asked.get("topics"))
    return IDENTITIES.of(workspace).get(key, derive)


def _groups(workspace: Workspace, job: StoredJob) -> Groups:
    level = parsed(workspace, job)["metrics"][0]["levels"][0]
    found: Groups = level["groups"]
    return found
