"""Results of jobs and reports: their bytes, and what the worker makes from them once, while it has them in memory.

Tested pairs are listed in a result if they are few, and stored in files from which pages are read quickly.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from gainboard.analyses.bootstrap_sensitivity import SensitivityResult
from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.pair_tests import MOST_LISTED, ComparedPair, ComparedPairs
from gainboard.analyses.result_models import JobResult
from gainboard.errors import InvalidRequest, JobNotFinished, NoResult, NotFound, ResultOutdated, RowDamaged
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Column, LongTable, Table, csv_pieces
from gainboard.exhibits.drawing import as_svg
from gainboard.exhibits.figures import Figure
from gainboard.exhibits.latex import as_latex
from gainboard.jobs.files import Writer, find_file, read_file
from gainboard.statistics.means import pair_count
from gainboard.store import blobs
from gainboard.store.arrays import pack, unpack
from gainboard.store.job_records import StoredJob, StoredReport, StoredWork

SUMMARY = "summary.json"
"""The file with a result except its pairs: a thousandth of its size, for readers that need only that."""
R = TypeVar("R", bound=JobResult)
MOST_PRINTED = 100_000
"""The most rows of a table in LaTeX: some 2,000 pages."""


@dataclass(frozen=True)
class Exhibits:
    """The tables and figures of one result."""

    tables: Sequence[Table | LongTable]
    figures: Sequence[Figure]


def require_result(work: StoredWork) -> str:
    """Return the SHA-256 of the result. Raise JobNotFinished, NoResult or ResultOutdated if there is none."""
    if work.result_sha256 is not None:
        return work.result_sha256
    if work.state == "succeeded":
        require_current(work)
    noun = "job" if isinstance(work, StoredJob) else "report"
    if not work.is_over:
        done = f"{work.parts_done} of {work.parts} parts are done"
        if isinstance(work, StoredReport) and work.layout is not None:
            done = "its jobs are done, and it is being laid out"
        raise JobNotFinished(f"The {noun} is {work.state}: {done}. Wait for it with ?wait=30.")
    why = f"failed: {work.error}" if work.state == "failed" else "was cancelled."
    again = "it is queued again" if isinstance(work, StoredJob) else "what is missing is queued again"
    raise NoResult(f"The {noun} {why} Ask for it again, and {again}.")


def require_current(work: StoredWork) -> None:
    """Raise ResultOutdated if a version that computes in another way made the result: this one cannot read it."""
    for job in [work] if isinstance(work, StoredJob) else work.jobs:
        if job.engine_version != (here := find_kind(job.kind).engine_version):
            again = "job" if job is work else "report"
            raise ResultOutdated(
                f"Another version of Gainboard computed job {job.id} ({job.kind}, engine version {job.engine_version}, "
                f"here {here}). Its result and the files that were stored are still there, but no others are made from "
                f"it. Ask for the {again} again, with the same request: it is computed anew."
            )


def content(workspace: Workspace, work: StoredWork) -> Iterator[bytes]:
    """Yield the result as JSON, in pieces. Raise errors as `require_result` does, before the first piece."""
    return blobs.get(workspace.database, require_result(work))


def read_back(workspace: Workspace, job: StoredJob) -> JobResult:
    """Return the stored result of a job without its pairs. Raise errors as `require_result` does."""
    require_result(job)
    # The summary lacks the pairs, which may be most of a result, and pages need none of them.
    summary = find_file(workspace, job, SUMMARY)
    body = b"".join(read_file(workspace, summary) if summary else content(workspace, job))
    try:
        return read_result(find_kind(job.kind).result_model, body)
    except ValidationError as error:
        raise _unreadable("job", job) from error


def read_layout(workspace: Workspace, report: StoredReport) -> dict[str, Any]:
    """Return the stored result of a report. Raise RowDamaged if it cannot be read."""
    try:
        result: dict[str, Any] = from_json(b"".join(content(workspace, report)))
    except ValueError as error:
        raise _unreadable("report", report) from error
    return result


def _unreadable(noun: str, work: StoredWork) -> RowDamaged:
    return RowDamaged(
        f"The result of the {noun} {work.id} cannot be read. Restore a backup from before the damage, or delete the "
        "collection, import it again, and ask for the result again."
    )


def read_result(model: type[R], body: bytes) -> R:
    """Return the result of a kind from its JSON."""
    # The million new containers are no garbage. Searching them for garbage takes three times as long as making them,
    # and blocks all other threads, so collection is off.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return model.model_validate_json(body)
    finally:
        if was_enabled:
            gc.enable()


def result_body(result: JobResult) -> bytes:
    """Return a result as it is stored: JSON without the fields that it does not have."""
    return result.model_dump_json(exclude_unset=True).encode()


def exhibits_of(result: JobResult, tested: Sequence[ComparedPairs] = ()) -> Exhibits:
    """Return the tables and figures of a job's result. `tested` are its pairs, also where it lists none.

    Near-duplicates have a table of their own, if there are any.
    """
    if isinstance(result, SensitivityResult):
        metrics = [
            metric if metric.pairs is not None else metric.model_copy(update={"pairs": pairs})
            for metric, pairs in zip(result.metrics, tested, strict=True)
        ]
        result = result.model_copy(update={"metrics": metrics})
    tables = [*result.tables()]
    if result.near_duplicates:
        rows = [
            (
                near.run,
                near.repeats,
                f"first {near.first_ranks}" if near.first_ranks else "all",
                len(near.topics),
                ", ".join(near.topics),
            )
            for near in result.near_duplicates
        ]
        columns = (Column("run"), Column("repeats"), Column("ranks"), Column("topics that differ"), Column("which"))
        caption = "Runs that repeat an earlier run except on a few topics."
        tables.append(Table("near-duplicates", caption, columns, rows))
    return Exhibits(tuple(tables), tuple(result.figures()))


def write_summary(writer: Writer, result: JobResult) -> None:
    """Store the result without its pairs, if it is of a kind that has any."""
    if isinstance(result, SensitivityResult):
        metrics = [metric.model_copy(update={"pairs": None}) for metric in result.metrics]
        writer.write(SUMMARY, [result_body(result.model_copy(update={"metrics": metrics}))])


def write_tables(writer: Writer, tables: Iterable[Table | LongTable]) -> None:
    """Store tables as CSV and, except very long ones, as LaTeX."""
    for table in tables:
        writer.write(f"tables/{table.name}.csv", (piece.encode() for piece in csv_pieces(table)))
        if is_printed(table):
            writer.write(f"tables/{table.name}.tex", [as_latex(table).encode()])


def write_figures(writer: Writer, figures: Iterable[Figure]) -> None:
    """Store figures as SVG. Raise NotFound if Matplotlib is not installed."""
    for figure in figures:
        writer.write(f"figures/{figure.name}.svg", [as_svg(figure)])


def names_of(exhibits: Exhibits, tested: Sequence[ComparedPairs] = ()) -> dict[str, list[dict[str, Any]]]:
    """Return the names and captions of the tables and figures, as a job has them in `exhibits`.

    `pairs` names the metrics with pages of pairs.
    """
    tables: list[dict[str, Any]] = []
    for table in exhibits.tables:
        shown: dict[str, Any] = {"name": table.name, "caption": table.caption}
        if not is_printed(table):
            shown["only_csv"] = True
        if isinstance(table, Table) and table.notes:
            shown["notes"] = list(table.notes)
        tables.append(shown)
    figures = [{"name": figure.name, "caption": figure.caption} for figure in exhibits.figures]
    named: dict[str, list[dict[str, Any]]] = {"tables": tables, "figures": figures}
    return named | ({"pairs": [{"metric": of_metric.metric} for of_metric in tested]} if tested else {})


def is_printed(table: Table | LongTable) -> TypeGuard[Table]:
    """Return whether the table exists as LaTeX, too."""
    return isinstance(table, Table) and len(table.rows) <= MOST_PRINTED


CONTENTS = "pairs/contents.json"
"""The file with the test, the runs, and the metrics in their order."""
LEAST = "pairs/least"
"""The file with the lowest level of each run under each metric, which shows where no pair can match."""
METRICS_AT_ONCE = 4
"""The most metrics whose pairs one request reads. With many metrics, a page may therefore not be full."""


@dataclass(frozen=True, slots=True)
class PairsWanted:
    """A choice of pairs: of one metric or run (None: any); `significant` keeps levels below it."""

    metric: str | None = None
    run: str | None = None
    significant: float | None = None


@dataclass(frozen=True, slots=True)
class NumberedPair:
    """A pair under a metric, with its number among all pairs of the result: metric by metric, from 0."""

    number: int
    metric: str
    pair: ComparedPair
    is_corrected: bool


@dataclass(frozen=True, slots=True)
class PairsFound:
    """Some pairs, and the number after which the next ones begin; None if there are no more."""

    pairs: list[NumberedPair]
    more_after: int | None


def list_pairs(result: JobResult) -> list[ComparedPairs]:
    """Replace a result's tested pairs by lists, or by null and an address if they are many. Return the pairs.

    The address is relative to that of the result, because the result does not know the service's root path.
    """
    metrics: list[Any] = [*result.metrics] if isinstance(result, SensitivityResult) else []
    tested = [metric.pairs for metric in metrics if isinstance(metric.pairs, ComparedPairs)]
    are_listed = sum(map(len, tested)) <= MOST_LISTED
    for metric, pairs in zip(metrics, tested, strict=True):
        if are_listed:
            metric.pairs = [pair.as_json(pairs.is_corrected) for pair in pairs]
        else:
            metric.pairs = None
            metric.pairs_url = f"pairs?metric={quote(pairs.metric, safe='')}"
    return tested


def write_pairs(writer: Writer, tested: Sequence[ComparedPairs]) -> None:
    """Store the pairs: a file for each metric, and one file with what they share."""
    if not tested:
        return
    first = tested[0]
    contents = {
        "test": first.test,
        "resamples": [pairs.resamples for pairs in tested],
        "runs": first.runs,
        "metrics": [pairs.metric for pairs in tested],
    }
    writer.write(CONTENTS, [json.dumps(contents).encode()])
    writer.write(LEAST, [pack({"least": np.array([pairs.least_levels() for pairs in tested])})], is_compressed=True)
    for number, pairs in enumerate(tested):
        corrected = {"corrected": pairs.corrected} if pairs.corrected is not None else {}
        writer.write(f"pairs/{number}/levels", [pack({"levels": pairs.levels, **corrected})], is_compressed=True)
        writer.write(f"pairs/{number}/scores", [pack({"scores": pairs.scores})], is_compressed=True)


def find_pairs(workspace: Workspace, job: StoredJob, wanted: PairsWanted, after: int | None, limit: int) -> PairsFound:
    """Return the next pairs of a job's result, at most `limit`: those with numbers greater than `after`.

    There may be fewer although more follow: see `METRICS_AT_ONCE`. Raise InvalidRequest for a metric or run that the
    result does not have, and NotFound for results without pairs.
    """
    file = find_file(workspace, job, CONTENTS)
    if file is None:
        raise NotFound(
            "This result has no pages of pairs: only bootstrap-sensitivity tests pairs. Read the result itself."
        )
    contents = json.loads(b"".join(read_file(workspace, file)))
    _require_known("run", wanted.run, contents["runs"])
    _require_known("metric", wanted.metric, contents["metrics"])
    pairs_a_metric = pair_count(len(contents["runs"]))
    first = 0 if after is None else (after + 1) // pairs_a_metric
    numbers = [number for number, label in enumerate(contents["metrics"]) if wanted.metric in (None, label)]
    if wanted.significant is not None:
        least = _arrays(workspace, job, LEAST)["least"]
        of_run = least if wanted.run is None else least[:, [contents["runs"].index(wanted.run)]]
        # If even the lowest level is not significant, the metric has no matching pair, and its file need not be read.
        numbers = [number for number in numbers if of_run[number].min() < wanted.significant]
    numbers = [number for number in numbers if number >= first]
    page: list[NumberedPair] = []
    for number in numbers[:METRICS_AT_ONCE]:
        # one more than the page holds shows whether another page follows
        page += _pairs_of_metric(workspace, job, contents, number, wanted, after, limit + 1 - len(page))
        if len(page) > limit:
            return PairsFound(page[:limit], page[limit - 1].number)
    are_left = len(numbers) > METRICS_AT_ONCE
    return PairsFound(page, (numbers[METRICS_AT_ONCE - 1] + 1) * pairs_a_metric - 1 if are_left else None)


def _pairs_of_metric(
    workspace: Workspace,
    job: StoredJob,
    contents: Mapping[str, Any],
    number: int,
    wanted: PairsWanted,
    after: int | None,
    limit: int,
) -> list[NumberedPair]:
    """Return the next pairs under the metric with this number."""
    count = pair_count(len(contents["runs"]))
    levels = _arrays(workspace, job, f"pairs/{number}/levels")
    pairs = ComparedPairs(
        contents["metrics"][number],
        contents["test"],
        contents["resamples"][number],
        contents["runs"],
        _arrays(workspace, job, f"pairs/{number}/scores")["scores"],
        levels["levels"],
        levels.get("corrected"),
    )
    selected = pairs.select(wanted.run, wanted.significant)
    if after is not None:
        selected = selected[selected > after - number * count]
    selected = selected[:limit]
    return [
        NumberedPair(number * count + number_in_metric, pairs.metric, pair, pairs.is_corrected)
        for number_in_metric, pair in zip(selected.tolist(), pairs.at(selected), strict=True)
    ]


def _arrays(workspace: Workspace, job: StoredJob, path: str) -> dict[str, NDArray[Any]]:
    file = find_file(workspace, job, path)
    assert file is not None, "a result has its pairs for as long as it has their contents"
    return unpack(b"".join(read_file(workspace, file)))


def _require_known(what: str, name: str | None, names: Sequence[str]) -> None:
    if name is not None and name not in names:
        some = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        raise InvalidRequest.at(
            f"query.{what}", f"unknown-{what}", f"The job has no {what} {name!r}. Available: {some}."
        )
