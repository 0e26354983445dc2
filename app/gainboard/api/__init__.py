"""The HTTP interface. Each resource has one file, with its models above its routes."""
