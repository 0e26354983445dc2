"""Metrics of a request that name a qrels version of their own, or vary a parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gainboard.analyses.labels import Labels, as_value
from gainboard.analyses.params import Expression, Judgments, Version
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.metrics import BoundMetric, mean_of
from gainboard.notation.types import JsonBody
from gainboard.store.records import VersionName
from gainboard.vocabulary import OFFICIAL


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
    settled: list[Entry] = []
    for entry in entries:
        if isinstance(entry, OnVersion):
            settled += [entry.model_copy(update={"metric": metric}) for metric in label.each([entry.metric])]
        else:
            settled += label.each([entry])
    # A metric that is named twice counts once, as in every request.
    return list(dict.fromkeys(settled))


def settled_entry(entry: Entry | None, label: Labels) -> Entry | None:
    """Return the entry with its label instead of its expression; None if there is no entry."""
    if isinstance(entry, OnVersion):
        return entry.model_copy(update={"metric": label(entry.metric)})
    return label(entry) if entry is not None else None


def named_versions(entries: Mapping[str, Entry | None]) -> dict[str, VersionName]:
    """Return the versions that entries name, by the location of the entry in the parameters."""
    return {
        f"{location}.{'qrels' if entry.judgments == OFFICIAL else 'judgments'}": entry.named
        for location, entry in entries.items()
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
        }
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


_LABEL = re.compile(r"(.+) \((?:judgments ([A-Za-z0-9][A-Za-z0-9._-]{0,127}), )?qrels ([1-9][0-9]{0,9})\)")


def on_version(metric: str, version: VersionName) -> str:
    """Return the label of a metric over a named version: "P@10 (qrels 1)", or "P@10 (judgments second, qrels 1)"."""
    of_set = "" if version.judgments == OFFICIAL else f"judgments {version.judgments}, "
    return f"{metric} ({of_set}qrels {version.version})"


def read_version(label: str) -> tuple[str, VersionName | None]:
    """Return the metric and the version of a label that `on_version` wrote; the version is None if it names none."""
    parts = _LABEL.fullmatch(label)
    return (parts[1], VersionName(parts[2] or OFFICIAL, int(parts[3]))) if parts else (label, None)


class MixedMatrices:
    """The scores of the runs of `matrices` under labels that may name a version (`on_version`), else over its own.

    The topics are those that every version in use judges. A metric is undefined for a topic if it is undefined in its
    own version.
    """

    def __init__(self, matrices: Matrices, labels: Sequence[str]) -> None:
        self._matrices, self._labels = matrices, labels
        self.run_count = matrices.run_count
        self.versions = sorted({self._over(label).qrels.named for label in labels})
        """The versions in use, by set and number."""
        judged = [matrices.under(version).topics for version in self.versions]
        self.topics = sorted(set(judged[0]).intersection(*judged[1:]), key=str.encode)
        self.topics_left_out = sorted({topic for topics in judged for topic in topics} - set(self.topics))
        """The topics that some of the versions judge, but not all."""

    @property
    def version_names(self) -> list[int | str | None]:
        """The versions in use: a number, or "NAME/NUMBER" for another set than the official one."""
        return [
            version.version if version.judgments == OFFICIAL else f"{version.judgments}/{version.version}"
            for version in self.versions
        ]

    def metric(self, label: str) -> BoundMetric:
        """Return the metric with this label."""
        return self._matrices.metric(read_version(label)[0])

    def defined(self, label: str) -> NDArray[np.bool_]:
        """Return for which topics the metric has a score: [topics]."""
        return self._over(label).defined(read_version(label)[0])[self._columns(label)]

    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Return for which topics every one of the metrics has a score: [topics]."""
        missing = np.array([~self.defined(label) for label in labels])
        return np.logical_not(missing.any(axis=0))

    def scores(self, label: str) -> Floats:
        """Return the scores, NaN if the metric is undefined for the topic: float64 [runs, topics]."""
        # `take` keeps the topics of a run together. An index would not, and then NumPy adds them in another order.
        return self._over(label).scores(read_version(label)[0]).take(self._columns(label), axis=1)

    def means(self, label: str) -> Floats:
        """Return each run's mean score over the topics for which the metric is defined: float64 [runs]."""
        # Of uploaded scores some runs may lack others: all have their means over the same topics.
        return mean_of(self.metric(label), np.where(self.defined(label), self.scores(label), np.nan))

    def described(self) -> dict[str, Any]:
        """Return what a result says of its topics: which count for which metric, and which are left out, and why."""
        undefined = {
            label: [self.topics[topic] for topic in np.flatnonzero(~self.defined(label))] for label in self._labels
        }
        described = {
            "topics": len(self.topics),
            "topics_scored": {label: len(self.topics) - len(left) for label, left in undefined.items()},
            "topics_undefined": undefined,
        }
        if not any(read_version(label)[1] for label in self._labels):
            return described
        why = "not every one of the qrels versions judges them"
        return described | {
            "qrels_versions": self.version_names,
            "topics_left_out": self.topics_left_out,
            "left_out_because": why if self.topics_left_out else None,
        }

    def _over(self, label: str) -> Matrices:
        version = read_version(label)[1]
        return self._matrices if version is None else self._matrices.under(version)

    def _columns(self, label: str) -> NDArray[np.intp]:
        return self._places[self._over(label).qrels.named]

    @cached_property
    def _places(self) -> dict[VersionName, NDArray[np.intp]]:
        columns = {}
        for version in self.versions:
            column_of = {topic: column for column, topic in enumerate(self._matrices.under(version).topics)}
            columns[version] = np.array([column_of[topic] for topic in self.topics], np.intp)
        return columns
