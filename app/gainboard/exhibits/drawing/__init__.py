"""Drawing figures with Matplotlib, the `figures` extra; only `svg.py` imports this package."""
