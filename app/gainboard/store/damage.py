"""Rows as records, also where a stored value cannot be read, so that no list falls with one row.

Earlier imports stored whatever a stranger's folder said, and a disk or a hand can damage a row, too. A value that is
not of its type has a stand-in, and the record names it in `damage`. No stand-in shows more than the value did: a
damaged collection is hidden, and a damaged token has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from textwrap import shorten
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, Executable, Table, select
from typing_extensions import TypedDict

from gainboard.store import tables
from gainboard.store.job_records import Chapter, StoredFile, StoredJob, StoredReport, damage_text
from gainboard.store.records import (
    Collection,
    Damage,
    JudgmentSet,
    NuggetsVersion,
    Qrels,
    Release,
    Run,
    ScoreMatrix,
    TeamRecord,
    Token,
    TopicGroup,
)
from gainboard.vocabulary import Columns

R = TypeVar("R")
Values = Mapping[str, Any] | None
"""The values of a statement's parameters."""
RECORDS: Mapping[Table, type[Any]] = {
    tables.collections: Collection,
    tables.topic_groups: TopicGroup,
    tables.score_matrices: ScoreMatrix,
    tables.teams: TeamRecord,
    tables.tokens: Token,
    tables.judgment_sets: JudgmentSet,
    tables.qrels: Qrels,
    tables.nuggets: NuggetsVersion,
    tables.runs: Run,
    tables.releases: Release,
    tables.jobs: StoredJob,
    tables.job_files: StoredFile,
    tables.reports: StoredReport,
    tables.report_chapters: Chapter,
}
"""The record that each row of a table becomes."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_STAND_INS: Mapping[str, Any] = {
    **dict.fromkeys(("deleted_at", "revoked_at", "expires_at", "cancelled_at"), LONG_AGO),
    **{"state": "damaged", "origin": "imported", "order_by": "score", "phase": "hidden", "direction": "up"},
    **{"role": "reader", "columns": "trec", "policy": None},
}
"""The values in place of damaged ones. Every other is the first of `_USUAL` that its type allows."""
_PLAIN = (str, str | None, int, int | None, bool)
"""The types of which every stored value is: columns of texts and numbers convert what they get."""
_USUAL: tuple[Any, ...] = (None, {}, [], "", 0, False, LONG_AGO)
_HIDDEN: Mapping[str, Any] = {"phase": "hidden", "public": False, "releases_at": None, "released_at": None}


class _Warning(TypedDict):
    code: str
    message: str


class _Exhibit(TypedDict):
    name: str
    caption: str


class _Exhibits(TypedDict, total=False):
    tables: list[_Exhibit]
    figures: list[_Exhibit]


class _LeftOut(TypedDict):
    what: str
    why: str


_NARROWER: Mapping[str, Callable[[Any], object]] = {
    "columns": TypeAdapter(Columns).validate_python,
    "exhibits": TypeAdapter(_Exhibits | None).validate_python,
    "left_out": TypeAdapter(list[_LeftOut]).validate_python,
    "warnings": TypeAdapter(list[_Warning]).validate_python,
}
"""The members that readers of these JSON columns need; the annotations of the records allow any."""
_RULES: dict[tuple[type[Any], str], Callable[[Any], bool]] = {}
_CHECKS: dict[type[Any], Mapping[str, Callable[[Any], object]]] = {}


def add_rule(record: type[Any], name: str, is_valid: Callable[[Any], bool]) -> None:
    """Let outer rings say which values are valid: only they know the names of kinds, and the rules of a policy."""
    _RULES[record, name] = is_valid
    _CHECKS.pop(record, None)


def names_of(record: type[Any]) -> list[str]:
    """Return the names of the fields that a record has from its row."""
    return [field.name for field in fields(record) if field.name != "damage"]


def columns_of(record: type[Any], table: Table, **joined: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Return the columns of a record in the order of its fields: those of its table, and those of `joined` tables."""
    return [joined[name].label(name) if name in joined else table.c[name] for name in names_of(record)]


def read_row(record: type[R], row: Mapping[Any, Any], **more: Any) -> R:
    """Return the record of a row, and of what does not come from its table. Its `damage` names what is damaged."""
    values = {**row, **more}
    if damage := find_damage(record, row):
        checks = _checks(record)
        for name in (fault.column for fault in damage):
            if record is Collection and name == "kind":  # jobs have kinds, too
                values[name] = "judged"
            elif name in _STAND_INS:
                values[name] = _STAND_INS[name]
            elif (record, name) in _RULES:
                # Lists show the unknown name, which a later version may have written.
                values[name] = str(row[name])
            else:
                values[name] = next(value for value in _USUAL if _is_allowed(checks[name], value))
        if "damage" in checks:
            values["damage"] = (*values.get("damage", ()), *damage)
        if record is Collection and any(fault.column != "policy" for fault in damage):
            values |= _HIDDEN
        if record is StoredJob:
            values |= {"state": "damaged", "error": damage_text("job", values["id"], damage)}
    return record(**values)


def find_record(tx: Connection, record: type[R], query: Executable, values: Values = None) -> R | None:
    """Return the record of the first row of a query; None if there is no row."""
    row = tx.execute(query, values).first()
    return read_row(record, row._mapping) if row else None


def get_record(tx: Connection, record: type[R], query: Executable, values: Values = None) -> R:
    """Return the record of the only row of a query."""
    return read_row(record, tx.execute(query, values).one()._mapping)


def list_records(tx: Connection, record: type[R], query: Executable, values: Values = None) -> list[R]:
    """Return the records of the rows of a query, in their order."""
    return [read_row(record, row._mapping) for row in tx.execute(query, values)]


def find_damage(record: type[Any], row: Mapping[Any, Any]) -> tuple[Damage, ...]:
    """Return the values of a row that are not of the types of its record."""
    checks = _checks(record)
    damage = tuple(
        Damage(name, shorten(repr(value), 60, placeholder=" ..."))
        for name, value in row.items()
        if name in checks and not _is_allowed(checks[name], value)
    )
    names = row["level_names"] if record is Collection and not damage else None
    if names is None or len(names) == row["highest_level"]:
        return damage
    return (Damage("level_names", f"{len(names)} names for {row['highest_level']} levels"),)


def damaged_rows(tx: Connection) -> Iterator[tuple[str, str, Damage]]:
    """Read every row that becomes a record. Yield the table, the row's key, and each value that cannot be read."""
    for table, record in RECORDS.items():
        # `highest_level` is checked by its type alone, but the names of a collection's levels are counted by it.
        columns = [column for column in table.c if column.name in {*_checks(record), "highest_level"}]
        keys = [table.c.id] if "id" in table.c else list(table.primary_key)
        for row in tx.execute(select(*keys, *(column for column in columns if column not in set(keys)))):
            key = ", ".join(f"{column.name} {row._mapping[column]}" for column in keys)
            for damage in find_damage(record, row._mapping):
                yield table.name, key, damage


def _checks(record: type[Any]) -> Mapping[str, Callable[[Any], object]]:
    # Built at the first row and kept, because lists read thousands of rows.
    if record in _CHECKS:
        return _CHECKS[record]
    hints = get_type_hints(record, include_extras=True)
    checks: dict[str, Callable[[Any], object]] = {}
    for name in (field.name for field in fields(record) if hints[field.name] not in _PLAIN):
        hint = hints[name]
        # JSON has no tuples. Whoever reads the row makes them of its lists.
        if get_origin(hint) is tuple:
            hint = list[get_args(hint)[0]]  # type: ignore[misc]
        # Strict, because the record keeps the stored value: a text that could be read as a number would stay a text.
        adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True, strict=True))
        checks[name] = adapter.validate_python
    checks |= {name: check for name, check in _NARROWER.items() if name in checks}
    _CHECKS[record] = checks | {name: rule for (of, name), rule in _RULES.items() if of is record}
    return _CHECKS[record]


def _is_allowed(check: Callable[[Any], object], value: Any) -> bool:
    try:
        # A rule answers False for an invalid text. A validator returns the value itself, which may be False.
        return check(value) is not False or value is False
    except ValidationError:
        return False
