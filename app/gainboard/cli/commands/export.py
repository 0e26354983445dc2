"""Export a release as a folder that outlives the service."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Example, Option, command
from gainboard.cli.connecting import NamedCollection
from gainboard.cli.folders import SUMS
from gainboard.errors import BadSetting

PARTIAL = ".partial"


@command(
    __doc__,
    Example("gainboard export web --release 1 --output web-1", "the release of `gainboard freeze`"),
    Example("gainboard export web --pseudonyms map.csv --output blind", "for blind review"),
)
def export(
    at: NamedCollection,
    *,
    release: Annotated[int | None, Option("the release (default: the newest)", metavar="NUMBER")] = None,
    pseudonyms: Annotated[
        Path | None,
        Option(
            "replace teams, runs and tags, leave people and the log out, and write the map into this new CSV file",
            metavar="MAP",
        ),
    ] = None,
    output: Annotated[Path, Option("a folder that is new or empty", metavar="DIR")],
) -> None:
    """Write a release into a folder: pages that any browser opens without a service, all data as plain files, the
    SHA-256 of every file, and RO-Crate metadata.
    """
    if pseudonyms is not None and output.resolve() in pseudonyms.resolve().parents:
        raise BadSetting(f"{pseudonyms} is in the folder {output}. The map must be kept apart from it.")
    if output.exists() and not (output.is_dir() and all(map(_is_left, output.iterdir()))):
        raise BadSetting(f"{output} is there already. Name a folder that is new or empty.")
    with at.connect() as gainboard, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        number = release or next((frozen.number for frozen in gainboard.releases(at.collection)), None)
        if number is None:
            raise BadSetting(f"{at.collection} has no release yet. Make one: gainboard freeze {at.collection}")
        packed = gainboard.save_archive(at.collection, number, Path(temporary) / "release.tar")
        if pseudonyms is not None:
            packed = _under_pseudonyms(packed, Path(temporary), pseudonyms)
        _unpack(packed, output)
    print(output / "index.html")


def _is_left(path: Path) -> bool:
    """Return whether a killed export has left this."""
    return path.name.startswith(".") and path.suffix == PARTIAL


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack an archive beside a folder, which gets its name when it is complete."""
    from gainboard.trec.bodies import extract  # noqa: PLC0415 (with NumPy)

    # A folder that exists cannot be replaced: it may be where a disk is mounted. So it is filled, with the checksums
    # last: a folder without them is no folder of a release.
    is_there = folder.exists()
    beside = folder if is_there else folder.absolute().parent
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=PARTIAL, dir=beside) as temporary:
            whole = Path(temporary) / "whole"
            whole.mkdir()
            with tarfile.open(packed, "r:") as archive:
                extract(archive, whole)
            if not is_there:
                whole.rename(folder)
                return
            for path in sorted(whole.iterdir(), key=lambda path: path.name == SUMS):
                path.rename(folder / path.name)
    except (OSError, tarfile.TarError) as error:
        raise BadSetting(f"Cannot write {folder}: {error}.") from error


def _under_pseudonyms(packed: Path, temporary: Path, map_file: Path) -> Path:
    """Return the folder under pseudonyms, packed again, and write the map."""
    from gainboard.cli.pseudonyms import Pseudonyms, pseudonymised, write_map  # noqa: PLC0415

    _unpack(packed, temporary / "named")
    document = json.loads((temporary / "named/data/release.json").read_bytes())
    if not document["release"]["run_files"]:
        raise BadSetting("The release has the hashes of its runs, not their files, so nothing can be pseudonymised.")
    drawn = Pseudonyms.drawn(document["runs"])
    write_map(drawn, map_file)
    pseudonymised(temporary / "named", drawn, temporary / "again.tar")
    return temporary / "again.tar"
