"""Submit run files to a collection."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from gainboard.api.models.common import WarningAnswer
from gainboard.api.models.runs import MetadataFileAnswer
from gainboard.cli.connecting import (
    CalledServer,
    collection_option,
    connect_server,
    server_options,
    tell_of_refusal,
    tell_of_warnings,
)
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import STANDARD_INPUT, count, require_one_input
from gainboard.cli.printing import fault_lines, list_faults, printable
from gainboard.cli.progress import ProgressLine
from gainboard.cli.submissions import COLUMNS, Submission, read_submissions
from gainboard.client import Problem
from gainboard.client.gainboard import AT_ONCE
from gainboard.errors import BadSetting, FaultyFile, GainboardError

if TYPE_CHECKING:
    from gainboard.api.models.runs import RunAnswer

    Answer = RunAnswer | MetadataFileAnswer | GainboardError


def _submit(parsed: argparse.Namespace) -> int:
    """Submit run files: plain, gzip or zstd. Each file is stored whole or not at all, and a line says what happened. If
    one is refused, the others are still stored, but the exit code is 1. A file that the team has sent before counts as
    stored.

    A folder stands for the files in it. A CSV (*.csv) names files with their teams and names:

      file,team,name
      runs/bm25.txt,lemur,bm25
      runs/dense.txt.gz,otter,

    Its other columns are description, type, pooled (yes or no) and priority (from 1). Only file is needed; an empty
    cell is as the option says. Paths begin at the CSV's folder. With the column run in place of file, a CSV is about
    the files beside it: gainboard submit runs/* teams.csv. If a row is faulty, its line is printed, and nothing is
    sent.

    A file of ir_metadata, as tirex-tracker writes it, goes with the run that it is named like: bm25.ir_metadata.yml
    with bm25.txt.
    """
    require_one_input(parsed.files)
    pooled = False if parsed.not_pooled else None
    details = (parsed.team, parsed.name, parsed.description, parsed.type, pooled, parsed.priority, parsed.metadata)
    default = Submission("", *details)
    try:
        submissions = read_submissions(parsed.files, default)
    except FaultyFile as error:
        for line in fault_lines("", *list_faults(error)):
            print(printable(line), file=sys.stderr)
        raise BadSetting("Nothing was sent. Correct the CSV, and submit it again.") from error
    if parsed.name and len(submissions) > 1:
        raise BadSetting(
            "--name is for one file, but there are several. Without --name, each run takes its run tag as its name."
        )
    if parsed.metadata and len(submissions) > 1:
        raise BadSetting("--metadata is for one file, but there are several. Call each RUN.ir_metadata.yml instead.")
    with _opened(parsed.receipts) as receipts, connect_server(parsed) as server:
        return 0 if all(_send_files(server, submissions, receipts)) else 1


@contextmanager
def _opened(file: str | None) -> Iterator[TextIO | None]:
    if file is None:
        yield None
        return
    try:
        receipts = open(file, "a", encoding="utf-8")  # noqa: SIM115 (an error of the block is not the file's)
    except OSError as error:
        raise BadSetting(f"Cannot write {file}: {error.strerror or error}.") from error
    with receipts:
        yield receipts


def _send_files(server: CalledServer, submissions: Sequence[Submission], receipts: TextIO | None) -> list[bool]:
    """Return whether each file that was answered is stored. Raise errors that are not about one file, such as no
    answer.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        collection = server.collection
        sent = {pool.submit(_send_file, server, collection, each): each.file for each in submissions}
        try:
            _wait(sent)
        finally:
            pool.shutdown(cancel_futures=True)
            # These are stored even if the command was interrupted, so they are reported.
            answered = [(file, future) for future, file in sent.items() if future.done() and not future.cancelled()]
            stored = [
                all(_print_answer(file, answer, receipts) for answer in future.result())
                for file, future in answered
                if future.exception() is None
            ]
        for _, future in answered:
            future.result()
    return stored


def _wait(sent: dict[Future[list[Answer]], str]) -> None:
    with ProgressLine("submitting", " files") as progress:
        for done, future in enumerate(as_completed(sent), start=1):
            progress.at(done, len(sent))
            if future.exception() is not None:
                return


def _send_file(server: CalledServer, collection: str, sent: Submission) -> list[Answer]:
    """Send a run, and the file of ir_metadata beside it. Return what came of each."""
    source: Any = sys.stdin.buffer if sent.file == STANDARD_INPUT else sent.file
    details = {name: getattr(sent, name) for name in COLUMNS[1:]}
    try:
        run = server.gainboard.submit(collection, source, **details)
    except Problem as problem:
        return [problem]
    except OSError as error:
        return [BadSetting(f"Cannot be read: {error.strerror or error}")]
    if sent.metadata is None:
        return [run]
    try:
        return [run, server.gainboard.put_run_metadata(collection, run.name, sent.metadata)]
    except Problem as problem:
        return [run, problem]
    except OSError as error:
        return [run, BadSetting(f"{sent.metadata} cannot be read: {error.strerror or error}")]


def _print_answer(file: str, answer: Answer, receipts: TextIO | None) -> bool:
    if isinstance(answer, GainboardError):
        tell_of_refusal(file, answer)
        return False
    if isinstance(answer, MetadataFileAnswer):
        print(f"{file}: with its file of ir_metadata", flush=True)
        tell_of_warnings(file, [WarningAnswer(code="bad-metadata", message=fault) for fault in answer.faults])
        return True
    unjudged = "" if answer.unjudged_share is None else f", {answer.unjudged_share:.1%} unjudged"
    print(f"{file}: {answer.name}: {answer.topics:,} topics, {answer.retrieved:,} documents{unjudged}", flush=True)
    tell_of_warnings(file, answer.warnings)
    if receipts and answer.receipt:
        receipts.write(answer.receipt.model_dump_json() + "\n")
    return True


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a run in TREC's six columns, a folder of runs, or a CSV (*.csv) that names runs; - is standard input",
    )
    collection_option(parser)
    parser.add_argument("--team", help="the run's team; only organisers need it")
    parser.add_argument("--name", help="the name of the run; by default its tag, the sixth column")
    parser.add_argument("--description", help="a description of the system")
    parser.add_argument(
        "--receipts", metavar="FILE", help="add the receipts to this file, a line each, for `gainboard audit verify`"
    )
    parser.add_argument(
        "--metadata", metavar="FILE", help="a file of ir_metadata about the run, as tirex-tracker writes it"
    )
    parser.add_argument("--type", help="for example `automatic`")
    parser.add_argument("--not-pooled", action="store_true", help="keep its documents out of the pool")
    parser.add_argument(
        "--priority",
        type=count("a whole number", 1, 10_000, 1),
        help="its place among the team's runs, from 1: a pool may take the first ones",
    )


COMMAND = Command(
    "submit",
    __doc__,
    _submit,
    together(_options, server_options),
    [
        Example("gainboard submit run.txt -c web --team lemur"),
        Example("gainboard submit runs -c web --team lemur --type automatic", "a folder, each under its run tag"),
        Example("gainboard submit runs.csv -c web", "with the teams and names of a CSV"),
        Example("gainboard submit runs/* teams.csv -c web", "with a CSV of the columns run and team"),
    ],
)
