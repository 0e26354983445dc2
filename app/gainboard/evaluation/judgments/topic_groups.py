"""Topic groups: named sets of a collection's topics, and the choice of topics that a request makes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gainboard.errors import InvalidRequest, NotFound, RowDamaged
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, changing, open_collection, require_organiser, require_unchanged
from gainboard.evaluation.judgments.versions import judged_topics
from gainboard.evaluation.runs.intake import Body, Intake
from gainboard.evaluation.runs.join import JudgedTopics
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import csv_line
from gainboard.notation.queries import MOST_GROUPS
from gainboard.notation.texts import is_slug
from gainboard.store import collections, qrels
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, TopicGroup
from gainboard.trec.csv_files import COLUMNS, RESERVED_GROUP, read_topic_groups, topic_problem

MOST_MEMBERS: Final = 200_000
"""The most topics in all groups of a collection together. A list of the groups reads all of them."""


@dataclass(frozen=True)
class SeenGroup:
    """A group, and its topics without judgments; None for principals who may not see the judgments."""

    group: TopicGroup
    unjudged: Sequence[str] | None

    @property
    def judged(self) -> int | None:
        """The number of its topics with judgments; None for principals who may not see the judgments."""
        return None if self.unjudged is None else len(self.group.topics) - len(self.unjudged)


@dataclass(frozen=True)
class ChosenTopics:
    """The topics that a request is about: those of a group, or of a list if `name` is None.

    `judged` are those of them that the qrels version judges, which alone count. `size` is the number of all.
    """

    name: str | None
    size: int
    judged: JudgedTopics
    unjudged: Sequence[str]

    def described(self) -> dict[str, Any]:
        """Return what an answer says of the choice."""
        return {
            "name": self.name,
            "topics": self.size,
            "judged": len(self.judged.topics),
            "unjudged": list(self.unjudged),
        }


def choose_judged(judged: JudgedTopics, group: TopicGroup) -> ChosenTopics:
    """Return the choice of a group's topics among those of a version, even if none of them is judged."""
    chosen = judged.only(group.topics)
    with_judgments = frozenset(chosen.topics)
    unjudged = [topic for topic in group.topics if topic not in with_judgments]
    return ChosenTopics(group.name, len(group.topics), chosen, unjudged)


def choose_topics(judged: JudgedTopics, name: str | None, wanted: Sequence[str], location: str) -> ChosenTopics:
    """Return the choice of these topics among those of a version. Raise InvalidRequest if none of them is judged."""
    chosen = replace(choose_judged(judged, TopicGroup(name or "", tuple(wanted))), name=name)
    if not chosen.judged.topics:
        whose = f"the topic group {name!r}" if name else "the list"
        message = (
            f"None of the {len(wanted)} topics of {whose}, such as {wanted[0]!r}, has judgments in this qrels version. "
            "Choose other topics, or publish qrels that judge them."
        )
        raise InvalidRequest.at(location, "no-judged-topics", message)
    return chosen


def topics_of(
    workspace: Workspace, tx: Transaction, view: View, version: Qrels, group: str | None, location: str = "query.topics"
) -> tuple[ChosenTopics | None, JudgedTopics]:
    """Return the topics of a version, or of a group those that the version judges.

    Means over fewer topics tell more of each of them, and so of the judgments. So whoever names a group must see scores
    under any parameters. Raise JudgmentsHidden otherwise.
    """
    if group is None:
        return None, judged_topics(workspace, tx, version)
    view.require_free_scores()
    stored = require_group(tx, view.collection, group)
    chosen = choose_topics(judged_topics(workspace, tx, version), stored.name, stored.topics, location)
    return chosen, chosen.judged


def require_group(tx: Transaction, collection: Collection, name: str, *, even_damaged: bool = False) -> TopicGroup:
    """Return the group with this name. Raise NotFound with the names that exist, and RowDamaged."""
    if is_slug(name) and (group := collections.find_group(tx, collection.id, name)):
        if group.damage and not even_damaged:
            what = ", ".join(map(str, group.damage))
            raise RowDamaged(f"The topic group {name!r} cannot be read: {what}. Delete it, and send it again.")
        return group
    names = [stored.name for stored in collections.page_groups(tx, collection.id, limit=5)]
    existing = f"It has {', '.join(map(repr, names))}" if names else "It has none yet"
    raise NotFound(f"{collection.name!r} has no topic group {name!r}. {existing}. `all` stands for all topics.")


def groups_of(tx: Transaction, collection: Collection, names: Sequence[str]) -> list[TopicGroup]:
    """Return the groups with these names, in their order; `all` names all groups. Raise NotFound as `require_group`."""
    if RESERVED_GROUP in names:
        return collections.page_groups(tx, collection.id)
    return [require_group(tx, collection, name) for name in dict.fromkeys(names)]


def list_groups(
    workspace: Workspace, principal: Principal, name: str, after: str | None = None, limit: int | None = None
) -> list[SeenGroup]:
    """Return the groups of a collection by name, for all who see the collection."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        return _describe(workspace, tx, view, collections.page_groups(tx, view.collection.id, after=after, limit=limit))


def find_group(workspace: Workspace, principal: Principal, name: str, group: str) -> SeenGroup:
    """Return one group. Raise NotFound if there is none of this name."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        (seen,) = _describe(workspace, tx, view, [require_group(tx, view.collection, group)])
        return seen


def _describe(workspace: Workspace, tx: Transaction, view: View, groups: Sequence[TopicGroup]) -> list[SeenGroup]:
    newest = qrels.find(tx, view.collection.id) if view.sees_judgments else None
    if newest is None:
        return [SeenGroup(group, None) for group in groups]
    judged = frozenset(judged_topics(workspace, tx, newest).topics)
    return [SeenGroup(group, [topic for topic in group.topics if topic not in judged]) for group in groups]


def put_group(
    workspace: Workspace, principal: Principal, name: str, group: str, topics: Sequence[str]
) -> tuple[SeenGroup, bool]:
    """Store a group in place of the one with its name (organisers), and return it with whether it is new.

    Raise InvalidRequest for a reserved name, and with every topic that is wrong.
    """
    with changing(workspace, principal, name) as (tx, view):
        if group == RESERVED_GROUP:
            message = "`all` stands for all topics in queries, so no group has this name. Choose another name."
            raise InvalidRequest.at("path.group", "reserved-group", message)
        _require_topics(view.collection, topics)
        new = _make_group(group, topics)
        stored = collections.page_groups(tx, view.collection.id)
        before = next((other for other in stored if other.name == group), None)
        # An equal group changes no answer, so the caches and the audit log stay as they are.
        if new != before:
            _require_room([*(other for other in stored if other.name != group), new], "body")
            collections.put_groups(tx, view.collection.id, [new])
            collections.touch(tx, view.collection.id)
            old = {"before": len(before.topics)} if before else {}
            audit.record(tx, principal, "topic-group-put", group, view.collection, topics=list(new.topics), **old)
        (seen,) = _describe(workspace, tx, view, [new])
        return seen, before is None


def replace_groups(workspace: Workspace, principal: Principal, name: str, body: Body) -> list[SeenGroup]:
    """Store the groups of a CSV file in place of all groups (organisers). Raise FaultyFile with all its faults."""
    collection = require_organiser(workspace, principal, name)
    with Intake(body, workspace.limits) as intake:
        read = read_topic_groups(intake.chunks(), workspace.limits, collection.topics)
    groups = sorted((_make_group(group, topics) for group, topics in read.items()), key=lambda group: group.name)
    _require_room(groups, "body")
    with changing(workspace, principal, name) as (tx, view):
        # The file was read against the topics that were declared then.
        require_unchanged(collection, view.collection, "topics")
        before = collections.page_groups(tx, view.collection.id)
        if groups != before:
            collections.remove_groups(tx, view.collection.id, [group.name for group in before])
            collections.put_groups(tx, view.collection.id, groups)
            collections.touch(tx, view.collection.id)
            sizes = {group.name: len(group.topics) for group in groups}
            audit.record(tx, principal, "topic-groups-replaced", name, view.collection, groups=sizes)
        return _describe(workspace, tx, view, groups)


def delete_group(workspace: Workspace, principal: Principal, name: str, group: str) -> None:
    """Delete a group (organisers). Raise NotFound if there is none of this name."""
    with changing(workspace, principal, name) as (tx, view):
        removed = require_group(tx, view.collection, group, even_damaged=True)
        collections.remove_groups(tx, view.collection.id, [group])
        collections.touch(tx, view.collection.id)
        audit.record(tx, principal, "topic-group-deleted", group, view.collection, topics=list(removed.topics))


def csv_of_groups(groups: Iterable[TopicGroup]) -> str:
    """Return groups as the CSV that stores them all."""
    rows = ((topic, group.name) for group in groups for topic in group.topics)
    return "".join(map(csv_line, (COLUMNS, *rows)))


def _make_group(name: str, topics: Iterable[str]) -> TopicGroup:
    # Sorted, so that the same topics in another order are the same group, which changes nothing.
    return TopicGroup(name, tuple(sorted(topics, key=str.encode)))


def _require_topics(collection: Collection, topics: Sequence[str]) -> None:
    declared = None if collection.topics is None else frozenset(collection.topics)
    faults: list[Mapping[str, Any]] = []
    first: dict[str, int] = {}
    for position, topic in enumerate(topics):
        code, message = topic_problem(topic, declared)
        if not code and (earlier := first.setdefault(topic, position)) != position:
            code, message = "duplicate-topic", f"topic {topic!r} is in the list twice: also at place {earlier}"
        if code:
            faults.append({"location": f"body.{position}", "code": code, "message": message})
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise InvalidRequest(f"{faults[0]['message']}{more}.", errors=faults[:100], errors_total=len(faults))


def _require_room(groups: Sequence[TopicGroup], location: str) -> None:
    if len(groups) > MOST_GROUPS:
        message = f"These would be {len(groups)} topic groups; a collection may have {MOST_GROUPS}. Delete some first."
        raise InvalidRequest.at(location, "too-many", message)
    if (members := sum(len(group.topics) for group in groups)) > MOST_MEMBERS:
        message = (
            f"All groups together would have {members:,} topics; at most {MOST_MEMBERS:,} are allowed. Use fewer or "
            "smaller groups."
        )
        raise InvalidRequest.at(location, "too-many", message)
