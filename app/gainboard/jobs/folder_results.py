"""The results in the folder of a release, which become jobs that are over, and reports of them.

What a stranger has written is computed anew where that is possible: ids from what they are made of, tables from the
results, and plans of reports from the collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

from pydantic import ValidationError

from gainboard.analyses.job_kinds import Kind, find_kind
from gainboard.analyses.pair_tests import ComparedPairs
from gainboard.analyses.report_kinds import find_report_kind
from gainboard.analyses.result_models import JobResult
from gainboard.errors import GainboardError
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.releases.document import FrozenReport, FrozenResult
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs import report_planning
from gainboard.jobs.derived_files import enqueue_derived_files
from gainboard.jobs.files import write_parts
from gainboard.jobs.release_folder import DOCUMENT, Folder, first_faults, require_same, time_of, unusable
from gainboard.jobs.results import (
    exhibits_of,
    names_of,
    read_result,
    result_body,
    write_pairs,
    write_summary,
    write_tables,
)
from gainboard.jobs.submission import identity
from gainboard.store import files, imports, reports
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredFile
from gainboard.store.records import Collection, Qrels, Run, VersionName
from gainboard.vocabulary import OFFICIAL

MOST_RESULT: Final = 256 << 20
"""The most bytes of a result, which is read into memory at once."""


@dataclass(frozen=True)
class NotImported:
    """A result or report of a folder that was not imported, and why."""

    id: str
    kind: str
    because: str


class FolderResult(NamedTuple):
    """A result that may be imported: its kind, its bytes and what they say."""

    frozen: FrozenResult
    kind: Kind
    body: bytes
    read: JobResult
    tested: Sequence[ComparedPairs]


def read_results(
    folder: Folder, require_client: Callable[[], None], left_out: list[NotImported]
) -> Iterator[FolderResult]:
    """Yield the results that this version knows, and add the others to `left_out`.

    Raise InvalidRequest for one that is not what it says.
    """
    for report in folder.document.reports:  # which are laid out again
        path = f"data/results/{report.id}/result.json"
        require_same(path, hashlib.sha256(folder.read(path, MOST_RESULT)).hexdigest(), report.sha256)
    for frozen in folder.document.results:
        require_client()
        path = f"data/results/{frozen.id}/result.json"
        body = folder.read(path, MOST_RESULT)
        require_same(path, hashlib.sha256(body).hexdigest(), frozen.sha256)
        if because := _unknown(frozen):
            left_out.append(NotImported(frozen.id, frozen.kind, because))
            continue
        kind = find_kind(frozen.kind)
        try:
            read = read_result(kind.result_model, body)
        except ValidationError as error:
            raise unusable(f"{path} is no result of the kind {frozen.kind}: {first_faults(error)}") from error
        # A number as text, or a field that nobody knows, would be read and not written again.
        if result_body(read) != body:
            raise unusable(f"{path} is not as the kind {frozen.kind} writes it")
        said = (read.kind, read.collection, read.judgment_set, read.qrels_version, read.engine_version)
        named = (
            frozen.kind,
            folder.document.release.collection,
            frozen.judgments,
            frozen.version,
            frozen.engine_version,
        )
        members = {run for some in (read.replicates or {}).values() for run in some} or set(read.runs)
        if said != named or not members <= set(frozen.runs):
            raise unusable(f"{path} is about something else than {DOCUMENT} says")
        yield FolderResult(frozen, kind, body, read, folder.read_pairs(frozen.id, read))


def add_jobs(
    tx: Transaction,
    collection: Collection,
    versions: Mapping[VersionName, Qrels],
    stored: Mapping[str, Run],
    results: Iterable[FolderResult],
) -> dict[str, int]:
    """Add the jobs with their tables, which are made anew, and return their numbers by id."""
    numbers = {}
    for frozen, kind, _, read, tested in results:
        named = [VersionName(frozen.judgments or "", frozen.version), *(VersionName(*other) for other in frozen.others)]
        if unknown := [name for name in (*named, *frozen.runs) if name not in versions and name not in stored]:
            raise unusable(f"the result {frozen.id} is about {unknown[0]}, which is not there")
        version, *others = (versions[name] for name in named)
        candidates = [stored[name] for name in frozen.runs]
        params = kind.params_model.model_validate(frozen.params)
        # An id is a hash of all that a result depends on, so nobody can put a result under the id of another request.
        if identity(kind, params, collection, version, candidates, others) != frozen.id:
            raise unusable(f"the id {frozen.id} is not that of the request that it stands beside")
        try:
            # Made of the numbers, because the tables of the folder may say anything.
            shown = exhibits_of(read, tested)
            exhibits = names_of(shown, tested)
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            raise unusable(f"no tables can be made of the result {frozen.id}: {error}") from error
        numbers[frozen.id] = imports.add_job(
            tx,
            time_of(frozen.finished_at),
            sorted(other.id for other in others),
            id=frozen.id,
            collection_id=collection.id,
            kind=frozen.kind,
            params=frozen.params,
            qrels_id=version.id,
            run_ids=[run.id for run in candidates],
            engine_version=frozen.engine_version,
            result_sha256=frozen.sha256,
            exhibits=exhibits,
            origin="imported",
        )
        writer = _WrittenAtOnce(tx, numbers[frozen.id])
        write_tables(writer, shown.tables)
        write_pairs(writer, tested)
        write_summary(writer, read)
        files.add(tx, writer.files)
    return numbers


def add_reports(
    workspace: Workspace, tx: Transaction, view: View, every: Sequence[FrozenReport], numbers: Mapping[str, int]
) -> Iterator[NotImported]:
    """Add the reports whose plans come out as they were, and yield the others. A worker lays them out."""
    for frozen in every:
        if because := _not_planned(workspace, tx, view, frozen, numbers):
            yield NotImported(frozen.id, frozen.name, because)
            continue
        chapter = {"about": frozen.about, "left_out": frozen.left_out}
        needed = {key: numbers[job] for key, job in frozen.jobs.items()}
        named = {"id": frozen.id, "name": frozen.name, "params": frozen.params}
        imports.add_report(tx, time_of(frozen.finished_at), view.collection.id, chapter, needed, **named)
        report = reports.among(tx, [frozen.id])[frozen.id]
        enqueue_derived_files(tx, workspace.now(), "layout", report)


def _not_planned(
    workspace: Workspace, tx: Transaction, view: View, frozen: FrozenReport, numbers: Mapping[str, int]
) -> str | None:
    """Return why a report is left out; None if its plan is the same here."""
    if lacking := [job for job in frozen.jobs.values() if job not in numbers]:
        return f"its job {lacking[0][:12]} is left out"
    # The version is not among the parameters of a report, but among the facts about its collection.
    name, about = view.collection.name, frozen.about
    named = {"qrels": {name: about.get("qrels_version")}, "judgments": {name: about.get("judgment_set", OFFICIAL)}}
    try:
        kind = find_report_kind(frozen.name)
        params = kind.params_model.model_validate(frozen.params | named)
        plan = report_planning.planned(workspace, tx, view, kind, params)
    except (KeyError, ValidationError, GainboardError) as error:
        return f"this version cannot plan it: {getattr(error, 'message', str(error))[:200]}"
    facts = asdict(plan.about) | {"versions": list(plan.about.versions)}
    is_same = facts == about and [asdict(one) for one in plan.left_out] == frozen.left_out
    if not is_same or report_planning.identity(kind, params, [plan]) != frozen.id:
        return "its plan is another one here: ask for the report again"
    return None


class _WrittenAtOnce:
    """A writer of the files of a job that is over."""

    def __init__(self, tx: Transaction, number: int) -> None:
        self._tx, self._number = tx, number
        self.files: list[StoredFile] = []

    def write(self, path: str, pieces: Iterable[bytes], *, is_compressed: bool = False) -> None:
        self.files.append(write_parts(self._tx, self._number, path, pieces))


def _unknown(frozen: FrozenResult) -> str | None:
    """Return why this version cannot know a result; None if it can."""
    try:
        kind = find_kind(frozen.kind)
    except KeyError:
        return "this version of Gainboard has no such kind"
    if kind.is_for_organisers:
        return "results of this kind are no part of releases"
    if frozen.engine_version != kind.engine_version:
        return f"engine version {frozen.engine_version} computed it, and here is {kind.engine_version}"
    if frozen.judgments is None or frozen.version is None:
        return "it is about no version of the judgments"
    try:
        settled = kind.params_model.model_validate(frozen.params)
    except ValidationError as error:
        return f"its parameters are unknown here: {first_faults(error)}"
    return None if settled.shown() == frozen.params else "its parameters are written in another way here"
