"""Make pools: the documents to judge, from stored runs or from files without a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gainboard.cli.command import Example, Misuse, Option, command, count, refuse
from gainboard.cli.connecting import OneCollection
from gainboard.cli.files import FileReader, expand_patterns, total_size, without_suffix
from gainboard.cli.jobs import wait_for
from gainboard.cli.parallel import Count, PlainCount, choose_processes, process_files
from gainboard.cli.printing import fault_lines, format_rows, list_faults, print_utf8, printable
from gainboard.cli.scored_files import load_compiled
from gainboard.cli.submissions import NO_DETAILS, Submission, read_submissions
from gainboard.client import Gainboard
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.judgments.pools import (
    COST_DEPTHS,
    PooledTopic,
    PoolForm,
    PoolFormat,
    make_pool,
    pool_pieces,
    pool_sha256,
    read_strata,
)
from gainboard.evaluation.runs.run_files import NO_LIMITS, TopDocuments
from gainboard.evaluation.scoring.selection import RunsToPool
from gainboard.notation.texts import is_slug, read_topics
from gainboard.statistics.judging import PoolOrder
from gainboard.vocabulary import OrderBy, RunOrder

DEPTH = 100
_NUMBER = count("a whole number", 1, 1_000_000, 30)
COST_COLUMNS = ("depth", "documents", "mean by topic", "least", "most")


@dataclass(frozen=True)
class RunToPool:
    """A run file with the details that decide whether it goes into the pool."""

    file: str
    name: str
    team: str
    pooled: bool
    priority: int | None

    @classmethod
    def of(cls, sent: Submission) -> RunToPool:
        """Return the run of a file, or of a row of a CSV. A run without a team is of a team of its own."""
        name = sent.name or Path(without_suffix(sent.file)).stem
        return cls(sent.file, name, sent.team or name, sent.pooled is not False, sent.priority)


@dataclass(frozen=True)
class MadePool:
    """A pool, from files or from a job, and its costs at other depths: rows of `COST_COLUMNS`."""

    topics: Sequence[PooledTopic]
    runs: int
    costs: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class TopReading:
    """The task of `process_files` that reads the first documents of a run."""

    reading: FileReader

    def __call__(self, name: str, count: Count) -> TopDocuments | GainboardError:
        try:
            return self.reading.top(name, count)
        except GainboardError as error:
            return error


@dataclass(frozen=True)
class PooledRuns:
    """The options of both commands: which runs are pooled, how deep, and how they are read."""

    runs: Annotated[
        Sequence[str],
        Option(
            "pool these files without a server: runs, folders, patterns such as 'runs/*', or a CSV as `submit` takes",
            metavar="FILE",
            nargs="+",
        ),
    ] = ()
    run_names: Annotated[
        Sequence[str], Option("only this run, pooled or not; may be repeated", "--run", metavar="NAME")
    ] = ()
    teams: Annotated[Sequence[str], Option("only runs of this team; may be repeated", "--team", metavar="NAME")] = ()
    top: Annotated[
        int | None, Option("only so many runs of each team, by priority, then name", metavar="N", read=_NUMBER)
    ] = None
    depth: Annotated[int | None, Option(f"ranks taken of each run (default: {DEPTH})", metavar="N", read=_NUMBER)] = (
        None
    )
    without: Annotated[
        Sequence[str],
        Option(
            "leave out what these judge: a version (2), a set (second), a version of it (second:3); with --runs, a "
            "qrels file; may be repeated",
            metavar="JUDGMENTS",
        ),
    ] = ()
    topics: Annotated[
        str | None, Option("only those of a topic group; with --runs, a file of topics", metavar="NAME")
    ] = None
    order_by: Annotated[OrderBy | None, "what determines a rank (default: score)"] = None
    ignore_identical_ids: Annotated[bool, "leave out lines with their topic's id"] = False

    def pool(self, at: OneCollection, judging: JudgingOrder, depths: Sequence[int] = ()) -> MadePool:
        """Make the pool, on the server or of the files. Raise BadSetting if that is impossible."""
        if self.run_names and (self.teams or self.top):
            raise BadSetting("--run names all runs of the pool. Leave out --team and --top.")
        if self.runs:
            return _pool_files(self, judging, depths)
        with at.connect() as gainboard:
            return _pool_stored(gainboard, at.collection, self, judging, depths)


def _read_strata(text: str) -> str:
    try:
        read_strata(text)
    except ValueError as error:
        refuse(f"{text!r}: {error}")
    return text


@dataclass(frozen=True)
class JudgingOrder:
    """The options that say in which order documents are judged, and how many of them."""

    order: Annotated[PoolOrder | None, "the order of judging (default: ntcir)"] = None
    seed: Annotated[int | None, "the seed of the order random, and of samples (default: 0)"] = None
    budget: Annotated[
        int | None, Option("the most documents a topic", metavar="N", read=count("a whole number", 1, 100_000_000, 200))
    ] = None
    in_all: Annotated[bool, "the budget is for all topics, which take turns"] = False
    strata: Annotated[
        str | None,
        Option(
            "strata to sample, by their last rank and share: 10:1,100:0.2 is all to rank 10, then a fifth",
            metavar="STRATA",
            read=_read_strata,
        ),
    ] = None


@command(
    "make a pool of the documents to judge",
    Example("gainboard pool make -c web --depth 30 --order ntcir > pool.txt", "of the stored runs"),
    Example("gainboard pool make -c web --without 1 --budget 50 -f csv", "a second round"),
    Example("gainboard pool make --runs 'runs/*' --depth 30 > pool.txt", "without a server"),
    Example("gainboard pool make --runs 'runs/*' --strata 10:1,100:0.2 -f strata", "a sample, for xinfAP"),
)
def make(
    at: OneCollection,
    *,
    pooled: PooledRuns,
    judging: JudgingOrder,
    format: Annotated[PoolFormat, Option("(default: trec)", "-f", "--format")] = "trec",
    details: Annotated[bool, "in csv and json: how many runs and teams have it, and its best rank"] = False,
) -> None:
    """Print the documents to judge of each topic: those that the pooled runs have at rank --depth or above, in the
    order of judging. With --runs, no server is needed, and the file has the same bytes.

    The formats are trec (topic, document), ntcir (topic, document, place in the order), csv, json, and for --strata
    strata: qrels of five columns, with -1 for what was not sampled and ? for each level to fill in. None tells an
    assessor how many runs found a document, unless --details asks for it.
    """
    if format == "strata" and not judging.strata:
        raise Misuse("-f strata is for a sample: say which, such as --strata 10:1,100:0.2")
    pool = pooled.pool(at, judging)
    print_utf8()
    for piece in pool_pieces(pool.topics, format, details=details):
        print(piece, end="")
    documents = sum(len(topic.documents) for topic in pool.topics)
    about = f"{documents:,} documents of {len(pool.topics):,} topics, from {pool.runs:,} runs"
    print(f"{about}; SHA-256 of the pool in the format trec: {pool_sha256(pool.topics)}", file=sys.stderr)


@command(
    "count the documents to judge by depth",
    Example("gainboard pool costs -c web --top 2", "of each team's first two runs"),
)
def costs(
    at: OneCollection,
    *,
    pooled: PooledRuns,
    depths: Annotated[
        Sequence[int],
        Option(
            "a depth; may be repeated (default: 10, 20, 50, 100)",
            "--at",
            metavar="N",
            read=count("a depth", 1, 1_000_000, 30),
        ),
    ] = COST_DEPTHS,
) -> None:
    """Print how many documents there are to judge in pools of several depths, without a budget."""
    print(format_rows(COST_COLUMNS, pooled.pool(at, JudgingOrder(), depths).costs), end="")


def _pool_stored(
    gainboard: Gainboard, collection: str, pooled: PooledRuns, judging: JudgingOrder, depths: Sequence[int]
) -> MadePool:
    parameters = {
        "depth": pooled.depth,
        "order": judging.order,
        "runs": pooled.run_names or None,
        "teams": pooled.teams or None,
        "top": pooled.top,
        "budget": judging.budget,
        "budget_for": "all" if judging.in_all else None,
        "strata": judging.strata,
        "topics": pooled.topics,
        "seed": judging.seed,
        "order_by": pooled.order_by,
        "ignore_identical_ids": pooled.ignore_identical_ids or None,
        "without": [*map(_read_version, pooled.without)],
        "depths": depths or None,
    }
    job = gainboard.pool(collection, **{name: value for name, value in parameters.items() if value is not None})
    wait_for(job, "job")
    result = job.result_json()
    rows = [(cost["depth"], cost["documents"], *_spread(cost["by_topic"])) for cost in result["costs"]]
    return MadePool([PooledTopic(**topic) for topic in result["pool"]], len(result["runs"]), rows)


def _read_version(text: str) -> dict[str, Any]:
    """Return the version that `2`, `second` or `second:3` names, as a job's parameter."""
    name, _, number = text.rpartition(":") if ":" in text else ("", "", text) if text.isdecimal() else (text, "", "")
    if not is_slug(name or "official") or not (number.isdecimal() or not number):
        raise BadSetting(
            f"--without {printable(text)}: not judgments of the collection. Name a version (2), a judgment set "
            "(second), or a version of it (second:3)."
        )
    return {"judgments": name or "official"} | ({"qrels": int(number)} if number else {})


def _pool_files(pooled: PooledRuns, judging: JudgingOrder, depths: Sequence[int]) -> MadePool:
    listed = [RunToPool.of(sent) for sent in read_submissions([*expand_patterns(pooled.runs)], NO_DETAILS)]
    names, teams = (tuple(chosen) if chosen else None for chosen in (pooled.run_names, pooled.teams))
    runs = RunsToPool(names, teams, pooled.top).of(listed, "--runs")
    if not runs:
        raise BadSetting("No run is to be pooled: all are marked as not pooled. Name runs with --run.")
    if judging.strata and (judging.budget or pooled.without or pooled.depth):
        raise BadSetting("--strata says what is judged. Leave out --depth, --budget and --without.")
    strata = read_strata(judging.strata)
    depth = strata[-1][0] if strata else pooled.depth or DEPTH
    form = PoolForm(depth, judging.order or "ntcir", judging.budget, judging.in_all, judging.seed or 0, depths, strata)
    order = RunOrder(pooled.order_by or "score", pooled.ignore_identical_ids)
    reading = FileReader(None, None, form.read_depth, order, NO_LIMITS)
    judged = [reading.qrels(file, PlainCount()).judgments for file in pooled.without]
    numbers = {team: number for number, team in enumerate(sorted({run.team for run in runs}))}
    topics = None
    if pooled.topics is not None:
        try:
            topics = read_topics(Path(pooled.topics).read_text(encoding="utf-8-sig"))[0]
        except (OSError, UnicodeError) as error:
            raise BadSetting(
                f"--topics {pooled.topics}: cannot be read as a list of topics, one on a line: {error}."
            ) from error
    tops = _read_tops(reading, [run.file for run in runs])
    pool = make_pool(tops, [numbers[run.team] for run in runs], form, topics, judged)
    rows = [(cost.depth, int(cost.documents.sum()), *_spread(cost.documents.tolist())) for cost in pool.costs]
    return MadePool(pool.topics, len(runs), rows)


def _read_tops(reading: FileReader, files: Sequence[str]) -> list[TopDocuments]:
    size = total_size(files)
    processes = choose_processes(files, size)
    load_compiled(files, processes)
    read = process_files(TopReading(reading), files, label="reading", size=size, processes=processes)
    tops: list[TopDocuments] = []
    for file, top in zip(files, read, strict=True):
        if isinstance(top, TopDocuments):
            tops.append(top)
            continue
        for line in fault_lines(file, *list_faults(top)):
            print(printable(line), file=sys.stderr)
    if len(tops) < len(files):
        raise BadSetting("No pool was made. Correct the faulty runs, or leave them out.")
    return tops


def _spread(by_topic: Sequence[int]) -> tuple[float, int, int]:
    return round(sum(by_topic) / max(len(by_topic), 1), 1), min(by_topic, default=0), max(by_topic, default=0)
