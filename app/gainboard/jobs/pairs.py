"""The tested pairs of a result: listed if they are few, and stored in files from which pages are read quickly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from gainboard.analyses.bootstrap_sensitivity import SensitivityResult
from gainboard.analyses.pair_tests import MOST_LISTED, ComparedPair, ComparedPairs
from gainboard.analyses.result_models import JobResult
from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.files import Writer, find_file, read_file
from gainboard.statistics.pairs import pair_count
from gainboard.store.arrays import pack, unpack
from gainboard.store.job_records import StoredJob

CONTENTS = "pairs/contents.json"
"""The file with the test, the runs, and the metrics in their order."""
LEAST = "pairs/least"
"""The file with the lowest level of each run under each metric, which shows where no pair can match."""
METRICS_AT_ONCE = 4
"""The most metrics whose pairs one request reads. With many metrics, a page may therefore not be full."""


@dataclass(frozen=True, slots=True)
class PairsWanted:
    """A choice of pairs: of one metric or run (None: any); `significant` keeps levels below it."""

    metric: str | None = None
    run: str | None = None
    significant: float | None = None


@dataclass(frozen=True, slots=True)
class NumberedPair:
    """A pair under a metric, with its number among all pairs of the result: metric by metric, from 0."""

    number: int
    metric: str
    pair: ComparedPair
    is_corrected: bool


@dataclass(frozen=True, slots=True)
class PairsFound:
    """Some pairs, and the number after which the next ones begin; None if there are no more."""

    pairs: list[NumberedPair]
    more_after: int | None


def list_pairs(result: JobResult) -> list[ComparedPairs]:
    """Replace a result's tested pairs by lists, or by null and an address if they are many. Return the pairs.

    The address is relative to that of the result, because the result does not know the service's root path.
    """
    metrics: list[Any] = [*result.metrics] if isinstance(result, SensitivityResult) else []
    tested = [metric.pairs for metric in metrics if isinstance(metric.pairs, ComparedPairs)]
    are_listed = sum(map(len, tested)) <= MOST_LISTED
    for metric, pairs in zip(metrics, tested, strict=True):
        if are_listed:
            metric.pairs = [pair.as_json(pairs.is_corrected) for pair in pairs]
        else:
            metric.pairs = None
            metric.pairs_url = f"pairs?metric={quote(pairs.metric, safe='')}"
    return tested


def write_pairs(writer: Writer, tested: Sequence[ComparedPairs]) -> None:
    """Store the pairs: a file for each metric, and one file with what they share."""
    if not tested:
        return
    first = tested[0]
    contents = {
        "test": first.test,
        "resamples": [pairs.resamples for pairs in tested],
        "runs": first.runs,
        "metrics": [pairs.metric for pairs in tested],
    }
    writer.write(CONTENTS, [json.dumps(contents).encode()])
    writer.write(LEAST, [pack({"least": np.array([pairs.least_levels() for pairs in tested])})], is_compressed=True)
    for number, pairs in enumerate(tested):
        corrected = {"corrected": pairs.corrected} if pairs.corrected is not None else {}
        writer.write(f"pairs/{number}/levels", [pack({"levels": pairs.levels, **corrected})], is_compressed=True)
        writer.write(f"pairs/{number}/scores", [pack({"scores": pairs.scores})], is_compressed=True)


def find_pairs(workspace: Workspace, job: StoredJob, wanted: PairsWanted, after: int | None, limit: int) -> PairsFound:
    """Return the next pairs of a job's result, at most `limit`: those with numbers greater than `after`.

    There may be fewer although more follow: see `METRICS_AT_ONCE`. Raise InvalidRequest for a metric or run that the
    result does not have, and NotFound for results without pairs.
    """
    file = find_file(workspace, job, CONTENTS)
    if file is None:
        raise NotFound(
            "This result has no pages of pairs: only bootstrap-sensitivity tests pairs. Read the result itself."
        )
    contents = json.loads(b"".join(read_file(workspace, file)))
    _require_known("run", wanted.run, contents["runs"])
    _require_known("metric", wanted.metric, contents["metrics"])
    pairs_a_metric = pair_count(len(contents["runs"]))
    first = 0 if after is None else (after + 1) // pairs_a_metric
    numbers = [number for number, label in enumerate(contents["metrics"]) if wanted.metric in (None, label)]
    if wanted.significant is not None:
        least = _arrays(workspace, job, LEAST)["least"]
        of_run = least if wanted.run is None else least[:, [contents["runs"].index(wanted.run)]]
        # If even the lowest level is not significant, the metric has no matching pair, and its file need not be read.
        numbers = [number for number in numbers if of_run[number].min() < wanted.significant]
    numbers = [number for number in numbers if number >= first]
    page: list[NumberedPair] = []
    for number in numbers[:METRICS_AT_ONCE]:
        # one more than the page holds shows whether another page follows
        page += _pairs_of_metric(workspace, job, contents, number, wanted, after, limit + 1 - len(page))
        if len(page) > limit:
            return PairsFound(page[:limit], page[limit - 1].number)
    are_left = len(numbers) > METRICS_AT_ONCE
    return PairsFound(page, (numbers[METRICS_AT_ONCE - 1] + 1) * pairs_a_metric - 1 if are_left else None)


def _pairs_of_metric(
    workspace: Workspace,
    job: StoredJob,
    contents: Mapping[str, Any],
    number: int,
    wanted: PairsWanted,
    after: int | None,
    limit: int,
) -> list[NumberedPair]:
    """Return the next pairs under the metric with this number."""
    count = pair_count(len(contents["runs"]))
    levels = _arrays(workspace, job, f"pairs/{number}/levels")
    pairs = ComparedPairs(
        contents["metrics"][number],
        contents["test"],
        contents["resamples"][number],
        contents["runs"],
        _arrays(workspace, job, f"pairs/{number}/scores")["scores"],
        levels["levels"],
        levels.get("corrected"),
    )
    selected = pairs.select(wanted.run, wanted.significant)
    if after is not None:
        selected = selected[selected > after - number * count]
    selected = selected[:limit]
    return [
        NumberedPair(number * count + number_in_metric, pairs.metric, pair, pairs.is_corrected)
        for number_in_metric, pair in zip(selected.tolist(), pairs.at(selected), strict=True)
    ]


def _arrays(workspace: Workspace, job: StoredJob, path: str) -> dict[str, NDArray[Any]]:
    file = find_file(workspace, job, path)
    assert file is not None, "a result has its pairs for as long as it has their contents"
    return unpack(b"".join(read_file(workspace, file)))


def _require_known(what: str, name: str | None, names: Sequence[str]) -> None:
    if name is not None and name not in names:
        some = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        raise InvalidRequest.at(
            f"query.{what}", f"unknown-{what}", f"The job has no {what} {name!r}. Available: {some}."
        )
