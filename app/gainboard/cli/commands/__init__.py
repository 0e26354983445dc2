"""The commands: each module has one, `COMMAND`, under the module's name.

The first line of a module is its docstring and the command's line in `gainboard --help`.
"""
