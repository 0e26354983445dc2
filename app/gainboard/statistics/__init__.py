"""Statistics: score matrices in, numbers out.

Start at `draws` for everything random, at `significance` for the definition of a significance test, and at
`correlation` for rankings of runs.
"""

# importing a family adds its tests to the catalogue
from gainboard.statistics import bootstrap, bootstrap_range, classical  # noqa: F401
from gainboard.statistics.means import mean_intervals
from gainboard.statistics.significance import SignificanceTest, every_test, find_test

__all__ = ["SignificanceTest", "every_test", "find_test", "mean_intervals"]
