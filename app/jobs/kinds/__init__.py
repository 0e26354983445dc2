"""The kinds of jobs, one file each. Importing one enters it into the catalogue."""

from app.jobs.kinds import stability, swap_rate

__all__ = ["stability", "swap_rate"]
