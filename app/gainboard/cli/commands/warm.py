"""Compile the functions of the fast extra."""

from __future__ import annotations

import argparse
import time

from gainboard import acceleration
from gainboard.cli.command import Command, Example
from gainboard.cli.options import data_option, read_settings


def _warm(parsed: argparse.Namespace) -> int:
    """Compile now what a server would compile at its first start with this data folder (`--data`), for example in an
    image.

    Without a folder, compile for `gainboard score`, which then reads and scores large files faster.
    """
    from gainboard.main import warm_compiled  # noqa: PLC0415

    began = time.monotonic()
    warm_compiled(read_settings(parsed))
    print(f"compiled in {time.monotonic() - began:.1f} s: {', '.join(acceleration.names())}")
    return 0


COMMAND = Command("warm", __doc__, _warm, data_option, [Example("gainboard warm")])
