"""Collections: creating, showing, changing and deleting them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from gainboard.errors import BadGains, Forbidden, GainboardError, InvalidRequest, SettingFixed, SettingsChanged
from gainboard.evaluation import audit
from gainboard.evaluation.access import visibility
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.collection_settings import OF_COLLECTION, OF_JUDGED, TIMES, Policy, Quotas
from gainboard.evaluation.judgments.versions import judged_topics, select
from gainboard.evaluation.releases.releases import require_not_held
from gainboard.evaluation.scoring.binding import is_custom, matrix_of
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import Scale, expand, parse_gains, resolve
from gainboard.notation.texts import is_slug
from gainboard.store import collections, jobs, qrels, releases, runs
from gainboard.store.database import Transaction
from gainboard.store.records import FIXED_BY_DATA, NEWEST, Collection, Qrels
from gainboard.trec import FileWarning
from gainboard.trec.findings import RESERVED_TOPIC
from gainboard.vocabulary import FROM_QRELS, Action, RunOrder

CHECKED = ("gains", "metrics", "policy", *TIMES, *FIXED_BY_DATA)
"""The settings that are checked together if any of them changes."""


@dataclass(frozen=True)
class Described:
    """A collection as one principal sees it. What follows from the judgments is None if they are hidden."""

    collection: Collection
    qrels: Qrels | None
    relevant: Mapping[str, Any] | None
    queries: dict[str, str] | None = None
    warnings: Sequence[FileWarning] = ()


def require_creator(principal: Principal) -> None:
    """Raise Forbidden unless the principal may create collections."""
    principal.require_token()
    if not principal.organises_instance:
        raise Forbidden(
            "Only organisers of the instance may create collections. Use the admin token, or ask an organiser of the "
            "instance."
        )


def create(workspace: Workspace, principal: Principal, values: dict[str, Any]) -> Described:
    """Create a collection for an organiser of the instance. Raise CollectionExists, or BadInput for its settings."""
    require_creator(principal)
    if values.get("kind") == "scores":
        _refuse_of_judged(values)
        values = {"title": "", "metrics": None, "public": False, "phase": "hidden"} | {**OF_JUDGED} | values
    elif "highest_level" not in values:
        message = "Name the relevant levels, lowest first, or their number; or make a collection of the kind `scores`."
        raise InvalidRequest.at("body.levels", "missing", message)
    values = values | {"policy": merged_policy(None, values.get("policy") or {})}
    values = {name: value for name, value in values.items() if name != "queries" or value}
    check(values)
    with workspace.database.writing() as tx:
        collection = collections.create(tx, workspace.now(), **values)
        audit.record(tx, principal, "collection-created", collection.name, collection, settings=values)
        return Described(collection, None, None, values.get("queries"), _warnings(collection, workspace.now()))


def change(
    workspace: Workspace, principal: Principal, name: str, values: dict[str, Any], seen: Mapping[str, Any] | None = None
) -> Described:
    """Change settings of a collection. Raise SettingFixed for those that stored runs or qrels depend on.

    `seen` are the settings as the sender read them. Values that are as the sender read them change nothing. Raise
    SettingsChanged where somebody else has changed what the sender changes.
    """
    with visibility.changing(workspace, principal, name) as (tx, view):
        old = view.collection
        # A form sends all settings back. What its sender has only read is no change, and undoes nobody else's.
        queries = collections.find_queries(tx, old.id)
        values = _own_changes(asdict(old) | {"queries": queries}, values, seen or {})
        _refuse_fixed(tx, old, values)
        if old.has_scores_alone:
            _refuse_of_judged({name: value for name, value in values.items() if value != getattr(old, name, None)})
        if "policy" in values:
            values = values | {"policy": merged_policy(old.policy, values["policy"])}
        if values.get("topics") == FROM_QRELS:
            values = values | {"topics": judged_topics(workspace, tx, select(tx, view, NEWEST)).topics}
        # With the settings that stay: a new depth, for example, may not fit an old metric.
        check({field: getattr(old, field) for field in CHECKED} | values | {"kind": old.kind})
        new = collections.change(tx, old.id, **values, released_at=_released_at(old, values, workspace.now()))
        changed = audit.differences(old, new)
        if values.get("queries", queries) != queries:
            changed["queries"] = {"old": queries, "new": values["queries"]}
        if changed:
            is_release = old.phase != new.phase == "released"
            action: Action = "collection-released" if is_release else "collection-changed"
            audit.record(tx, principal, action, new.name, new, settings=changed)
        return _describe(workspace, tx, replace(view, collection=new))


def _refuse_of_judged(values: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a setting that a collection of scores does not have."""
    for name in OF_JUDGED:
        if name in values:
            location = setting_name(name)
            message = f"A collection of scores has no {location}: it has no judgments. Leave out {location}."
            raise InvalidRequest.at(f"body.{location}", "not-for-scores", message)


def merged_policy(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored form of a policy with new values. Values that are not named stay."""
    return {**Policy().stored, **(old or {}), **new}


def setting_name(setting: str) -> str:
    """Return the name that the API gives a stored setting: times and the phase are of the policy, quotas of a part."""
    name = setting.removeprefix("policy.")
    if setting in OF_COLLECTION:
        return f"policy.{name}"
    if setting in ("level_names", "highest_level"):
        return "levels"
    return f"policy.quotas.{name}" if setting != name and name in Quotas.model_fields else setting


def _own_changes(old: Mapping[str, Any], values: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that the sender has only read."""
    changes, conflicts = {}, []
    now = audit.settings_of({**old, "policy": merged_policy(old["policy"], {})})
    read = audit.settings_of(seen)
    for setting, value in audit.settings_of(values).items():
        if setting not in read or (value != read[setting] and now[setting] in (value, read[setting])):
            changes[setting] = value
        elif value != read[setting]:
            states = {"seen": read[setting], "sent": value, "now": now[setting]}
            conflicts.append({"setting": setting_name(setting), **audit.plain(states)})
    if conflicts:
        named = ", ".join(f"{conflict['setting']} (now {json.dumps(conflict['now'])})" for conflict in conflicts)
        message = f"Somebody else changed what you change: {named}. Nothing was changed. Read the settings again."
        raise SettingsChanged(message, conflicts=conflicts)
    policy = {
        setting.removeprefix("policy."): changes.pop(setting) for setting in [*changes] if setting.startswith("policy.")
    }
    return changes | ({"policy": policy} if policy else {})


def _released_at(old: Collection, values: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return the first release once these values are set, as far as it has come."""
    if old.release is not None and old.release <= now:
        return old.release
    new = {name: values[name] for name in ("phase", "releases_at") if name in values}
    was_open, is_open = old.is_released(now), replace(old, **new).is_released(now)
    return now if is_open and not was_open else None


def delete(workspace: Workspace, principal: Principal, name: str) -> None:
    """Delete the collection. Its name may be used again; the data stay in the database, and nobody sees them."""
    with workspace.database.writing() as tx:
        # To delete a collection is one of the two ways out if its settings cannot be read.
        view = visibility.open_locked(tx, principal, name, even_damaged=True)
        view.require_organiser()
        holding = releases.page(tx, view.collection.id)[::-1]
        held = require_not_held(principal, view.collection, f"The collection {name!r}", holding)
        collections.change(tx, view.collection.id, deleted_at=workspace.now())
        jobs.cancel_all(tx, view.collection.id, workspace.now())
        audit.record(tx, principal, "collection-deleted", name, view.collection, **held)


def list_collections(workspace: Workspace, principal: Principal, after: str | None, limit: int) -> list[Described]:
    """List the collections that exist for this principal, by name: without a token, the public ones once released."""
    everything, now = principal.organises_instance, workspace.now()
    with workspace.database.reading() as tx:
        page = collections.page(
            tx, after=after, limit=limit, now=now, collection_id=principal.collection_id, everything=everything
        )
        # The query only saves rows. What this principal sees is decided by `look` alone.
        views = [view for collection in page if (view := visibility.look(principal, collection, now))]
        return [_describe(workspace, tx, view) for view in views]


def find_collection(workspace: Workspace, principal: Principal, name: str) -> Described:
    """Return a collection, with the counts of its judgments if the principal may know them."""
    with workspace.database.reading() as tx:
        return _describe(workspace, tx, visibility.open_collection(tx, principal, name))


def read_queries(workspace: Workspace, view: visibility.View) -> Mapping[str, str]:
    """Return the texts of the collection's queries, by topic."""
    with workspace.database.reading() as tx:
        return collections.find_queries(tx, view.collection.id) or {}


def _describe(workspace: Workspace, tx: Transaction, view: visibility.View) -> Described:
    collection = view.collection
    newest = qrels.find(tx, collection.id) if view.sees_judgments and not collection.is_damaged else None
    warnings = _warnings(collection, workspace.now()) if view.organises else []
    queries = collections.find_queries(tx, collection.id)
    if newest is None or newest.damage or collection.has_scores_alone:
        return Described(collection, None, None, queries, warnings)
    counts = judged_topics(workspace, tx, newest).judgments.level_counts[:, 1:]
    per_topic = counts.sum(axis=1)
    per_level = {collection.level_name(level): int(n) for level, n in enumerate(counts.sum(axis=0), start=1)}
    relevant = {"mean": float(per_topic.mean()), "minimum": int(per_topic.min()), "per_level": per_level}
    return Described(collection, newest, relevant, queries, warnings)


def _warnings(collection: Collection, now: datetime) -> list[FileWarning]:
    """Return what the organisers should mend: damaged settings, and teams that are promised scores and get none."""
    if collection.damage:
        return [FileWarning("damaged", visibility.damage_of(collection))]
    has_presets = bool(Policy.of(collection).presets)
    hides_scores = has_presets and not collection.topics and not collection.is_released(now)
    return [visibility.unscorable(collection)] if hides_scores else []


def _refuse_fixed(tx: Transaction, old: Collection, values: Mapping[str, Any]) -> None:
    changed = [
        name for name in (*FIXED_BY_DATA, *RunOrder._fields) if name in values and values[name] != getattr(old, name)
    ]
    if not changed or not (qrels.exist(tx, old.id) or runs.page(tx, old.id, limit=1)):
        return
    ordering = {name: values[name] for name in RunOrder._fields if name in changed}
    if len(ordering) == len(changed):
        raise SettingFixed(
            f"{' and '.join(ordering)} cannot change together with other settings, because the runs of {old.name!r} "
            f"must be read again. Send {json.dumps(ordering)} alone."
        )
    names = sorted({"levels" if "level" in name else name for name in changed if name not in ordering})
    raise SettingFixed(
        f"{' and '.join(names)} cannot change: {old.name!r} holds runs or qrels that were read under the present "
        "value. Create another collection."
    )


def check(values: Mapping[str, Any]) -> None:
    """Raise BadInput unless these settings fit each other: `CHECKED`, and those that a collection is made with."""
    scale = Scale(values["highest_level"], values["depth"], values.get("intents", False))
    _check_levels(values.get("level_names") or ())
    gains = values["gains"]
    try:
        parse_gains(gains, scale.highest_level)
    except BadGains as error:
        names: Sequence[str] = values.get("level_names") or [f"L{n + 1}" for n in range(scale.highest_level)]
        both = f"gains has the highest level first ({gains}), levels has the lowest first ({', '.join(names)})"
        raise BadGains(f"{error.message}; {both}", **error.details) from error
    _check_topics(values.get("topics") or ())
    if values.get("kind") == "scores":
        # They may be named before their scores are there.
        for position, name in enumerate(values.get("metrics") or ()):
            if not is_slug(name.removeprefix("custom:")) and not matrix_of(name):
                message = f"{name!r} is not the name of a score matrix, such as accuracy."
                raise InvalidRequest.at(f"body.metrics.{position}", "bad-name", message)
    else:
        _check_metrics(values.get("metrics") or (), scale, gains, "body.metrics")
        _check_metrics((values.get("policy") or {}).get("presets") or (), scale, gains, "body.policy.presets")
    times = [(name, time) for name in TIMES if (time := values.get(name)) is not None]
    for (first, earlier), (second, later) in pairwise(times):
        if later < earlier:
            message = (
                f"{second} ({later.isoformat()}) is before {first} ({earlier.isoformat()}). Choose a later {second}."
            )
            raise InvalidRequest.at(f"body.policy.{second}", "out-of-order", message)


def _check_metrics(expressions: Sequence[str], scale: Scale, gains: str, location: str) -> None:
    """Raise InvalidRequest for an expression that names no metric of this collection."""
    for position, expression in enumerate(expressions):
        if matrix_of(expression) and location == "body.metrics":  # it may be named before anybody has judged answers
            continue
        if is_custom(expression):
            message = (
                f"{expression} is stored, and no preset or official metric. Name it in a request; official may be "
                "metrics of answers, such as nuggets:vital_strict."
            )
            raise InvalidRequest.at(f"{location}.{position}", "uploaded-scores", message)
        try:
            for metric in expand([expression], scale.highest_level):
                resolve(metric, scale, defaults={"gains": gains})
        except GainboardError as error:
            raise InvalidRequest.at(f"{location}.{position}", error.slug, error.message) from error


def _check_levels(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise InvalidRequest.at(
            "body.levels", "repeated-level", "A level is named twice. Give every level its own name."
        )
    # Files write L2 or 2 for the second level, whatever its name is. As the name of another level it would be
    # ambiguous.
    for level, name in enumerate(names, start=1):
        if re.fullmatch("L?[+-]?[0-9]+", name) and name.removeprefix("L") != str(level):
            message = f"{name!r} means another level in files, but here it names L{level}. Choose another name."
            raise InvalidRequest.at(f"body.levels.{level - 1}", "misleading-level", message)


def _check_topics(topics: Sequence[str]) -> None:
    for position, topic in enumerate(topics):
        where = f"body.topics.{position}"
        if topic.encode() == RESERVED_TOPIC:
            raise InvalidRequest.at(
                where, "reserved-topic", f"{topic!r} stands for the mean, so it cannot be a topic. Rename the topic."
            )
        # Files separate columns only at ASCII white space, so a no-break space may be part of an id.
        if not topic or re.search("[\x00-\x20\x7f]", topic):
            raise InvalidRequest.at(
                where, "bad-topic", f"{topic!r} is not a valid topic id: it is empty or contains white space."
            )
    if len(set(topics)) < len(topics):
        raise InvalidRequest.at("body.topics", "repeated-topic", "A topic is listed twice. List each topic once.")
