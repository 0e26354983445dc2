"""trec_eval itself, version 10: its arguments, its files, its measures and its output, byte for byte."""

from gainboard.trec_eval.program import main

__all__ = ["main"]
