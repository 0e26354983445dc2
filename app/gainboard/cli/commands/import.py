"""Make a collection of the folder of a release (organisers of the instance)."""
# ruff: noqa: N999

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.connecting import OneServer
from gainboard.cli.folders import pack, require_folder
from gainboard.cli.printing import Format, print_one, printable


@command(__doc__, Example("gainboard import web-1", "a collection of another instance"))
def import_(
    at: OneServer,
    folder: Annotated[Path, Argument("the folder of a release", metavar="DIR")],
    *,
    format: Format = "table",
) -> None:
    """Make the collection of a folder that `gainboard export` wrote, with its runs, versions, settings, times and
    results. It keeps its uuid, so that the ids of jobs stay, and an instance that has it already refuses it. Results
    that this version of Gainboard does not know are left out, and named on standard error.
    """
    require_folder(folder)
    with at.connect() as gainboard, tempfile.TemporaryDirectory(prefix="gainboard-") as temporary:
        imported = gainboard.import_release(pack(folder, Path(temporary) / "release.tar"))
    for work in imported.left_out:
        print(printable(f"left out: {work.kind} {work.id[:12]}: {work.because}"), file=sys.stderr)
    print_one(imported, format)
