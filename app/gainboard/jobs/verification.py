"""Analyses of stored jobs: opened from the data that a job names, verified, and what their results depend on."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic_core import to_json

from gainboard import __version__
from gainboard.analyses.job_kinds import Analysis, Arrays, find_kind
from gainboard.analyses.result_models import JobResult
from gainboard.analyses.verify import SECONDS_A_COMPARISON, Recomputation, Verification, VerifyParams
from gainboard.errors import Conflict, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.judgments.versions import JudgedVersion, no_version, stored_versions
from gainboard.evaluation.runs.run_properties import near_duplicates
from gainboard.evaluation.scoring import binding
from gainboard.evaluation.scoring.score_matrices import matrix_as_json
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs import submission
from gainboard.jobs.report_assembly import answer_as_json, lay_out
from gainboard.jobs.results import content, list_pairs, require_result, result_body
from gainboard.store import collections, jobs, qrels, records, reports, runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob, StoredReport, StoredWork
from gainboard.vocabulary import OFFICIAL

NOTHING: Arrays = {"nothing": np.zeros(0)}


def open_stored(workspace: Workspace, job: StoredJob) -> Analysis[Any, Any]:
    """Return the analysis of a stored job, over the runs and versions that the job names."""
    return open_analysis(workspace, job.kind, job.params, job.collection_id, job.qrels_id, job.run_ids)


def open_analysis(
    workspace: Workspace,
    kind_name: str,
    settled: Mapping[str, Any],
    collection_id: int,
    qrels_id: int | None,
    run_ids: Sequence[int],
) -> Analysis[Any, Any]:
    """Return the analysis of a settled request, over these runs and this version."""
    kind = find_kind(kind_name)
    params = kind.params_model.model_validate(settled)
    with workspace.database.reading() as tx:
        collection, candidates = collections.of_id(tx, collection_id), runs.of_ids(tx, run_ids)
        main = no_version(collection)
        if qrels_id is not None:
            main = JudgedVersion.of(workspace, tx, qrels.of_id(tx, qrels_id))
        custom = binding.stored_custom_metrics(tx, collection) if binding.names_custom(settled) else binding.NO_CUSTOM
        others = stored_versions(workspace, tx, collection, params.versions().values())
    data = submission.narrow_data(collection, main, others, candidates, params)
    return kind(submission.matrices_of(workspace, kind, data, params, custom), params)


def build_result(job: StoredJob, analysis: Analysis[Any, Any], findings: Sequence[Arrays]) -> JobResult:
    """Return the result of a job, from the findings of all parts, as its kind's model.

    It has no times, so equal jobs have equal results.
    """
    fields, matrices, kind = analysis.result(findings), analysis.matrices, find_kind(job.kind)
    head = {
        "kind": job.kind,
        "collection": matrices.collection.name,
        "qrels_version": job.qrels_version,
        "judgment_set": job.judgment_set,
        "runs": [run.name for run in matrices.runs],
        "engine_version": kind.engine_version,
    }
    chosen = {"topic_group": matrices.chosen.described()} if matrices.chosen else {}
    labels = binding.custom_labels(job.params)
    uploaded = {"uploaded_scores": [matrices.custom.resolve(label).described() for label in labels]} if labels else {}
    left_out = [{"run": name, "identical_to": kept} for name, kept in matrices.left_out.items()]
    dropped = {"runs_left_out": left_out} if job.params.get("drop_identical") else {}
    near = {"near_duplicates": near_duplicates(matrices)} if analysis.compares_pairs else {}
    of_systems = {"replicates": matrices.replicate_names} if matrices.groups is not None else {}
    return kind.result_model.model_validate(head | chosen | uploaded | dropped | near | of_systems | fields)


def environment() -> str:
    """Return the versions of what computes here."""
    computing = ", ".join(f"{name} {version(name.lower())}" for name in ("NumPy", "SciPy"))
    return f"Gainboard {__version__}, Python {platform.python_version()}, {computing}, {platform.machine()}"


def is_verifiable(job: StoredJob) -> bool:
    """Return whether a job's result can be computed again: it is no change, and no verification itself."""
    return not find_kind(job.kind).is_change and job.kind != Verification.name


def verify(workspace: Workspace, principal: Principal, work: StoredWork) -> StoredJob:
    """Return the job that verifies the result of a job or report that the principal sees.

    Raise Conflict for a change of the collection, and what `require_result` raises.
    """
    require_result(work)
    if isinstance(work, StoredJob) and not is_verifiable(work):
        raise Conflict(f"A job of kind {work.kind} is not computed again. Verify a job that analyses runs.")
    main = work if isinstance(work, StoredJob) else work.jobs[0]
    every = [work] if isinstance(work, StoredJob) else work.jobs
    results = {job.id: require_result(job) for job in every} | {work.id: require_result(work)}
    subject = {"job": work.id} if isinstance(work, StoredJob) else {"report": work.id}
    params = VerifyParams(
        **subject,
        kind=work.kind if isinstance(work, StoredJob) else work.name,
        params=work.params,
        results=results,
        environment=environment(),
    )
    again = _recomputations(workspace, params)
    with workspace.database.reading() as tx:
        collection = collections.of_id(tx, main.collection_id)
        find_kind(main.kind).admit(open_collection(tx, principal, collection.name))
        spec = _spec(workspace, tx, work, main, params)
        if (verification := jobs.find(tx, spec.id)) and verification.state in ("queued", "running", "succeeded"):
            return verification
    sizes = submission.sizes_of_chunks(
        [cost for recomputation in again for cost in recomputation.parts] or [SECONDS_A_COMPARISON]
    )
    token = principal.require_token()
    with workspace.database.writing() as tx:
        submission.require_room(tx, token, [spec])
        job, is_queued = submission.enqueue(workspace, tx, token, spec, sizes)
        if is_queued:
            audit.record(tx, principal, "job-launched", job.id, collection, kind=Verification.name, params=subject)
    return job


@dataclass(frozen=True)
class DependedOn:
    """All that results depend on of one collection: the versions that they are about, the runs, and uploaded scores."""

    collection: records.Collection
    qrels: Sequence[records.Qrels]
    runs: Sequence[records.Run]
    score_matrices: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class DependedJob(DependedOn):
    """All that the result of a job depends on. The first version is its own, unless it is about runs alone."""

    job: StoredJob = field(kw_only=True)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a request for the job that names its qrels version."""
        if self.job.qrels_id is None or "qrels" not in find_kind(self.job.kind).params_model.model_fields:
            return self.job.params
        return self.job.params | {"judgments": self.job.judgment_set, "qrels": self.job.qrels_version}


@dataclass(frozen=True)
class DependedReport:
    """All that a report depends on, by collection."""

    report: StoredReport
    chapters: Sequence[DependedOn]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a request for the report that names versions."""
        abouts = [chapter.about for chapter in self.report.chapters]
        return self.report.params | {
            "judgments": {about["collection"]: about.get("judgment_set", OFFICIAL) for about in abouts},
            "qrels": {about["collection"]: about["qrels_version"] for about in abouts},
        }


def dependencies(workspace: Workspace, principal: Principal, job: StoredJob) -> DependedJob:
    """Return what a job's result depends on, with hashes of files.

    Raise JudgmentsHidden for those who may not see the judgments, Conflict for a verification, and what
    `require_result` raises.
    """
    require_result(job)
    if job.kind == Verification.name:
        raise Conflict("A verification depends on the job that it verifies. Ask for the dependencies of that job.")
    _require_judgments(workspace, principal, [job])
    return depended_on(workspace, job)


def report_dependencies(workspace: Workspace, principal: Principal, report: StoredReport) -> DependedReport:
    """Return what a report depends on, with hashes of files. Raise as `dependencies`."""
    require_result(report)
    _require_judgments(workspace, principal, report.jobs)
    return report_depended_on(workspace, report)


def _require_judgments(workspace: Workspace, principal: Principal, every: Sequence[StoredJob]) -> None:
    with workspace.database.reading() as tx:
        for collection_id in dict.fromkeys(job.collection_id for job in every):
            open_collection(tx, principal, collections.of_id(tx, collection_id).name).require_judgments()


def depended_on(workspace: Workspace, job: StoredJob) -> DependedJob:
    """Return what a job's result depends on, for whoever may see the judgments."""
    with workspace.database.reading() as tx:
        collection = collections.of_id(tx, job.collection_id)
        versions = [qrels.of_id(tx, key) for key in jobs.versions_of(tx, job)]
        own_first = sorted(versions, key=lambda version: version.id != job.qrels_id)
        custom = (
            binding.stored_custom_metrics(tx, collection)
            if (labels := binding.custom_labels(job.params))
            else binding.NO_CUSTOM
        )
        matrices = [matrix_as_json(tx, custom.resolve(label).matrix) for label in labels]
        return DependedJob(collection, own_first, runs.of_ids(tx, job.run_ids), matrices, job=job)


def report_depended_on(workspace: Workspace, report: StoredReport) -> DependedReport:
    """Return what a report depends on, for whoever may see the judgments: all that its jobs depend on."""
    chapters: list[DependedOn] = []
    with workspace.database.reading() as tx:
        for chapter in report.chapters:
            collection, every = collections.of_id(tx, chapter.collection_id), chapter.jobs.values()
            versions = {key: qrels.of_id(tx, key) for job in every for key in jobs.versions_of(tx, job)}
            in_order = sorted(versions.values(), key=lambda version: (version.judgments, version.version))
            run_ids = sorted({run_id for job in every for run_id in job.run_ids})
            by_name = sorted(runs.of_ids(tx, run_ids), key=lambda run: run.name)
            chapters.append(DependedOn(collection, in_order, by_name))
    return DependedReport(report, chapters)


def _spec(
    workspace: Workspace, tx: Transaction, work: StoredWork, main_job: StoredJob, params: VerifyParams
) -> submission.JobSpec:
    # The new job is about the same versions as what it verifies, so that the same people see it.
    collection = collections.of_id(tx, main_job.collection_id)
    main = no_version(collection)
    if main_job.qrels_id is not None:
        main = JudgedVersion.of(workspace, tx, qrels.of_id(tx, main_job.qrels_id))
    every = [work] if isinstance(work, StoredJob) else work.jobs
    others = {key: qrels.of_id(tx, key) for job in every for key in jobs.versions_of(tx, job)}
    judged = {version.named: JudgedVersion.of(workspace, tx, version) for version in others.values()}
    data = submission.JobData(collection, main, judged, runs.of_ids(tx, main_job.run_ids))
    return submission.JobSpec(workspace, Verification, params, data)


def open_verification(workspace: Workspace, opened: Verification) -> Verification:
    """Return a verification with all that it computes again. Raise NotFound if the job or report is gone."""
    return Verification(opened.matrices, opened.params, _recomputations(workspace, opened.params))


def _recomputations(workspace: Workspace, params: VerifyParams) -> Sequence[Recomputation]:
    with workspace.database.reading() as tx:
        by_id = jobs.among(tx, list(params.results))
        report = reports.find(tx, params.report) if params.report is not None else None
    # The job names hashes, not content: what it verifies may have been deleted while it waited.
    if len(by_id) + (report is not None) < len(params.results):
        raise NotFound("The job or report that is to be verified does not exist any more.")
    again = [_recompute_job(workspace, by_id[key]) for key in params.results if key in by_id]
    return again if report is None else [*again, _recompute_report(workspace, report, again)]


def _stored(workspace: Workspace, work: StoredWork) -> bytes:
    return b"".join(content(workspace, work))


def _recompute_job(workspace: Workspace, job: StoredJob) -> Recomputation:
    sha256, stored = require_result(job), partial(_stored, workspace, job)
    if job.engine_version != (here := find_kind(job.kind).engine_version):
        why = f"made by engine version {job.engine_version} (here {here}), not comparable"
        return Recomputation(job.id, job.kind, sha256, stored, [], _nothing, _no_result, made_by=why)
    analysis = open_stored(workspace, job)

    def result(findings: Sequence[Arrays]) -> bytes:
        computed = build_result(job, analysis, findings)
        list_pairs(computed)  # as for the stored result: long lists of pairs are files beside it
        return result_body(computed)

    return Recomputation(job.id, job.kind, sha256, stored, analysis.parts(), analysis.work, result)


def _recompute_report(workspace: Workspace, report: StoredReport, again: Sequence[Recomputation]) -> Recomputation:
    """Return the layout of a report, made again of the stored results that the others verify."""
    sha256, stored = require_result(report), partial(_stored, workspace, report)
    why = next((recomputation.made_by for recomputation in again if recomputation.made_by is not None), None)

    def result(findings: Sequence[Arrays]) -> bytes:
        return to_json(answer_as_json(report, lay_out(workspace, report)), inf_nan_mode="null")

    return Recomputation(report.id, report.name, sha256, stored, [], _nothing, result, made_by=why)


def _nothing(part: int) -> Arrays:
    return NOTHING


def _no_result(findings: Sequence[Arrays]) -> bytes:
    return b""
