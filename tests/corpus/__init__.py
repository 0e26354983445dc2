"""Recorded requests: all that a client can see of one released and one hidden campaign, in files that people review."""
