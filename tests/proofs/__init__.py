"""Proofs: each module is a command with a long form, and a test runs its short form."""

import argparse


def asked(description, *names, **defaults):
    """Read the options of a proof: names of what to try, if there are any, and options by their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        kind = str if default is None else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    if names:
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(names)}")
    return parser.parse_args()
