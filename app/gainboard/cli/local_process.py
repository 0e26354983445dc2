"""The process of a local service."""

from __future__ import annotations

import gc
from importlib import import_module

if __name__ == "__main__":
    # A fifth of a start was the collector's, which looked at each of a thousand modules again and again.
    gc.disable()
    import_module("gainboard.cli.local_service").main()
