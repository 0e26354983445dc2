"""Requests for reports: the jobs that a report needs, and whether it exists already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.params import Params
from gainboard.analyses.report_items import LeftOut
from gainboard.analyses.report_kinds import About, Needed, ReportKind, ReportParams
from gainboard.errors import BadExpression, BadGains, InvalidRequest
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, open_collection
from gainboard.evaluation.judgments.topic_groups import topics_of
from gainboard.evaluation.judgments.versions import select
from gainboard.evaluation.scoring.binding import refuse_custom
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.derived_files import enqueue_derived_files
from gainboard.jobs.submission import JobSpec, enqueue, of_type, plan_chunks, require_own, require_room, specify
from gainboard.store import qrels, reports, runs
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredReport
from gainboard.store.records import Token, VersionName
from gainboard.store.reports import NewChapter
from gainboard.vocabulary import OFFICIAL

MOST_COLLECTIONS = 20
LAYOUT_VERSION = 2
"""Increase this number whenever a plan changes: then reports made of other jobs are no longer used."""


@dataclass
class ReportPlan:
    """A report for one collection: what each possible job is, and why the others are impossible."""

    view: View
    about: About
    specs: dict[str, JobSpec] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    shows: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, list[int]] = field(default_factory=dict)


def admit(workspace: Workspace, principal: Principal, names: Sequence[str]) -> None:
    """Raise what the principal should get who may not ask for a report about one of the collections."""
    with workspace.database.reading() as tx:
        for name in names:
            open_collection(tx, principal, name).require_free_scores()


def launch(
    workspace: Workspace, principal: Principal, names: Sequence[str], kind: ReportKind[Any], params: ReportParams
) -> StoredReport:
    """Return the report for this request: a new one, or that of an equal request on the same data.

    Raise InvalidRequest with the reasons if none of its tables and figures is possible.
    """
    if len(set(names)) < len(names):
        raise InvalidRequest.at(
            "body.collections", "repeated", "A collection is named twice. Name each collection once."
        )
    for field_name in type(params).model_fields:
        value = getattr(params, field_name)
        # dictionaries in a report's parameters have collections as keys, and nothing else
        if isinstance(value, dict) and (strange := sorted(set(value) - set(names))):
            message = f"{strange[0]!r} is not one of the report's collections: {', '.join(names)}."
            raise InvalidRequest.at(f"body.params.{field_name}.{strange[0]}", "unknown-collection", message)
    token = principal.require_token()
    why = "Reports vary the parameters of metrics, as the papers do: ask for jobs."
    refuse_custom(params.model_dump(mode="json"), "body.params", why)
    with workspace.database.reading() as tx:
        views = [open_collection(tx, principal, name) for name in names]
        plans = [planned(workspace, tx, view, kind, params) for view in views]
    # As for single jobs, sizing may read all runs, so it happens between the two transactions.
    for plan in plans:
        for key, spec in list(plan.specs.items()):
            try:
                plan.sizes[key] = plan_chunks(spec)
            except InvalidRequest as error:  # too few runs, too few topics, or too costly
                del plan.specs[key]
                plan.left_out.append(LeftOut(plan.shows[key], error.message))
    if not any(plan.specs for plan in plans):
        faults = [
            {
                "location": f"body.collections.{number}",
                "code": "nothing-to-show",
                "message": f"{plan.about.collection}, {omission.what}: {omission.why}",
            }
            for number, plan in enumerate(plans)
            for omission in plan.left_out
        ]
        raise InvalidRequest(
            "None of the report's tables and figures is available for these collections. `errors` says why for each "
            "of them.",
            errors=faults,
        )
    return _store(workspace, principal, token, kind, params, plans)


def planned(
    workspace: Workspace, tx: Transaction, view: View, kind: ReportKind[Any], params: ReportParams
) -> ReportPlan:
    view.require_free_scores()
    view.require_judged("reports need them")
    plan = ReportPlan(view, _about(workspace, tx, view, params))
    for item in kind.plan(plan.about, params):
        if isinstance(item, LeftOut):
            plan.left_out.append(item)
            continue
        plan.shows[item.key] = item.shows
        sent = params_of(item, view.collection.name, params)
        try:
            plan.specs[item.key] = specify(workspace, tx, view, find_kind(item.kind), sent)
        # A report shows what is possible for its collection, and says why the rest is missing.
        except InvalidRequest as error:
            plan.left_out.append(LeftOut(item.shows, error.message))
        except (BadExpression, BadGains) as error:
            # the error's location is in a parameter of the job, but the client sent a parameter of the report
            raise InvalidRequest.at("body.params", error.slug, f"{item.shows}: {error.message}") from error
    return plan


def _about(workspace: Workspace, tx: Transaction, view: View, params: ReportParams) -> About:
    collection = view.collection
    named = VersionName(params.judgments.get(collection.name, OFFICIAL), params.qrels.get(collection.name))
    version = select(tx, view, named)
    published = qrels.page(tx, collection.id, named.judgments, drafts=False, after=None, limit=10_000)
    group = None if params.topics == "all" else params.topics
    chosen, _ = topics_of(workspace, tx, view, version, group, "body.params.topics")
    stored = of_type(runs.page(tx, collection.id, team_id=view.only_team), params.type)
    return About(
        collection=collection.name,
        highest_level=collection.highest_level,
        depth=collection.depth,
        qrels_version=version.version,
        versions=tuple(version.version for version in published),
        topics=len(chosen.judged.topics) if chosen else version.topics,
        runs=len(stored),
        teams=len({run.team_id for run in stored}),
        judgment_set=version.judgments,
        intents=collection.intents,
    )


def params_of(needed: Needed, collection: str, params: ReportParams) -> Params:
    """Return the parameters of a job, with the report's own where the plan gives none."""
    model: Any = find_kind(needed.kind).params_model
    version = params.qrels.get(collection)
    of_report = {name: getattr(params, name) for name in ("seed", "drop_identical", "type", "topics")}
    of_report |= {"judgments": params.judgments.get(collection, OFFICIAL)}
    of_report |= {"qrels": version, "condensed": params.condensed or None}
    shared = {name: value for name, value in of_report.items() if name in model.model_fields}
    completed: Params = model.model_validate({**shared, **needed.params})
    return completed


def _store(
    workspace: Workspace,
    principal: Principal,
    token: Token,
    kind: ReportKind[Any],
    params: ReportParams,
    plans: Sequence[ReportPlan],
) -> StoredReport:
    report_id = identity(kind, params, plans)
    with workspace.database.reading() as tx:
        if (stored := reports.find(tx, report_id)) and stored.state in ("queued", "running", "succeeded"):
            return require_own(stored, [plan.view.collection for plan in plans])
    with workspace.database.writing() as tx:
        require_room(tx, token, [spec for plan in plans for spec in plan.specs.values()])
        specs = {spec.id: (spec, plan.sizes[key]) for plan in plans for key, spec in plan.specs.items()}
        # All reports queue their jobs in the same order. Otherwise two reports that share jobs could each hold one that
        # the other waits for.
        queued = {job_id: enqueue(workspace, tx, token, *specs[job_id]) for job_id in sorted(specs)}
        chapters = [
            NewChapter(
                plan.view.collection.id,
                asdict(plan.about),
                [asdict(left_out) for left_out in plan.left_out],
                {key: queued[spec.id] for key, spec in plan.specs.items()},
            )
            for plan in plans
        ]
        values = {"id": report_id, "name": kind.name, "params": shown(params), "token_id": token.id}
        report, is_begun = reports.add(tx, workspace.now(), chapters, **values)
        # If all jobs have succeeded already, no worker will queue the layout, so it is queued here.
        if all(job.state == "succeeded" for job in report.jobs):
            enqueue_derived_files(tx, workspace.now(), "layout", report)
            report = reports.among(tx, [report_id])[report_id]
        if is_begun:
            for plan in plans:
                audit.record(tx, principal, "report-launched", report_id, plan.view.collection, name=kind.name)
    return report


def shown(params: ReportParams) -> Mapping[str, Any]:
    """Return the parameters that identify a report.

    Judgment sets and versions of qrels are part of the facts about its collections instead. Without chosen topics, the
    report is that of a request from before there were groups.
    """
    # A report that names today's versions is that of one that takes the newest.
    return params.model_dump(
        mode="json", exclude={"judgments", "qrels", *(("topics",) if params.topics == "all" else ())}
    )


def identity(kind: ReportKind[Any], params: ReportParams, plans: Sequence[ReportPlan]) -> str:
    """Return a report's id: SHA-256 of its plan's version, its name and parameters, and its jobs."""
    chapters = list(map(list, map(_identify, plans)))
    facts = [LAYOUT_VERSION, kind.name, shown(params), chapters]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _identify(plan: ReportPlan) -> Iterator[Any]:
    yield plan.view.collection.uuid
    # Reports from before there were intents stay the same, and the collection determines whether it has any.
    yield {name: value for name, value in asdict(plan.about).items() if name != "intents"}
    yield [asdict(omission) for omission in plan.left_out]
    yield {key: spec.id for key, spec in plan.specs.items()}
