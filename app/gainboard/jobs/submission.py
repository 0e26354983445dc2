"""Requests for jobs: who may ask, what a request means and costs, and whether its job exists already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from pydantic import ValidationError

from gainboard.analyses.job_kinds import Change, Kind
from gainboard.analyses.labels import Labels, located
from gainboard.analyses.params import AnyParams, GroupTopics
from gainboard.analyses.rejudge import RejudgeParams, Rejudging
from gainboard.errors import BadExpression, BadGains, Conflict, InvalidRequest, TooManyJobs
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, open_collection, organising
from gainboard.evaluation.judgments import topic_groups, versions
from gainboard.evaluation.judgments.reordering import change_unpublished, is_in_order
from gainboard.evaluation.runs.run_properties import identical_runs
from gainboard.evaluation.scoring import binding
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.evaluation.scoring.selection import NamedRuns
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.pools import with_pool
from gainboard.store import jobs, records, runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob, StoredReport
from gainboard.store.records import Token
from gainboard.vocabulary import OFFICIAL

W = TypeVar("W", StoredJob, StoredReport)

CHUNK_SECONDS = 1.5
"""Estimated seconds of one core in a chunk: the work that is lost if a process dies, and the longest wait of others."""
MOST_SECONDS = 4 * 3600.0
"""The most estimated seconds of one core in a job."""
MOST_OPEN = 200
"""The most open jobs of one token. Each search for work reads all open jobs, so their number is limited."""
MOST_OPEN_ELSEWHERE = 5
"""The most open jobs of one token on a public collection that is not its own."""


@dataclass(frozen=True)
class JobData:
    """The stored data that a job is about. `others` are the other versions that it names, by number.

    If the job is about some topics only, these are the only ones of all versions.
    """

    collection: records.Collection
    version: versions.JudgedVersion
    others: Mapping[records.VersionName, versions.JudgedVersion]
    candidates: Sequence[records.Run]
    topics: topic_groups.ChosenTopics | None = None


@dataclass(frozen=True)
class JobSpec:
    """A settled request, with everything that its result depends on. Equal ones have equal ids."""

    workspace: Workspace = field(repr=False)
    kind: Kind
    params: AnyParams
    data: JobData
    custom: binding.CustomMetrics = binding.NO_CUSTOM

    @property
    def collection(self) -> records.Collection:
        return self.data.collection

    # Made once, because it hashes the names of all runs.
    @cached_property
    def id(self) -> str:
        data = self.data
        others = [other.qrels for other in data.others.values()]
        return identity(self.kind, self.params, data.collection, data.version.qrels, data.candidates, others)

    @cached_property
    def matrices(self) -> Matrices:
        """The matrices for the job's analysis. The first use may read runs, so it must be outside of transactions."""
        return matrices_of(self.workspace, self.kind, self.data, self.params, self.custom)


def identity(
    kind: Kind,
    settled: AnyParams,
    collection: records.Collection,
    version: records.Qrels,
    candidates: Sequence[records.Run],
    others: Iterable[records.Qrels] = (),
) -> str:
    """Return a job's id: SHA-256 of the kind's version, the settled request, and the files that it is about."""
    # Never in here: who asks, when, and what may change without changing a number, such as titles, phase, policy and
    # limits. Equal requests of two people would be two jobs, and a release would lose every result. Nor the numbers of
    # rows: a collection that is restored elsewhere keeps its uuid, not them.
    rows = as_rows(kind, settled, candidates)
    files = [[run.name, run.team, run.sha256, *([run.system] if run.system else [])] for run in rows]
    judgments = [*_identify(version), *sorted(_identify(other) for other in others)]
    if kind.is_change:
        # If an old version is published again, organisers may want the order of the replaced one again.
        judgments.append(str(version.published_at))
    facts = [kind.engine_version, collection.uuid, collection.name, kind.name, settled.shown(), judgments, files]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def as_rows(kind: Kind, settled: AnyParams, runs: Sequence[records.Run]) -> list[records.Run]:
    """Return the runs as the job takes them: without their system where each is a run by itself."""
    if kind.by_replicate:
        return [replace(run, system=None) for run in runs]
    selection = settled.selection()
    return selection.standing_alone(runs) if isinstance(selection, NamedRuns) else list(runs)


def _identify(version: records.Qrels) -> list[Any]:
    """Return what identifies a version. Official ones have no name, as in ids from before there were sets."""
    set_name = [version.judgments] if version.judgments != OFFICIAL else []
    left_out = ["ignore_identical_ids"] if version.ignore_identical_ids else []
    return [version.version, version.sha256, *set_name, *left_out]


def settle(
    collection: records.Collection, params: AnyParams, custom: binding.CustomMetrics = binding.NO_CUSTOM
) -> AnyParams:
    """Return the settled request, which is itself a valid request.

    Raise BadExpression or BadGains with the location of the error, and InvalidRequest if the request exceeds a limit
    only when it is settled.
    """
    defaults = params.defaults()
    labels = Labels(collection, defaults, custom)
    try:
        settled = params.settled(labels)
        # The worker reads the settled request as a request again. A baseline may add one metric too many, and a label
        # may be too long.
        type(settled).model_validate(settled.shown())
    except (BadExpression, BadGains) as error:
        scale = binding.scale_of(collection)
        raise located(error, labels, params.model_dump(), defaults, scale) from error
    except ValidationError as error:
        (fault, *_) = error.errors(include_url=False, include_context=False)
        message = f"With defaults and labels filled in, the request is invalid: {fault['msg']}."
        raise InvalidRequest.at(f"body.params.{fault['loc'][0]}", fault["type"].replace("_", "-"), message) from error
    return settled


def specify(workspace: Workspace, tx: Transaction, view: View, kind: Kind, params: AnyParams) -> JobSpec:
    """Settle a request of a principal whom `kind.admit` has let in. Raise BadInput if the request is invalid."""
    collection = view.collection
    custom = binding.custom_metrics(tx, view, params.model_dump(mode="json"))
    settled = settle(collection, with_topics(tx, collection, params), custom)
    if kind.about_runs_alone:
        version = versions.no_version(collection)
    else:
        version = versions.JudgedVersion.of(workspace, tx, versions.select(tx, view, params.version()))
    named = versions.published_versions(workspace, tx, view, params.versions())
    # Versions get their numbers now, so that one which is published later makes another job and changes none.
    settled = settled.pinned({name: other.qrels.named for name, other in named.items()})
    others = {other.qrels.named: other for other in named.values()}
    stored = runs.page(tx, collection.id, team_id=view.only_team)
    candidates = of_type(settled.selection().candidates(stored, collection.name), settled.only_type())
    shown: Mapping[str, Any] = settled.shown()
    is_named = isinstance(settled.selection(), NamedRuns)
    scored = shown.get("metrics") or shown.get("judges") or [None]
    if not collection.has_scores_alone and not all(map(binding.custom_labels, scored)):
        # Something is computed from rankings. Runs that have answers alone are no part of it unless they are named.
        if is_named:
            binding.require_rankings(candidates, "body.params.runs")
        candidates = [run for run in candidates if run.has_ranking]
    for metric in map(custom.resolve, binding.custom_labels(shown)):
        if kind.takes_common_runs and not is_named:
            lacking = set(metric.without_scores(candidates))
            candidates = [run for run in candidates if run.name not in lacking]
        binding.require_scores_of(metric, candidates, "body.params.runs")
    settled = settled.about_runs(candidates)
    return JobSpec(workspace, kind, settled, narrow_data(collection, version, others, candidates, settled), custom)


def with_topics(tx: Transaction, collection: records.Collection, params: AnyParams) -> AnyParams:
    """Return the request with the topics of the group that it names, so that a change of the group changes nothing.

    Raise NotFound for a group that does not exist, and InvalidRequest for a group whose given topics are others now.
    """
    chosen = params.topics_asked()
    if chosen == "all":
        return params
    if isinstance(chosen, list):
        # a topic that is named twice counts once, and the order of the topics means nothing
        return params.about_topics(sorted(set(chosen), key=str.encode))
    name = chosen.group if isinstance(chosen, GroupTopics) else chosen
    topics = list(topic_groups.require_group(tx, collection, name).topics)
    if isinstance(chosen, GroupTopics) and chosen.topics != topics:
        message = (
            f"The topic group {name!r} has other topics now. Send its name alone, or the list of topics without a name."
        )
        raise InvalidRequest.at("body.params.topics", "group-changed", message)
    return params.about_topics(GroupTopics(group=name, topics=topics))


def of_type(stored: Sequence[records.Run], run_type: str | None) -> list[records.Run]:
    """Return the runs of a type; all runs if it is None."""
    return [run for run in stored if run_type in (None, run.type)]


def admit(workspace: Workspace, principal: Principal, name: str, kind: Kind) -> None:
    """Raise what the principal should get who may not ask for this kind of job about the collection."""
    with workspace.database.reading() as tx:
        kind.admit(open_collection(tx, principal, name))


def launch(
    workspace: Workspace,
    principal: Principal,
    name: str,
    kind: Kind,
    params: AnyParams,
    chunk_seconds: float = CHUNK_SECONDS,
) -> StoredJob:
    """Return the job for this request: a new one, or that of an equal request on the same data."""
    if (pool := params.pool_asked()) is not None:
        # Who may not ask learns nothing of a pool. It is read before the transaction, because it is a whole result.
        admit(workspace, principal, name, kind)
        params = with_pool(workspace, principal, name, params, pool)
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        kind.admit(view)
        token = principal.require_token()
        if issubclass(kind, Change) and (same := kind.find_same(tx, view.collection, params)):
            return same
        spec = specify(workspace, tx, view, kind, params)
        # A failed or cancelled job is queued again instead.
        if (job_there := jobs.find(tx, spec.id)) and job_there.state in ("queued", "running", "succeeded"):
            return require_own(job_there, [spec.collection])
    # Sizing may read all runs, so it happens between the two transactions.
    sizes = plan_chunks(spec, chunk_seconds)
    with workspace.database.writing() as tx:
        require_room(tx, token, [spec])
        job, is_queued = enqueue(workspace, tx, token, spec, sizes)
        if is_queued:
            audit.record(tx, principal, "job-launched", job.id, spec.collection, kind=kind.name, params=job.params)
    return job


def plan_chunks(spec: JobSpec, chunk_seconds: float = CHUNK_SECONDS) -> list[int]:
    """Return the sizes of the chunks of a settled request. Raise BadInput if its analysis is impossible."""
    return sizes_of_chunks(spec.kind(spec.matrices, spec.params).parts(), chunk_seconds)


def require_room(tx: Transaction, token: Token, specs: Sequence[JobSpec]) -> None:
    """Raise TooManyJobs if this token may not queue those of the jobs that are not there yet."""
    ids = {spec.id: spec.collection for spec in specs}
    stored = jobs.among(tx, list(ids)).values()
    reused = {job.id for job in stored if job.state in ("queued", "running", "succeeded")}
    new = [collection for id, collection in ids.items() if id not in reused]
    opened = jobs.count_open(tx, token.id)
    if (count := sum(opened.values())) + len(new) > MOST_OPEN:
        raise TooManyJobs(
            f"This token has {count} open jobs, and may have {MOST_OPEN}. Wait until some are over, or cancel some."
        )
    elsewhere = {collection.id: collection for collection in new if token.collection_id not in (None, collection.id)}
    for here in elsewhere.values():
        count, more = opened.get(here.id, 0), sum(collection.id == here.id for collection in new)
        if count + more > MOST_OPEN_ELSEWHERE:
            raise TooManyJobs(
                f"A token of another collection may have {MOST_OPEN_ELSEWHERE} open jobs on {here.name!r}. This token "
                f"has {count}, and this request needs {more} more. Wait until some are over, or ask the organisers of "
                f"{here.name!r} for a token."
            )


def enqueue(
    workspace: Workspace, tx: Transaction, token: Token, spec: JobSpec, sizes: Sequence[int]
) -> tuple[StoredJob, bool]:
    """Return the job of a settled request, and whether this call queued it."""
    data, version = spec.data, spec.data.version.qrels
    job, is_queued = jobs.add(
        tx,
        workspace.now(),
        sizes,
        id=spec.id,
        collection_id=data.collection.id,
        kind=spec.kind.name,
        params=spec.params.shown(),
        qrels_id=None if data.version.is_none else version.id,
        other_qrels={other.qrels.id for other in data.others.values()} - {version.id},
        run_ids=[run.id for run in data.candidates],
        token_id=token.id,
        engine_version=spec.kind.engine_version,
    )
    return require_own(job, [data.collection]), is_queued


def require_own(work: W, collections: Sequence[records.Collection]) -> W:
    """Return the job or report with the id of a request. Raise Conflict if it is about other collections.

    An id is made of the collection's uuid, among other things, so a stranger must have planted such a result.
    """
    if isinstance(work, StoredJob):
        collection_ids = [work.collection_id]
    else:
        collection_ids = [chapter.collection_id for chapter in work.chapters]
    if collection_ids != [collection.id for collection in collections]:
        raise Conflict(
            f"The result {work.id} has the id of this request, and is about another collection. An organiser of the "
            "instance must delete the collection that it came with."
        )
    return work


def narrow_data(
    collection: records.Collection,
    version: versions.JudgedVersion,
    others: Mapping[records.VersionName, versions.JudgedVersion],
    candidates: Sequence[records.Run],
    settled: AnyParams,
) -> JobData:
    """Return the data of a settled request, with the topics that it names. Raise InvalidRequest if none is judged."""
    named = settled.topics_asked()
    if isinstance(named, str) or version.is_none:  # what is about runs alone chooses topics itself
        return JobData(collection, version, others, candidates)
    name, topics = (named.group, named.topics) if isinstance(named, GroupTopics) else (None, named)

    def narrow(whole: versions.JudgedVersion) -> tuple[versions.JudgedVersion, topic_groups.ChosenTopics]:
        chosen = topic_groups.choose_topics(whole.topics, name, topics, "body.params.topics")
        return versions.JudgedVersion(whole.qrels, chosen.judged), chosen

    judged, chosen = narrow(version)
    others = {number: narrow(other)[0] for number, other in others.items()}
    return JobData(collection, judged, others, candidates, chosen)


def matrices_of(
    workspace: Workspace, kind: Kind, data: JobData, settled: AnyParams, custom: binding.CustomMetrics
) -> Matrices:
    """Return the matrices for the request's analysis.

    This reads runs if identical ones are left out, so it must be outside of transactions.
    """
    drop, version = settled.leaves_out_identical(), data.version
    rows = as_rows(kind, settled, data.candidates)
    # Equal replicates tell how much a system varies, so none of them is left out.
    single = [run for run in rows if not run.system]
    left_out = identical_runs(workspace, data.collection, version.whole, single) if drop else {}
    return Matrices(
        workspace,
        data.collection,
        version.qrels,
        version.topics,
        [run for run in rows if run.name not in left_out],
        settled.selection(),
        data.others,
        left_out,
        data.topics,
        custom,
    )


def sizes_of_chunks(parts: Sequence[float], chunk_seconds: float = CHUNK_SECONDS) -> list[int]:
    """Return the number of parts in each chunk, from the parts' costs.

    The last chunk, of one part, puts the result together.

    Chunks depend only on the costs, so the number of processes has no effect on the result. Raise InvalidRequest for a
    job that costs more than `MOST_SECONDS`.
    """
    if (total := sum(parts)) > MOST_SECONDS:
        raise InvalidRequest.at(
            "body.params",
            "too-costly",
            f"This job would take about {total / 3600:,.1f} hours of one core; the limit is {MOST_SECONDS / 3600:g}. "
            "Ask for fewer metrics, runs, resamples or trials.",
        )
    sizes: list[int] = []
    cost = 0.0
    for part in parts:
        # The chunk ends with this part or before it, whichever is closer to the wanted size.
        if not sizes or (cost and cost + part / 2 > chunk_seconds):
            sizes.append(0)
            cost = 0.0
        sizes[-1] += 1
        cost += part
    return [*sizes, 1]


def change_order(workspace: Workspace, principal: Principal, name: str, params: RejudgeParams) -> StoredJob | None:
    """Change the order of a collection's runs: at once if no qrels are published, else by a job.

    Return the job, or None if the change is done. Raise Conflict if a run cannot be read in this order.
    """
    with organising(workspace, principal, name) as (tx, view):
        order = params.order(view.collection)
        if is_in_order(tx, view.collection, order):
            return None
    if change_unpublished(workspace, principal, name, order):
        return None
    return launch(workspace, principal, name, Rejudging, params)
