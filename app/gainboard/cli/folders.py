"""Folders of releases: packed for an import, and made anew of what a single exported result depends on."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import SEEK_END
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gainboard.cli.options import readable
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from pydantic import BaseModel

SUMS, DOCUMENT = "SHA256SUMS", "data/release.json"
NOT_SAID: Final = ("metrics", "policy", "opens_at", "closes_at", "releases_at", "released_at")


def require_folder(folder: Path) -> None:
    """Raise BadSetting for what is no folder of a release."""
    if not (folder / SUMS).is_file():
        raise BadSetting(f"{folder} is no folder of a release: it has no {SUMS}. `gainboard export` writes one.")


def around(path: Path) -> Path | None:
    """Return the folder of the release in which a file is; None if it is in none."""
    return next(
        (folder for folder in path.resolve().parents if (folder / SUMS).is_file() and (folder / DOCUMENT).is_file()),
        None,
    )


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a file of JSON. Raise BadSetting if it cannot be read."""
    with readable(file):
        content = file.read_bytes()
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadSetting(f"{file} is no JSON: {error}. Export it again.") from error
    if not isinstance(value, dict):
        raise BadSetting(f"{file} is no object of JSON. Export it again.")
    return value


def pack(folder: Path, packed: Path) -> Path:
    """Write the folder of a release as a tar archive. Raise BadSetting if a file cannot be read."""
    require_folder(folder)
    try:
        with tarfile.open(packed, "w") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(folder).as_posix())
    except OSError as error:
        raise BadSetting(f"Cannot read {error.filename or folder}: {error.strerror or error}.") from error
    return packed


def pack_files(files: Mapping[str, Path | bytes], packed: Path) -> Path:
    """Write files as a tar archive of a release, with their checksums."""
    sums = []
    with tarfile.open(packed, "w") as archive:
        for path, file in files.items():
            sums.append(f"{_added(archive, path, file)}  {path}\n")
        _added(archive, SUMS, "".join(sums).encode())
    return packed


def _added(archive: tarfile.TarFile, path: str, file: Path | bytes) -> str:
    """Add a file, and return its SHA-256."""
    entry = tarfile.TarInfo(path)
    with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        entry.size = source.seek(0, SEEK_END)
        source.seek(0)
        archive.addfile(entry, source)
    return digest


def document_of(
    settings: Mapping[str, Any],
    judgments: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    matrices: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the document of a release that holds these files and no result, to be imported.

    `settings` are those of a release, with the collection's name and uuid. The release has the number 0, so that one
    that is made of it has the number 1 and corrects nothing. All times are about now.
    """
    # Pydantic is imported late.
    from gainboard.evaluation.releases.document import FORM, FrozenJudgments, FrozenRun  # noqa: PLC0415

    # Times in their order, without waiting.
    now = datetime.now(UTC)
    times = ((now + timedelta(microseconds=tick)).isoformat() for tick in count())
    settings = dict(settings)
    name, uuid = settings.pop("name"), settings.pop("uuid")
    in_order = sorted(judgments, key=lambda version: (version["judgments"], version["version"]))
    of_judgments = {**dict.fromkeys(("topics", "judged", "relevant"), 0), "per_level": {}}
    of_runs = {"tag": "", "pooled": True, "late": False, **dict.fromkeys(("topic_count", "retrieved"), 0)}
    of_runs |= dict.fromkeys(("description", "metadata_sha256", "type", "priority"))
    return {
        "form": FORM,
        "release": {
            **{"name": f"{name}-0", "collection": name, "uuid": uuid, "number": 0, "title": "", "doi": None},
            **{"corrects": None, "citation": "", "run_files": True, "created_at": next(times)},
            **{"creators": [], "license": ""},
        },
        "made_by": {"environment": "", "scoring_version": 0},
        "settings": {**dict.fromkeys(NOT_SAID), "title": "", "public": False, "created_at": next(times), **settings},
        "runs": [_fill(FrozenRun, run, of_runs | {"created_at": next(times)}) for run in runs],
        "judgments": [
            _fill(FrozenJudgments, version, of_judgments | {"published_at": (at := next(times)), "created_at": at})
            for version in in_order
        ],
        "score_matrices": [{**matrix, "created_at": next(times)} for matrix in matrices],
        "topic_groups": groups,
        "board_version": {"judgments": "official", "version": 1},  # there are no boards
        **dict.fromkeys(("results", "reports", "metrics", "boards", "topics"), ()),
        "scores": {},
        "audit": None,
    }


def _fill(model: type[BaseModel], said: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of the fields of a model, and the default of what it does not say."""
    return {**default, **{name: value for name, value in said.items() if name in model.model_fields}}
