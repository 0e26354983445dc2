"""Compile what the fast extra compiles."""

from __future__ import annotations

import argparse
import time

from gainboard import compiled
from gainboard.cli.command import Command, Example
from gainboard.cli.stored import settings_of, stored


def _warm(parsed: argparse.Namespace) -> int:
    """Compile now what a server would compile at its first start, for images and before a benchmark."""
    from gainboard.main import warm_compiled  # noqa: PLC0415

    began = time.monotonic()
    warm_compiled(settings_of(parsed))
    print(f"compiled in {time.monotonic() - began:.1f} s: {', '.join(compiled.names())}")
    return 0


COMMAND = Command("warm", __doc__, _warm, stored, [Example("gainboard warm")])
