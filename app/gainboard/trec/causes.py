"""Guesses at the cause of a line with the wrong number of columns, so that a message can say what would be right."""

from __future__ import annotations

from collections.abc import Sequence

from gainboard.trec.numbers import decimal, integer

_SEPARATORS = {b",": "commas", b";": "semicolons"}


def columns_in_words(count: int) -> str:
    """Return the number of columns as a message says it."""
    return "1 column" if count == 1 else f"{count} columns"


def cause_in_run(row: Sequence[bytes]) -> str:
    """Return a sentence on why a line of a run may not have six columns, with a space before it; empty if unknown."""
    if found := _other_separator(row):
        return found
    if len(row) == 4 and integer(row[3]) is not None:
        return ". It looks like a line of qrels: were the two files exchanged?"
    if len(row) == 5:
        return ". Is a column missing, such as Q0 or the run tag?"
    if len(row) > 6 and integer(row[3]) is not None and decimal(row[4]) is not None:
        return ". Is there a blank in the run tag? It must be one word"
    return ""


def cause_in_qrels(row: Sequence[bytes]) -> str:
    """Return a sentence on why a line of qrels may have the wrong columns, with a space before it; empty if unknown."""
    if found := _other_separator(row):
        return found
    if len(row) == 6 and decimal(row[4]) is not None:
        return ". It looks like a line of a run: were the two files exchanged?"
    if len(row) == 3 and integer(row[2]) is not None:
        return ". Is the second column missing, which is 0 in most files?"
    return ""


def _other_separator(row: Sequence[bytes]) -> str:
    for separator, name in _SEPARATORS.items():
        if len(row) < 3 and sum(column.count(separator) for column in row) >= 2:
            return f". Separate the columns by spaces or tabs, not by {name}"
    return ""
