"""Runs: read as they arrive, joined with judgments, stored, described and withdrawn."""
