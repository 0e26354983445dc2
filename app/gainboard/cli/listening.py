"""Where the commands that run a server listen."""

from __future__ import annotations

import argparse

LAST_PORT = 65535


def listening(parser: argparse.ArgumentParser) -> None:
    """The options of a server."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on (default: 8000)")


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; one is a number from 0 (any free one) to {LAST_PORT}")
    return int(text)
