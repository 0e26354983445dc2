"""The scorer: a choice of runs over one qrels version in, one score for each metric, run and topic out.

Boards, scores, comparisons, sweeps and analyses all score here. Scores come from formulas over judged rankings, or were
uploaded: to the callers, both are bound metrics.

The runs of a collection, joined with one qrels version, are kept in memory in a few slices, so that one call scores all
runs of a slice. All slices together take at most `GAINBOARD_SCORING_MEMORY`. If there is no room, the least recently
used slices are removed, but never slices that the same request has used. So a part of a collection that is larger than
the memory stays in memory, and only the rest is read again. The same is true for collections that are used in turn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judgments.versions import JudgedVersion, index_of
from gainboard.evaluation.runs.join import JudgedTopics, judge, unpack_run
from gainboard.evaluation.runs.stored_files import reread
from gainboard.evaluation.scoring.binding import CustomMetric, customs_of, undefined
from gainboard.evaluation.scoring.scores import ScoreArrays
from gainboard.evaluation.workspace import Workspace, WorkspaceCache, spend
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, mean_all, score_all
from gainboard.store import runs
from gainboard.store.database import may_take_long
from gainboard.store.records import Collection, Run

Floats = NDArray[np.float64]
SLICE_BYTES: Final = 8 << 20
"""The largest size of a slice, in bytes, unless a single addition is larger."""
_AT_ONCE: Final = 16
"""The number of runs that are read from the database at once."""


class Slice(NamedTuple):
    """Some of the requested runs: their positions among all requested runs, and their `places` in `runs`."""

    positions: Sequence[int]
    runs: JudgedRuns
    places: Sequence[int]

    def only(self, topics: JudgedTopics) -> Slice:
        """Return the slice with these topics of its version alone."""
        if topics.places is None:
            return self
        return self._replace(runs=self.runs.only(topics.places, topics.judgments))


def judged_slices(
    workspace: Workspace, collection: Collection, version: JudgedVersion, chosen: Sequence[Run], exact: bool
) -> Iterator[Slice]:
    """Yield the chosen runs in slices, joined with the version.

    With `exact`, they include their retrieval scores, which take most of the memory: such slices are kept beside those
    without. What is kept has all topics of the version, whichever of them are wanted.
    """
    whole, topics = version.whole, version.topics
    position = {run.id: number for number, run in enumerate(chosen)}
    # Two threads that come here first at the same time both get the memory of the faster one. Two requests may miss and
    # read the same runs at once. Both read the same bytes, and `keep` drops the second copy: to make one wait would be
    # a lock around a read of the database.
    memory: _Memory = workspace.kept.setdefault(_Memory, _Memory(workspace.scoring_memory))
    content, in_memory, used = _Content(version.qrels.id, exact), set[int](), set[int]()
    for kept in memory.find(content, position):
        wanted = [run_id for run_id in kept.places if run_id in position]
        in_memory.update(wanted)
        used.add(kept.number)
        positions, places = [position[run_id] for run_id in wanted], [kept.places[run_id] for run_id in wanted]
        yield Slice(positions, kept.runs, places).only(topics)
    missing = [run for run in chosen if run.id not in in_memory]
    if missing:
        may_take_long()
    for start in range(0, len(missing), _AT_ONCE):
        some = missing[start : start + _AT_ONCE]
        part = JudgedRuns.of(list(judged_runs(workspace, collection, whole, some, exact)), whole.topics.judgments)
        yield Slice([position[run.id] for run in some], part, range(len(some))).only(topics)
        used.add(memory.keep(content, [run.id for run in some], part, used))


def judged_runs(
    workspace: Workspace, collection: Collection, version: JudgedVersion, chosen: Sequence[Run], exact: bool
) -> Iterator[JudgedRun]:
    """Yield the chosen runs in this order, joined with the version; with `exact`, with their retrieval scores."""
    qrels, places = version.qrels, version.topics.places
    for start in range(0, len(chosen), _AT_ONCE):
        some = chosen[start : start + _AT_ONCE]
        ids = [run.id for run in some]
        with workspace.database.reading() as tx:
            packed = runs.rankings(tx, ids, qrels.id)
            scores = runs.retrieval_scores(tx, ids, qrels.id) if exact else {}
        for run in some:
            if run.id in packed:
                judged = unpack_run(packed[run.id], scores.get(run.id))
            else:
                # A run uploaded after a version was replaced is joined with that version only when it is requested.
                join = partial(judge, index=index_of(workspace, collection, qrels))
                judged = reread(workspace, collection, run, qrels.order, join).run
            yield judged if places is None else judged.only(places)


class _Content(NamedTuple):
    """The id of the version with which the runs of a slice are joined, and whether they have their scores."""

    version: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """A slice of one content. `places` maps the id of each run to its place in `runs`."""

    number: int
    content: _Content
    places: dict[int, int]
    runs: JudgedRuns


class _Memory:
    """The slices, least recently used first. A slice never changes, so that it can be read without a lock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._slices: OrderedDict[int, _Kept] = OrderedDict()
        self._bytes = 0
        self._numbers = 0
        self._lock = Lock()

    def find(self, content: _Content, run_ids: dict[int, int]) -> list[_Kept]:
        """Return the slices of this content that have at least one of these runs."""
        with self._lock:
            slices = [
                kept
                for kept in self._slices.values()
                if kept.content == content and not kept.places.keys().isdisjoint(run_ids)
            ]
            for kept in slices:
                self._slices.move_to_end(kept.number)
            return slices

    def keep(self, content: _Content, run_ids: Sequence[int], part: JudgedRuns, used: set[int]) -> int:
        """Keep the runs in the last slice of this content or in a new slice, and return the number of the slice.

        Return -1 if there is no room. Slices in `used` are never removed to make room.
        """
        with self._lock:
            slices = [kept for kept in self._slices.values() if kept.content == content]
            for kept in slices:
                if not kept.places.keys().isdisjoint(run_ids):
                    return kept.number  # another request has kept these runs in the meantime
            # Runs come a few at a time, and every slice costs each metric a pass of its own, so small parts are joined.
            last = max(slices, key=lambda kept: kept.number, default=None)
            if last is not None and last.runs.nbytes + part.nbytes > SLICE_BYTES:
                last = None
            if not self._make_room(part.nbytes, used if last is None else used | {last.number}):
                return -1
            if last is None:
                self._numbers += 1
                number, places, joined = self._numbers, {}, part
            else:
                number, places = last.number, last.places
                joined = JudgedRuns.joined([last.runs, part], last.runs.judgments)
                self._bytes -= last.runs.nbytes
            places = places | {run_id: place for place, run_id in enumerate(run_ids, len(places))}
            self._bytes += joined.nbytes
            self._slices[number] = _Kept(number, content, places, joined)
            self._slices.move_to_end(number)
            return number

    def _make_room(self, wanted: int, used: set[int]) -> bool:
        others = [kept for kept in self._slices.values() if kept.number not in used]
        # Nothing is removed in vain: if there is no room even without all others, they stay.
        if self._bytes + wanted - sum(kept.runs.nbytes for kept in others) > self._most:
            return False
        for kept in others:
            if self._bytes + wanted <= self._most:
                break
            del self._slices[kept.number]
            self._bytes -= kept.runs.nbytes
        return True


MOST_SCORED_BYTES = 10 << 20
SCORE_SECONDS = 1.5e-6
"""The approximate time for one score of one run on one topic, in the middle of the catalogue."""
UPLOADED_SECONDS = 1e-7
"""The approximate time for one uploaded score, with its part in means, intervals and the test of a board."""
SCORED_RUNS: WorkspaceCache[tuple[int, bytes], ScoreArrays] = WorkspaceCache(
    MOST_SCORED_BYTES, lambda arrays: arrays.nbytes + (1 << 10)
)
"""Scores by the id of the qrels version, and by a hash of runs, metrics and topics.

There is room for 1,000 runs with five metrics on 250 topics, or for 13 requests with 43 metrics of 45 runs on 50.
"""
READING_SECONDS = 5e-5
"""The approximate time for the users of a metric in one ranking."""
_RUNS_AT_ONCE = 8
"""The runs whose scores are made at once where only means are wanted: 2,000 metrics on 6,980 topics are 900 MB."""


def kept_scores(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
    *,
    is_chosen: bool = True,
) -> ScoreArrays:
    """Return scores, means and missing topics of the chosen runs. Recent requests are answered from memory.

    `is_chosen` says whether the request names the metrics or their parameters (see `spend`). Kept scores stay valid,
    because runs, qrels versions and the meaning of labels never change.
    """
    topics = version.topics
    # A hash, because clients choose the labels, which may be long. Lengths come before what varies, so that no two
    # requests have the same bytes.
    ids = np.array([len(chosen), *(run.id for run in chosen)], np.int64)
    places = b"all" if topics.places is None else topics.places.tobytes()
    labels = "\n".join(metric.label for metric in bound).encode()
    key = (version.qrels.id, sha256(ids.tobytes() + b"%d " % len(places) + places + labels).digest())
    kept = SCORED_RUNS.of(workspace)
    if (arrays := kept.find(key)) is None:
        uploaded = len(customs_of(bound))
        seconds = (len(bound) - uploaded) * SCORE_SECONDS + uploaded * UPLOADED_SECONDS
        # Users read all ranks, and the time grows with their expressions.
        seconds += READING_SECONDS * sum(len(metric.label) / 40 for metric in bound if "T" in metric.parameters)
        # Uploaded scores are a few metrics without parameters, so nobody can ask for ever new ones.
        is_dear = is_chosen and uploaded < len(bound)
        spend(seconds * len(chosen) * len(topics.topics), is_chosen=is_dear)
        arrays = score_runs(workspace, collection, version, chosen, bound)
        # The cache keeps the last value whatever its size, and would remove all others for this one.
        if arrays.nbytes <= MOST_SCORED_BYTES:
            kept.keep(key, arrays)
    return arrays


def score_runs(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
) -> ScoreArrays:
    """Return scores, means and missing topics of the chosen runs, which are not kept."""
    topics = version.topics
    scores = np.empty((len(bound), len(chosen), len(topics.topics)))
    lacks = np.zeros(scores.shape[1:], np.bool_)
    uploaded = customs_of(bound)
    for row, metric in uploaded:
        may_take_long()
        scores[row] = metric.scores(workspace, chosen, topics.topics)
    if collection.has_scores_alone:
        nowhere = undefined(bound, topics)
        # A run lacks a topic if some other run has a score there.
        for of_metric, left_out in zip(scores, nowhere, strict=True):
            lacks |= np.isnan(of_metric) & ~left_out
        return ScoreArrays(scores, mean_all(bound, scores), nowhere, lacks.sum(axis=1), lacks)
    rows = [row for row, metric in enumerate(bound) if not isinstance(metric, CustomMetric)]
    formulas = [bound[row] for row in rows]
    exact = any(metric.needs_retrieval_scores for metric in formulas)
    for part in judged_slices(workspace, collection, version, chosen, exact):
        if uploaded:
            # `np.ix_` copies the part once more, so only requests with uploaded scores go this way.
            scores[np.ix_(rows, part.positions)] = score_all(formulas, part.runs, part.places)
        else:
            scores[:, part.positions] = score_all(bound, part.runs, part.places)
        lacks[part.positions] = part.runs.missing[part.places]
    if without := [place for place, run in enumerate(chosen) if not run.has_ranking]:
        # A run with answers alone retrieves nothing, but it has not failed to: it has no score, and not 0.
        scores[np.ix_(rows, without)], lacks[without] = np.nan, False
    if chosen and not without:
        # Whether a formula is undefined depends on the topic and not on the run, so the first run tells it for all.
        nowhere = np.isnan(scores[:, 0])
        for row, metric in uploaded:
            nowhere[row] = metric.undefined(topics.topics)  # some runs may have no score at all
    else:
        nowhere = undefined(bound, topics)
    return ScoreArrays(scores, mean_all(bound, scores), nowhere, lacks.sum(axis=1), lacks)


def mean_scores(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
) -> Floats:
    """Return the means over topics, of more metrics than there is memory for scores: float64 [metrics, runs].

    None of the metrics was uploaded.
    """
    means = np.empty((len(bound), len(chosen)))
    exact = any(metric.needs_retrieval_scores for metric in bound)
    for part in judged_slices(workspace, collection, version, chosen, exact):
        for start in range(0, len(part.places), _RUNS_AT_ONCE):
            # Only means are kept, so the scores of a few runs at a time are all that memory holds.
            some = slice(start, start + _RUNS_AT_ONCE)
            means[:, part.positions[some]] = mean_all(bound, score_all(bound, part.runs, part.places[some]))
    return means
