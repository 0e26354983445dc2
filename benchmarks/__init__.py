"""Gainboard timed beside its peers: `python -m benchmarks`. Start at `__main__` for the order of things."""

import os

ONE_THREAD = "OPENBLAS_NUM_THREADS"
HAD_ONE_THREAD = ONE_THREAD in os.environ
"""Whether the user has set the variable. Commands and servers start as users start them, so only then do they get it.
"""
# As in the processes that work jobs. Before NumPy is imported, for it asks only then.
os.environ.setdefault(ONE_THREAD, "1")
