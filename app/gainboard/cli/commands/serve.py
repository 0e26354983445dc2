"""Run the service."""

from __future__ import annotations

import gc
import os
import sys
from shlex import quote
from stat import filemode
from typing import Annotated

from gainboard import logs
from gainboard.cli.command import Example, Option, command, count
from gainboard.cli.options import HOST, PORT, Data, Host, Port
from gainboard.settings import Settings


@command(
    __doc__,
    Example("gainboard serve", "only this machine, data in ./gainboard-data"),
    Example("gainboard serve --host 0.0.0.0 --data data", "for the network, data in another folder"),
)
def serve(
    *,
    data: Data = None,
    host: Host = HOST,
    port: Port = PORT,
    job_slots: Annotated[
        int | None,
        Option(
            "number of processes that run jobs (GAINBOARD_JOB_SLOTS; 0: `gainboard worker` runs them elsewhere)",
            metavar="N",
            read=count("a number of processes", 0, 256, 4),
        ),
    ] = None,
    root_path: Annotated[str, Option("the path under which a proxy offers the service", metavar="PATH")] = "",
) -> None:
    """Run the service until it is stopped. It prints its address, and at the first start the organiser's token, once.
    The log is text on a terminal, else JSON lines.
    """
    # Nothing of what is made until the server listens ever becomes garbage. Looking at it takes a tenth of the start,
    # and later, in each full collection, all requests wait for as long.
    gc.disable()
    try:
        from gainboard.cli.local_service import Server, address_of, listen  # noqa: PLC0415  # noqa: PLC0415
        from gainboard.main import announce, create_app, open_workspace, start_compiled  # noqa: PLC0415
        from gainboard.store.machine import UMASK  # noqa: PLC0415

        os.umask(UMASK)
        settings = Settings.read(os.environ, data=data, job_slots=job_slots)
        for name in Settings.unknown(os.environ):
            print(f"gainboard: {name} is not a setting and is ignored. Check the spelling.", file=sys.stderr)
        logs.configure()
        # The port comes first. The token is shown only once, so a start that fails should not show it.
        with listen(host, port) as listener:
            url = address_of(listener)
            print(f"Gainboard serves at {url} (for a browser, too; API: {url}/docs). Ctrl+C stops it.", flush=True)
            workspace, token = open_workspace(settings)
            announce(token)
            if settings.database_url is None and (mode := settings.data.stat().st_mode) & 0o077:
                warning = f"other users may use {settings.data} ({filemode(mode)}), and it has the judgments"
                print(f"gainboard: {warning}: chmod go= {quote(str(settings.data))}", file=sys.stderr)
            application = create_app(workspace, settings)

            def settle() -> None:
                gc.freeze()
                gc.enable()
                # It takes half a second of the processor, which the first answer should not wait for.
                start_compiled(settings)

            Server(application, root_path, settle).run([listener])
    finally:
        gc.enable()
