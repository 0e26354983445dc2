"""Boards and comparisons: what follows from the scores of several runs."""
