"""Compile the functions of the fast extra."""

from __future__ import annotations

import time

from gainboard import acceleration
from gainboard.cli.command import Example, command
from gainboard.cli.options import Data, read_settings


@command(__doc__, Example("gainboard warm"))
def warm(*, data: Data = None) -> None:
    """Compile now what a server would compile at its first start with this data folder (`--data`), for example in an
    image.

    Without a folder, compile for `gainboard score`, which then reads and scores large files faster.
    """
    from gainboard.main import warm_compiled  # noqa: PLC0415

    began = time.monotonic()
    warm_compiled(read_settings(data))
    print(f"compiled in {time.monotonic() - began:.1f} s: {', '.join(acceleration.names())}")
