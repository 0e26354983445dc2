"""The analyses of the papers, on score matrices of stored runs. `Analysis` says what one is."""

from gainboard.evaluation.analyses.analysis import Analysis, Arrays, Change

__all__ = ["Analysis", "Arrays", "Change"]
