"""Make a collection of the folder of a release (organisers of the instance)."""
# ruff: noqa: N999

from __future__ import annotations

import argparse
import tarfile
import tempfile
from pathlib import Path

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import connect_server, server_options
from gainboard.cli.printing import format_option, print_one
from gainboard.errors import BadSetting


def _import(parsed: argparse.Namespace) -> int:
    """Make the collection of a folder that `gainboard export` wrote, with its runs, versions, settings, times and
    results. It keeps its uuid, so that the ids of jobs stay, and an instance that has it already refuses it.
    """
    folder: Path = parsed.folder
    if not (folder / "SHA256SUMS").is_file():
        raise BadSetting(f"{folder} is no folder of a release: it has no SHA256SUMS. `gainboard export` writes one.")
    with connect_server(parsed) as server, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        packed = Path(temporary) / "release.tar"
        with tarfile.open(packed, "w") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(folder).as_posix())
        print_one(server.gainboard.import_release(packed), parsed.format)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of a release")


COMMAND = Command(
    "import",
    __doc__,
    _import,
    together(_options, format_option, server_options),
    [Example("gainboard import web-1", "a collection of another instance")],
)
