"""The tested pairs of a result: listed while they are few, and stored so that pages of them are read at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.analyses.compared_pairs import MOST_LISTED, ComparedPair, ComparedPairs
from gainboard.evaluation.workspace import Workspace
from gainboard.store.arrays import pack, unpack
from gainboard.store.job_records import StoredJob
from gainboard.work.files import FileWriter, find_file, read_file

CONTENTS = "pairs/contents.json"
"""What all metrics share: the test, the runs, and the metrics in their order."""


@dataclass(frozen=True, slots=True)
class PairsWanted:
    """Which pairs are asked for: of one metric or run, or of any; `significant`: with levels less than that."""

    metric: str | None = None
    run: str | None = None
    significant: float | None = None


@dataclass(frozen=True, slots=True)
class NumberedPair:
    """A pair under a metric, with its place among all that the result has: metric by metric, from 0."""

    place: int
    metric: str
    pair: ComparedPair
    is_corrected: bool


def list_pairs(result: Mapping[str, Any]) -> list[ComparedPairs]:
    """Put lists in the place of a result's tested pairs, or null and an address where they are many; return the pairs.

    The address is relative to that of the result, which does not know under which root path it is served.
    """
    metrics = [metric for metric in result.get("metrics", ()) if isinstance(metric, dict)]
    tested = [metric["pairs"] for metric in metrics if isinstance(metric.get("pairs"), ComparedPairs)]
    are_listed = sum(map(len, tested)) <= MOST_LISTED
    for metric, pairs in zip(metrics, tested, strict=bool(tested)):
        if are_listed:
            metric["pairs"] = [pair.as_json(pairs.is_corrected) for pair in pairs]
        else:
            metric["pairs"] = None
            metric["pairs_url"] = f"pairs?metric={quote(pairs.metric, safe='')}"
    return tested


def write_pairs(writer: FileWriter, tested: Sequence[ComparedPairs]) -> None:
    """Store the pairs: a file for each metric, and one that says what they have in common."""
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
    for number, pairs in enumerate(tested):
        corrected = {"corrected": pairs.corrected} if pairs.corrected is not None else {}
        arrays = {"scores": pairs.scores, "levels": pairs.levels, **corrected}
        writer.write(f"pairs/{number}", [pack(arrays)], is_compressed=True)


def find_pairs(
    workspace: Workspace, job: StoredJob, wanted: PairsWanted, after: int | None, limit: int
) -> list[NumberedPair]:
    """Return the next pairs of a job's result, at most `limit`: those whose places are greater than `after`.

    Raises InvalidRequest for a metric or run that the result does not have, and NotFound for results without pairs.
    """
    contents = _contents(workspace, job)
    _require_known("run", wanted.run, contents["runs"])
    _require_known("metric", wanted.metric, contents["metrics"])
    runs = len(contents["runs"])
    each = runs * (runs - 1) // 2
    found: list[NumberedPair] = []
    for number, metric in enumerate(contents["metrics"]):
        is_passed = after is not None and after >= (number + 1) * each - 1
        if is_passed or wanted.metric not in (None, metric):
            continue
        pairs = _read(workspace, job, contents, number)
        selected = pairs.select(wanted.run, wanted.significant)
        if after is not None:
            selected = selected[selected > after - number * each]
        selected = selected[: limit - len(found)]
        found += [
            NumberedPair(number * each + place, metric, pair, pairs.is_corrected)
            for place, pair in zip(selected.tolist(), pairs.at(selected), strict=True)
        ]
        if len(found) == limit:
            break
    return found


def _contents(workspace: Workspace, job: StoredJob) -> Any:
    file = find_file(workspace, job, CONTENTS)
    if file is None:
        raise NotFound(
            "There are no pages of this result's pairs. Only bootstrap-sensitivity tests pairs, and results of "
            "version 0.1 list them all: read the result itself."
        )
    return json.loads(b"".join(read_file(workspace, file)))


def _read(workspace: Workspace, job: StoredJob, contents: Mapping[str, Any], number: int) -> ComparedPairs:
    file = find_file(workspace, job, f"pairs/{number}")
    assert file is not None, "a result has its pairs for as long as it has their contents"
    arrays = unpack(b"".join(read_file(workspace, file)))
    return ComparedPairs(
        contents["metrics"][number],
        contents["test"],
        contents["resamples"][number],
        contents["runs"],
        arrays["scores"],
        arrays["levels"],
        arrays.get("corrected"),
    )


def _require_known(what: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
        raise InvalidRequest.at(f"query.{what}", f"unknown-{what}", f"The job has no {what} {name!r}; it has: {some}.")
