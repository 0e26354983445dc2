"""Look at runs in a browser, without a server."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import webbrowser
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gainboard.cli.loading import loaded
from gainboard.cli.old import Command, Example
from gainboard.cli.progress import interruptible
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.client import LocalGainboard


def _view(parsed: argparse.Namespace) -> int:
    """Load judgments and runs into a service of this command alone, and open its board in the browser: sliders,
    letters, topics, comparisons and analyses. It listens on this machine only, and the address that is printed lets one
    browser in, once. Ctrl+C ends it and leaves nothing, unless --data keeps it.

    Runs are files, folders, patterns, zip or tar archives, or a CSV with the columns file, team and name. Files of
    several folders are of the teams that these are called. Faulty runs are named and left out.
    """
    if bool(parsed.qrels) != bool(parsed.runs) or not (parsed.qrels or parsed.data):
        raise BadSetting("Name the judgments and the runs: gainboard view qrels.txt runs/*")
    if parsed.data is not None and parsed.data.is_file():
        raise BadSetting(f"--data {parsed.data} is a file. Name a folder.")
    with interruptible(), _service(parsed) as gainboard:
        url = gainboard.service.entrance(f"/c/{parsed.collection}" if parsed.qrels else "/")
        print(f"{url}\nThis address lets one browser in, once. Ctrl+C ends the service.", flush=True)
        if not parsed.no_browser:
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would interrupt the end
    print(f"kept in {parsed.data}" if parsed.data else "ended, and nothing is left of it", file=sys.stderr)
    return 0


def _service(parsed: argparse.Namespace) -> AbstractContextManager[LocalGainboard]:
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    if not parsed.qrels:
        return LocalGainboard(parsed.data, for_browsers=True)
    return loaded(parsed.collection, parsed.qrels, parsed.runs, parsed.data, for_browsers=True)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", nargs="?", metavar="QRELS", help="the judgments")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="runs, folders, archives, or a CSV of runs")
    parser.add_argument("-c", "--collection", metavar="NAME", default="files", help="the collection (default: files)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep the database in this folder, to look again")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


COMMAND = Command(
    "view",
    __doc__,
    _view,
    _options,
    [
        Example("gainboard view qrels.txt runs/*", "the board of a folder of runs"),
        Example("gainboard view qrels.txt runs.zip --data kept --no-browser", "to come back to later"),
        Example("gainboard view --data kept", "what was loaded before"),
    ],
)
