"""Serve two generated campaigns, or write one as files."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gainboard import logs
from gainboard.acceleration import serving
from gainboard.cli.command import Example, Option, command
from gainboard.cli.options import HOST, PORT, Data, Host, Port
from gainboard.cli.progress import interruptible
from gainboard.errors import BadSetting
from gainboard.settings import Settings

if TYPE_CHECKING:
    from gainboard.evaluation.workspace import Workspace

PORTS_TRIED = 100
REQUESTS = (
    "/v1/collections/demo",
    "/v1/collections/demo/leaderboard?metric=Q&metric=nDCG@10&metric=AP",
    "/v1/collections/demo/scores?run=lemur-1&metric=Q&metric=nDCG@10&gains=10:5:1&beta=10&base=10",
    "/v1/collections/demo/scores?run=lemur-1&metric=map&metric=P_10&metric=Rmeasure&format=trec_eval",
)


@command(
    __doc__,
    Example("gainboard demo", "serve two generated campaigns"),
    Example("gainboard demo --files try", "files for commands that need no server"),
)
def demo(
    *,
    data: Data = None,
    host: Host = HOST,
    port: Port = PORT,
    files: Annotated[Path | None, Option("write qrels.txt and runs/ into this folder, and end", metavar="DIR")] = None,
) -> None:
    """Create a campaign of 50 topics and 45 runs and one of 20 topics and 15 runs, of the same teams, in a new folder.
    Serve them; everyone may read them. With --files, write the judgments and runs of the smaller one instead, with
    nuggets and what two judges say of answers, to try the commands that need no server.
    """
    if files is not None:
        _write(files)
        return
    from gainboard.cli.local_service import Server, address_of, listen  # noqa: PLC0415  # noqa: PLC0415
    from gainboard.main import create_app, open_workspace  # noqa: PLC0415
    from gainboard.store.machine import UMASK  # noqa: PLC0415

    os.umask(UMASK)
    # Without the first of these, the temporary folder would stay after SIGTERM.
    with interruptible() as check, tempfile.TemporaryDirectory(prefix="gainboard-demo-") as temporary:
        folder = data or Path(temporary)
        if folder.is_file() or (folder.exists() and any(folder.iterdir())):
            raise BadSetting(f"{folder} is not empty. Name an empty or new folder for the demo with --data.")
        logs.configure(logging.WARNING)
        with listen(host, port, PORTS_TRIED) as listener:
            workspace, token = open_workspace(Settings.read({}, data=folder))
            assert token is not None
            if Settings.read(os.environ).fast == "on":
                serving.start(None)  # kept with the code, because this demo's folder is deleted at the end
            _load(workspace, token, check)
            moved = "" if port in (listener.getsockname()[1], 0) else f" (port {port} is taken)"
            url = address_of(listener)
            print(
                f"\nOpen {url}/c/demo in a browser.\n\n"
                f"Gainboard serves demo, demo-small and demo-scores at {url}{moved} (API: {url}/docs). "
                "Requests to try:\n"
            )
            for path in REQUESTS:
                print(f"  curl '{url}{path}'")
            print(
                f"\nThe organiser's token, to sign in and for changes: {token}\nCtrl+C stops the service.", flush=True
            )
            Server(create_app(workspace)).run([listener])


def _write(folder: Path) -> None:
    from gainboard.demo import small_campaign  # noqa: PLC0415

    qrels, runs = folder / "qrels.txt", folder / "runs"
    for path in (qrels, runs):
        if path.exists():
            raise BadSetting(f"{path} is there already. Name another folder with --files.")
    runs.mkdir(parents=True)
    campaign = small_campaign()
    qrels.write_text(campaign.qrels(), encoding="utf-8")
    for name, text in (
        ("nuggets", campaign.nuggets()),
        ("answers", campaign.assignments()),
        ("answers-model", campaign.assignments(lenient=True)),
    ):
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    for _, name, text in campaign.runs():
        (runs / f"{name}.txt").write_text(text, encoding="utf-8")
    print(f"wrote {qrels}, and {campaign.run_count} runs into {runs}", file=sys.stderr)


def _load(workspace: Workspace, token: str, check: Callable[[], None]) -> None:
    """Load the campaigns, and show the progress. `check` is called again and again, and ends the command if it must."""
    from gainboard.demo import load  # noqa: PLC0415
    from gainboard.evaluation.access.principals import Sender, authenticate  # noqa: PLC0415

    began = time.monotonic()
    is_terminal = sys.stderr.isatty()
    print("creating and loading campaigns of 45 and of 15 runs, which takes some seconds", file=sys.stderr, flush=True)
    for line in load(workspace, authenticate(workspace, Sender.of(token))):
        check()
        # A terminal shows one line that changes. A log gets only the last message, not 60 lines.
        if is_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    if is_terminal:
        print("\r\033[K", end="", file=sys.stderr)
    print(f"loaded in {time.monotonic() - began:.1f} s", file=sys.stderr)
    check()
