"""The command line: serve, migrate, warm, demo, audit."""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from app import __version__, compiled, demo, logs
from app.errors import BadSetting, GainboardError
from app.evaluation import audit
from app.evaluation.principals import authenticate
from app.evaluation.workspace import Workspace
from app.main import announce, create_app, open_database, open_workspace, start_compiled, warm_compiled
from app.settings import Settings
from app.store.schema import migrate

EXAMPLES = """examples:
  gainboard demo                               a generated campaign, served at once
  gainboard serve                              this machine only, data in ./gainboard-data
  gainboard serve --host 0.0.0.0 --data /srv/gainboard
  GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard migrate
"""

PORTS_TRIED = 100
LAST_PORT = 65535
STOP_SECONDS = 10
"""That requests under way have to end when the server stops."""
DEMO_REQUESTS = (
    "/v1/collections/demo",
    "/v1/collections/demo/leaderboard?metric=Q&metric=nDCG@10&metric=AP",
    "/v1/collections/demo/scores?run=lemur-1&metric=Q&metric=nDCG@10&gains=10:5:1&beta=10&base=10",
    "/v1/collections/demo/scores?run=lemur-1&metric=map&metric=P_10&metric=Rmeasure&format=trec_eval",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; gives the exit code: 0 done, 1 refused, 2 not understood."""
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except GainboardError as error:
        print(f"gainboard: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="gainboard",
        description="Evaluation of information retrieval with graded relevance, as a service.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"gainboard {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    stored = argparse.ArgumentParser(add_help=False)
    stored.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")
    serving = argparse.ArgumentParser(add_help=False, parents=[stored])
    serving.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serving.add_argument("--port", type=_port, default=8000, help="port to listen on (default: 8000)")

    serve = commands.add_parser("serve", parents=[serving], help="run the service", description=_serve.__doc__)
    serve.add_argument("--root-path", default="", metavar="PATH", help="where a proxy has mounted the service")
    serve.set_defaults(run=_serve)

    migrating = commands.add_parser("migrate", parents=[stored], help="bring the database up to date")
    migrating.description = _migrate.__doc__
    migrating.set_defaults(run=_migrate)

    warming = commands.add_parser("warm", parents=[stored], help="compile what the fast extra compiles")
    warming.description = _warm.__doc__
    warming.set_defaults(run=_warm)

    auditing = commands.add_parser("audit", help="verify an exported audit log", description=_audit.__doc__)
    auditing.add_argument("file", metavar="FILE", help="JSON lines, of /v1/audit?format=ndjson; - is standard input")
    auditing.add_argument("--gaps", action="store_true", help="it is of one collection or filtered: numbers may lack")
    auditing.set_defaults(run=_audit)

    demo = commands.add_parser("demo", parents=[serving], help="serve a generated campaign", description=_demo.__doc__)
    demo.set_defaults(run=_demo)
    return parser


def _serve(parsed: argparse.Namespace) -> int:
    """Run the service until it is stopped. The first start prints the organiser's token, once."""
    settings = Settings.read(os.environ, data=parsed.data)
    for name in Settings.unknown(os.environ):
        print(f"gainboard: {name} is no setting; is it misspelt?", file=sys.stderr)
    logs.configure()
    # First of all the port: a token that is shown once should not be shown by a start that fails.
    with _listen(parsed.host, parsed.port) as listener:
        workspace, token = open_workspace(settings)
        announce(token)
        start_compiled(settings)
        _run(create_app(workspace, settings), listener, parsed.root_path)
    return 0


class Server(uvicorn.Server):
    """One that ends open event streams and waits for jobs before it waits for its connections to close."""

    def __init__(self, application: FastAPI, root_path: str = "") -> None:
        super().__init__(
            uvicorn.Config(
                application,
                root_path=root_path,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._watch = application.state.watch

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what would not end by itself, then the rest as ever."""
        self._watch.close()
        await super().shutdown(sockets)


def _run(application: FastAPI, listener: socket.socket, root_path: str = "") -> None:
    Server(application, root_path).run([listener])


def _migrate(parsed: argparse.Namespace) -> int:
    """Bring the database to this version's schema, and say what was done."""
    settings = Settings.read(os.environ, data=parsed.data)
    database = open_database(settings)
    try:
        before, after = migrate(database)
    finally:
        database.close()
    print(f"schema {after}: nothing to do" if before == after else f"schema {before or 'none'} -> {after}")
    return 0


def _warm(parsed: argparse.Namespace) -> int:
    """Compile now what a server would compile at its first start, for images and before a benchmark."""
    settings = Settings.read(os.environ, data=parsed.data)
    began = time.monotonic()
    warm_compiled(settings)
    print(f"compiled in {time.monotonic() - began:.1f} s: {', '.join(compiled.names())}")
    return 0


def _audit(parsed: argparse.Namespace) -> int:
    """Verify an exported audit log, with no need of the service: exit code 0 if it is whole, else 1 and the first
    entry that is not as it was written. Entries cut off at the end do not show: compare the last hash with that of
    an export of your own."""
    try:
        with nullcontext(sys.stdin) if parsed.file == "-" else open(parsed.file, encoding="utf-8") as lines:
            verdict = audit.verify(map(_entry, filter(str.strip, lines)), has_gaps=parsed.gaps)
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {parsed.file}: {getattr(error, 'strerror', None) or error}.") from error
    if verdict.fault is not None:
        print(f"gainboard: {verdict.fault} (entries before it: {verdict.entries}, whole)", file=sys.stderr)
        return 1
    print(f"whole: {verdict.entries} entries; the hash of the last is {verdict.last}")
    return 0


def _entry(line: str) -> object:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found


def _demo(parsed: argparse.Namespace) -> int:
    """Make a campaign of 50 topics, 15 teams and 45 runs in a fresh folder, and serve it, open to everybody."""
    signal.signal(signal.SIGTERM, _interrupt)  # or the temporary folder would stay
    with tempfile.TemporaryDirectory(prefix="gainboard-demo-") as temporary:
        data = parsed.data or Path(temporary)
        if data.is_file() or (data.exists() and any(data.iterdir())):
            raise BadSetting(f"{data} is not empty; the demo wants a folder of its own.")
        logs.configure(logging.WARNING)
        with _listen(parsed.host, parsed.port, PORTS_TRIED) as listener:
            workspace, token = open_workspace(Settings.read({}, data=data))
            assert token is not None
            compiled.start(None)  # kept with the code: the folder of this demo ends with it
            _load_demo(workspace, token)
            host, port = listener.getsockname()[:2]
            moved = "" if parsed.port in (port, 0) else f" (port {parsed.port} is taken)"
            shown = f"[{host}]" if ":" in host else host
            print(_invitation(f"http://{shown}:{port}", moved, token), flush=True)
            _run(create_app(workspace), listener)
    return 0


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def _load_demo(workspace: Workspace, token: str) -> None:
    began = time.monotonic()
    is_terminal = sys.stderr.isatty()
    print("making and loading a campaign of 45 runs, which takes some seconds", file=sys.stderr, flush=True)
    for line in demo.load(workspace, authenticate(workspace, token)):
        # On a terminal one line that changes; in a log only the ends, not 45 lines.
        if is_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    if is_terminal:
        print("\r\033[K", end="", file=sys.stderr)
    print(f"loaded in {time.monotonic() - began:.1f} s", file=sys.stderr)


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; one is a number from 0 (any free one) to {LAST_PORT}")
    return int(text)


def _listen(host: str, port: int, tried: int = 1) -> socket.socket:
    """The socket at the port, or the first free one after it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + tried - 1, LAST_PORT)
    for candidate in range(port, last + 1):
        try:
            return socket.create_server((host, candidate), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise BadSetting(f"Cannot listen on {host}, port {port}: {error.strerror or error}.") from error
    taken = f"Port {port} is" if tried == 1 else f"Ports {port} to {last} are"
    raise BadSetting(f"{taken} taken; choose another with --port.")


def _invitation(url: str, moved: str, token: str) -> str:
    requests = "\n".join(f"  curl '{url}{path}'" for path in DEMO_REQUESTS)
    return (
        f"\nGainboard serves a generated campaign at {url}{moved} (interface: {url}/docs). Try:\n\n{requests}\n\n"
        f"The organiser's token, for changing anything: {token}\nCtrl+C ends it."
    )
