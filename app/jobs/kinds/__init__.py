"""The kinds of jobs, one file each. Importing one enters it into the catalogue."""

from app.jobs.kinds import bootstrap_sensitivity, rank_correlation, stability, swap_rate

__all__ = ["bootstrap_sensitivity", "rank_correlation", "stability", "swap_rate"]
