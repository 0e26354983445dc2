"""The analyses of the papers, on score matrices of stored runs. `Analysis` defines what an analysis is."""

from gainboard.analyses.analysis import Analysis, Arrays, Change

__all__ = ["Analysis", "Arrays", "Change"]
