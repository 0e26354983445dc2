"""Properties of stored runs beyond their rankings: ir_metadata, ties, and which runs repeat another one.

ir_metadata is the header in a run's file, or a file beside the run, as tirex-tracker writes it. Ties are found in the
files, which are read when somebody asks, and then remembered. Of identical runs of a team, the papers keep only one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gainboard.errors import Forbidden, InvalidRequest, TooLarge
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import reading_judgments
from gainboard.evaluation.judgments.versions import JudgedVersion, index_of, select
from gainboard.evaluation.releases.releases import refuse_held_run
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.runs.run_files import HEAD_BYTES, metadata_of
from gainboard.evaluation.runs.stored_files import reread
from gainboard.evaluation.scoring.binding import customs_of, require_rankings, scale_of
from gainboard.evaluation.scoring.identification import Numbers, identify, judge_in_orders
from gainboard.evaluation.scoring.requests import StoredScores
from gainboard.evaluation.scoring.scorer import judged_runs
from gainboard.evaluation.scoring.selection import visible_runs
from gainboard.evaluation.scoring.ties import RunTies, TiedScores, is_drawn, refuse_by_intent, tied_scores
from gainboard.evaluation.workspace import Workspace, WorkspaceCache, spend
from gainboard.metrics import TiedRun
from gainboard.statistics.agreement import NONE, repeated_runs
from gainboard.store import collections
from gainboard.store import runs as stored_runs
from gainboard.store.records import Collection, Qrels, Run, VersionName
from gainboard.trec import Ranking, decompress_body
from gainboard.vocabulary import RunOrder, TiesAsked, Variant

if TYPE_CHECKING:
    from gainboard.evaluation.scoring.matrices import Matrices
    from gainboard.trec.run_metadata import RunMetadata


FIRST_RANKS = 10
"""The ranks on which runs may repeat each other although they differ below."""
RANKED_DIGESTS: WorkspaceCache[tuple[int, RunOrder], bytes] = WorkspaceCache(10_000)
"""A cache of hashes of rankings, by the run's id and the order of its documents."""


def identical_runs(
    workspace: Workspace, collection: Collection, version: JudgedVersion, candidates: Sequence[Run]
) -> dict[str, str]:
    """Map each duplicate run to the earlier run of its team that it repeats, by name, in order of name.

    Identical runs rank the same documents alike for every topic, in the order of `version` and cut to the collection's
    depth. Tags, retrieval scores and bytes may differ. Runs whose joins with `version` differ cannot be identical, so
    files are read only for the others.
    """
    ordered = sorted((run for run in candidates if run.has_ranking), key=lambda run: run.name)
    several = [run for group in _alike(ordered, lambda run: run.team_id) for run in group]
    # Cheap comparisons come first: only runs with equal joins can be identical, and only their files are read.
    joined = judged_runs(workspace, collection, version, several, exact=False)
    judged: dict[int, bytes] = {}
    for run, join in zip(several, joined, strict=True):
        # Without retrieval scores, which may differ between runs that rank alike.
        columns = (join.starts, join.rank, join.level, join.retrieved)
        judged[run.id] = hashlib.sha256(b"".join(column.tobytes() for column in columns)).digest()
    suspects = [run for group in _alike(several, lambda run: (run.team_id, judged[run.id])) for run in group]
    ranked = {run.id: _ranked_digest(workspace, collection, run, version.qrels.order) for run in suspects}
    groups = _alike(suspects, lambda run: (run.team_id, ranked[run.id]))
    return {run.name: first.name for first, *others in groups for run in others}


def near_duplicates(matrices: Matrices) -> list[dict[str, Any]]:
    """Return the runs that nearly repeat an earlier one of an analysis, of any team, and on which topics they differ.

    They have the same levels at the same ranks on nearly all topics, so that all metrics score them alike there
    (`repeated_runs`): at all ranks, or at the first `FIRST_RANKS`, which decide most metrics. Unlike `identical_runs`,
    this does not look at documents that are not relevant. A collection of scores has no rankings to compare.
    """
    if matrices.collection.has_scores_alone:
        return []
    names, repetitions = [run.name for run in matrices.runs], dict[int, dict[str, Any]]()
    for ranks in (None, FIRST_RANKS):
        # From the judged rankings, which an analysis has in memory anyway: no file is read for this.
        marks = matrices.marks(ranks)
        repeated = repeated_runs(marks)
        for run in np.flatnonzero(repeated != NONE).tolist():
            if run not in repetitions:
                topics = np.flatnonzero(marks[run] != marks[repeated[run]]).tolist()
                repetitions[run] = {
                    "run": names[run],
                    "repeats": names[repeated[run]],
                    "topics": [matrices.topics[topic] for topic in topics],
                    "first_ranks": ranks,
                }
    return [repetitions[run] for run in sorted(repetitions)]


def _alike(runs: Iterable[Run], key: Callable[[Run], Hashable]) -> Iterator[list[Run]]:
    """Yield the runs of each key that several runs share, in their order."""
    groups: defaultdict[Hashable, list[Run]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return (group for group in groups.values() if len(group) > 1)


def _ranked_digest(workspace: Workspace, collection: Collection, run: Run, order: RunOrder) -> bytes:
    def digest(rankings: Iterable[Ranking]) -> bytes:
        # Ids contain no white space, so a joined text is unambiguous. Topics are sorted, because files may have any
        # order.
        topics = (b"\n".join([ranking.topic.encode(), *ranking.documents]) for ranking in rankings)
        return hashlib.sha256(b"".join(sorted(hashlib.sha256(topic).digest() for topic in topics))).digest()

    kept = RANKED_DIGESTS.of(workspace)
    return kept.get((run.id, order), lambda: reread(workspace, collection, run, order, digest))


MOST_METADATA = HEAD_BYTES
"""The most bytes of a file of ir_metadata: as many as a header may have."""


@dataclass(frozen=True)
class MetadataFile:
    """A file of ir_metadata beside a run, as it was sent."""

    content: bytes
    read: RunMetadata

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def find_metadata(
    workspace: Workspace, principal: Principal, name: str, run_name: str
) -> tuple[RunMetadata | None, MetadataFile | None]:
    """Return the header of ir_metadata of a run's file, and the file of it beside the run, if they are there.

    They are for those who may read the run's file.
    """
    seen = runs.find_run(workspace, principal, name, run_name, for_file=True)
    head = bytearray()
    for chunk in runs.read_file(workspace, seen.run):
        head.extend(chunk[: HEAD_BYTES - len(head)])
        # The rest is not read: a run may have gigabytes.
        if len(head) >= HEAD_BYTES:
            break
    with workspace.database.reading() as tx:
        content = stored_runs.find_metadata(tx, seen.run.id)
    beside = MetadataFile(content, _metadata_file(content, seen.run.tag)) if content is not None else None
    return metadata_of(bytes(head), seen.run.tag), beside


def _metadata_file(content: bytes, tag: str) -> RunMetadata:
    from gainboard.trec.run_metadata import read_metadata_file  # noqa: PLC0415 (YAML, which few runs need)

    return read_metadata_file(content, tag)


def metadata_too_large() -> TooLarge:
    """Return the error for a file of ir_metadata that is too large."""
    return TooLarge(
        f"The file of ir_metadata has more than {MOST_METADATA:,} bytes. Leave out series of measurements "
        "(`timeseries`) and the content of scripts, and send it again."
    )


def put_metadata(workspace: Workspace, principal: Principal, name: str, run_name: str, body: Body) -> MetadataFile:
    """Store a file of ir_metadata beside a run, in place of an earlier one.

    The run's team may do so until the release, and organisers at any time, until a release of the collection holds the
    run. Raise InvalidRequest for a file that cannot be read, and TooLarge.
    """
    body.file.seek(0)
    try:
        limits = replace(workspace.limits, decompressed_bytes=MOST_METADATA)
        content = b"".join(decompress_body(body.file, body.encoding, limits))
    except TooLarge as error:
        raise metadata_too_large() from error
    with workspace.database.writing() as tx:
        view, run = runs.find_own(tx, principal, name, run_name, "describe")
        if not runs.may_withdraw(view, workspace.now()):
            raise Forbidden(f"The judgments of {name!r} were released. Ask the organisers to describe {run_name!r}.")
        refuse_held_run(tx, view.collection, run)
        sent = MetadataFile(content, _metadata_file(content, run.tag))
        if sent.read.values is None:
            message = f"{sent.read.faults[0]}. Correct it, and send it again; the run stays as it is."
            raise InvalidRequest.at("body", "bad-metadata", message)
        stored_runs.put_metadata(tx, run.id, sent.sha256, content)
        collections.touch(tx, view.collection.id)
        details = {"of_team": run.team, "sha256": sent.sha256, "bytes": len(content)}
        audit.record(tx, principal, "run-described", run_name, view.collection, **details)
    return sent


MOST_READ: Final = 3_000_000
"""The most documents in the files that one request reads: some seconds."""
MOST_DRAWN: Final = 100_000
"""The most tied documents of which one request draws orders: some seconds."""
MOST_ORDERS: Final = 200_000
"""The most orders that one request tries, over all runs and topics: some seconds."""
READ_SECONDS: Final = 5e-7
"""The approximate time to read a document of a stored file."""
DRAWN_SECONDS: Final = 3e-5
"""The approximate time to draw the orders of one tied document for one metric."""
ORDER_SECONDS: Final = 1.5e-5
"""The approximate time to score one order of one topic under one metric."""
RUN_TIES: WorkspaceCache[tuple[int, RunOrder], RunTies] = WorkspaceCache(16 << 20, lambda ties: ties.nbytes)
"""Ties by the id of the run and by order. Runs never change. A run takes 10 to 100 kB."""


class ScoredTies(NamedTuple):
    """The ties of a run, and its scores under other orders of them."""

    ties: RunTies
    scores: TiedScores


def score_ties(workspace: Workspace, table: StoredScores, asked: TiesAsked) -> list[ScoredTies]:
    """Return the ties of each run of the table, and scores under the table's metrics.

    Whoever asks must see the judgments (`View.require_judgments`). Raise InvalidRequest if too many files must be read,
    and for a metric without a range. Raise Conflict for a file that cannot be read in this order.
    """
    order = table.qrels.order
    for _, metric in customs_of(table.metrics):
        message = f"{metric.label} was uploaded, so its scores under other orders are unknown. Leave it out."
        raise InvalidRequest.at("query.metric", "uploaded-scores", message)
    refuse_by_intent(table.metrics)
    kept = RUN_TIES.of(workspace)
    unread = [run for run in table.runs if kept.find((run.id, order)) is None]
    if (documents := sum(run.retrieved for run in unread)) > MOST_READ:
        message = (
            f"The ties of {len(unread)} runs are in files with {documents:,} documents; at most {MOST_READ:,} are read "
            "for one request. Ask for some of the runs first: `run=NAME`. Their ties are remembered."
        )
        raise InvalidRequest.at("query.run", "too-many", message)
    spend(documents * READ_SECONDS)
    version = JudgedVersion(table.qrels, table.judged)
    exact = any(metric.needs_retrieval_scores for metric in table.metrics)
    judged = judged_runs(workspace, table.collection, version, table.runs, exact)
    consume = partial(RunTies.of, order_by=order.order_by, depth=table.collection.depth)
    # One document more than is kept shows whether ties go on beyond the depth.
    read = partial(reread, workspace, table.collection, order=order, consume=consume, further=1)
    ties_of_runs = [kept.get((run.id, order), partial(read, run=run)) for run in table.runs]
    tied = [ties.tied_run(run, table.topics) for ties, run in zip(ties_of_runs, judged, strict=True)]
    refuse = _refuse_too_many_draws if asked == "expected" else _refuse_too_many_orders
    refuse(table, tied)
    judgments = version.topics.judgments
    return [
        ScoredTies(ties, tied_scores(asked, table.metrics, tied_run, judgments, run.name))
        for run, ties, tied_run in zip(table.runs, ties_of_runs, tied, strict=True)
    ]


IDENTIFY_SECONDS: Final = 0.5
"""The approximate time to try the metrics of all tools on a run."""


def identify_numbers(
    workspace: Workspace, principal: Principal, name: str, run_name: str, asked: Sequence[Numbers], qrels: VersionName
) -> tuple[Qrels, list[Variant]]:
    """Return what gives numbers of a run, by a version of the judgments. Raise JudgmentsHidden unless they are shown.

    Whoever does not see them could find out hidden scores digit by digit.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        view.require_judged("it has no runs to score")
        collection, version = view.collection, select(tx, view, qrels)
        chosen = visible_runs(workspace, tx, view, [run_name])
    require_rankings(chosen, "path.run")
    spend(IDENTIFY_SECONDS + 10 * chosen[0].retrieved * READ_SECONDS)
    index = index_of(workspace, collection, version)
    consume = partial(judge_in_orders, index=index, depth=collection.depth, order=version.order)
    ordered = reread(workspace, collection, chosen[0], version.order, consume)
    return version, identify(asked, [ordered], index.topics.judgments, scale_of(collection), collection.gains)


def _refuse_too_many_draws(table: StoredScores, tied: Sequence[TiedRun]) -> None:
    drawn = [metric.label for metric in table.metrics if is_drawn(metric)]
    documents = sum(int(run.size[run.begin[run.is_mixed]].sum()) for run in tied)
    if drawn and documents > MOST_DRAWN:
        message = (
            f"The expectation of {drawn[0]} has no closed form. It needs orders of {documents:,} tied documents; at "
            f"most {MOST_DRAWN:,} are ordered in one request. Ask for fewer runs, `run=NAME`, or leave it out."
        )
        raise InvalidRequest.at("query.ties", "too-many", message)
    spend(len(drawn) * documents * DRAWN_SECONDS)


def _refuse_too_many_orders(table: StoredScores, tied: Sequence[TiedRun]) -> None:
    tried = [metric.label for metric in table.metrics if not metric.metric.sorted_is_best]
    orders = sum(run.count_orders(topic) or 0 for run in tied for topic in run.mixed_topics) if tried else 0
    if orders > MOST_ORDERS:
        message = (
            f"The range of {tried[0]} needs {orders:,} orders of tied documents; at most {MOST_ORDERS:,} are tried for "
            "one request. Ask for fewer runs, `run=NAME`, or leave this metric out."
        )
        raise InvalidRequest.at("query.ties", "too-many", message)
    spend(len(tried) * orders * ORDER_SECONDS)
