"""Options that several commands have, and how their values are read.

Commands on files and commands against a server use this module, so it imports neither what reads files nor the client.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.settings import Settings

STANDARD_INPUT = "-"
_COMMA = re.compile(r",(?![^()]*\))")
"""A comma, but not within an expression such as `Q(beta=1,gains=3:2:1)`."""
LAST_PORT = 65535


def parse_pair(text: str) -> tuple[str, Any]:
    """Return the name and the value of `NAME=VALUE`, for argparse."""
    name, is_pair, value = text.partition("=")
    if not is_pair or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, parse_value(value)


def parse_value(text: str) -> Any:
    """Read a value as JSON, else as a list if it has commas (`0.05,0.01`, or `0.05,` for one item), else as text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        words = _COMMA.split(text)
    return text if len(words) == 1 else [parse_value(word.strip()) for word in words if word.strip()]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def require_one_input(names: Sequence[str]) -> None:
    """Raise BadSetting if two of the files are standard input, which can be read once."""
    if list(names).count(STANDARD_INPUT) > 1:
        raise BadSetting("Only one of the files can be -, standard input.")


def data_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the data is."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")


def read_settings(parsed: argparse.Namespace) -> Settings:
    """Return the settings of the environment and of this command line. Raises BadSetting."""
    from gainboard.settings import Settings  # noqa: PLC0415 (it imports Pydantic and NumPy)

    return Settings.read(os.environ, data=parsed.data)


def listening_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run a server: host and port."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on (default: 8000)")


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; one is a number from 0 (any free one) to {LAST_PORT}")
    return int(text)
