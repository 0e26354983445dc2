"""Releases, their documents and history, and the news of a collection."""
