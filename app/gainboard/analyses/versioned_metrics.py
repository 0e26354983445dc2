"""Metrics of a request that name a qrels version of their own, or vary a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gainboard.analyses.labels import Labels, as_value
from gainboard.analyses.mixed import on_version, read_version
from gainboard.analyses.params import Expression, Judgments, Version
from gainboard.notation.types import JsonBody
from gainboard.store.records import OFFICIAL, VersionName


class OnVersion(JsonBody):
    """A metric over a published qrels version that is named with it: by its number, its judgment set, or both."""

    metric: Expression = Field(examples=["P@10"])
    judgments: Judgments = OFFICIAL
    qrels: Version | None = Field(None, description="Number of a version of the set; the newest by default")

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.judgments == OFFICIAL and self.qrels is None:
            raise ValueError("name a qrels version or a judgment set; without both, give the expression alone")
        return self

    @model_serializer(mode="wrap")
    def _shown(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # without the official set, the job is that of a request from before there were sets
        shown: dict[str, Any] = dump(self)
        return {name: value for name, value in shown.items() if (name, value) != ("judgments", OFFICIAL)}

    @property
    def named(self) -> VersionName:
        """The name of the version."""
        return VersionName(self.judgments, self.qrels)


def _read(value: Any) -> Any:
    metric, version = read_version(value) if isinstance(value, str) else (value, None)
    return {"metric": metric, "judgments": version.judgments, "qrels": version.version} if version else value


Entry = Annotated[Expression | OnVersion, BeforeValidator(_read)]
"""A metric over the job's own version or another one: an expression, an object, or its label in results."""


def label_of(entry: Entry) -> str:
    """Return the label of a settled entry in results."""
    return on_version(entry.metric, entry.named) if isinstance(entry, OnVersion) else entry


def settled_entries(entries: Sequence[Entry], label: Labels) -> list[Entry]:
    """Return the entries with labels instead of expressions. Entries with the same metric and version become one."""
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, OnVersion):
            found += [entry.model_copy(update={"metric": each}) for each in label.each([entry.metric])]
        else:
            found += label.each([entry])
    return list(dict.fromkeys(found))


def settled_entry(entry: Entry | None, label: Labels) -> Entry | None:
    """Return the entry with its label instead of its expression; None if there is no entry."""
    if isinstance(entry, OnVersion):
        return entry.model_copy(update={"metric": label(entry.metric)})
    return label(entry) if entry is not None else None


def named_versions(entries: Mapping[str, Entry | None]) -> dict[str, VersionName]:
    """Return the versions that entries name, by the location of the entry in the parameters."""
    return {
        f"{place}.{'qrels' if entry.judgments == OFFICIAL else 'judgments'}": entry.named
        for place, entry in entries.items()
        if isinstance(entry, OnVersion)
    }


def pinned_entry(entry: Entry, versions: Mapping[VersionName, VersionName]) -> Entry:
    """Return the entry with the number of its version."""
    return entry.model_copy(update={"qrels": versions[entry.named].version}) if isinstance(entry, OnVersion) else entry


class SweepRequest(JsonBody):
    """A sweep over one parameter of a metric, for example tau by beta, or tau by the log base."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"metric": "Q", "parameter": "beta", "values": [0, 1, 10, 100, 1000], "against": ["AP", "Q"]}]
        },
    )

    metric: Expression
    parameter: Annotated[str, Field(max_length=100)]
    values: Annotated[list[str | int | float], Field(min_length=1, max_length=200)]
    against: Annotated[list[Expression], Field(min_length=1, max_length=20)]
    labels: list[str] = Field([], description="Filled in by the service: the metric under each value")

    def settled(self, label: Labels) -> Self:
        """Return the sweep with labels instead of expressions; the metric's own label lacks the parameter."""
        metric = label.without(self.metric, self.parameter, "sweep")
        values = [as_value(label.written(metric, self.parameter, value)) for value in self.values]
        settled = {"values": values, "labels": label.swept(metric, self.parameter, values, "sweep")}
        return self.model_copy(update={"metric": metric, "against": label.each(self.against)} | settled)
