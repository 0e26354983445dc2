"""The layout of a report: the results of its jobs become the tables and figures of a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gainboard.analyses.result_models import JobResult, NearDuplicate
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import figure_as_json, table_as_json
from gainboard.store.job_records import Chapter, StoredReport
from gainboard.work.layout.composing import Answer, E, Placed, compose
from gainboard.work.layout.laid import Laid, LeftOut, Remark
from gainboard.work.report_kinds import About, JobResults, ReportKind, ReportParams, find_report_kind
from gainboard.work.results import read_back


def lay_out(workspace: Workspace, report: StoredReport) -> Answer:
    """Return the tables and figures of the report, whose jobs have succeeded."""
    kind = find_report_kind(report.name)
    asked = kind.params.model_validate(report.params)
    chapters = {each.about["collection"]: _chapter(workspace, kind, asked, each) for each in report.chapters}
    return compose(chapters, "" if asked.topics == "all" else f" Topics: the group {asked.topics}.")


def _chapter(workspace: Workspace, kind: ReportKind[Any], asked: ReportParams, chapter: Chapter) -> Sequence[Laid]:
    results = {key: read_back(workspace, job) for key, job in chapter.jobs.items()}
    about = About(**chapter.about | {"versions": tuple(chapter.about["versions"])})
    laid = kind.lay_out(JobResults(about, results), asked)
    return [*(LeftOut(**each) for each in chapter.left_out), *laid, *_remarks(list(results.values()))]


def _remarks(results: Sequence[JobResult]) -> Iterator[Remark]:
    yield from _near_duplicates(results)
    group = next((result.topic_group for result in results if result.topic_group), None)
    if group and group.unjudged:
        counts = f"{len(group.unjudged)} of the {group.topics} topics of the group {group.name}"
        yield Remark(f"{counts} have no judgments, such as {group.unjudged[0]}. They do not count.")


def _near_duplicates(results: Iterable[JobResult]) -> Iterator[Remark]:
    """Yield a remark that names the runs of any job that repeat another one except on a few topics."""
    named = {each.run: each for result in results for each in result.near_duplicates or ()}
    if named:
        runs = "; ".join(_said(each) for each in named.values())
        yield Remark(
            f"Runs that repeat another one except on a few topics distort tests and rank correlations: {runs}."
        )


def _said(near: NearDuplicate) -> str:
    differing = f"except on {', '.join(near.topics)}" if near.topics else "on all topics"
    ranks = f"at the first {near.first_ranks} ranks " if near.first_ranks else ""
    return f"{near.run} repeats {near.repeats} {ranks}{differing}"


def answer_as_json(report: StoredReport, answer: Answer) -> dict[str, Any]:
    """Return the answer as JSON values. It contains no times, so equal requests on equal data have equal answers."""
    kind = find_report_kind(report.name)
    return {
        "report": report.name,
        "title": kind.title,
        "reference": kind.reference,
        "params": report.params,
        "collections": [chapter.about for chapter in report.chapters],
        "jobs": [
            {"collection": chapter.about["collection"], "key": key, "kind": job.kind, "id": job.id}
            for chapter in report.chapters
            for key, job in chapter.jobs.items()
        ],
        "tables": [_numbered(each, table_as_json(each.exhibit)) for each in answer.tables],
        "figures": [_numbered(each, figure_as_json(each.exhibit)) for each in answer.figures],
        "left_out": [{"collection": name, "what": each.what, "why": each.why} for name, each in answer.left_out],
        "remarks": [{"collection": name, "text": each.text} for name, each in answer.remarks],
    }


def _numbered(placed: Placed[E], shown: dict[str, Any]) -> dict[str, Any]:
    return {"number": placed.number, "collection": placed.collection, **shown}


def names_of_answer(answer: Answer) -> dict[str, list[dict[str, Any]]]:
    """Return the names, captions and numbers of the tables and figures, in the form of a job's `exhibits`."""
    return {"tables": [_named(each) for each in answer.tables], "figures": [_named(each) for each in answer.figures]}


def _named(placed: Placed[E]) -> dict[str, Any]:
    return _numbered(placed, {"name": placed.exhibit.name, "caption": placed.exhibit.caption})
