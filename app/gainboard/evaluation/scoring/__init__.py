"""Scores: what a request asks for, the runs and metrics it means, and one score for each topic."""
