"""The same runs under metrics over several qrels versions, on the topics that all these versions judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.metrics import BoundMetric, mean_of
from gainboard.store.records import OFFICIAL, VersionName

_LABEL = re.compile(r"(.+) \((?:judgments ([A-Za-z0-9][A-Za-z0-9._-]{0,127}), )?qrels ([1-9][0-9]{0,9})\)")


def on_version(metric: str, version: VersionName) -> str:
    """Return the label of a metric over a named version: "P@10 (qrels 1)", or "P@10 (judgments second, qrels 1)"."""
    of_set = "" if version.judgments == OFFICIAL else f"judgments {version.judgments}, "
    return f"{metric} ({of_set}qrels {version.version})"


def read_version(label: str) -> tuple[str, VersionName | None]:
    """Return the metric and the version of a label that `on_version` wrote; the version is None if it names none."""
    found = _LABEL.fullmatch(label)
    return (found[1], VersionName(found[2] or OFFICIAL, int(found[3]))) if found else (label, None)


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
            each.version if each.judgments == OFFICIAL else f"{each.judgments}/{each.version}" for each in self.versions
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
        return self._over(label).scores(read_version(label)[0]).take(self._columns(label), axis=1)

    def means(self, label: str) -> Floats:
        """Return each run's mean score over the topics for which the metric is defined: float64 [runs]."""
        return mean_of(self.metric(label), self.scores(label))

    def described(self) -> dict[str, Any]:
        """Return what a result says of its topics: which count for which metric, and which are left out, and why."""
        undefined = {
            label: [self.topics[topic] for topic in np.flatnonzero(~self.defined(label))] for label in self._labels
        }
        return {
            "topics": len(self.topics),
            "topics_scored": {label: len(self.topics) - len(left) for label, left in undefined.items()},
            "topics_undefined": undefined,
            **(self._versions_described() if any(read_version(label)[1] for label in self._labels) else {}),
        }

    def _versions_described(self) -> dict[str, Any]:
        left_out = self.topics_left_out
        why = "not every one of the qrels versions judges them"
        return {
            "qrels_versions": self.version_names,
            "topics_left_out": left_out,
            "left_out_because": why if left_out else None,
        }

    def _over(self, label: str) -> Matrices:
        version = read_version(label)[1]
        return self._matrices if version is None else self._matrices.under(version)

    def _columns(self, label: str) -> NDArray[np.intp]:
        return self._places[self._over(label).qrels.named]

    @cached_property
    def _places(self) -> dict[VersionName, NDArray[np.intp]]:
        found = {}
        for version in self.versions:
            place = {topic: column for column, topic in enumerate(self._matrices.under(version).topics)}
            found[version] = np.array([place[topic] for topic in self.topics], np.intp)
        return found
