"""Compute exported results again from files, and compare, without a server."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gainboard.cli.command import Argument, Example, Option, command
from gainboard.cli.folder_verification import FileComparison, ReleaseFolder, compare_file, tell
from gainboard.cli.folders import DOCUMENT, SUMS, around, document_of, pack_files, read_json, require_folder
from gainboard.cli.jobs import DEPENDS_ON, INDEX, NOT_MADE, RESULT, index_of, makers_of, wait_shown
from gainboard.cli.loading import RUNS, find_files
from gainboard.cli.options import readable
from gainboard.cli.printing import printable
from gainboard.client import Problem
from gainboard.errors import BadInput, BadSetting

if TYPE_CHECKING:
    from gainboard.client.jobs import Job, Report

WHAT: Mapping[str, tuple[str, str]] = {
    "qrels": ("judgments", "--qrels"),
    "runs": ("runs", "--runs"),
    "score_matrices": ("score matrices as CSV", "--scores"),
}


@command(
    __doc__,
    Example("gainboard verify result.json --qrels qrels.txt --runs 'runs/*'", "on any machine that has the files"),
    Example("gainboard verify web-1", "all that is computed in the folder of a release"),
)
def verify(
    result: Annotated[
        Path, Argument("the result.json of an export, with depends_on.json beside it; or the folder of a release")
    ],
    *,
    qrels: Annotated[
        Sequence[Path], Option("the judgments; all versions that the result compares", metavar="FILE", nargs="+")
    ] = (),
    runs: Annotated[Sequence[str], RUNS] = (),
    scores: Annotated[
        Sequence[Path],
        Option("uploaded scores as CSV; those beside the result are found without it", metavar="FILE", nargs="+"),
    ] = (),
) -> int:
    """Read from an exported result what it depends on, find the judgments, runs and uploaded scores among the files by
    their hashes, compute the result again, and compare every number, and the tables and figures beside it. The exit
    code is 0 if nothing differs, but for last digits (1e-12 relative).

    `gainboard job result ID --output DIR` exports a result as `result.json`, with `depends_on.json` beside it, and so
    does `report result`. A result in the folder of a release needs no other files. The folder itself is made again of
    its judgments, runs and uploaded scores, and each of its files is compared.
    """
    from gainboard.analyses.verify import ABSENT, compare  # noqa: PLC0415

    file = result / RESULT if result.is_dir() else result
    with tempfile.TemporaryDirectory(prefix="gainboard-") as folder:
        temporary = Path(folder)
        if result.is_dir() and not file.exists():
            return _verify_folder(result, runs, temporary)
        content = read_json(file)
        depended = _read_dependencies(file, content)
        if (why := _other_version(content, depended)) is not None:
            print(why)
            return 1
        release = around(file)
        data = release / "data" if release else None
        (nothing := temporary / "no-ranking").touch()  # the file of runs that have answers alone
        run_files = [nothing, *(find_files(runs, temporary) if runs else ()), *_files_in(data, "runs")]
        matrices = [*scores, *file.parent.glob("score-matrix-*.csv"), *_files_in(data, "score-matrices")]
        files = {
            "qrels": _by_hash([*qrels, *_files_in(data, "qrels")]),
            "runs": _by_hash(run_files),
            "score_matrices": _by_hash(matrices),
        }
        with _compute(depended, files, temporary) as work:
            beside = list(_files_beside(work, file.parent, lists_all=result.is_dir()))
            verdict = compare(content, work.result_json())
            print(verdict.message)
            for difference in verdict.differences:
                # Text may look like the number in whose place it stands.
                is_text = isinstance(difference.stored, str) and difference.stored != ABSENT
                stored = f"the text {difference.stored!r}" if is_text else difference.stored
                there = f"{difference.place}: {stored} in the file, {difference.computed} computed"
                print(printable(there), file=sys.stderr)
            return max(int(verdict.outcome == "different"), tell(beside, sys.stderr) if beside else 0)


def _read_dependencies(file: Path, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a result depends on, which the file beside it says. Raise BadSetting if that is no such file."""
    from pydantic import ValidationError  # noqa: PLC0415  # imports as much as the service

    from gainboard.api.models.jobs import Dependencies, ReportDependencies  # noqa: PLC0415
    from gainboard.jobs.release_folder import first_faults  # noqa: PLC0415

    beside = file.with_name(DEPENDS_ON)
    if not beside.exists():
        raise BadSetting(
            f"There is no file {beside}, which names what the result depends on. Export the result again, as someone "
            "who may see the judgments: gainboard job result ID --output DIR, or report in place of job"
        )
    depended = read_json(beside)
    if "chapters" not in depended and isinstance(depended.get("collection"), dict):
        # Results of before there were reports here have the name alone.
        depended["collection"] = {"name": result.get("collection")} | depended["collection"]
    try:
        (ReportDependencies if "chapters" in depended else Dependencies).model_validate(depended)
    except ValidationError as error:
        raise BadSetting(f"{beside} is not as an export writes it: {first_faults(error)}. Export it again.") from error
    return depended


def _other_version(result: Mapping[str, Any], depended: Mapping[str, Any]) -> str | None:
    from gainboard.analyses.job_kinds import find_kind  # noqa: PLC0415  # imports all that computes

    versions = [(depended["kind"], it.get("engine_version")) for it in (depended, result)] if "kind" in depended else []
    for chapter in depended.get("chapters", ()):
        versions += chapter["engine_versions"].items()
    for kind, version in versions:
        try:
            here = find_kind(kind).engine_version
        except KeyError as error:
            raise BadSetting(f"This version of Gainboard has no kind of job {kind!r}. Install a newer one.") from error
        if version != here:
            return f"{kind}: made by engine version {version!r} (here {here}), not comparable"
    return None


def _files_in(data: Path | None, name: str) -> list[Path]:
    return sorted(path for path in (data / name).glob("*") if path.is_file()) if data else []


def _by_hash(files: Iterable[Path]) -> dict[str, Path]:
    """Return files by the SHA-256 of their unpacked contents."""
    from gainboard.cli.files import unpacked  # noqa: PLC0415

    by_hash = {}
    for file in files:
        digest = hashlib.sha256()
        try:
            with readable(file), file.open("rb") as source:
                for piece in unpacked(source):
                    digest.update(piece)
        except BadInput as error:
            if isinstance(error, BadSetting):
                raise
            raise BadSetting(f"{file} cannot be read. {error.message}") from error
        by_hash[digest.hexdigest()] = file
    return by_hash


def _find_files(what: str, wanted: Sequence[Mapping[str, Any]], files: Mapping[str, Path]) -> list[Path]:
    """Return the wanted files in their order. Raise BadSetting if one of them is not among the files by hash."""
    hashes = [file["csv_sha256" if what == "score_matrices" else "sha256"] for file in wanted]
    if missing := [number for number, sha256 in enumerate(hashes) if sha256 not in files]:
        first, (noun, option) = wanted[missing[0]], WHAT[what]
        version = f"version {first['version']} of " if "version" in first else ""
        raise BadSetting(
            f"{len(missing)} of {len(wanted)} {noun} are not among the files, such as "
            f"{printable(version + str(first.get('name') or first.get('judgments')))} with the SHA-256 "
            f"{hashes[missing[0]]}. Nothing was computed: the result is about other files. Name them with {option}."
        )
    return [files[sha256] for sha256 in hashes]


@contextmanager
def _compute(
    depended: Mapping[str, Any], files: Mapping[str, Mapping[str, Path]], temporary: Path
) -> Iterator[Job | Report]:
    """Yield the same request to a service of this command alone, which has these files, once it is computed."""
    packed = [_pack(campaign, files, temporary) for campaign in _collections(depended)]
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    with LocalGainboard() as gainboard:
        try:
            names = [gainboard.import_release(release).collection for release in packed]
            if "chapters" in depended:
                work: Job | Report = gainboard.report(depended["name"], names, **depended["params"])
            else:
                work = gainboard.job(names[0], depended["kind"], **depended["params"])
        except Problem as problem:
            raise BadSetting(f"{DEPENDS_ON} asks for what cannot be computed: {problem} Export it again.") from problem
        wait_shown(work, "computing")
        yield work


def _files_beside(work: Job | Report, folder: Path, *, lists_all: bool) -> Iterator[FileComparison]:
    """Yield the comparisons of the tables, figures and the page beside a result, as an export or a release has them.

    With `lists_all`, files that are not there, and those that are of no result, are named, too.
    """
    makers = {name: (place, make) for place, name, make in makers_of(work)}
    paths = folder.rglob("*") if lists_all else ()
    files = {path.relative_to(folder).as_posix() for path in paths if path.is_file()}
    strange = {path for path in files if path not in (RESULT, DEPENDS_ON) and not path.startswith("score-matrix-")}
    written = {name for name in makers if (folder / name).is_file()}
    for name, (place, make) in makers.items():
        path = name if name in written else place + name
        strange.discard(path)
        if (folder / path).is_file():
            yield _compared_file(path, (folder / path).read_bytes(), make)
        elif lists_all:
            yield FileComparison(name, "not compared", "it is not there")
    if (folder / INDEX).is_file() and written:
        strange.discard(INDEX)
        yield _compared_file(INDEX, (folder / INDEX).read_bytes(), lambda: index_of(work, written))
    for path in sorted(strange):
        yield FileComparison(path, "not compared", "it is no table or figure of the result")


def _compared_file(path: str, there: bytes, make: Callable[[], str]) -> FileComparison:
    try:
        return compare_file(path, there, make().encode())
    except Problem as problem:
        if problem.type not in NOT_MADE:
            raise
        return FileComparison(path, "not compared", f"this version makes none here: {problem}")


def _collections(depended: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a result depends on of each of its collections, for a report with a version for each that it knows of.

    It uses some of them, and of the others it tells the number alone. Any judgments can stand for these.
    """
    if "chapters" not in depended:
        match depended["params"].get("topics"):
            case {"group": str(group), "topics": list(topics)}:
                yield {**depended, "topic_groups": {group: topics}}
            case _:
                yield {**depended, "topic_groups": {}}
        return
    sets = depended["params"].get("judgments")
    for chapter in depended["chapters"]:
        name = chapter["collection"]["name"]
        judgments = sets.get(name) if isinstance(sets, dict) else None
        versions = [version for version in chapter["qrels"] if version["judgments"] == judgments]
        if not versions:
            raise BadSetting(f"{DEPENDS_ON} names no version of the judgments of {name}. Export it again.")
        others = set(chapter["published"]) - {version["version"] for version in versions}
        stand_ins = ({**versions[0], "version": number} for number in sorted(others))
        yield {**chapter, "qrels": [*chapter["qrels"], *stand_ins]}


def _pack(depended: Mapping[str, Any], files: Mapping[str, Mapping[str, Path]], temporary: Path) -> Path:
    """Write what a result depends on of a collection as the folder of a release, packed."""
    paths: dict[str, Path | bytes] = {}
    for what, path in (
        ("qrels", "data/qrels/{judgments}-{version}.txt"),
        ("runs", "data/runs/{name}.txt"),
        ("score_matrices", "data/score-matrices/{name}-{version}.csv"),
    ):
        wanted = depended.get(what, ())
        for record, file in zip(wanted, _find_files(what, wanted, files[what]), strict=True):
            paths[path.format(**record)] = file
    settings = dict(depended["collection"])
    names = levels if isinstance(levels := settings.pop("levels"), list) else None
    settings |= {"level_names": names, "highest_level": len(names) if names else levels}
    matrices, groups = depended.get("score_matrices", ()), depended["topic_groups"]
    document = document_of(settings, depended["qrels"], depended["runs"], matrices, groups)
    paths[DOCUMENT] = json.dumps(document).encode()
    return pack_files(paths, temporary / f"{depended['collection']['uuid']}.tar")


def _verify_folder(folder: Path, runs: Sequence[str], temporary: Path) -> int:
    """Make the folder of a release again in a service of this command alone, and compare all files."""
    from gainboard.analyses.job_kinds import find_kind  # noqa: PLC0415
    from gainboard.evaluation.boards.leaderboard import BOARDS_VERSION  # noqa: PLC0415
    from gainboard.metrics import SCORING_VERSION  # noqa: PLC0415

    require_folder(folder)
    document = _read_document(folder / DOCUMENT)
    for name, here in (("scoring_version", SCORING_VERSION), ("boards_version", BOARDS_VERSION)):
        if (version := document["made_by"].get(name, 0)) != here:
            why = f"the release was made by {name.replace('_', ' ')} {version!r} (here {here}), not comparable"
            print(f"all files: not compared, because {why}")
            return 1
    run_files = _by_hash(find_files(runs, temporary) if runs else ())
    code = tell(list(ReleaseFolder(folder, run_files, temporary).compare()))
    for result in document["results"]:
        with suppress(KeyError):
            if result["engine_version"] == find_kind(result["kind"]).engine_version:
                continue
        return 1  # what another version of an engine computed was not compared
    return code


def _read_document(file: Path) -> dict[str, Any]:
    """Return the document of a release. Raise BadSetting if it is none, but for its numbers, which are compared."""
    from pydantic import ValidationError  # noqa: PLC0415

    from gainboard.evaluation.releases.document import Archived  # noqa: PLC0415
    from gainboard.jobs.release_folder import first_faults  # noqa: PLC0415

    document = read_json(file)
    try:
        Archived.model_validate_json(json.dumps(document | {"boards": [], "scores": {}, "topics": []}))
    except ValidationError as error:
        raise BadSetting(
            f"{file} is not as a release has it: {first_faults(error)}. Compare it with {SUMS}, and copy the folder "
            "again."
        ) from error
    return document
