"""The use cases: the only ring where stored data meets arithmetic."""
