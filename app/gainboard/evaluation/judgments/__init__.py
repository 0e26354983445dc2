"""Judgments: versions of qrels, what changes with them, pools, and groups of topics."""
