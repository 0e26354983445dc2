"""Find which metric, order of ties, topics and rounding give a number, and which tool prints it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal

from gainboard.cli.command import Argument, Example, Misuse, Option, command
from gainboard.cli.files import FileReader, Reading, expand_folders, short_names
from gainboard.cli.options import metric_option, readable
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import print_json
from gainboard.errors import BadSetting
from gainboard.evaluation.runs.run_files import NO_LIMITS, read_run
from gainboard.evaluation.scoring.identification import (
    Numbers,
    OrderedRun,
    in_words,
    judge_in_orders,
    pair_with_metrics,
)
from gainboard.evaluation.scoring.identification import (
    identify as identify_numbers,
)
from gainboard.metrics import Scale
from gainboard.trec.csv_files import separator_of


@command(
    __doc__,
    Example("gainboard identify qrels.txt run.txt 0.3842"),
    Example("gainboard identify qrels.txt run.txt 0.3842 0.5120 -m MAP -m NDCG@10", "two numbers of one program"),
    Example("gainboard identify qrels.txt runs --table paper.csv", "a row for each run, a column for each metric"),
)
def identify(
    qrels: Annotated[str, Argument("judgments in TREC's or NTCIR's layout")],
    run: Annotated[str, Argument("a run file; with --table, a folder of run files")],
    numbers: Annotated[Sequence[str], Argument("numbers as they were printed", metavar="NUMBER")] = (),
    *,
    metrics: Annotated[Sequence[str], metric_option("any")] = (),
    table: Annotated[
        str | None, Option("a table of means as CSV: run, then a column for each metric", metavar="FILE")
    ] = None,
    format: Annotated[Literal["table", "json"], Option("the format (default: table)", "-f", "--format")] = "table",
    reading: Reading,
) -> None:
    """Find which metric, order of ties, topics of the mean and rounding give a number, and which tool prints it.

    The names of all tools of docs/other-tools.md are tried, then what departs from them once or more often. Several
    numbers are first explained together: by one tool, in one way.
    """
    if bool(numbers) == bool(table):
        raise Misuse("give numbers, or a table of them with --table FILE")
    reader = FileReader.of(reading, NO_LIMITS)
    files = expand_folders([run], qrels)
    asked = pair_with_metrics(numbers, metrics)
    if table:
        with readable(table):
            lines = Path(table).read_text(encoding="utf-8-sig").splitlines()
        rows = csv.reader(lines, delimiter=separator_of(lines[0].encode() if lines else b""))
        (_, *names), *columns = zip_longest(*rows, fillvalue="")
        by_name = dict(zip(short_names(files), files))
        if missing := set(names) - by_name.keys():
            raise BadSetting(f"{table} has the run {min(missing)!r}, of which there is no file in {run}.")
        files = [by_name[name] for name in names]
        asked = [Numbers(texts, metric) for metric, *texts in columns]
    judged = reader.qrels(qrels, PlainCount())
    index = reader.index(judged)
    consume = partial(
        judge_in_orders, index=index, depth=reader.depth, ignore_identical_ids=reader.order.ignore_identical_ids
    )

    def read(name: str) -> OrderedRun:
        with reader.opened(name, PlainCount()) as chunks:
            return read_run(chunks, reader.order, reader.depth, NO_LIMITS, consume)[1]

    scale = Scale(reader.highest_level(judged), reader.depth, reader.intents)
    variants = identify_numbers(asked, [*map(read, files)], index.topics.judgments, scale)
    if format == "json":
        print_json([variant._asdict() for variant in variants])
    else:
        print(*in_words(variants), sep="\n")
