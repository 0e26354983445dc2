"""Export a release as a folder that outlives the service."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Example, Option, command
from gainboard.cli.connecting import NamedCollection, find_release
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
    from gainboard.cli.pseudonyms import write_under_pseudonyms  # noqa: PLC0415

    if pseudonyms is not None and output.resolve() in pseudonyms.resolve().parents:
        raise BadSetting(f"{pseudonyms} is in the folder {output}. The map must be kept apart from it.")
    # A killed export may have left hidden folders.
    if output.exists() and not (output.is_dir() and all(it.match(f".*{PARTIAL}") for it in output.iterdir())):
        raise BadSetting(f"{output} is there already. Name a folder that is new or empty.")
    with at.connect() as gainboard, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        number = release or find_release(gainboard, at.collection)
        packed = gainboard.save_archive(at.collection, number, Path(temporary) / "release.tar")
        if pseudonyms is not None:
            named = Path(temporary) / "named"
            _unpack(packed, named)
            packed = write_under_pseudonyms(named, Path(temporary) / "again.tar", pseudonyms)
        _unpack(packed, output)
    print(output / "index.html")


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
