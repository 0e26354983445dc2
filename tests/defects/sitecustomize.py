"""Planting at the start of each process whose PYTHONPATH has this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from planting import install  # type: ignore[import-not-found]

sys.path.pop(0)
install()
