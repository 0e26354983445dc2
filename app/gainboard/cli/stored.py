"""The settings of the commands that open the database themselves."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from gainboard.settings import Settings


def stored(parser: argparse.ArgumentParser) -> None:
    """The option that says where the data is."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")


def settings_of(parsed: argparse.Namespace) -> Settings:
    """Those of the environment and of this command line. Raises BadSetting."""
    return Settings.read(os.environ, data=parsed.data)
