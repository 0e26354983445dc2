"""Jobs: analyses too slow for a request. Start at `kind` for what a kind is, at `work` for what a process does."""
