"""The composition of a report from what it lays out for each collection: names, averages, and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from gainboard.analyses.report_items import (
    LeftOut,
    Remark,
    ReportFigure,
    ReportItem,
    ReportTable,
    average,
    finished_under_seeds,
    joined,
    slug,
)
from gainboard.analyses.report_kinds import About, JobResults, find_report_kind
from gainboard.analyses.result_models import JobResult
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Figure, figure_as_json, table_as_json
from gainboard.exhibits.tables import value_of
from gainboard.jobs.results import read_back
from gainboard.store.job_records import StoredReport

E = TypeVar("E", Table, Figure)
P = TypeVar("P", ReportTable, ReportFigure)
Chapters = Mapping[str, Sequence[ReportItem]]
"""The laid-out items, by the collection's name."""


@dataclass(frozen=True, slots=True)
class Placed(Generic[E]):
    """A table or figure under its name in the report, of one collection or of all of them (None)."""

    number: str
    collection: str | None
    exhibit: E


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a report. Tables and figures are in the order of the paper, then of the collections."""

    tables: Sequence[Placed[Table]]
    figures: Sequence[Placed[Figure]]
    left_out: Sequence[tuple[str | None, LeftOut]]
    """The exhibits that are left out, each with its collection, or None if it would have been about all of them."""
    remarks: Sequence[tuple[str, Remark]]

    @property
    def cells(self) -> int:
        """The approximate size of the answer: its cells and points."""
        points = sum(len(series.x) for placed in self.figures for series in placed.exhibit.series)
        return points + sum(len(placed.exhibit.rows) * len(placed.exhibit.columns) for placed in self.tables)


def compose(chapters: Chapters, remark: str = "") -> Answer:
    """Return the report's answer. `remark` is added to each caption.

    `tables-3-6a` of collection C becomes `tables-3-6a.C`. The average over several collections has the paper's own
    number for it, or is `average-tables-3-6a`.
    """
    everything = [(name, item) for name, laid in chapters.items() for item in laid]
    tables = list(_tables([(name, item) for name, item in everything if isinstance(item, ReportTable)]))
    drawn = _by_number([(name, item) for name, item in everything if isinstance(item, ReportFigure)])
    figures = [
        Placed(number, name, _named(item.figure, f"{slug(number)}.{name}", f"{number}, {name}"))
        for number, of_each in drawn.items()
        for name, item in of_each.items()
    ]
    return Answer(
        [_captioned(item, remark) for item in tables if isinstance(item, Placed)],
        [_captioned(item, remark) for item in figures],
        [
            *((name, item) for name, item in everything if isinstance(item, LeftOut)),
            *((None, item) for item in tables if isinstance(item, LeftOut)),
        ],
        [(name, item) for name, item in everything if isinstance(item, Remark)],
    )


def _captioned(placed: Placed[E], remark: str) -> Placed[E]:
    return replace(placed, exhibit=replace(placed.exhibit, caption=placed.exhibit.caption + remark))


def _tables(laid: Sequence[tuple[str, ReportTable]]) -> Iterator[Placed[Table] | LeftOut]:
    for number, of_each in _by_number(laid).items():
        first = next(iter(of_each.values()))
        if first.is_joined:
            table = joined([of_collection.table for of_collection in of_each.values()])
            yield Placed(number, None, first.finish(_named(table, slug(first.number), first.number)))
            continue
        for name, of_collection in of_each.items():
            yield Placed(number, name, _named(of_collection.finished(), f"{slug(number)}.{name}", f"{number}, {name}"))
        if len(of_each) > 1 and first.has_average:
            what = first.average or f"{number}, averages"
            tables = ([of_collection.table, *of_collection.by_seed] for of_collection in of_each.values())
            one, *others = (average(under_seed) for under_seed in zip(*tables, strict=True))
            caption = (
                f"{first.table.caption} Unweighted averages over {len(of_each)} collections: {', '.join(of_each)}."
            )
            name = slug(first.average) if first.average else f"average-{slug(number)}"
            mean = finished_under_seeds(first.finish, [_named(replace(one, caption=caption), name, what), *others])
            # Tables that share rows may share no column.
            if any(not isinstance(value_of(cell), str) for row in mean.rows for cell in row):
                yield Placed(first.average or number, None, mean)
            else:
                yield LeftOut(what, f"the tables of {', '.join(of_each)} share no row and column with a number")


def _by_number(laid: Sequence[tuple[str, P]]) -> dict[str, dict[str, P]]:
    """Return the items by number and collection.

    Numbers are in the order of the paper, even if the first collections lack some.
    """
    order: list[str] = []
    places: dict[str, int] = defaultdict(int)
    by_number: dict[str, dict[str, P]] = defaultdict(dict)
    for name, item in laid:
        if item.number not in by_number:
            order.insert(places[name], item.number)
        places[name] = order.index(item.number) + 1
        by_number[item.number][name] = item
    return {number: by_number[number] for number in order}


def _named(exhibit: E, name: str, before: str) -> E:
    return replace(exhibit, name=name, caption=f"{before}. {exhibit.caption}")


def lay_out(workspace: Workspace, report: StoredReport) -> Answer:
    """Return the tables and figures of the report, whose jobs have succeeded."""
    kind = find_report_kind(report.name)
    params = kind.params_model.model_validate(report.params)
    chapters: dict[str, Sequence[ReportItem]] = {}
    for chapter in report.chapters:
        results = {key: read_back(workspace, job) for key, job in chapter.jobs.items()}
        about = About(**chapter.about | {"versions": tuple(chapter.about["versions"])})
        left_out = [LeftOut(**omission) for omission in chapter.left_out]
        laid = kind.lay_out(JobResults(about, results), params)
        chapters[about.collection] = [*left_out, *laid, *_remarks(list(results.values()))]
    return compose(chapters, "" if params.topics == "all" else f" Topics: the group {params.topics}.")


def _remarks(results: Sequence[JobResult]) -> Iterator[Remark]:
    repeating = {near.run: near for result in results for near in result.near_duplicates or ()}
    told: list[str] = []
    for near in repeating.values():
        differing = f"except on {', '.join(near.topics)}" if near.topics else "on all topics"
        ranks = f"at the first {near.first_ranks} ranks " if near.first_ranks else ""
        told.append(f"{near.run} repeats {near.repeats} {ranks}{differing}")
    # Once for the whole report: each of its jobs would say the same.
    if told:
        yield Remark(
            "Runs that repeat another one except on a few topics distort tests and rank correlations: "
            f"{'; '.join(told)}."
        )
    group = next((result.topic_group for result in results if result.topic_group), None)
    if group and group.unjudged:
        counts = f"{len(group.unjudged)} of the {group.topics} topics of the group {group.name}"
        yield Remark(f"{counts} have no judgments, such as {group.unjudged[0]}. They do not count.")


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
        "tables": [_numbered(placed, table_as_json(placed.exhibit)) for placed in answer.tables],
        "figures": [_numbered(placed, figure_as_json(placed.exhibit)) for placed in answer.figures],
        "left_out": [
            {"collection": name, "what": omission.what, "why": omission.why} for name, omission in answer.left_out
        ],
        "remarks": [{"collection": name, "text": remark.text} for name, remark in answer.remarks],
    }


def _numbered(placed: Placed[E], shown: dict[str, Any]) -> dict[str, Any]:
    return {"number": placed.number, "collection": placed.collection, **shown}


def names_of_answer(answer: Answer) -> dict[str, list[dict[str, Any]]]:
    """Return the names, captions and numbers of the tables and figures, in the form of a job's `exhibits`."""
    return {
        "tables": [_name_of(placed) for placed in answer.tables],
        "figures": [_name_of(placed) for placed in answer.figures],
    }


def _name_of(placed: Placed[E]) -> dict[str, Any]:
    return _numbered(placed, {"name": placed.exhibit.name, "caption": placed.exhibit.caption})
