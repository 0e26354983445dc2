"""The kinds of jobs, one file each. Importing one enters it into the catalogue."""

from gainboard.jobs.kinds import (
    bootstrap_sensitivity,
    gain_robustness,
    gain_vectors,
    judgments,
    rank_correlation,
    stability,
    swap_rate,
    test_agreement,
)

__all__ = [
    "bootstrap_sensitivity",
    "gain_robustness",
    "gain_vectors",
    "judgments",
    "rank_correlation",
    "stability",
    "swap_rate",
    "test_agreement",
]
