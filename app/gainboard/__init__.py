"""Gainboard: a service for the evaluation of information retrieval with graded relevance."""

__version__ = "0.1.0"
