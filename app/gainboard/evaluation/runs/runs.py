"""Runs: submitted, listed, returned and withdrawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial

from gainboard.errors import Forbidden, NotFound, TeamRequired, WithdrawalAfterRelease
from gainboard.evaluation import audit
from gainboard.evaluation.access import score_budget, teams, visibility
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.judgments.versions import index_of, judged_topics
from gainboard.evaluation.releases.releases import require_not_held
from gainboard.evaluation.runs import run_files, upload_quota
from gainboard.evaluation.runs.intake import Body, Intake
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug, name_from_tag, said_of_replicate
from gainboard.store import blobs, collections, qrels, releases, runs
from gainboard.store.arrays import pack_names, unpack_names
from gainboard.store.blobs import Content
from gainboard.store.database import Transaction, machine_of
from gainboard.store.records import Judging, Qrels, Run, Warnings
from gainboard.trec import FileWarning, RunReader
from gainboard.vocabulary import LateShown, RunOrder

TOPICS_OF_ANY_RUN = 10_000
"""Topics that a run may have in any collection, unless the server's limit is lower."""
TOPICS_FOR_EACH_DECLARED = 20


@dataclass(frozen=True)
class RunDetails:
    """The details of a run file. All are optional, except the team if an organiser uploads."""

    team: str | None = None
    name: str | None = None
    description: str | None = None
    type: str | None = None
    pooled: bool = True
    priority: int | None = None
    system: str | None = None
    replicate: str | None = None
    family: str | None = None


@dataclass(frozen=True)
class SeenRun:
    """A run as one principal sees it. `judging` is None if judgments are hidden or there are none.

    `late` says that it came after the release.
    """

    run: Run
    judging: Judging | None
    warnings: Warnings
    late: bool
    created: bool = False


def admit(
    workspace: Workspace, principal: Principal, name: str, team: str | None, *, team_may_follow: bool = False
) -> visibility.View:
    """Return the view of an uploader. Raise the errors that `submit` would raise before it reads the file."""
    with workspace.database.reading() as tx:
        view = visibility.open_collection(tx, principal, name)
        visibility.require_participation(view)
        if team is not None or not team_may_follow:
            _team(view, team)
        if not view.organises:
            upload_quota.require_window(view, workspace.now(), is_file=False)
    return view


def submit(workspace: Workspace, principal: Principal, name: str, body: Body, details: RunDetails) -> SeenRun:
    """Read, check, judge and store a run, whole or not at all.

    Raise FaultyFile with every fault, and RunExists if the name belongs to a run with other content. If the team has
    sent the same content before, return that run. The file has arrived completely before this call: now is its time of
    arrival.
    """
    arrived = workspace.now()
    with workspace.database.reading() as tx:
        view = visibility.open_collection(tx, principal, name)
        team = _team(view, details.team)
        newest = qrels.find(tx, view.collection.id)
    with Intake(body, workspace.limits) as intake:
        while True:
            # Outside of the write transaction, because reading and judging a large file would block all other writers.
            upload = _Upload.read(workspace, view, intake, newest)
            with intake.prepared(workspace.database) as content, workspace.database.writing() as tx:
                locked = visibility.open_locked(tx, principal, name)
                visibility.require_unchanged(view.collection, locked.collection)
                stored = _store(workspace, tx, locked, upload, content, team, details, arrived)
                if stored is not None:
                    return stored
                # Other qrels or another order came while the file was read, so the run is judged again by these.
                view, newest = locked, qrels.find(tx, locked.collection.id)


@dataclass(frozen=True)
class CheckedRun:
    """A file as the run that it would be: name, tag, counts after truncation, warnings; nothing about judgments."""

    name: str
    tag: str
    topics: int
    retrieved: int
    warnings: Warnings


def check(workspace: Workspace, principal: Principal, name: str, body: Body, details: RunDetails) -> CheckedRun:
    """Read a run file as `submit` does, and store nothing. Raise FaultyFile with every fault.

    Raise also what `submit` raises for the run's name: a file of another team looks like any other. Times and quotas do
    not count, because a file may be checked before the submissions open.
    """
    with workspace.database.reading() as tx:
        view = visibility.open_collection(tx, principal, name)
        visibility.require_participation(view)
        # An organiser may check a file before it is known whose run it will be.
        team = None if view.organises and details.team is None else _team(view, details.team)
        # A check stores nothing and costs nothing, so nothing about hidden judgments may come out of it.
        newest = qrels.find(tx, view.collection.id) if view.sees_judgments else None
    with Intake(body, workspace.limits) as intake:
        upload = _Upload.read(workspace, view, intake, newest)
        upload.refuse_foreign(view)
        name_of_run = details.name or name_from_tag(upload.file.tag)
        with workspace.database.reading() as tx:
            same = runs.find_same(tx, view.collection.id, team, upload.intake.sha256) if team is not None else None
            if same is None and runs.find(tx, view.collection.id, name_of_run) is not None:
                raise runs.taken(name_of_run)
    file, declared = upload.file, view.collection.topics or []
    coverage = run_files.coverage_needed(view.policy, view.collection.is_released(workspace.now()))
    warnings = run_files.declared_topic_warnings(file.topics, declared, coverage)
    if upload.index is not None and not declared:
        warnings = run_files.judged_run_warnings(file, upload.index)
    shown = [warning.as_json() for warning in [*file.warnings, *warnings]]
    return CheckedRun(same.name if same else name_of_run, file.tag, len(file.topics), file.retrieved, shown)


@dataclass(frozen=True)
class _Upload:
    intake: Intake
    file: run_files.RunFile
    order: RunOrder
    newest: Qrels | None
    index: QrelsIndex | None

    @classmethod
    def read(cls, workspace: Workspace, view: visibility.View, intake: Intake, newest: Qrels | None) -> _Upload:
        collection = view.collection
        # Each topic costs time and memory even if it has one line, and topics that nobody declared cost no more.
        most = max(TOPICS_OF_ANY_RUN, TOPICS_FOR_EACH_DECLARED * len(collection.topics or ()))
        limits = replace(workspace.limits, topics=min(workspace.limits.topics, most))
        index = index_of(workspace, collection, newest) if newest else None
        read = partial(
            run_files.read_run_file, order=collection.order, depth=collection.depth, limits=limits, index=index
        )
        file = intake.read(read)
        return cls(intake, file, collection.order, newest, index)

    def warned(self, shown: SeenRun) -> SeenRun:
        """Return the run, with a warning if it retrieves no judged document and its principal may know that."""
        if self.index is None or not _misses_all(shown.judging):
            return shown
        return _with_warning(shown, run_files.no_common_documents(self.file.example, self.index))

    def refuse_foreign(self, view: visibility.View) -> None:
        """Raise FaultyFile if topics are declared and the run has none of them; the same for judged topics.

        Judged topics count only if the judgments are not hidden.
        """
        name, declared = view.collection.name, set(view.collection.topics or ())
        if declared.isdisjoint(self.file.topics) and declared:
            raise run_files.no_declared_topics(self.file.topics[0], name, declared)
        # While judgments are hidden, an error about the judged topics would reveal which these are.
        judged = self.index.rows if self.index is not None and view.sees_judgments else {}
        if judged and not any(topic in judged for topic in self.file.topics):
            raise run_files.no_common_topics("run", self.file.topics[0], name, judged)


def _store(
    workspace: Workspace,
    tx: Transaction,
    view: visibility.View,
    upload: _Upload,
    content: Content,
    team: str,
    details: RunDetails,
    arrived: datetime,
) -> SeenRun | None:
    """Return the stored run; None if the collection's qrels or order have changed since the run was judged."""
    collection = view.collection
    # A repeated file is answered before window and quotas are checked: it stores nothing, so it may come at any time.
    newest = qrels.find(tx, collection.id)
    if same := runs.find_same(tx, collection.id, team, upload.intake.sha256, details.replicate):
        return _already(upload.warned(describe(workspace, tx, view, same, newest)), details)
    if not view.organises:
        upload_quota.require_window(view, arrived)
        upload_quota.require_room(tx, view, arrived, upload.intake.size)
    upload.refuse_foreign(view)
    if not view.organises:
        score_budget.require_budget(tx, view, upload.file.topics)
    if (newest and newest.id) != (upload.newest and upload.newest.id) or collection.order != upload.order:
        return None
    name = details.name or name_from_tag(upload.file.tag)
    for system in {name, details.system or name}:  # a run without a system is one that is named like it
        if runs.is_of_another_team(tx, collection.id, system, team):
            raise runs.taken(system)
    blobs.put(tx, content)
    now = workspace.now()
    run = runs.add(
        tx,
        collection_id=collection.id,
        team_id=teams.ensure(tx, view, team, now).id,
        name=name,
        # The time of its arrival decides whether the run is late, whatever happens while it is read.
        created_at=arrived,
        tag=upload.file.tag,
        description=details.description,
        type=details.type,
        pooled=details.pooled,
        priority=details.priority,
        system=details.system,
        replicate=details.replicate,
        family=details.family,
        sha256=upload.intake.sha256,
        topics=pack_names(upload.file.topics),
        topic_count=len(upload.file.topics),
        retrieved=upload.file.retrieved,
        warnings=[warning.as_json() for warning in upload.file.warnings],
    )
    if upload.file.joined and newest:
        runs.add_judged(tx, [upload.file.joined.row() | {"run_id": run.id, "qrels_id": newest.id}])
    collections.touch(tx, collection.id)
    receipt = {"of_team": team, "sha256": run.sha256, "bytes": upload.intake.size, "received_at": arrived}
    audit.record(tx, view.principal, "run-uploaded", name, collection, **receipt)
    return upload.warned(describe(workspace, tx, view, run, newest, created=True))


def _already(same: SeenRun, details: RunDetails) -> SeenRun:
    """Return the run that the same file created earlier, with a warning if this request asked for something else."""
    run = same.run
    kept = RunDetails(**{field.name: getattr(run, field.name) for field in fields(RunDetails)})
    wanted = replace(details, team=run.team, name=details.name or run.name)
    if wanted == kept:
        return same
    message = (
        f"The team has already sent this file, as the run {run.name!r}. That run is unchanged, and nothing new was "
        "stored"
    )
    return replace(same, warnings=[*same.warnings, FileWarning("already-stored", message).as_json()])


def _team(view: visibility.View, named: str | None) -> str:
    visibility.require_participation(view)
    team = view.principal.token.team if view.principal.token and not view.organises else None
    if team is not None:
        if named not in (None, team):
            raise NotFound(f"There is no team {named!r} here. Leave `team` out to upload for your own team.")
        return team
    if named is None:
        raise TeamRequired("An organiser must name the team of a run: `?team=NAME`. A new name creates the team.")
    return named


def describe(
    workspace: Workspace,
    tx: Transaction,
    view: visibility.View,
    run: Run,
    newest: Qrels | None,
    *,
    created: bool = False,
) -> SeenRun:
    """Return the run with what its principal may know about it, and about its join with the newest judgments."""
    judging = runs.find_judgings(tx, [run.id], newest.id).get(run.id) if newest and view.sees_judgments else None
    topics = unpack_names(dict(runs.list_topics(tx, [run.id]))[run.id])
    if newest is not None and judging is not None:
        missing = run_files.list_missing(topics, judged_topics(workspace, tx, newest).topics)
        warnings = run_files.topic_warnings(judging.topics_unknown, judging.topics_missing, "qrels", missing)
    elif view.collection.topics:
        coverage = run_files.coverage_needed(view.policy, view.collection.is_released(machine_of(tx).now()))
        warnings = run_files.declared_topic_warnings(topics, view.collection.topics, coverage)
    else:
        would_see_scores = view.sees_scores and not view.sees_free_scores
        warnings = [visibility.unscorable(view.collection)] if would_see_scores else []
    if run.system:
        warnings = [replace(warning, message=said_of_replicate(warning.message)) for warning in warnings]
    shown = [*run.warnings, *(warning.as_json() for warning in warnings)]
    return SeenRun(run, judging, shown, view.collection.is_late(run), created)


def _misses_all(judging: Judging | None) -> bool:
    """Return whether no judged document is retrieved for any judged topic. Hidden judgments tell nothing."""
    return judging is not None and 0 < judging.retrieved == judging.unjudged


def _with_warning(shown: SeenRun, warning: FileWarning) -> SeenRun:
    return replace(shown, warnings=[*shown.warnings, warning.as_json()])


def list_runs(
    workspace: Workspace, principal: Principal, name: str, after: str | None, limit: int, late: LateShown = "include"
) -> Sequence[SeenRun]:
    """List the runs of a collection that exist for this principal, by name, without their topic warnings."""
    with workspace.database.reading() as tx:
        view = visibility.open_collection(tx, principal, name)
        here, before = view.collection, view.collection.late_from if late == "exclude" else None
        stored = runs.page(tx, here.id, team_id=view.only_team, after=after, before=before, limit=limit)
        newest = qrels.find(tx, view.collection.id) if view.sees_judgments else None
        judgings = runs.find_judgings(tx, [run.id for run in stored], newest.id) if newest else {}
        # No topic warnings: for these, the topics of all runs would be read, which may be 100,000 names each.
        return [SeenRun(run, judgings.get(run.id), run.warnings, here.is_late(run)) for run in stored]


def find(tx: Transaction, view: visibility.View, name: str) -> Run:
    """Return the run with this name. Raise NotFound both if it is absent and if the principal may not see it."""
    # Databases differ in what they say of a text that no name can be, such as one with a NUL, so none is asked.
    run = runs.find(tx, view.collection.id, name) if is_slug(name) else None
    if run is None or not view.sees_run(run):
        raise NotFound(f"There is no run {name!r} in {view.collection.name!r}, or this token may not see it.")
    return run


def find_run(
    workspace: Workspace, principal: Principal, name: str, run_name: str, *, for_file: bool = False
) -> SeenRun:
    """Return one run. `for_file` restricts it to principals who may read its file."""
    with workspace.database.reading() as tx:
        view = visibility.open_collection(tx, principal, name)
        run = find(tx, view, run_name)
        if for_file:
            view.require_file(run)
        newest = qrels.find(tx, run.collection_id)
        shown = describe(workspace, tx, view, run, newest)
    if newest is None or not _misses_all(shown.judging):
        return shown
    its_document = RunReader(read_file(workspace, run), limits=workspace.limits).first_document()
    return _with_warning(
        shown, run_files.no_common_documents(its_document, index_of(workspace, view.collection, newest))
    )


def read_file(workspace: Workspace, run: Run) -> Iterator[bytes]:
    """Yield a run's file as it was uploaded, decompressed."""
    return blobs.get(workspace.database, run.sha256)


def may_withdraw(view: visibility.View, now: datetime) -> bool:
    """Return whether the principal may withdraw runs of its own now: teams may until the release."""
    release = view.collection.release
    return view.organises or release is None or release > now


def find_own(tx: Transaction, principal: Principal, name: str, run_name: str, verb: str) -> tuple[visibility.View, Run]:
    """Return a run that is to be changed. Raise Forbidden unless its team or an organiser asks."""
    view = visibility.open_locked(tx, principal, name)
    run = find(tx, view, run_name)
    visibility.require_participation(view)
    if not view.organises and run.team_id != view.own_team:
        raise Forbidden(f"The run {run_name!r} belongs to another team. Only that team and organisers may {verb} it.")
    return view, run


def change(
    workspace: Workspace, principal: Principal, name: str, run_name: str, changes: Mapping[str, int | str | None]
) -> SeenRun:
    """Set the priority or the family of a run. Its team may do so until the release, and organisers at any time."""
    with workspace.database.writing() as tx:
        view, run = find_own(tx, principal, name, run_name, "change")
        if not may_withdraw(view, workspace.now()):
            raise Forbidden(f"The judgments of {name!r} were released. Ask the organisers to change {run_name!r}.")
        changed = replace(run, **changes)  # type: ignore[arg-type]  # of the fields that a request may name
        if changed != run:
            runs.change(tx, run.id, changes)
            collections.touch(tx, view.collection.id)
            audit.record(tx, principal, "run-changed", run_name, view.collection, of_team=run.team, **changes)
        return describe(workspace, tx, view, changed, qrels.find(tx, view.collection.id))


def withdraw(workspace: Workspace, principal: Principal, name: str, run_name: str) -> None:
    """Withdraw a run. Its team and organisers may do so."""
    with workspace.database.writing() as tx:
        view, run = find_own(tx, principal, name, run_name, "withdraw")
        now, release = workspace.now(), view.collection.release
        if release is not None and not may_withdraw(view, now):
            raise WithdrawalAfterRelease(
                f"The judgments of {name!r} were released at {upload_quota.to_the_second(release)}. Results stay "
                f"complete after the release, so teams can withdraw no runs. Ask the organisers to withdraw "
                f"{run_name!r}.",
                released_at=release.isoformat(),
            )
        holding = releases.holding_run(tx, run.id)
        held = require_not_held(principal, view.collection, f"The run {run.name!r}", holding)
        runs.withdraw(tx, run.id, now)
        collections.touch(tx, view.collection.id)
        details = {"of_team": run.team, "sha256": run.sha256, **held}
        audit.record(tx, principal, "run-withdrawn", run_name, view.collection, **details)
