"""The world of a command of ours in a process of its own."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "app"
"""The folder of the import package."""


def outside(**given):
    """Return an environment without the settings that the tests run under, in which only plain code is used.

    A server begins to compile as it starts, which none of these lives to see the end of and all others would wait for.
    """
    ours = ("GAINBOARD_", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return environment | {"GAINBOARD_FAST": "off", "PYTHONPATH": str(SOURCE)} | given
