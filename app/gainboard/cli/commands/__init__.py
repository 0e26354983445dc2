"""The commands: each module has the one of its name, or those of a group, in the order of their help.

The first line of a module is its docstring and the line of the command or the group in `gainboard --help`.
"""
