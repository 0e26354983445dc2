"""The systems and the topics of a collection of scores, which follow from its score matrices.

A system is a row of `runs` without a file, of a team of its own that has its name: whatever is said of runs is said of
systems. The topics are a version of judgments without any document.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from gainboard.errors import InvalidRequest
from gainboard.evaluation.runs.join import JudgedTopics
from gainboard.metrics import Judgments
from gainboard.notation.texts import is_slug, without_signs
from gainboard.store import blobs, qrels, runs, score_matrices, teams
from gainboard.store.arrays import pack_names
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, Run
from gainboard.trec.bodies import compress
from gainboard.vocabulary import OFFICIAL

COLUMNS = "topics"
"""The layout of a version that has topics alone: its file has one on each line."""
_MOST_CHARACTERS = 120
_MOST_OF_NAME = 1000
_CONTROL = re.compile("[\x00-\x1f\x7f]")


def name_systems(live: Sequence[Run], systems: Iterable[str]) -> dict[str, str]:
    """Return the name of the run of each system, by the system's own name, which may have any characters.

    A system of an earlier matrix keeps its name. A new one is named like itself, with `-` for what no name may have.
    """
    names, taken = {run.tag: run.name for run in live}, {run.name for run in live}
    for system in systems:
        if system not in names:
            plain = without_signs(system)[:_MOST_CHARACTERS]
            name = first = system if is_slug(system) else plain or "system"
            number = 1
            while name in taken:
                number += 1
                name = f"{first}-{number}"
            names[system] = name
            taken.add(name)
    return {system: names[system] for system in systems}


class SystemName(NamedTuple):
    """The own name of a system or of a replicate, which may have any characters; and what is stored beside."""

    own: str
    system: str | None = None
    replicate: str | None = None
    family: str | None = None


def rows_of_runs(live: Sequence[Run]) -> dict[str, str]:
    """Return the name of each run by the row of a file that is about it: its name, or `SYSTEM@REPLICATE`."""
    return {run.name: run.name for run in live} | {
        f"{run.system}@{run.replicate}": run.name for run in live if run.system
    }


def describe_runs(
    live: Sequence[Run], rows: Iterable[str], replicates: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, str], dict[str, SystemName]]:
    """Return the name of the run of each row of a file, and what is stored of such runs, by name.

    `replicates` has the system and the replicate of each row that is one, as the file says them.
    """
    names = name_systems(live, rows)
    stored = [(run, run.tag.removesuffix(f"@{run.replicate}"), run.system or run.name) for run in live]
    known = [replace(run, tag=own, name=name) for run, own, name in stored]
    systems = name_systems(known, [system for system, _ in replicates.values()])
    described = {name: SystemName(row) for row, name in names.items()}
    for row, (system, replicate) in replicates.items():
        if row in names:
            slug = without_signs(replicate)[:_MOST_CHARACTERS] or "1"
            described[names[row]] = SystemName(row, systems[system], slug)
    return names, described


def follow_matrices(tx: Transaction, collection: Collection, systems: Mapping[str, SystemName], now: datetime) -> None:
    """Make runs and topics those of the newest versions of all matrices, in a transaction that has locked these.

    `systems` maps the name of each run that may be new to the system's own name.
    """
    newest = score_matrices.page(tx, collection.id, None, None)
    wanted = {name for matrix in newest for name in matrix.runs}
    live = runs.page(tx, collection.id)
    runs.withdraw_all(tx, [run.id for run in live if run.name not in wanted], now)
    add_systems(tx, collection, {name: systems[name] for name in wanted - {run.name for run in live}}, now)
    topics = sorted({topic for matrix in newest for topic in matrix.topics}, key=str.encode)
    published = qrels.find(tx, collection.id)
    if topics and (published is None or published.sha256 != hashlib.sha256(_as_file(topics)).hexdigest()):
        publish_topics(tx, collection, topics, now)


def ensure_runs(
    tx: Transaction,
    collection: Collection,
    systems: Sequence[str],
    replicates: Mapping[str, tuple[str, str]],
    now: datetime,
    team: str | None,
) -> tuple[dict[str, str], list[str]]:
    """Return the name of the run of each system, and the names of those that are new, which have no ranking.

    A run with a ranking is found by its name alone, because several may have the same tag; a replicate also by its
    system and what tells it. `replicates` are as in `describe_runs`.
    """
    live = runs.page(tx, collection.id)
    ranked = rows_of_runs([run for run in live if run.has_ranking])
    live = [replace(run, tag=run.name) if run.has_ranking else run for run in live]
    names, described = describe_runs(live, [system for system in systems if system not in ranked], replicates)
    new = {name: described[name] for name in sorted(described.keys() - {run.name for run in live})}
    add_systems(tx, collection, new, now, team)
    return names | {system: ranked[system] for system in systems if system in ranked}, list(new)


def add_systems(
    tx: Transaction, collection: Collection, systems: Mapping[str, SystemName], now: datetime, team: str | None = None
) -> None:
    """Add a run for each system, by the name of the run. Without a team, each system has one that is named like it."""
    file = _content(b"")
    blobs.put(tx, file)
    names = sorted(systems)
    teams_of = {name: team or systems[name].system or name for name in names}
    of_team = teams.ensure_all(tx, collection.id, list(dict.fromkeys(teams_of.values())), now)
    same = {
        **{"collection_id": collection.id, "sha256": file.sha256, "created_at": now, "topics": pack_names(())},
        **{"topic_count": 0, "retrieved": 0, "warnings": [], "pooled": False},
    }
    rows = []
    for name in names:
        own, *described = systems[name]
        of_run = dict(zip(SystemName._fields[1:], described, strict=True))
        rows.append({**same, **of_run, "name": name, "tag": own, "team_id": of_team[teams_of[name]]})
    runs.add_all(tx, rows)


def publish_topics(tx: Transaction, collection: Collection, topics: Sequence[str], now: datetime) -> Qrels:
    """Publish the next version of the topics, which are in byte order."""
    file = _content(_as_file(topics))
    blobs.put(tx, file)
    none = Judgments(np.zeros((len(topics), 2), np.int64), np.zeros(len(topics), np.int64))
    return qrels.add(
        tx,
        collection.id,
        OFFICIAL,
        created_at=now,
        published_at=now,
        sha256=file.sha256,
        columns=COLUMNS,
        topics=len(topics),
        judged=0,
        relevant=0,
        per_level={},
        warnings=[],
        counts=JudgedTopics(list(topics), none).packed(),
        **collection.order._asdict(),
    )


def read_topics_file(content: bytes) -> list[str]:
    """Return the topics of a version's file. Raise ValueError if it is not as one is written."""
    topics = content.decode().split("\n")[:-1]
    if not topics or topics != sorted(set(topics), key=str.encode) or _as_file(topics) != content:
        raise ValueError("it has not one topic on each line, in byte order")
    return topics


def require_names(names: Iterable[str], what: str) -> None:
    """Raise InvalidRequest for a name of a system or topic that is too long, or has a line end or control character."""
    for name in names:
        if len(name) > _MOST_OF_NAME or _CONTROL.search(name):
            message = (
                f"The {what} {name[:60]!r} has a control character, or more than {_MOST_OF_NAME} characters. Rename it."
            )
            raise InvalidRequest.at("body", "bad-name", message)


def _as_file(topics: Sequence[str]) -> bytes:
    return "".join(f"{topic}\n" for topic in topics).encode()


def _content(content: bytes) -> blobs.Content:
    # In the database, wherever other files are: it is small, and an object would be written before the transaction.
    return blobs.Content(hashlib.sha256(content).hexdigest(), len(content), compress(content))
