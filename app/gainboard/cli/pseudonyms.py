"""A release under pseudonyms: made anew in a service of this command alone, so that no id, time or log tells of it."""

from __future__ import annotations

import csv
import json
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gainboard.cli.jobs import wait_shown
from gainboard.cli.loading import put_versions
from gainboard.cli.printing import printable
from gainboard.cli.progress import ProgressLine
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.client.gainboard import LocalGainboard

NAMED_IN: Final = frozenset({"runs", "reference", "flagged", "contributors", "teams"})
"""The parameters of jobs and reports that name runs or teams."""
SETTINGS: Final = ("title", "gains", "depth", "order_by", "ignore_identical_ids", "intents", "topics")


@dataclass(frozen=True)
class Pseudonyms:
    """The pseudonyms of teams and of runs, by their names. A run's tag becomes the pseudonym of the run."""

    teams: Mapping[str, str]
    runs: Mapping[str, str]

    @classmethod
    def drawn(cls, runs: Sequence[Mapping[str, Any]]) -> Pseudonyms:
        """Return pseudonyms in an order that is drawn, which therefore tells nothing."""
        return cls(_drawn({run["team"] for run in runs}, "team"), _drawn({run["name"] for run in runs}, "run"))

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the rows of the map: what it is, its name, and its pseudonym."""
        yield from (("team", name, self.teams[name]) for name in sorted(self.teams))
        yield from (("run", name, self.runs[name]) for name in sorted(self.runs))

    def applied(self, value: Any, key: str = "") -> Any:
        """Return parameters with pseudonyms in place of names."""
        if isinstance(value, Mapping):
            return {name: self.applied(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.applied(each, key) for each in value]
        if isinstance(value, str) and key in NAMED_IN:
            return self.runs.get(value) or self.teams.get(value) or value
        return value


def _drawn(names: set[str], prefix: str) -> dict[str, str]:
    drawn = sorted(names)
    secrets.SystemRandom().shuffle(drawn)
    digits = len(str(len(drawn)))
    return {name: f"{prefix}-{number:0{digits}}" for number, name in enumerate(drawn, start=1)}


def write_map(pseudonyms: Pseudonyms, path: Path) -> None:
    """Write the map as CSV. Raise BadSetting if that fails."""
    try:
        with path.open("x", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("kind", "name", "pseudonym"), *pseudonyms.rows()])
    except OSError as error:
        raise BadSetting(f"Cannot write {path}: {error.strerror or error}.") from error


def pseudonymised(folder: Path, pseudonyms: Pseudonyms, packed: Path) -> None:
    """Write the folder of a release again, as a tar archive, under pseudonyms.

    Its judgments and runs are loaded into a service of this command alone, and its jobs and reports are run again. The
    new folder has no audit log, no people, no descriptions of runs, and no comments within them.
    """
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    document = json.loads((folder / "data/release.json").read_bytes())
    name = document["release"]["collection"]
    with LocalGainboard() as gainboard:
        _load(gainboard, name, folder, document, pseudonyms)
        with ProgressLine("computing") as progress:
            asked = [*document["results"], *document["reports"]]
            for done, each in enumerate(asked):
                progress.at(done, len(asked))
                _ask(gainboard, name, folder, each, pseudonyms)
        own = document["release"]
        release = gainboard.freeze(name, title=own["title"], metrics=document["metrics"], license=own["license"])
        gainboard.save_archive(name, release.number, packed, log=False)


def _load(
    gainboard: LocalGainboard, name: str, folder: Path, document: Mapping[str, Any], pseudonyms: Pseudonyms
) -> None:
    settings = {key: document["settings"][key] for key in SETTINGS}
    levels = document["settings"]["level_names"] or document["settings"]["highest_level"]
    gainboard.create_collection(name, levels, policy={"phase": "released"}, **settings)
    by_set: dict[str, dict[int, Mapping[str, Any]]] = {}
    for version in document["judgments"]:
        by_set.setdefault(version["judgments"], {})[version["version"]] = version
    for judgments, versions in by_set.items():
        put_versions(gainboard, name, judgments, versions, lambda each: folder / _qrels_path(each))
    for group, topics in document["topic_groups"].items():
        gainboard.put_topic_group(name, group, topics)
    with ProgressLine("loading") as progress:
        for done, run in enumerate(sorted(document["runs"], key=lambda each: pseudonyms.runs[each["name"]])):
            progress.at(done, len(document["runs"]))
            own = pseudonyms.runs[run["name"]]
            text = b"".join(_with_tag(folder / f"data/runs/{run['name']}.txt", own.encode()))
            details = {key: run[key] for key in ("type", "pooled", "priority")}
            gainboard.submit(name, text, team=pseudonyms.teams[run["team"]], name=own, **details)
    for judgments in by_set:
        if judgments != "official":
            gainboard.change_judgment_set(name, judgments, "released")


def _qrels_path(version: Mapping[str, Any]) -> str:
    return f"data/qrels/{version['judgments']}-{version['version']}.txt"


def _with_tag(run: Path, tag: bytes) -> Iterator[bytes]:
    """Yield the lines of a run with another tag, and without comments, which may name people."""
    with run.open("rb") as lines:
        for line in lines:
            columns = line.split()
            if columns and not columns[0].startswith(b"#"):
                yield b" ".join((*columns[:-1], tag)) + b"\n"


def _ask(gainboard: LocalGainboard, name: str, folder: Path, each: Mapping[str, Any], pseudonyms: Pseudonyms) -> None:
    """Run a job or report again. What cannot be run is left out, and told."""
    from gainboard.client.errors import ClientError  # noqa: PLC0415

    try:
        if "kind" in each:
            depended = json.loads((folder / f"data/results/{each['id']}/depends_on.json").read_bytes())
            job = gainboard.job(name, each["kind"], **pseudonyms.applied(depended["params"]))
            wait_shown(job, each["kind"])
        else:
            about = each["about"]
            of_version = {"qrels": {name: about["qrels_version"]}, "judgments": {name: about["judgment_set"]}}
            report = gainboard.report(each["name"], name, **pseudonyms.applied(each["params"]), **of_version)
            wait_shown(report, each["name"])
    except ClientError as error:
        print(printable(f"left out {each.get('kind', each.get('name'))} {each['id'][:12]}: {error}"), file=sys.stderr)
