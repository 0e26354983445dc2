"""Gainboard: evaluation of information retrieval with graded relevance, as a service."""

__version__ = "0.1.0"
