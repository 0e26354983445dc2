"""A report's layout without a server: its jobs worked in this process, one after the other."""

from gainboard.analyses.report_items import LeftOut, Remark, ReportFigure, ReportTable
from gainboard.analyses.report_kinds import About, JobResults, find_report_kind
from gainboard.errors import InvalidRequest
from gainboard.jobs.report_planning import params_of
from gainboard.store import qrels, runs


def about(laboratory):
    """The facts about the laboratory's collection, as the plan of a report is given them."""
    collection = laboratory.collection()
    with laboratory.workspace.database.reading() as tx:
        stored = runs.page(tx, collection.id)
        newest = qrels.find(tx, collection.id)
    return About(
        collection=collection.name,
        highest_level=collection.highest_level,
        depth=collection.depth,
        qrels_version=newest.version,
        versions=tuple(range(1, newest.version + 1)),
        topics=newest.topics,
        runs=len(stored),
        teams=len({run.team_id for run in stored}),
        intents=collection.intents,
    )


def found(laboratory, name, **params):
    """The results of a report's jobs, and what was left out already when they were planned."""
    report = find_report_kind(name)
    asked = report.params_model.model_validate(params)
    facts, results, left_out = about(laboratory), {}, []
    for each in report.plan(facts, asked):
        if isinstance(each, LeftOut):
            left_out.append(each)
            continue
        try:
            params = params_of(each, facts.collection, asked).model_dump(exclude_unset=True)
            results[each.key] = laboratory.read(each.kind, **params)
        except InvalidRequest as error:
            left_out.append(LeftOut(each.shows, error.message))
    return JobResults(facts, results), left_out


def laid(laboratory, name, **params):
    """What the report lays out for the laboratory's collection, with what was left out before first."""
    results, left_out = found(laboratory, name, **params)
    report = find_report_kind(name)
    return [*left_out, *report.lay_out(results, report.params_model.model_validate(params))]


def tables(among):
    return {each.number: each.finished() for each in among if isinstance(each, ReportTable)}


def figures(among):
    return {each.number: each.figure for each in among if isinstance(each, ReportFigure)}


def left_out(among):
    return {each.what: each.why for each in among if isinstance(each, LeftOut)}


def remarks(among):
    return [each.text for each in among if isinstance(each, Remark)]


def numbers(node):
    if isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from numbers(each)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield float(node)
