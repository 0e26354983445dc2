"""trec_eval itself, version 10: its arguments, its files, its measures and its output, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, TextIO

from gainboard.trec_eval.options import Exit, help_of, read_options


def main(arguments: Sequence[str], out: BinaryIO, errors: TextIO) -> int:
    """Run trec_eval with these arguments, and return its exit code. Here, several files of results may be named."""
    try:
        options, files = read_options(arguments)
        if options.version:
            print("trec_eval version 10.0", file=errors)
        elif options.help:
            out.write(help_of(options).encode())
        else:
            from gainboard.trec_eval.evaluation import evaluate  # noqa: PLC0415 - it imports NumPy

            evaluate(options, files, out)
    except Exit as end:
        print(end.message, file=errors)
        return end.code
    return 0
