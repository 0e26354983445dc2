"""Statistics: score matrices in, numbers out."""

from app.statistics.intervals import mean_interval

__all__ = ["mean_interval"]
