"""Gainboard timed beside its peers: `python -m benchmarks`. Start at `__main__` for the order of things."""
