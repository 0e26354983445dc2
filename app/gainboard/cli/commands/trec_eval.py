"""Run trec_eval: the same options, and the same output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from gainboard.cli import main
from gainboard.cli.command import Argument, Example, command


@command(
    __doc__,
    Example("gainboard trec_eval qrels.txt run.txt", "the official measures"),
    Example("gainboard trec_eval -q -m map -m P.5,10 qrels.txt run.txt", "two measures, also by topic"),
    Example("gainboard trec_eval -c -m all_trec qrels.txt run.txt", "all measures, over all judged topics"),
    Example("gainboard trec_eval -l2 -m ndcg.1=3,2=9 -m bpref qrels.txt run.txt", "level 2 is the lowest relevant"),
    Example("gainboard trec_eval -h -m ndcg", "explains a measure"),
    reads_options=True,
)
def trec_eval(
    arguments: Annotated[
        Sequence[str], Argument("the options and the two files of trec_eval", metavar="ARGUMENT")
    ] = (),
) -> int:
    """Take the arguments of trec_eval 10 and print what it prints, byte for byte, with the same exit codes: an alias
    lets scripts run unchanged. `-h` lists the options, and `-h -m all_trec` explains the measures. Preferences and
    judgment groups (`-R`) and deviations from a mean (`-Z`) are not supported.
    """
    return main(["trec_eval", *arguments])  # which knows this command before any parser is made
