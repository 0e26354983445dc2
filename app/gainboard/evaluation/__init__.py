"""The use cases: the only place where stored data meets arithmetic."""
