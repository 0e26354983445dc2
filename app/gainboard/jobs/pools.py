"""Pools that jobs have made: read again, and compared with the judgments that came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gainboard.analyses.params import AnyParams, TopicNotJudged
from gainboard.analyses.pool import Pooling, PoolResult
from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection, require_organiser
from gainboard.evaluation.judgments.versions import index_of, list_sets, select
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.access import JOBS, find_work
from gainboard.jobs.results import read_back
from gainboard.store import qrels
from gainboard.store.records import Collection, Qrels, Warnings
from gainboard.trec import FileWarning


def find_pool(workspace: Workspace, principal: Principal, name: str, identity: str, location: str) -> PoolResult:
    """Return the pool of a job about this collection.

    Raise NotFound if the principal does not see the job, InvalidRequest at the location if it has made no pool of the
    collection, and what `require_result` raises.
    """
    seen = find_work(workspace, principal, JOBS, identity)
    if seen.work.kind != Pooling.name or seen.collections[0].name != name:
        message = f"The job {identity!r} has made no pool of {name!r}. Name a job of kind `pool`."
        raise InvalidRequest.at(location, "no-pool", message)
    result = read_back(workspace, seen.work)
    assert isinstance(result, PoolResult)
    return result


@dataclass(frozen=True)
class PoolProgress:
    """The judged part of a pool by a version: `by_level` counts its documents by the names of their levels.

    `by_topic` are the numbers of judged documents, in the order of the pool's topics.
    """

    qrels: Qrels
    by_level: Mapping[str, int]
    by_topic: Sequence[int]
    finished: int
    """The number of topics with documents all of which are judged."""

    @property
    def judged(self) -> int:
        return sum(self.by_topic)


def judging_progress(workspace: Workspace, principal: Principal, name: str, pool: PoolResult) -> list[PoolProgress]:
    """Return the progress of judging for the version of each judgment set that is in use (organisers)."""
    collection = require_organiser(workspace, principal, name)
    versions = [judged.in_use for judged in list_sets(workspace, principal, name)]
    return [_progress(workspace, collection, pool, version) for version in versions if version is not None]


def _progress(workspace: Workspace, collection: Collection, pool: PoolResult, version: Qrels) -> PoolProgress:
    levels = index_of(workspace, collection, version).levels
    judged: list[list[int]] = []
    for topic in pool.pool:
        of_topic = levels.get(topic.topic, {})
        judged.append([level for document in topic.documents if (level := of_topic.get(document.encode())) is not None])
    every = list(chain.from_iterable(judged))
    names = {collection.level_name(level): every.count(level) for level in sorted(set(every), reverse=True)}
    finished = sum(
        len(topic_levels) == len(topic.documents) > 0 for topic_levels, topic in zip(judged, pool.pool, strict=True)
    )
    return PoolProgress(version, names, [*map(len, judged)], finished)


def pool_warnings(workspace: Workspace, principal: Principal, name: str, pool: PoolResult, version: Qrels) -> Warnings:
    """Return warnings about documents of the pool that a version does not judge, and about others that it judges.

    Documents that the pool has left out as judged before are among neither.
    """
    with workspace.database.reading() as tx:
        collection = open_collection(tx, principal, name).collection
        before = [qrels.find(tx, collection.id, named.named()) for named in pool.without]
    levels = index_of(workspace, collection, version).levels
    before_levels = [index_of(workspace, collection, other).levels for other in before if other is not None]
    pooled = {(topic.topic, document.encode()) for topic in pool.pool for document in topic.documents}
    judged = {(topic, document) for topic, row in levels.items() for document in row}
    missing = sorted(pooled - judged)
    others = sorted(
        pair
        for pair in judged - pooled
        if not any(pair[1] in levels_before.get(pair[0], ()) for levels_before in before_levels)
    )
    warnings = []
    if missing:
        message = f"Documents of the pool are not judged, such as {_shown(missing[0])}"
        warnings.append(FileWarning("pooled-not-judged", message, len(missing)))
    if others:
        message = f"Judged documents are not in the pool, such as {_shown(others[0])}"
        warnings.append(FileWarning("judged-not-pooled", message, len(others)))
    return [warning.as_json() for warning in warnings]


def _shown(pair: tuple[str, bytes]) -> str:
    return f"{pair[1].decode()!r} of topic {pair[0]!r}"


def with_pool(workspace: Workspace, principal: Principal, name: str, params: AnyParams, identity: str) -> AnyParams:
    """Return a request that names a pool as one about its depth, its runs, and the topics whose pool is judged.

    A topic's pool is judged if the budget has cut nothing, and the version judges every document. The request names the
    other topics with the reason. Raise errors as `find_pool` does, and InvalidRequest if no topic's pool is judged.
    """
    pool = find_pool(workspace, principal, name, identity, "body.params.pool")
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        version = select(tx, view, params.version())
    judged = _progress(workspace, view.collection, pool, version).by_topic
    complete, others = [], []
    for topic, count in zip(pool.topics, judged, strict=True):
        # In this order: the reason is what comes first. Documents that the budget cut were never shown to a judge.
        if not topic.found:
            others.append(TopicNotJudged(topic=topic.topic, because="no-documents"))
        elif topic.pooled < topic.found - topic.left_out:
            others.append(TopicNotJudged(topic=topic.topic, because="cut-by-budget"))
        elif count < topic.pooled:
            others.append(TopicNotJudged(topic=topic.topic, because="not-judged"))
        else:
            complete.append(topic.topic)
    if not complete:
        message = f"Qrels {version.named} judge no topic of the pool completely. Judge the rest of a topic first."
        raise InvalidRequest.at("body.params.pool", "pool-not-judged", message)
    return params.about_pool([run.run for run in pool.pooled_runs], pool.depth, complete, others)
