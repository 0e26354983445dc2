"""Gainboard timed beside its peers: `python -m benchmarks`. Start at `__main__` for the order of things."""

import os

# As in the processes that work jobs. Before NumPy is imported, for it asks only then.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
