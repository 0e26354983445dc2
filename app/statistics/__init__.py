"""Statistics: score matrices in, numbers out."""

from app.statistics.intervals import mean_intervals

__all__ = ["mean_intervals"]
