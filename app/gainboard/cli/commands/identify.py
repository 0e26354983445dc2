"""Find which metric, order of ties, topics and rounding give a number, and which tool prints it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Argument, Example, Misuse, Option, command
from gainboard.cli.files import FileReader, Reading, expand_folders, short_names
from gainboard.cli.options import readable
from gainboard.cli.parallel import PlainCount
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.runs.run_files import NO_LIMITS, read_run
from gainboard.evaluation.scoring import identification
from gainboard.evaluation.scoring.identification import Numbers, judge_in_orders
from gainboard.metrics import Scale
from gainboard.trec.csv_files import separator_of


@command(
    __doc__,
    Example("gainboard identify qrels.txt run.txt 0.3842"),
    Example("gainboard identify qrels.txt run.txt 0.3842 0.5120 -m NDCG@10", "numbers of one program and metric"),
    Example("gainboard identify qrels.txt runs --table paper.csv", "a row for each run, a column for each metric"),
)
def identify(
    qrels: Annotated[str, Argument("judgments in TREC's or NTCIR's layout")],
    run: Annotated[str, Argument("a run file; with --table, a folder of run files")],
    numbers: Annotated[Sequence[str], Argument("numbers as they were printed", metavar="NUMBER")] = (),
    *,
    metric: Annotated[str, Option("what the metric is called (default: any)", "-m", "--metric")] = "",
    table: Annotated[str | None, Option("means as CSV, in place of numbers: run, then metrics", metavar="FILE")] = None,
    reading: Reading,
) -> None:
    """Find which metric, order of ties, topics of the mean and rounding give a number, and which tool prints it.

    The names of all tools of docs/other-tools.md are tried, then what departs from them once or more often. Several
    numbers are first explained together: by one tool, in one way.
    """
    if bool(numbers) == bool(table):
        raise Misuse("give numbers, or a table of them with --table FILE")
    files, asked = expand_folders([run], qrels), [Numbers([number], metric) for number in numbers]
    if table:
        with readable(table):
            lines = Path(table).read_text(encoding="utf-8-sig").splitlines() or [""]
        rows = [row for row in csv.reader(lines, delimiter=separator_of(lines[0].encode())) if row] or [["run"]]
        (_, *names), *columns = zip_longest(*rows, fillvalue="")
        named = zip(short_names(files), files, strict=True)
        by_name = {
            alias: file for name, file in named for alias in (Path(name).stem, name.removeprefix("input."), name)
        }
        if not (names and columns):
            raise BadSetting(f"{table} has no numbers. Write a row for each run, and a column for each metric.")
        if missing := set(names) - by_name.keys():
            raise BadSetting(f"{table} has the run {min(missing)!r}, but {run} has no file of this name.")
        files = [by_name[name] for name in names]
        asked = [Numbers(texts, name or metric, is_heading=bool(name)) for name, *texts in columns]
    elif len(files) > 1:
        raise BadSetting(f"{run} has {len(files)} files. Name the run that has the numbers, or give --table FILE.")
    reader = FileReader.of(reading, NO_LIMITS)
    runs, file = [], qrels
    try:
        judged = reader.qrels(qrels, PlainCount())
        index = reader.index(judged)
        consume = partial(judge_in_orders, index=index, depth=reader.depth, order=reader.order)
        for file in files:
            with reader.opened(file, PlainCount()) as chunks:
                runs.append(read_run(chunks, reader.order, reader.depth, NO_LIMITS, consume)[1])
    except GainboardError as error:
        raise BadSetting(f"{file}: {error.message}") from error
    scale = Scale(reader.highest_level(judged), reader.depth, reader.intents)
    print(*identification.in_words(identification.identify(asked, runs, index.topics.judgments, scale)), sep="\n")
