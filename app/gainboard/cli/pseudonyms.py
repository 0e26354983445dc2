"""A release under pseudonyms: made anew in a service of this command alone, so that no id, time or log tells of it."""

from __future__ import annotations

import csv
import hashlib
import json
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from gainboard.cli.folders import DOCUMENT, document_of, pack_files
from gainboard.cli.jobs import wait_shown
from gainboard.cli.options import readable
from gainboard.cli.printing import printable
from gainboard.cli.progress import ProgressLine
from gainboard.errors import BadSetting
from gainboard.exhibits import csv_line
from gainboard.trec.nuggets import Verdicts

if TYPE_CHECKING:
    from gainboard.client.gainboard import LocalGainboard

NAMED_IN: Final = frozenset({"runs", "reference", "flagged", "contributors", "teams"})
"""The parameters of jobs and reports that name runs or teams."""
SETTINGS: Final = (
    *("title", "level_names", "highest_level", "gains", "depth", "order_by", "ignore_identical_ids", "intents"),
    "topics",
)


@dataclass(frozen=True)
class Pseudonyms:
    """The pseudonyms of teams and of runs, by their names. A run's tag becomes the pseudonym of the run."""

    teams: Mapping[str, str]
    runs: Mapping[str, str]

    @classmethod
    def drawn(cls, runs: Sequence[Mapping[str, Any]]) -> Pseudonyms:
        """Return pseudonyms in an order that is drawn, which therefore tells nothing."""
        names = {run["name"] for run in runs} | {run["system"] for run in runs if run.get("system")}
        return cls(_drawn({run["team"] for run in runs}, "team"), _drawn(names, "run"))

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the rows of the map: what it is, its name, and its pseudonym."""
        yield from (("team", name, self.teams[name]) for name in sorted(self.teams))
        yield from (("run", name, self.runs[name]) for name in sorted(self.runs))

    def applied(self, value: Any, key: str = "") -> Any:
        """Return parameters with pseudonyms in place of names."""
        if isinstance(value, Mapping):
            return {name: self.applied(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.applied(item, key) for item in value]
        if isinstance(value, str) and key in NAMED_IN:
            return self.runs.get(value) or self.teams.get(value) or value
        return value


def _drawn(names: set[str], prefix: str) -> dict[str, str]:
    drawn = sorted(names)
    secrets.SystemRandom().shuffle(drawn)
    digits = len(str(len(drawn)))
    return {name: f"{prefix}-{number:0{digits}}" for number, name in enumerate(drawn, start=1)}


def write_under_pseudonyms(folder: Path, packed: Path, map_file: Path) -> Path:
    """Write the folder of a release again, as a tar archive, under pseudonyms, and their map as CSV.

    Its judgments, runs and uploaded scores are loaded into a service of this command alone, and its jobs and reports
    are run again. The new folder has no audit log, no people, no descriptions of runs, no comments within them, and no
    files of ir_metadata beside them. Raise BadSetting if the release has no files of runs, or the map is there already.
    """
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    document = json.loads((folder / "data/release.json").read_bytes())
    if not document["release"]["run_files"]:
        raise BadSetting("The release has the hashes of its runs, not their files, so nothing can be pseudonymised.")
    pseudonyms, name = Pseudonyms.drawn(document["runs"]), document["release"]["collection"]
    with readable(map_file, "write"), map_file.open("x", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("kind", "name", "pseudonym"), *pseudonyms.rows()])
    with LocalGainboard() as gainboard:
        with ProgressLine("loading"):
            _load(gainboard, folder, document, pseudonyms)
        with ProgressLine("computing") as progress:
            works = [*document["results"], *document["reports"]]
            for done, work in enumerate(works):
                progress.at(done, len(works))
                _run_again(gainboard, name, folder, work, pseudonyms)
        old = document["release"]
        release = gainboard.freeze(name, title=old["title"], metrics=document["metrics"], license=old["license"])
        return gainboard.save_archive(name, release.number, packed, log=False)


def _load(gainboard: LocalGainboard, folder: Path, document: Mapping[str, Any], pseudonyms: Pseudonyms) -> None:
    """Import the judgments, runs and uploaded scores under pseudonyms. Other files of a release may name people."""
    files: dict[str, Path | bytes] = {}
    for version in document["judgments"]:
        path = f"data/qrels/{version['judgments']}-{version['version']}.txt"
        files[path] = folder / path
    runs = []
    for run in sorted(document["runs"], key=lambda run: pseudonyms.runs[run["name"]]):
        own = pseudonyms.runs[run["name"]]
        content = b"".join(_with_tag(folder / f"data/runs/{run['name']}.txt", own.encode()))
        files[f"data/runs/{own}.txt"] = content
        kept = {key: run[key] for key in ("type", "pooled", "priority")}  # a family may name who sent the run
        kept |= {"system": pseudonyms.runs[run["system"]], "replicate": own} if run.get("system") else {}
        named = {"name": own, "team": pseudonyms.teams[run["team"]], "sha256": hashlib.sha256(content).hexdigest()}
        runs.append({**kept, **named})
    matrices = []
    for matrix in document.get("score_matrices", ()):
        path = f"data/score-matrices/{matrix['name']}-{matrix['version']}.csv"
        files[path] = content = "".join(_with_runs(folder / path, pseudonyms.runs)).encode()
        sha256 = hashlib.sha256(content).hexdigest()
        made = {**matrix, "sha256": sha256, "csv_sha256": sha256}
        if said := matrix.get("verdicts"):
            made["verdicts"] = asdict(Verdicts(**said).renamed(pseudonyms.runs))
        matrices.append(made)
    settings = {key: document["settings"][key] for key in SETTINGS}
    settings |= {"name": document["release"]["collection"], "uuid": str(uuid4())}
    made = document_of(settings, document["judgments"], runs, matrices, document["topic_groups"])
    made["nuggets"] = document.get("nuggets", [])
    files |= {path: folder / path for path in (f"data/nuggets/{it['version']}.jsonl" for it in made["nuggets"])}
    with tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        gainboard.import_release(
            pack_files({**files, DOCUMENT: json.dumps(made).encode()}, Path(temporary) / "release")
        )


def _with_runs(matrix: Path, runs: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a score matrix with the pseudonyms of its runs, without runs that have none."""
    with matrix.open(newline="", encoding="utf-8") as lines:
        rows = csv.reader(lines)
        yield csv_line(next(rows))
        yield from (csv_line((runs[run], *scores)) for run, *scores in rows if run in runs)


def _with_tag(run: Path, tag: bytes) -> Iterator[bytes]:
    """Yield the lines of a run with another tag, and without comments, which may name people."""
    with run.open("rb") as lines:
        for line in lines:
            columns = line.split()
            if columns and not columns[0].startswith(b"#"):
                yield b" ".join((*columns[:-1], tag)) + b"\n"


def _run_again(
    gainboard: LocalGainboard, name: str, folder: Path, work: Mapping[str, Any], pseudonyms: Pseudonyms
) -> None:
    """Run a job or report again. What cannot be run is left out, and told."""
    from gainboard.client.errors import ClientError  # noqa: PLC0415

    try:
        if "kind" in work:
            depended = json.loads((folder / f"data/results/{work['id']}/depends_on.json").read_bytes())
            job = gainboard.job(name, work["kind"], **pseudonyms.applied(depended["params"]))
            wait_shown(job, work["kind"])
        else:
            about = work["about"]
            of_version = {"qrels": {name: about["qrels_version"]}, "judgments": {name: about["judgment_set"]}}
            report = gainboard.report(work["name"], name, **pseudonyms.applied(work["params"]), **of_version)
            wait_shown(report, work["name"])
    except ClientError as error:
        print(printable(f"left out {work.get('kind', work.get('name'))} {work['id'][:12]}: {error}"), file=sys.stderr)
