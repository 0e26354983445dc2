"""Submit run files to a collection."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from gainboard.api.models.common import WarningAnswer
from gainboard.api.models.runs import MetadataFileAnswer
from gainboard.cli.command import Argument, Example, Option, command, count
from gainboard.cli.connecting import OneCollection, tell_of_refusal, tell_of_warnings
from gainboard.cli.options import REPLICATES, STANDARD_INPUT, require_one_input
from gainboard.cli.printing import fault_lines, list_faults, printable
from gainboard.cli.progress import ProgressLine
from gainboard.cli.submissions import COLUMNS, Submission, read_submissions
from gainboard.client import Gainboard, Problem
from gainboard.client.gainboard import AT_ONCE
from gainboard.errors import BadSetting, FaultyFile, GainboardError
from gainboard.notation.sources import run_name, split_replicate
from gainboard.notation.texts import without_signs

if TYPE_CHECKING:
    from gainboard.api.models.runs import RunAnswer

    Answer = RunAnswer | MetadataFileAnswer | GainboardError


@command(
    __doc__,
    Example("gainboard submit run.txt -c web --team lemur"),
    Example("gainboard submit runs -c web --team lemur --type automatic", "a folder, each under its run tag"),
    Example("gainboard submit runs.csv -c web", "with the teams and names of a CSV"),
    Example("gainboard submit runs/* teams.csv -c web", "with a CSV of the columns run and team"),
)
def submit(
    at: OneCollection,
    files: Annotated[
        Sequence[str],
        Argument(
            "a run in TREC's six columns, a folder of runs, or a CSV (*.csv) that names runs; - is standard input",
            metavar="FILE",
        ),
    ],
    *,
    team: Annotated[str | None, "the run's team; only organisers need it"] = None,
    name: Annotated[str | None, "the name of the run; by default its tag, the sixth column"] = None,
    description: Annotated[str | None, "a description of the system"] = None,
    receipts: Annotated[
        str | None, Option("add the receipts to this file, a line each, for `gainboard audit verify`", metavar="FILE")
    ] = None,
    metadata: Annotated[
        str | None, Option("a file of ir_metadata about the run, as tirex-tracker writes it", metavar="FILE")
    ] = None,
    type: Annotated[str | None, "for example `automatic`"] = None,
    not_pooled: Annotated[bool, "keep its documents out of the pool"] = False,
    priority: Annotated[
        int | None,
        Option(
            "its place among the team's runs, from 1: a pool may take the first ones",
            read=count("a whole number", 1, 10_000, 1),
        ),
    ] = None,
    system: Annotated[str | None, "the system of which it is a replicate, such as one seed"] = None,
    replicate: Annotated[str | None, "what tells it from the system's other replicates, such as the seed"] = None,
    replicates: Annotated[str | None, REPLICATES] = None,
    family: Annotated[str | None, "the family of the models that it was built with, such as a judge's own"] = None,
) -> int:
    """Submit run files: plain, gzip or zstd. Each file is stored whole or not at all, and a line says what happened. If
    one is refused, the others are still stored, but the exit code is 1. A file that the team has sent before counts as
    stored.

    A folder stands for the files in it. A CSV (*.csv) names files with their teams and names:

      file,team,name
      runs/bm25.txt,lemur,bm25
      runs/dense.txt.gz,otter,

    Its other columns are description, type, pooled (yes or no), priority (from 1), system, replicate and family. Only
    file is needed; an empty cell is as the option says. Paths begin at the CSV's folder. With the column run in place
    of file, a CSV is about the files beside it: gainboard submit runs/* teams.csv. If a row is faulty, its line is
    printed, and nothing is sent.

    A file of ir_metadata, as tirex-tracker writes it, goes with the run that it is named like: bm25.ir_metadata.yml
    with bm25.txt.
    """
    require_one_input(files)
    pooled = False if not_pooled else None
    default = Submission("", team, name, description, type, pooled, priority, metadata, system, replicate, family)
    try:
        submissions = read_submissions(files, default)
    except FaultyFile as error:
        for line in fault_lines("", *list_faults(error)):
            print(printable(line), file=sys.stderr)
        raise BadSetting("Nothing was sent. Correct the CSV, and submit it again.") from error
    for number, run in enumerate(submissions if replicates else ()):
        own = run.name or run_name(Path(run.file))
        of, by = split_replicate(own, replicates)
        submissions[number] = replace(run, name=without_signs(own), system=of, replicate=by) if by else run
    if name and len(submissions) > 1:
        raise BadSetting(
            "--name is for one file, but there are several. Without --name, each run takes its run tag as its name."
        )
    if metadata and len(submissions) > 1:
        raise BadSetting("--metadata is for one file, but there are several. Call each RUN.ir_metadata.yml instead.")
    with _open_receipts(receipts) as opened, at.connect() as gainboard:
        return 0 if all(_send_files(gainboard, at.collection, submissions, opened)) else 1


@contextmanager
def _open_receipts(file: str | None) -> Iterator[TextIO | None]:
    if file is None:
        yield None
        return
    try:
        receipts = open(file, "a", encoding="utf-8")  # noqa: SIM115 (an error of the block is not the file's)
    except OSError as error:
        raise BadSetting(f"Cannot write {file}: {error.strerror or error}.") from error
    with receipts:
        yield receipts


def _send_files(
    gainboard: Gainboard, collection: str, submissions: Sequence[Submission], receipts: TextIO | None
) -> list[bool]:
    """Return whether each file that was answered is stored. Raise errors that are not about one file, such as no
    answer.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sent = {pool.submit(_send_file, gainboard, collection, run): run.file for run in submissions}
        try:
            with ProgressLine("submitting", " files") as progress:
                for done, future in enumerate(as_completed(sent), start=1):
                    progress.at(done, len(sent))
                    if future.exception() is not None:
                        break
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


def _send_file(gainboard: Gainboard, collection: str, sent: Submission) -> list[Answer]:
    """Send a run, and the file of ir_metadata beside it. Return what came of each."""
    source: Any = sys.stdin.buffer if sent.file == STANDARD_INPUT else sent.file
    details = {name: getattr(sent, name) for name in COLUMNS[1:]}
    try:
        run = gainboard.submit(collection, source, **details)
    except Problem as problem:
        return [problem]
    except OSError as error:
        return [BadSetting(f"Cannot be read: {error.strerror or error}")]
    if sent.metadata is None:
        return [run]
    try:
        return [run, gainboard.put_run_metadata(collection, run.name, sent.metadata)]
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
