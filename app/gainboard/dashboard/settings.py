"""`/c/{collection}/settings`: for organisers: phase and release, dates and policy, tokens, teams, and the audit log."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from gainboard.api.audit import LINES
from gainboard.api.collections import show, values_of
from gainboard.api.dependencies import CollectionName
from gainboard.api.models.admin import NewToken
from gainboard.api.models.collections import ChangeableSettings
from gainboard.api.models.releases import NewRelease
from gainboard.api.tokens import TokenId
from gainboard.dashboard.rendering import PageLook, in_words, lead_to, page, page_of, pages
from gainboard.dashboard.schema_forms import Field, fields_of, in_words_of_form, read, told_by, with_faults
from gainboard.dashboard.sessions import (
    Form,
    FormDep,
    Place,
    PlaceDep,
    VisitorDep,
    enter,
    forget_once,
    show_once,
    shown_once,
)
from gainboard.errors import GainboardError, HeldByRelease, InvalidRequest, SettingsChanged
from gainboard.evaluation import audit, collections
from gainboard.evaluation.access import tokens
from gainboard.evaluation.access.disclosure import list_presets
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.score_budget import why_unscored
from gainboard.evaluation.access.teams import list_teams
from gainboard.evaluation.access.tokens import Wish
from gainboard.evaluation.access.visibility import look
from gainboard.evaluation.collection_settings import OF_JUDGED, Policy
from gainboard.evaluation.collections import Described
from gainboard.evaluation.judgments.qrels import list_versions
from gainboard.evaluation.releases.releases import list_releases
from gainboard.evaluation.scoring.requests import official_metrics
from gainboard.jobs.freezing import Wanted, freeze
from gainboard.notation.texts import counted, listed
from gainboard.notation.types import BOOLEAN
from gainboard.store.audit import AuditWanted
from gainboard.vocabulary import OFFICIAL, Phase

router = pages()
MOST = 500
ENTRIES = 50
GROUPS = {
    "basics": ("title", "sample_of", "public", "gains", "metrics"),
    "dates": ("policy.opens_at", "policy.closes_at", "policy.releases_at", "policy.late"),
    "shown": (
        *("policy.scores", "policy.presets", "policy.parameters"),
        *("policy.decimals", "policy.coverage", "policy.answers"),
    ),
    "quotas": (*("policy.quotas.per_day", "policy.quotas.total", "policy.quotas.concurrent", "policy.quotas.bytes"),),
}
"""The fields of the form by their group. One that has no place here comes last."""
WORDS = {
    "public": {"true": "yes", "false": "no"},
    "policy.scores": {
        "none": "No scores",
        "own-mean": "Means of their own runs",
        "all": "Scores of all runs",
        "own-per-topic": "Scores of their own runs, also of single topics",
    },
    "policy.parameters": {"preset": "those of these metrics", "free": "any"},
    "policy.late": {"closed": "refused", "marked": "accepted, and marked as late", "open": "accepted like all others"},
}
"""The words that people read in place of the API's values."""
OF_COLLECTION = ("title", "gains", "metrics", "sample_of", "public")
"""The settings of the collection itself that can be changed at any time."""


@router.get("/c/{collection}/settings")
def show_settings(place: PlaceDep, saved: Annotated[bool, BOOLEAN] = False) -> Response:
    """Show all settings, with forms to change them."""
    place.view.require_organiser()
    return _show_page(place, is_saved=saved)


def _fields(place: Place, described: Described) -> list[Field]:
    now = show(place.request, described).model_dump(mode="json")
    schema = ChangeableSettings.model_json_schema()
    lacking = OF_JUDGED if place.view.collection.has_scores_alone else ()
    properties = {name: schema["properties"][name] for name in OF_COLLECTION if name not in lacking}
    fields = [
        *fields_of({"properties": properties, "$defs": schema["$defs"]}, now),
        *fields_of({"properties": {"policy": Policy.model_json_schema()}, "$defs": schema["$defs"]}, now),
    ]
    return [
        replace(field, help=in_words_of_form(field.help, fields), words=WORDS.get(field.name, {})) for field in fields
    ]


def _show_page(
    place: Place,
    *,
    fields: Sequence[Field] | None = None,
    seen: str = "",
    token_fields: Sequence[Field] | None = None,
    release_fields: Sequence[Field] | None = None,
    fault: str = "",
    is_saved: bool = False,
    status: int = 200,
) -> Response:
    workspace, principal, name = place.workspace, place.principal, place.name
    described = collections.find_collection(workspace, principal, name)
    shown = fields or _fields(place, described)
    every_token = tokens.list_tokens(workspace, principal, name, None, MOST)
    # The release has a form of its own, which asks twice.
    by_name = {field.name: field for field in shown if field.name != "policy.phase"}
    # A collection of scores has fewer of them.
    groups = {part: {name: by_name.pop(name) for name in names if name in by_name} for part, names in GROUPS.items()}
    groups |= {"more": by_name}
    collection = place.view.collection
    times = (collection.opens_at or collection.created_at, collection.closes_at, collection.release)
    steps = [
        (title, time, "past" if time and time <= place.now else "")
        for title, time in zip(("Runs open", "Runs close", "Judgments are released"), times, strict=True)
    ]
    steps.insert(sum(state == "past" for _, _, state in steps), ("Now", place.now, "now"))
    answer = page_of(
        place,
        "settings.html",
        f"Settings of {place.title}",
        "Settings",
        status=status,
        groups=groups,
        steps=steps,
        still_open=_list_open(place),
        preview=_describe_view(place, Policy.of(collection)),
        changes=(),
        seen=seen or json.dumps({field.name: field.value for field in shown}),
        has_official_metric=bool(official_metrics(place.view.collection)),
        token_fields=token_fields or _token_fields(),
        is_making_token=token_fields is not None,
        release_fields=release_fields or _release_fields(),
        is_freezing=release_fields is not None,
        releases=list_releases(workspace, principal, name)[1],
        is_saved=is_saved,
        warnings=described.warnings,
        fault=fault,
        secret=shown_once(place.request),
        tokens=every_token,
        holders={token.id: token.holder for token in every_token if token.holder},
        entries=[*audit.export_entries(workspace, principal, name, AuditWanted()).entries][: -ENTRIES - 1 : -1],
    )
    forget_once(place.request, answer)
    return answer


@router.post("/c/{collection}/settings")
def change_settings(form: FormDep, place: PlaceDep) -> Response:
    """Change the settings that differ from those that the page showed, all or none of them."""
    place.view.require_organiser()
    workspace, principal = place.workspace, place.principal
    fields = _fields(place, collections.find_collection(workspace, principal, place.name))
    editable = [field for field in fields if field.name != "policy.phase"]
    before = Form(tuple(_read_seen(form.get("seen")).items()))
    errors: list[ValidationError | GainboardError] = []
    refused: set[str] = set()
    while len(errors) <= len(refused):
        # Whatever was refused is tried again as it was, so that the faults of all fields are found at once.
        tried = Form(tuple((name, before.get(name) if name in refused else text) for name, text in form.pairs))
        try:
            # What the page showed is read as what is sent: the same time or list written otherwise is no change.
            sent, seen = (
                values_of(ChangeableSettings.model_validate(read(editable, filled, is_change=True)))
                for filled in (tried, before)
            )
            if errors:
                collections.check(asdict(place.view.collection) | sent)
                break
            collections.change(workspace, principal, place.name, sent, seen)
            return _lead_back(place.request, place.name, "?saved=true")
        except SettingsChanged as error:
            now = json.dumps({field.name: field.value for field in fields})
            conflicts = {conflict["setting"] for conflict in error.details["conflicts"]}
            merged = _merge(fields, form, before, conflicts)
            fault = "Nothing was changed: somebody else changed the marked settings meanwhile. Save to override them."
            return _show_page(place, fields=merged, seen=now, fault=fault, status=409)
        except (ValidationError, GainboardError) as error:
            errors.append(error)
            refused |= {field.name for field in with_faults(fields, tried, error) if field.fault}
    faulty = with_faults(fields, form, *errors)
    fault = f"Nothing was changed. {told_by(*errors, fields=faulty)}"
    return _show_page(place, fields=faulty, seen=form.get("seen"), fault=fault, status=422)


@router.post("/c/{collection}/settings/changes")
def preview_changes(form: FormDep, place: PlaceDep) -> Response:
    """Show what saving the form would change, and what a team would see. Nothing is changed."""
    place.view.require_organiser()
    fields = with_faults(
        _fields(place, collections.find_collection(place.workspace, place.principal, place.name)), form
    )
    before = Form(tuple(_read_seen(form.get("seen")).items()))
    changes = [
        (field.title, field.in_words(before.get(field.name)), field.in_words(field.value))
        for field in fields
        if field.name != "policy.phase" and read([field], before) != read([field], form)
    ]
    policy = None
    with suppress(ValidationError):
        policy = Policy.model_validate(read(fields, form, is_change=True)["policy"] | {"phase": "hidden"})
    seen = _describe_view(place, policy)
    return page(place.visitor, "settings_changes.html", PageLook("Changes", place), changes=changes, preview=seen)


def _describe_view(place: Place, policy: Policy | None) -> str:
    """Return what a team sees under a policy, while the judgments are hidden, as `visibility` decides it."""
    if policy is None:
        return "What teams see is not known until the faults of the form are corrected."
    hidden = replace(place.view.collection, phase="hidden", releases_at=None, policy=policy.stored)
    _, teams = list_teams(place.workspace, place.principal, place.name, None, 1)
    team = f"Team {teams[0].name}" if teams else "A team"
    assert place.principal.token is not None, "only organisers come here"
    view = look(Principal("participant", replace(place.principal.token, collection_id=hidden.id)), hidden, place.now)
    assert view is not None, "the token is one of this collection"
    whose = "the runs of all teams" if view.sees_all_runs else "its own runs"
    if not view.sees_scores:
        return f"{team} will see {whose}, and no score."
    if why_unscored(view, () if hidden.topics else None) and not view.sees_free_scores:
        return f"{team} will see {whose}, and no score until topics are declared."
    means = "means" if view.scores == "own-mean" else "means and scores of single topics"
    under = "any metric and any parameters" if policy.is_free else listed(list_presets(view))
    digits = "" if view.sees_free_scores else f", with {counted(policy.decimals, 'decimal')}"
    return f"{team} will see {whose}: {means} under {under}{digits}."


def _list_open(place: Place) -> list[str]:
    """Return in sentences what a release now would cut short, or leave behind."""
    closes, releases = place.view.collection.closes_at, place.view.collection.releases_at
    versions = list_versions(place.workspace, place.principal, place.name, OFFICIAL, None, MOST)
    drafts = [f"version {seen.qrels.version}" for seen in versions if seen.qrels.published_at is None]
    _, teams = list_teams(place.workspace, place.principal, place.name, None, MOST)
    idle = [team.name for team in teams if not team.runs]
    return [
        *(["Runs have no closing date: teams may send some until the release."] if closes is None else ()),
        *([f"Teams may send runs until {in_words(closes)}."] if closes and closes > place.now else ()),
        *([f"The release is planned for {in_words(releases)}, and comes by itself."] if releases else ()),
        *(["No judgments are published, so no run has a score."] if len(drafts) == len(versions) else ()),
        *([f"Drafts of the judgments are not published: {listed(drafts)}."] if drafts else ()),
        *([f"{counted(len(idle), 'team')} sent no run: {listed(idle)}."] if idle else ()),
    ]


def _merge(fields: Sequence[Field], form: Form, before: Form, conflicts: Collection[str]) -> list[Field]:
    """Return the fields as they are now, with the changes of this form. Those of `conflicts` say what they are now."""
    merged = []
    for field, filled in zip(fields, with_faults(fields, form), strict=True):
        is_sent = field.name in form or field.widget == "check"  # browsers leave out a box that is not ticked
        is_changed = is_sent and filled.value != before.get(field.name)
        fault = f"Somebody else has set this to {field.value or 'nothing'}." if field.name in conflicts else ""
        merged.append(replace(field, value=filled.value if is_changed else field.value, fault=fault))
    return merged


def _read_seen(text: str) -> dict[str, str]:
    """Return the texts of the fields as the page showed them. Raise InvalidRequest if they are not of our page."""
    with suppress(ValueError, RecursionError):
        texts = json.loads(text)
        if isinstance(texts, dict) and all(isinstance(value, str) for value in texts.values()):
            return texts
    raise InvalidRequest.at("body.seen", "missing", "The form lacks what the page showed. Load the page again.")


def _lead_back(request: Request, collection: str, query: str = "") -> Response:
    return lead_to(request, f"/c/{collection}/settings{query}")


def _token_fields() -> list[Field]:
    # The first choice is the role that may do the least harm.
    return fields_of(NewToken.model_json_schema(), {"role": "participant"})


@router.get("/c/{collection}/audit.ndjson")
def read_audit(collection: CollectionName, visitor: VisitorDep) -> Response:
    """Return the whole audit log, as the API does."""
    export = audit.export_entries(visitor.workspace, visitor.principal, collection, AuditWanted())
    return StreamingResponse((audit.line(entry) for entry in export.entries), media_type=LINES)


@router.post("/c/{collection}/phase/{phase}")
def change_phase(collection: CollectionName, phase: Phase, visitor: VisitorDep, form: FormDep) -> Response:
    """Release the judgments of the collection whose name was typed, or hide them again."""
    if phase == "released" and form.get("name") != collection:
        fault = f"Nothing was released. The name to type is `{collection}`."
        return _show_page(enter(visitor, collection), fault=fault, status=422)
    collections.change(visitor.workspace, visitor.principal, collection, {"phase": phase})
    return _lead_back(visitor.request, collection)


def _release_fields() -> list[Field]:
    return fields_of(NewRelease.model_json_schema(), {})


@router.post("/c/{collection}/releases")
def make_release(form: FormDep, place: PlaceDep) -> Response:
    """Make a release of the collection as it is now, and show it."""
    place.view.require_organiser()
    fields = _release_fields()
    try:
        sent = NewRelease.model_validate(read(fields, form))
        _, release = freeze(place.workspace, place.principal, place.sender, place.name, Wanted(**sent.model_dump()))
    except (ValidationError, GainboardError) as error:
        faulty, fault = with_faults(fields, form, error), f"Nothing was frozen. {told_by(error)}"
        return _show_page(place, release_fields=faulty, fault=fault, status=422)
    return lead_to(place.request, f"/r/{place.name}-{release.number}")


@router.post("/c/{collection}/delete")
def delete_collection(form: FormDep, place: PlaceDep) -> Response:
    """Delete the collection whose name was typed, and show the others."""
    place.view.require_organiser()
    if form.get("name") != place.name:
        return _show_page(place, fault=f"Nothing was deleted. The name to type is `{place.name}`.", status=422)
    try:
        collections.delete(place.workspace, place.principal, place.name)
    except HeldByRelease as error:
        return _show_page(place, fault=f"Nothing was deleted. {error.message}", status=409)
    return lead_to(place.request, "/")


@router.post("/c/{collection}/tokens")
def create_token(form: FormDep, place: PlaceDep) -> Response:
    """Create a token, and show it this once, on the page of settings."""
    place.view.require_organiser()
    fields = _token_fields()
    try:
        sent = NewToken.model_validate(read(fields, form))
        issued = tokens.create(place.workspace, place.principal, place.name, Wish(**sent.model_dump()))
    except (ValidationError, GainboardError) as error:
        faulty, fault = with_faults(fields, form, error), f"No token was made. {told_by(error)}"
        return _show_page(place, token_fields=faulty, fault=fault, status=422)
    answer = _lead_back(place.request, place.name, "#tokens")
    show_once(place.request, answer, issued.token)
    return answer


@router.post("/c/{collection}/tokens/{token}/revoke")
def revoke_token(collection: CollectionName, token: TokenId, visitor: VisitorDep, form: FormDep) -> Response:
    """Revoke a token for good, or withdraw an invitation. The form of the teams' page leads back there."""
    tokens.revoke(visitor.workspace, visitor.principal, collection, token)
    if form.get("back") == "teams":
        return lead_to(visitor.request, f"/c/{collection}/teams")
    return _lead_back(visitor.request, collection)
