"""Export a release as a folder that outlives the service."""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from pathlib import Path

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import collection_argument, collection_option, connect_server, server_options
from gainboard.cli.folders import SUMS
from gainboard.cli.options import whole_number
from gainboard.errors import BadSetting

PARTIAL = ".partial"


def _export(parsed: argparse.Namespace) -> int:
    """Write a release into a folder: pages that any browser opens without a service, all data as plain files, the
    SHA-256 of every file, and RO-Crate metadata.
    """
    folder: Path = parsed.output
    if parsed.pseudonyms is not None and folder.resolve() in parsed.pseudonyms.resolve().parents:
        raise BadSetting(f"{parsed.pseudonyms} is in the folder {folder}. The map must be kept apart from it.")
    if folder.exists() and not (folder.is_dir() and all(map(_is_left, folder.iterdir()))):
        raise BadSetting(f"{folder} is there already. Name a folder that is new or empty.")
    with connect_server(parsed) as server, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        name = server.collection
        number = parsed.release or next((each.number for each in server.gainboard.releases(name)), None)
        if number is None:
            raise BadSetting(f"{name} has no release yet. Make one: gainboard freeze {name}")
        packed = server.gainboard.save_archive(name, number, Path(temporary) / "release.tar")
        if parsed.pseudonyms is not None:
            packed = _under_pseudonyms(packed, Path(temporary), parsed.pseudonyms)
        _unpack(packed, folder)
    print(folder / "index.html")
    return 0


def _is_left(path: Path) -> bool:
    """Return whether a killed export has left this."""
    return path.name.startswith(".") and path.suffix == PARTIAL


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack an archive beside a folder, which gets its name when it is complete.

    A folder that exists cannot be replaced: it may be where a disk is mounted. So it is filled, with the checksums
    last: a folder without them is no folder of a release.
    """
    from gainboard.trec.bodies import extract  # noqa: PLC0415 (with NumPy)

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
            for each in sorted(whole.iterdir(), key=lambda path: path.name == SUMS):
                each.rename(folder / each.name)
    except (OSError, tarfile.TarError) as error:
        raise BadSetting(f"Cannot write {folder}: {error}.") from error


def _under_pseudonyms(packed: Path, temporary: Path, map_file: Path) -> Path:
    """Return the folder under pseudonyms, packed again, and write the map."""
    from gainboard.cli.pseudonyms import Pseudonyms, pseudonymised, write_map  # noqa: PLC0415

    _unpack(packed, temporary / "named")
    document = json.loads((temporary / "named/data/release.json").read_bytes())
    if not document["release"]["run_files"]:
        raise BadSetting("The release has the hashes of its runs, not their files, so nothing can be pseudonymised.")
    pseudonyms = Pseudonyms.drawn(document["runs"])
    write_map(pseudonyms, map_file)
    pseudonymised(temporary / "named", pseudonyms, temporary / "again.tar")
    return temporary / "again.tar"


def _options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    collection_argument(parser)
    parser.add_argument("--release", type=whole_number, metavar="NUMBER", help="the release (default: the newest)")
    parser.add_argument(
        "--pseudonyms",
        type=Path,
        metavar="MAP",
        help="replace teams, runs and tags, leave people and the log out, and write the map into this new CSV file",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", required=True, help="a folder that is new or empty")


COMMAND = Command(
    "export",
    __doc__,
    _export,
    together(_options, server_options),
    [
        Example("gainboard export web --release 1 --output web-1", "the release of `gainboard freeze`"),
        Example("gainboard export web --pseudonyms map.csv --output blind", "for blind review"),
    ],
)
