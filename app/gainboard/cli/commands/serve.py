"""Run the service."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from shlex import quote
from stat import filemode

from gainboard import logs
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import count, data_option, listening_options
from gainboard.settings import Settings


def _serve(parsed: argparse.Namespace) -> int:
    """Run the service until it is stopped. It prints its address, and at the first start the organiser's token, once.
    The log is text on a terminal, else JSON lines.
    """
    # Nothing of what is made until the server listens ever becomes garbage. Looking at it takes a tenth of the start,
    # and later, in each full collection, all requests wait for as long.
    gc.disable()
    try:
        return _run(parsed)
    finally:
        gc.enable()


def _run(parsed: argparse.Namespace) -> int:
    from gainboard.cli.serving import Server, address_of, listen  # noqa: PLC0415
    from gainboard.main import announce, create_app, open_workspace, start_compiled  # noqa: PLC0415
    from gainboard.store.machine import UMASK  # noqa: PLC0415

    os.umask(UMASK)
    settings = Settings.read(os.environ, data=parsed.data, job_slots=parsed.job_slots)
    for name in Settings.unknown(os.environ):
        print(f"gainboard: {name} is not a setting and is ignored. Check the spelling.", file=sys.stderr)
    logs.configure()
    # The port comes first. The token is shown only once, so a start that fails should not show it.
    with listen(parsed.host, parsed.port) as listener:
        url = address_of(listener)
        print(f"Gainboard serves at {url} (for a browser, too; API: {url}/docs). Ctrl+C stops it.", flush=True)
        workspace, token = open_workspace(settings)
        announce(token)
        if settings.database_url is None and (mode := settings.data.stat().st_mode) & 0o077:
            said = f"other users may use {settings.data} ({filemode(mode)}), and it has the judgments"
            print(f"gainboard: {said}: chmod go= {quote(str(settings.data))}", file=sys.stderr)
        application = create_app(workspace, settings)

        def settle() -> None:
            gc.freeze()
            gc.enable()
            # It takes half a second of the processor, which the first answer should not wait for.
            start_compiled(settings)

        Server(application, parsed.root_path, settle).run([listener])
    return 0


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--job-slots",
        type=count("a number of processes", 0, 256, 4),
        metavar="N",
        help="number of processes that run jobs (GAINBOARD_JOB_SLOTS; 0: `gainboard worker` runs them elsewhere)",
    )
    parser.add_argument(
        "--root-path", default="", metavar="PATH", help="the path under which a proxy offers the service"
    )


COMMAND = Command(
    "serve",
    __doc__,
    _serve,
    together(data_option, listening_options, _own),
    [
        Example("gainboard serve", "only this machine, data in ./gainboard-data"),
        Example("gainboard serve --host 0.0.0.0 --data data", "for the network, data in another folder"),
    ],
)
