"""Analyses of stored jobs: opened from the data that a job names, and their results as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from gainboard.analyses import Analysis
from gainboard.analyses.job_kinds import find_kind
from gainboard.evaluation.judgments.versions import JudgedVersion, no_version, stored_versions
from gainboard.evaluation.runs.identical import near_duplicates
from gainboard.evaluation.scoring.binding import NO_CUSTOM, custom_labels, names_custom, stored_custom_metrics
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.submission import matrices_of, narrowed
from gainboard.store import collections, qrels, runs
from gainboard.store.job_records import StoredJob


def open_stored(workspace: Workspace, job: StoredJob) -> Analysis[Any]:
    """Return the analysis of a stored job, over the runs and versions that the job names."""
    return open_analysis(workspace, job.kind, job.params, job.collection_id, job.qrels_id, job.run_ids)


def open_analysis(
    workspace: Workspace,
    kind_name: str,
    asked: Mapping[str, Any],
    collection_id: int,
    qrels_id: int | None,
    run_ids: Sequence[int],
) -> Analysis[Any]:
    """Return the analysis of a settled request, over these runs and this version."""
    kind = find_kind(kind_name)
    params = kind.params.model_validate(asked)
    with workspace.database.reading() as tx:
        collection, candidates = collections.of_id(tx, collection_id), runs.of_ids(tx, run_ids)
        own = no_version(collection)
        if qrels_id is not None:
            own = JudgedVersion.of(workspace, tx, qrels.of_id(tx, qrels_id))
        custom = stored_custom_metrics(tx, collection) if names_custom(asked) else NO_CUSTOM
        others = stored_versions(workspace, tx, collection, params.versions().values())
    data = narrowed(collection, own, others, candidates, params)
    analysis: Analysis[Any] = kind.analysis(matrices_of(workspace, data, params, custom), params)
    return analysis


def result_body(job: StoredJob, analysis: Analysis[Any], result: dict[str, Any]) -> bytes:
    """Return the result as it is stored: JSON with the fields of every result before its own.

    It has no times, so equal jobs have equal results.
    """
    matrices = analysis.matrices
    head = {
        "kind": job.kind,
        "collection": matrices.collection.name,
        "qrels_version": job.qrels_version,
        "judgment_set": job.judgment_set,
        "runs": [run.name for run in matrices.runs],
        "engine_version": find_kind(job.kind).engine_version,
    }
    chosen = {"topic_group": matrices.chosen.described()} if matrices.chosen else {}
    labels = custom_labels(job.params)
    uploaded = {"uploaded_scores": [matrices.custom.resolve(label).described() for label in labels]} if labels else {}
    left_out = [{"run": name, "identical_to": kept} for name, kept in matrices.left_out.items()]
    dropped = {"runs_left_out": left_out} if job.params.get("drop_identical") else {}
    near = {"near_duplicates": near_duplicates(matrices)} if analysis.compares_pairs else {}
    return to_json(head | chosen | uploaded | dropped | near | result, inf_nan_mode="null")
