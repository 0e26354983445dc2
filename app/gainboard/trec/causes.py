"""Guesses at the cause of a fault, so that a message can say what would be right.

Many faults come from lines with the wrong number of columns, or from files of another kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from gainboard.trec.numbers import decimal, integer

BY_INTENT = "set `intents` of the collection, or use `--intents`"
SECOND_COLUMN_DIFFERS = f". If the second column names intents (subtopics), read the file by intent: {BY_INTENT}"
"""The likely cause of two judgments of a document that differ in level and in the second column."""
NO_INTENT_AT_ALL = (
    ". The second column is 0 in all lines, as in qrels without intents: leave out `--intents`, or use a collection "
    "without `intents`"
)
"""The likely cause of relevant documents for intent 0 in a file that names no intent."""
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
    return cause_by_intent(row)


def cause_by_intent(row: Sequence[bytes]) -> str:
    """Return a sentence if a line of qrels looks like the probability of an intent, with a space before it."""
    probability = decimal(row[2]) if len(row) == 3 and integer(row[2]) is None else None
    if probability is None or not 0 <= probability <= 1:
        return ""
    return f". It looks like the probability of an intent. To read qrels by intent, {BY_INTENT}"


def _other_separator(row: Sequence[bytes]) -> str:
    for separator, name in _SEPARATORS.items():
        if len(row) < 3 and sum(column.count(separator) for column in row) >= 2:
            return f". Separate the columns by spaces or tabs, not by {name}"
    return ""
