"""Metrics of a request that name a qrels version of their own, or vary a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt

from gainboard.evaluation.analyses.mixed import on_version, read_version
from gainboard.work.labels import Labels, as_value
from gainboard.work.params import Expression, Version


class OnVersion(BaseModel):
    """A metric over a qrels version of its own, which is published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: Expression = Field(examples=["P@10"])
    qrels: Version


def _read(value: Any) -> Any:
    metric, version = read_version(value) if isinstance(value, str) else (value, None)
    return {"metric": metric, "qrels": version} if version else value


Entry = Annotated[Expression | OnVersion, BeforeValidator(_read)]
"""A metric over the job's own version or another: an expression, an object, or the label that stands in results."""


def label_of(entry: Entry) -> str:
    """The label of a settled entry in results."""
    return on_version(entry.metric, entry.qrels) if isinstance(entry, OnVersion) else entry


def settled_entries(entries: Sequence[Entry], label: Labels) -> list[Entry]:
    """The entries with labels in the place of expressions: two of the same metric and version are one."""
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, OnVersion):
            found += [entry.model_copy(update={"metric": each}) for each in label.each([entry.metric])]
        else:
            found += label.each([entry])
    return list(dict.fromkeys(found))


def settled_entry(entry: Entry | None, label: Labels) -> Entry | None:
    """The same for one entry, where there is one."""
    if isinstance(entry, OnVersion):
        return entry.model_copy(update={"metric": label(entry.metric)})
    return label(entry) if entry is not None else None


def named_versions(entries: Mapping[str, Entry | None]) -> dict[str, int]:
    """The versions that entries name, each under its place in the parameters; entries are given by theirs."""
    return {f"{place}.qrels": entry.qrels for place, entry in entries.items() if isinstance(entry, OnVersion)}


class AskedSweep(BaseModel):
    """A parameter of one metric that is varied: tau against beta, tau against the log base."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "examples": [{"metric": "Q", "parameter": "beta", "values": [0, 1, 10, 100, 1000], "against": ["AP", "Q"]}]
        },
    )

    metric: Expression
    parameter: Annotated[str, Field(max_length=100)]
    values: Annotated[list[str | StrictInt | StrictFloat], Field(min_length=1, max_length=200)]
    against: Annotated[list[Expression], Field(min_length=1, max_length=20)]
    labels: list[str] = Field([], description="Filled in: the metric under each value")

    def settled(self, label: Labels) -> Self:
        """The sweep with labels in the place of expressions, that of the metric without the parameter."""
        metric = label.without(self.metric, self.parameter, "sweep")
        values = [as_value(label.written(metric, self.parameter, value)) for value in self.values]
        settled = {"values": values, "labels": label.swept(metric, self.parameter, values, "sweep")}
        return self.model_copy(update={"metric": metric, "against": label.each(self.against)} | settled)
