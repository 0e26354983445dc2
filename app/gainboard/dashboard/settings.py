"""`/c/{collection}/settings`: for organisers: phase and release, dates and policy, tokens, teams, and the audit log."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
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
from gainboard.dashboard.rendering import lead_to, page_of, pages
from gainboard.dashboard.schema_forms import Field, fields_of, read, told_by, with_faults
from gainboard.dashboard.sessions import Form, FormDep, Place, PlaceDep, VisitorDep, forget_once, show_once, shown_once
from gainboard.errors import GainboardError, HeldByRelease, InvalidRequest, SettingsChanged
from gainboard.evaluation import audit, collections
from gainboard.evaluation.access import tokens
from gainboard.evaluation.access.tokens import Wish
from gainboard.evaluation.collection_settings import OF_JUDGED, Policy
from gainboard.evaluation.collections import Described
from gainboard.evaluation.releases.releases import list_releases
from gainboard.evaluation.scoring.requests import official_metrics
from gainboard.jobs.freezing import Wanted, freeze
from gainboard.notation.types import BOOLEAN
from gainboard.store.audit import AuditWanted
from gainboard.vocabulary import Phase

router = pages()
MOST = 500
ENTRIES = 50
GROUPS = {
    "Collection": ("title", "sample_of", "public", "gains", "metrics"),
    "Times": ("policy.opens_at", "policy.closes_at", "policy.releases_at", "policy.late"),
    "Scores while the judgments are hidden": (
        *("policy.scores", "policy.parameters", "policy.presets"),
        *("policy.decimals", "policy.coverage", "policy.answers"),
    ),
    "Runs that a team may send": (
        *("policy.quotas.per_day", "policy.quotas.total", "policy.quotas.concurrent", "policy.quotas.bytes"),
    ),
}
"""The fields of the form by their group. One that has no place here comes last."""
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
    return [
        *fields_of({"properties": properties, "$defs": schema["$defs"]}, now),
        *fields_of({"properties": {"policy": Policy.model_json_schema()}, "$defs": schema["$defs"]}, now),
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
    listed = tokens.list_tokens(workspace, principal, name, None, MOST)
    # The release has a form of its own, which asks twice.
    by_name = {field.name: field for field in shown if field.name != "policy.phase"}
    groups = {title: [by_name.pop(name) for name in names if name in by_name] for title, names in GROUPS.items()}
    groups |= {"More": [*by_name.values()]} if by_name else {}
    answer = page_of(
        place,
        "settings.html",
        f"Settings of {place.title}",
        "Settings",
        status=status,
        groups=groups,
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
        tokens=listed,
        holders={token.id: token.holder for token in listed if token.holder},
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
    try:
        # What the page showed is read as what is sent, so that the same time or list written otherwise is no change.
        sent, seen = (
            values_of(ChangeableSettings.model_validate(read(editable, filled, is_change=True)))
            for filled in (form, before)
        )
        collections.change(workspace, principal, place.name, sent, seen)
    except SettingsChanged as error:
        now = json.dumps({field.name: field.value for field in fields})
        conflicts = {conflict["setting"] for conflict in error.details["conflicts"]}
        merged = _merge(fields, form, before, conflicts)
        fault = "Nothing was changed: somebody else changed the marked settings meanwhile. Save again to override them."
        return _show_page(place, fields=merged, seen=now, fault=fault, status=409)
    except (ValidationError, GainboardError) as error:
        faulty, fault = with_faults(fields, form, error), f"Nothing was changed. {told_by(error)}"
        return _show_page(place, fields=faulty, seen=form.get("seen"), fault=fault, status=422)
    return _lead_back(place.request, place.name, "?saved=true")


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
    """Release the judgments, or hide them again."""
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
