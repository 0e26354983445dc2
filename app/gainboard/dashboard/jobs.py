"""Analyses: forms for every kind of job and report, their progress, and their tables and figures."""

from __future__ import annotations

import csv
from codecs import iterdecode
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Response
from pydantic import ValidationError

from gainboard.analyses.answer_agreement import AnswerAgreement
from gainboard.analyses.job_kinds import QUESTIONS, AnyKind, every_kind, find_kind, schema_of
from gainboard.analyses.report_kinds import every_report_kind, find_report_kind
from gainboard.api.job_answers import JobContext, read_context
from gainboard.dashboard.figures import FigureOnPage, TableOnPage
from gainboard.dashboard.rendering import DRAWS, lead_to, page_of, pages
from gainboard.dashboard.schema_forms import Field, fields_of, read, with_faults
from gainboard.dashboard.sessions import FormDep, Place, PlaceDep, VisitorDep, by_session, enter
from gainboard.errors import GainboardError, NotFound
from gainboard.evaluation.judgments.nuggets import list_judges
from gainboard.evaluation.judgments.versions import list_choices, list_sets
from gainboard.evaluation.scoring.requests import Question, bind
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import bounded_levels
from gainboard.jobs import report_planning, submission
from gainboard.jobs.access import JOBS, REPORTS, JobsWanted, WorkType, cancel_work, find_work, list_jobs, list_reports
from gainboard.jobs.files import find_file, read_file
from gainboard.jobs.results import read_back, read_layout
from gainboard.jobs.verification import is_verifiable, verify
from gainboard.store.job_records import StoredJob, StoredWork
from gainboard.vocabulary import OFFICIAL

router = pages()
Noun = Literal["job", "report"]
LISTED = 50
MOST_ROWS = 50
"""The most rows of a table on a page; the whole table is CSV."""


JobContextDep = Annotated[JobContext, Depends(by_session(read_context))]
"""The services that the API's answers about work need, with the visitor as the principal."""


@router.get("/c/{collection}/analyses")
def show_analyses(place: PlaceDep) -> Response:
    """Show what can be analysed, and what has been."""
    place.view.require_free_scores()
    workspace, principal, collection = place.workspace, place.principal, place.name
    kinds: Sequence[AnyKind] = (*every_kind(), *every_report_kind())
    is_judged = not place.view.collection.has_scores_alone
    offered = [kind for kind in every_kind() if not kind.is_for_organisers or place.view.organises]
    offered = [kind for kind in offered if is_judged or not (kind.needs_judgments or kind.is_change)]
    by_question = [(text, [kind for kind in offered if kind.question == key]) for key, text in QUESTIONS.items()]
    return page_of(
        place,
        "analyses.html",
        f"Analyses of {place.title}",
        "Analyses",
        groups=[(question, kinds) for question, kinds in by_question if kinds],
        titles={kind.name: kind.title for kind in kinds},
        reports=every_report_kind() if is_judged else (),
        most=LISTED,
        done_jobs=list_jobs(workspace, principal, JobsWanted(collection), None, LISTED),
        done_reports=list_reports(workspace, principal, collection, None, None, LISTED),
    )


def _find_kind(noun: Noun, name: str) -> AnyKind:
    kinds: Sequence[AnyKind] = every_kind() if noun == "job" else every_report_kind()
    if (kind := next((kind for kind in kinds if kind.name == name), None)) is None:
        raise NotFound(f"There is no {noun} {name!r}. The page of analyses lists all.")
    return kind


@router.get("/c/{collection}/analyses/{noun}/{kind}")
def show_form(noun: Noun, kind: str, place: PlaceDep) -> Response:
    """Show the form of one kind, made from its parameters."""
    place.view.require_free_scores()
    chosen = _find_kind(noun, kind)
    return _show_form(place, noun, chosen, _fields(chosen, place))


def _fields(kind: AnyKind, place: Place) -> list[Field]:
    """Return the fields of a kind. Those that every request must fill are filled with the collection's own."""
    schema = schema_of(kind.params_model)
    required, values = schema.get("required", ()), dict[str, Any]()
    choices, has_scores_alone = list_choices(place.workspace, place.view), place.view.collection.has_scores_alone
    sets = sorted(choices.judgment_sets, key=lambda name: name != OFFICIAL)
    of_answers = [metric for metric in choices.uploaded_metrics if metric.startswith("nuggets:vital_strict")]
    if kind.name == AnswerAgreement.name:
        values["metrics"] = of_answers
    elif has_scores_alone:
        values = dict.fromkeys(("metrics", "judges"), choices.uploaded_metrics)
    elif "metrics" in required:
        bound, label_by_expression = bind(place.view.collection, Question())
        # An analysis that varies the gains compares nothing under a metric without gains.
        varies_gains = "settings" in schema["properties"]
        labels = {metric.label for metric in bound if not varies_gains or "gains" in metric.parameters}
        if metrics := [expression for expression, label in label_by_expression.items() if label in labels]:
            values["metrics"] = metrics
    if len(sets) < 2 <= len(of_answers):
        values["judges"] = of_answers
    others = [name for name in sets if name != OFFICIAL]
    return fields_of(schema, {"sets": others, "judges": sets} | values)


def _show_form(
    place: Place, noun: Noun, kind: AnyKind, fields: Sequence[Field], fault: str = "", **judges: Any
) -> Response:
    part = f"{noun}s.html#{kind.name}"
    title, values = f"{kind.title} of {place.title}", {"noun": noun, "kind": kind, "fields": fields, **judges}
    status = 422 if fault else 200
    return page_of(place, "analysis_form.html", title, "Analyses", status=status, help=part, fault=fault, **values)


@router.post("/c/{collection}/analyses/{noun}/{kind}")
def launch(noun: Noun, kind: str, context: JobContextDep, form: FormDep, place: PlaceDep) -> Response:
    """Ask for a job or a report, and show it."""
    place.view.require_free_scores()
    workspace, principal, collection = place.workspace, place.principal, place.name
    chosen = _find_kind(noun, kind)
    fields = _fields(chosen, place)
    filled = read(fields, form)
    # What was left as the form had it is left out: the job is then the same as one that names no defaults.
    changed = {
        field.name: filled[field.name]
        for field in fields
        if field.name in filled and (form.get(field.name) != field.value or field.is_required)
    }
    work: StoredWork
    try:
        params: Any = chosen.params_model.model_validate(changed)
        if noun == "job":
            work = submission.launch(workspace, principal, collection, find_kind(kind), params)
        else:
            work = report_planning.launch(workspace, principal, [collection], find_report_kind(kind), params)
    except ValidationError as error:
        faulty = with_faults(fields, form, error)
        return _show_form(place, noun, chosen, faulty, "Correct the marked fields.")
    except GainboardError as error:
        return _show_form(place, noun, chosen, with_faults(fields, form), error.message)
    context.engine.wake()
    return lead_to(context.request, f"/{noun}s/{work.id}")


@router.get("/jobs/{job}")
def show_job(job: str, visitor: VisitorDep) -> Response:
    """Show a job: its progress, or what it has found."""
    seen = find_work(visitor.workspace, visitor.principal, JOBS, job)
    return _show_job(enter(visitor, seen.collections[0].name), seen.work)


def _show_job(place: Place, work: StoredJob, **values: Any) -> Response:
    result = read_back(place.workspace, work) if work.state == "succeeded" else None
    figures = [FigureOnPage.of(figure) for figure in result.figures()] if result else []
    verdicts, kind = [result.verdict()] if result else [], find_kind(work.kind)
    return _show_work(place, work, work, "job", kind, figures=figures, verdicts=verdicts, params=work.params, **values)


@router.get("/c/{collection}/judges")
def show_judges(place: PlaceDep) -> Response:
    """Show what the newest job found about the judges, a sentence with a picture each; without one, show the judges
    that there are, and its form.
    """
    place.view.require_free_scores()
    kind, read = find_kind("judge-validity"), (place.workspace, place.principal, place.name)
    done = list_jobs(place.workspace, place.principal, JobsWanted(place.name, kind.name, "succeeded"), None, 1)
    if done:
        return _show_job(place, done[0].work, form=f"{place.path}/analyses/job/{kind.name}")
    is_judged, sees = not place.view.collection.has_scores_alone, place.view.sees_judgments
    sets = [of.in_use for of in list_sets(*read) if of.in_use] if is_judged and sees else []
    sets.sort(key=lambda version: version.judgments != OFFICIAL)
    answers = list_judges(*read) if sees else []
    return _show_form(place, "job", kind, _fields(kind, place), sets=sets, answers=answers)


@router.get("/reports/{report}")
def show_report(report: str, visitor: VisitorDep) -> Response:
    """Show a report: its progress, or its tables and figures."""
    seen = find_work(visitor.workspace, visitor.principal, REPORTS, report)
    work = seen.work
    kind = find_report_kind(work.name)
    layout: Mapping[str, Any] = {"figures": (), "left_out": (), "remarks": ()}
    verdicts: Collection[str] = ()
    if work.layout is not None and work.layout.state == "succeeded":
        layout = read_layout(visitor.workspace, work)
        verdicts = dict.fromkeys(read_back(visitor.workspace, job).verdict() for job in work.jobs)
    place = enter(visitor, seen.collections[0].name)
    return _show_work(
        place,
        work,
        work.layout,
        "report",
        kind,
        figures=[FigureOnPage.of_value(figure) for figure in layout["figures"]],
        verdicts=verdicts,
        params=work.params,
        reference=kind.reference,
        left_out=layout["left_out"],
        remarks=layout["remarks"],
    )


def _show_work(
    place: Place, work: StoredWork, maker: StoredJob | None, noun: Noun, kind: AnyKind, **values: Any
) -> Response:
    named = maker.exhibits.get("tables", ()) if maker and maker.exhibits and work.state == "succeeded" else ()
    visitor = place.visitor
    return page_of(
        place,
        "work.html",
        kind.title,
        "Analyses",
        help=f"{noun}s.html#{kind.name}",
        **{"reference": "", "left_out": (), "remarks": (), "form": ""} | values,
        work=work,
        noun=noun,
        tables=[(table, table_on_page(place.workspace, maker, table)) for table in named] if maker else [],
        most_rows=MOST_ROWS,
        draws=DRAWS,
        may_cancel=visitor.is_signed_in and not work.is_over,
        may_verify=visitor.is_signed_in and not (isinstance(work, StoredJob) and not is_verifiable(work)),
    )


def table_on_page(workspace: Workspace, maker: StoredJob, named: Mapping[str, Any]) -> TableOnPage | None:
    """Return the first rows of a stored table; None if it was not stored."""
    file = find_file(workspace, maker, f"tables/{named['name']}.csv")
    if file is None:
        return None
    # The header, and one row more than a page shows: that tells it that there are more.
    header, *rows = islice(rows_of(read_file(workspace, file)), MOST_ROWS + 2)
    if "asl" in header:
        level, drawn = header.index("asl"), header.index("resamples") if "resamples" in header else None
        resamples = None if drawn is None else [int(row[drawn]) for row in rows]
        printed = bounded_levels([float(row[level]) if row[level] else None for row in rows], resamples)
        shown = ["" if asl is None else str(asl) for asl in printed]
        rows = [[*row[:level], asl, *row[level + 1 :]] for row, asl in zip(rows, shown, strict=True)]
    return TableOnPage(named["caption"], header, [[_round(cell) for cell in row] for row in rows])


def rows_of(pieces: Iterator[bytes]) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, which comes in pieces of any length."""
    return csv.reader(_split_lines(iterdecode(pieces, "utf-8")))


def _split_lines(pieces: Iterator[str]) -> Iterator[str]:
    held = ""
    for piece in pieces:
        # `splitlines` would also break lines at characters that names of topics may have.
        *whole, held = (held + piece).split("\n")
        yield from (f"{line}\n" for line in whole)
    if held:
        yield held


def _round(cell: str) -> str:
    """Return a number with four digits; everything else as it is."""
    if "." not in cell and "e" not in cell:
        return cell
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return cell


def _add_changes(work_type: WorkType[Any]) -> None:
    """Add what the pages of jobs and those of reports change: the end of the work, and a second result."""
    noun = work_type.noun
    named: Any = Path(alias=noun)

    @router.post(f"/{noun}s/{{{noun}}}/cancel")
    def cancel(context: JobContextDep, form: FormDep, identity: str = named) -> Response:
        cancel_work(context.workspace, context.principal, work_type, identity)
        context.engine.wake()
        return lead_to(context.request, f"/{noun}s/{identity}")

    @router.post(f"/{noun}s/{{{noun}}}/verify")
    def verify_result(context: JobContextDep, form: FormDep, identity: str = named) -> Response:
        work = find_work(context.workspace, context.principal, work_type, identity).work
        job = verify(context.workspace, context.principal, work)
        context.engine.wake()
        return lead_to(context.request, f"/jobs/{job.id}")


_add_changes(JOBS)
_add_changes(REPORTS)
