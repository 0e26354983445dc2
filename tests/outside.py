"""The world of a command of ours in a process of its own."""

from __future__ import annotations

import os


def outside(**given: str) -> dict[str, str]:
    """An environment: nothing of the settings that the tests run under, plain code, and what is given.

    A server begins to compile as it starts, which none of these lives to see the end of and all others would wait for.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GAINBOARD_")}
    return environment | {"GAINBOARD_FAST": "off"} | given
