"""Make a collection of the folder of a release (organisers of the instance)."""
# ruff: noqa: N999

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import connect_server, server_options
from gainboard.cli.folders import pack, require_folder
from gainboard.cli.printing import format_option, print_one, printable


def _import(parsed: argparse.Namespace) -> int:
    """Make the collection of a folder that `gainboard export` wrote, with its runs, versions, settings, times and
    results. It keeps its uuid, so that the ids of jobs stay, and an instance that has it already refuses it. Results
    that this version of Gainboard does not know are left out, and named on standard error.
    """
    require_folder(parsed.folder)
    with connect_server(parsed) as server, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        packed = pack(parsed.folder, Path(temporary) / "release.tar")
        made = server.gainboard.import_release(packed)
    for each in made.left_out:
        print(printable(f"left out: {each.kind} {each.id[:12]}: {each.because}"), file=sys.stderr)
    print_one(made, parsed.format)
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
