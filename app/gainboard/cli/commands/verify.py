"""Compute an exported result again from files, and compare, without a server."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gainboard.cli.command import Command, Example
from gainboard.cli.jobs import wait_shown
from gainboard.cli.loading import found_files, put_versions, runs_option
from gainboard.cli.printing import printable
from gainboard.cli.progress import ProgressLine
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.client.gainboard import LocalGainboard

DEPENDS_ON = "depends_on.json"
"""The file beside an exported result that names all that it depends on."""


def _verify(parsed: argparse.Namespace) -> int:
    """Read from an exported result what it depends on, find the judgments and runs among the files by their hashes,
    compute the result again, and compare every number. The exit code is 0 if the results are identical, or equal to
    1e-12 relative.

    `gainboard job result ID --output DIR` exports a result as `result.json`, with `depends_on.json` beside it.
    """
    result, depended = _read(parsed.result)
    if (why := _other_version(depended)) is not None:
        print(why)
        return 1
    with tempfile.TemporaryDirectory(prefix="gainboard-") as unpacked:
        judged = _by_hash(parsed.qrels_files, "judgments", depended["qrels"])
        runs = _by_hash(found_files(parsed.run_files, Path(unpacked)), "runs", depended["runs"])
        return _compared(result, _computed(depended, result["collection"], judged, runs))


def _read(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    beside = Path(name).with_name(DEPENDS_ON)
    result = _json(Path(name))
    if not beside.exists():
        raise BadSetting(
            f"There is no file {beside}, which names what the result depends on. Export the result of the job again, "
            "as someone who may see the judgments: gainboard job result ID --output DIR"
        )
    depended = _json(beside)
    if hashes := result.get("uploaded_scores"):
        raise BadSetting(
            f"{name} depends on uploaded scores ({hashes[0]['metric']}), which are no files of judgments or runs. Ask "
            f"its service: POST /v1/jobs/{depended['job']}/verify"
        )
    return result, depended


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
    except OSError as error:
        raise BadSetting(f"Cannot read {file}: {error.strerror or error}.") from error
    except ValueError as error:
        raise BadSetting(f"{file} is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BadSetting(f"{file} is no result of a job.")
    return value


def _other_version(depended: Mapping[str, Any]) -> str | None:
    from gainboard.analyses.job_kinds import find_kind  # noqa: PLC0415  # imports all that computes

    try:
        here = find_kind(depended["kind"]).engine_version
    except KeyError as error:
        raise BadSetting(f"This version of Gainboard has no kind of job {depended['kind']!r}.") from error
    if depended["engine_version"] == here:
        return None
    return f"made by engine version {depended['engine_version']} (here {here}), not comparable"


def _by_hash(files: Iterable[Path], what: str, wanted: Sequence[Mapping[str, Any]]) -> dict[str, Path]:
    """Return the files by the SHA-256 of their content. Raise BadSetting if one that is wanted is not among them."""
    found = {_sha256(file): file for file in files}
    if missing := [each for each in wanted if each["sha256"] not in found]:
        first = missing[0]
        named = first.get("name") or f"version {first['version']} of {first['judgments']}"
        raise BadSetting(
            f"{len(missing)} of {len(wanted)} {what} are not among the files, such as {printable(str(named))} with the "
            f"SHA-256 {first['sha256']}. Nothing was computed: the result is about other files."
        )
    return found


def _sha256(file: Path) -> str:
    from gainboard.evaluation.reading import NO_LIMITS  # noqa: PLC0415
    from gainboard.trec import decompressed  # noqa: PLC0415

    digest = hashlib.sha256()
    try:
        with file.open("rb") as source:
            for piece in decompressed(source, None, NO_LIMITS):
                digest.update(piece)
    except OSError as error:
        raise BadSetting(f"Cannot read {file}: {error.strerror or error}.") from error
    return digest.hexdigest()


def _computed(
    depended: Mapping[str, Any], name: str, judged: Mapping[str, Path], runs: Mapping[str, Path]
) -> dict[str, Any]:
    """Return the result of the same request to a service of this command alone, which has these files."""
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    with LocalGainboard() as gainboard:
        settings = {key: value for key, value in depended["collection"].items() if key != "uuid"}
        gainboard.create_collection(name, settings.pop("levels"), **settings)
        _put_qrels(gainboard, name, depended["qrels"], judged)
        with ProgressLine("loading") as progress:
            for done, run in enumerate(depended["runs"]):
                progress.at(done, len(depended["runs"]))
                details = {key: value for key, value in run.items() if key != "sha256"}
                gainboard.submit(name, runs[run["sha256"]], **details)
        params = depended["params"]
        if isinstance(topics := params.get("topics"), dict):
            gainboard.put_topic_group(name, topics["group"], topics["topics"])
        job = gainboard.job(name, depended["kind"], **params)
        wait_shown(job, "computing")
        return job.result_json()


def _put_qrels(
    gainboard: LocalGainboard, name: str, wanted: Sequence[Mapping[str, Any]], judged: Mapping[str, Path]
) -> None:
    if len({(each["order_by"], each["ignore_identical_ids"]) for each in wanted}) > 1:
        raise BadSetting("The result compares two orders of the same runs, which only its service can compute again.")
    for judgments in dict.fromkeys(each["judgments"] for each in wanted):
        versions = {each["version"]: each for each in wanted if each["judgments"] == judgments}
        put_versions(gainboard, name, judgments, versions, lambda each: judged[each["sha256"]])


def _compared(result: Mapping[str, Any], computed: Mapping[str, Any]) -> int:
    from gainboard.analyses.verify import compare  # noqa: PLC0415

    found = compare(result, computed)
    print(found.message)
    for each in found.differences:
        print(printable(f"{each.place}: {each.stored} in the file, {each.computed} computed"), file=sys.stderr)
    return 1 if found.outcome == "different" else 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="the result.json of an export, with depends_on.json beside it")
    parser.add_argument(
        "--qrels",
        dest="qrels_files",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="the judgments; all versions that the result compares",
    )
    runs_option(parser)


COMMAND = Command(
    "verify",
    __doc__,
    _verify,
    _options,
    [Example("gainboard verify result.json --qrels qrels.txt --runs 'runs/*'", "on any machine that has the files")],
)
