"""Look at runs in a browser, without a server."""

from __future__ import annotations

import signal
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gainboard.cli.command import Argument, Example, Option, command
from gainboard.cli.loading import NAME, RUNS, ScoreFiles, loaded
from gainboard.cli.progress import interruptible
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.client import LocalGainboard


@command(
    __doc__,
    Example("gainboard view qrels.txt runs/*", "the board of a folder of runs"),
    Example("gainboard view qrels.txt runs.zip --data kept --no-browser", "to come back to later"),
    Example("gainboard view --data kept", "what was loaded before"),
    Example("gainboard view --scores accuracy.csv", "the board of scores from elsewhere"),
)
def view(
    qrels: Annotated[
        str | None, Argument("the judgments"), Option("judgments; all arguments are then runs", metavar="QRELS")
    ] = None,
    runs: Annotated[Sequence[str], Argument("runs, folders, archives, or a CSV of runs", metavar="RUN"), RUNS] = (),
    *,
    of_scores: ScoreFiles,
    collection: Annotated[str, Option("the collection (default: files)", "-c", "--collection", metavar="NAME")] = NAME,
    data: Annotated[Path | None, Option("keep the database in this folder, to look again", metavar="DIR")] = None,
    no_browser: Annotated[bool, "only print the address"] = False,
) -> None:
    """Load judgments and runs into a service of this command alone, and open its board in the browser: sliders,
    letters, topics, comparisons and analyses. It listens on this machine only, and the address that is printed lets one
    browser in, once. Ctrl+C ends it and leaves nothing, unless --data keeps it.

    Runs are files, folders, patterns, zip or tar archives, or a CSV with the columns file, team and name. Files of
    several folders are of the teams that these are called. Faulty runs are named and left out. Scores are files as for
    `gainboard leaderboard --scores`.
    """
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    has_files = bool(qrels or of_scores.scores)
    if bool(qrels) != bool(runs) or not (has_files or data) or (qrels and of_scores.scores):
        raise BadSetting("Name the judgments and the runs, or scores: gainboard view qrels.txt runs/*")
    if data is not None and data.is_file():
        raise BadSetting(f"--data {data} is a file. Name a folder.")
    service: AbstractContextManager[LocalGainboard]
    if of_scores.scores:
        service = of_scores.loaded(collection, data, for_browsers=True)
    elif qrels:
        service = loaded(collection, qrels, runs, data, for_browsers=True)
    else:
        service = LocalGainboard(data, for_browsers=True)
    with interruptible(), service as gainboard:
        url = gainboard.service.entrance(f"/c/{collection}" if has_files else "/")
        print(f"{url}\nThis address lets one browser in, once. Ctrl+C ends the service.", flush=True)
        if not no_browser:
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would interrupt the end
    print(f"kept in {data}" if data else "ended, and nothing is left of it", file=sys.stderr)
