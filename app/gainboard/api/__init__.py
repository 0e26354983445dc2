"""The HTTP interface. Each resource has one file, and its models are in `models`."""
