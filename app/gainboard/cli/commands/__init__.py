"""The commands. Each module has one: `COMMAND`, a `Command` or `Group` of the module's name."""
