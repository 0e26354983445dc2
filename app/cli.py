"""The command line: serve, migrate, demo."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from app import __version__, logs
from app.errors import GainboardError
from app.main import create_app, open_workspace
from app.settings import Settings
from app.store.database import Database
from app.store.schema import migrate

EXAMPLES = """examples:
  gainboard demo                               a generated campaign, served at once
  gainboard serve                              this machine only, data in ./gainboard-data
  gainboard serve --host 0.0.0.0 --data /srv/gainboard
  GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard migrate
"""


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
    serving = argparse.ArgumentParser(add_help=False)
    serving.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serving.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
    serving.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")

    serve = commands.add_parser("serve", parents=[serving], help="run the service", description=_serve.__doc__)
    serve.add_argument("--root-path", default="", metavar="PATH", help="where a proxy has mounted the service")
    serve.set_defaults(run=_serve)

    migrating = commands.add_parser("migrate", help="bring the database up to date", description=_migrate.__doc__)
    migrating.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")
    migrating.set_defaults(run=_migrate)

    demo = commands.add_parser("demo", parents=[serving], help="serve a generated campaign", description=_demo.__doc__)
    demo.set_defaults(run=_demo)
    return parser


def _serve(parsed: argparse.Namespace) -> int:
    """Run the service until it is stopped. The first start prints the organiser's token, once."""
    settings = Settings.read(os.environ, data=parsed.data)
    logs.configure()
    workspace, made = open_workspace(settings)
    if made is not None:
        print(
            "No organiser yet. This token organises the instance; it is shown this once, keep it:\n"
            f"  {made}\n"
            "(Set GAINBOARD_ADMIN_TOKEN to choose it yourself.)",
            file=sys.stderr,
            flush=True,
        )
    application = create_app(workspace, cors_origins=settings.cors_origins)
    uvicorn.run(
        application,
        host=parsed.host,
        port=parsed.port,
        root_path=parsed.root_path,
        log_config=None,
        access_log=False,
    )
    return 0


def _migrate(parsed: argparse.Namespace) -> int:
    """Bring the database to this version's schema, and say what was done."""
    settings = Settings.read(os.environ, data=parsed.data)
    if settings.database_url is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.url)
    before, after = migrate(database)
    database.close()
    print(f"schema {after}: nothing to do" if before == after else f"schema {before or 'none'} -> {after}")
    return 0


def _demo(parsed: argparse.Namespace) -> int:
    raise NotImplementedError
