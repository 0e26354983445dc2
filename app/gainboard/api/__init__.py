"""The HTTP interface: one file a resource, schemas above their routes."""
