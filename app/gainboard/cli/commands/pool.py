"""Make pools: the documents to judge, from stored runs or from files without a server."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from gainboard.cli.connecting import CalledServer, collection_option, connect_server, server_options
from gainboard.cli.file_scoring import load_compiled
from gainboard.cli.files import FileReader, total_size, without_suffix
from gainboard.cli.jobs import wait_for
from gainboard.cli.old import Command, Example, Group, together
from gainboard.cli.options import count, whole_number
from gainboard.cli.parallel import Count, PlainCount, choose_processes, process_files
from gainboard.cli.printing import fault_lines, format_rows, list_faults, printable
from gainboard.cli.submissions import NO_DETAILS, Submission, read_submissions
from gainboard.client import Job
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.judgments.pools import (
    COST_DEPTHS,
    PooledTopic,
    PoolForm,
    PoolFormat,
    make_pool,
    pool_pieces,
    pool_sha256,
)
from gainboard.evaluation.runs.run_files import NO_LIMITS, TopDocuments
from gainboard.evaluation.scoring.selection import RunsToPool
from gainboard.notation.texts import is_slug
from gainboard.statistics.judging import PoolOrder
from gainboard.vocabulary import OrderBy, RunOrder

DEPTH = 100
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


def _make(parsed: argparse.Namespace) -> int:
    """Print the documents to judge of each topic: those that the pooled runs have at rank --depth or above, in the
    order of judging. With --runs, no server is needed, and the file has the same bytes.

    The formats are trec (topic, document), ntcir (topic, document, place in the order), csv and json. None tells an
    assessor how many runs found a document, unless --details asks for it.
    """
    made = _made(parsed, depths=[])
    for piece in pool_pieces(made.topics, parsed.format, details=parsed.details):
        print(piece, end="")
    documents = sum(len(each.documents) for each in made.topics)
    about = f"{documents:,} documents of {len(made.topics):,} topics, from {made.runs:,} runs"
    print(f"{about}; SHA-256 of the pool in the format trec: {pool_sha256(made.topics)}", file=sys.stderr)
    return 0


def _costs(parsed: argparse.Namespace) -> int:
    """Print how many documents there are to judge in pools of several depths, without a budget."""
    made = _made(parsed, depths=parsed.depths or [*COST_DEPTHS])
    print(format_rows(COST_COLUMNS, made.costs), end="")
    return 0


def _made(parsed: argparse.Namespace, depths: Sequence[int]) -> MadePool:
    if parsed.named and (parsed.team or parsed.top):
        raise BadSetting("--run names all runs of the pool. Leave out --team and --top.")
    if parsed.runs:
        return _from_files(parsed, depths)
    with connect_server(parsed) as server:
        return _from_server(server, parsed, depths)


def _from_server(server: CalledServer, parsed: argparse.Namespace, depths: Sequence[int]) -> MadePool:
    given = {
        "depth": parsed.depth,
        "order": parsed.order,
        "runs": parsed.named,
        "teams": parsed.team,
        "top": parsed.top,
        "budget": parsed.budget,
        "budget_for": "all" if parsed.in_all else None,
        "topics": parsed.topics,
        "seed": parsed.seed,
        "order_by": parsed.order_by,
        "ignore_identical_ids": parsed.ignore_identical_ids or None,
        "without": [*map(_version, parsed.without or ())],
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    job: Job = server.gainboard.pool(server.collection, **wanted, **({"depths": depths} if depths else {}))
    wait_for(job, "job")
    result = job.result_json()
    rows = [(each["depth"], each["documents"], *_spread(each["by_topic"])) for each in result["costs"]]
    return MadePool([PooledTopic(**each) for each in result["pool"]], len(result["runs"]), rows)


def _version(text: str) -> dict[str, Any]:
    """Return the version that `2`, `second` or `second:3` names, as a job's parameter."""
    name, _, number = text.rpartition(":") if ":" in text else ("", "", text) if text.isdecimal() else (text, "", "")
    if not is_slug(name or "official") or not (number.isdecimal() or not number):
        raise BadSetting(
            f"--without {printable(text)}: not judgments of the collection. Name a version (2), a judgment set "
            "(second), or a version of it (second:3)."
        )
    return {"judgments": name or "official"} | ({"qrels": int(number)} if number else {})


def _from_files(parsed: argparse.Namespace, depths: Sequence[int]) -> MadePool:
    names, teams_named = (tuple(each) if each else None for each in (parsed.named, parsed.team))
    runs = RunsToPool(names, teams_named, parsed.top).of(_listed(parsed.runs), "--runs")
    if not runs:
        raise BadSetting("No run is to be pooled: all are marked as not pooled. Name runs with --run.")
    form = PoolForm(
        parsed.depth or DEPTH,
        parsed.order or "ntcir",
        parsed.budget,
        parsed.in_all,
        parsed.seed or 0,
        depths,
    )
    order = RunOrder(parsed.order_by or "score", parsed.ignore_identical_ids)
    reading = FileReader(None, None, form.read_depth, order, NO_LIMITS)
    judged = [reading.qrels(file, PlainCount()).judgments for file in parsed.without or ()]
    teams = sorted({run.team for run in runs})
    pool = make_pool(
        _tops(reading, [run.file for run in runs]),
        [teams.index(run.team) for run in runs],
        form,
        _topics(parsed.topics),
        judged,
    )
    rows = [(each.depth, int(each.documents.sum()), *_spread(each.documents.tolist())) for each in pool.costs]
    return MadePool(pool.topics, len(runs), rows)


def _listed(names: Sequence[str]) -> list[RunToPool]:
    files: list[str] = []
    for name in names:
        # A shell expands patterns, unless they are quoted or it is that of Windows.
        files += [name] if Path(name).exists() else sorted(glob.glob(name)) or [name]
    return [RunToPool.of(each) for each in read_submissions(files, NO_DETAILS)]


def _tops(reading: FileReader, files: Sequence[str]) -> list[TopDocuments]:
    size = total_size(files)
    processes = choose_processes(files, size)
    load_compiled(files, processes)
    read = process_files(TopReading(reading), files, label="reading", size=size, processes=processes)
    tops: list[TopDocuments] = []
    for file, each in zip(files, read, strict=True):
        if isinstance(each, TopDocuments):
            tops.append(each)
            continue
        for line in fault_lines(file, *list_faults(each)):
            print(printable(line), file=sys.stderr)
    if len(tops) < len(files):
        raise BadSetting("No pool was made. Correct the faulty runs, or leave them out.")
    return tops


def _topics(file: str | None) -> list[str] | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8-sig").split()
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"--topics {file}: cannot be read as a list of topics, one on a line: {error}.") from error


def _spread(by_topic: Sequence[int]) -> tuple[float, int, int]:
    return round(sum(by_topic) / max(len(by_topic), 1), 1), min(by_topic, default=0), max(by_topic, default=0)


def _pool_options(parser: argparse.ArgumentParser) -> None:
    collection_option(parser)
    number = count("a whole number", 1, 1_000_000, 30)
    parser.add_argument(
        "--runs",
        metavar="FILE",
        nargs="+",
        help="pool these files without a server: runs, folders, patterns such as 'runs/*', or a CSV as `submit` takes",
    )
    once: dict[str, Any] = {"action": "append", "metavar": "NAME"}
    parser.add_argument("--run", dest="named", **once, help="only this run, pooled or not; may be repeated")
    parser.add_argument("--team", **once, help="only runs of this team; may be repeated")
    parser.add_argument(
        "--top", metavar="N", type=number, help="only so many runs of each team, by priority, then name"
    )
    parser.add_argument("--depth", metavar="N", type=number, help=f"ranks taken of each run (default: {DEPTH})")
    parser.add_argument(
        "--without",
        metavar="JUDGMENTS",
        action="append",
        help="leave out what these judge: a version (2), a set (second), a version of it (second:3); with --runs, a "
        "qrels file; may be repeated",
    )
    parser.add_argument("--topics", metavar="NAME", help="only those of a topic group; with --runs, a file of topics")
    parser.add_argument("--order-by", choices=get_args(OrderBy), help="what determines a rank (default: score)")
    parser.add_argument("--ignore-identical-ids", action="store_true", help="leave out lines with their topic's id")


def _order_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--order", choices=get_args(PoolOrder), help="the order of judging (default: ntcir)")
    parser.add_argument("--seed", type=whole_number, help="the seed of the order random (default: 0)")
    parser.add_argument(
        "--budget", metavar="N", type=count("a whole number", 1, 100_000_000, 200), help="the most documents a topic"
    )
    parser.add_argument("--in-all", action="store_true", help="the budget is for all topics, which take turns")
    parser.add_argument("-f", "--format", choices=get_args(PoolFormat), default="trec", help="(default: trec)")
    parser.add_argument(
        "--details", action="store_true", help="in csv and json: how many runs and teams have it, and its best rank"
    )


def _no_order(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at",
        dest="depths",
        metavar="N",
        type=count("a depth", 1, 1_000_000, 30),
        action="append",
        help="a depth; may be repeated (default: 10, 20, 50, 100)",
    )
    parser.set_defaults(order=None, seed=None, budget=None, in_all=False)


COMMAND = Group(
    "pool",
    __doc__,
    [
        Command(
            "make",
            "make a pool of the documents to judge",
            _make,
            together(_pool_options, _order_options, server_options),
            [
                Example("gainboard pool make -c web --depth 30 --order ntcir > pool.txt", "of the stored runs"),
                Example("gainboard pool make -c web --without 1 --budget 50 -f csv", "a second round"),
                Example("gainboard pool make --runs 'runs/*' --depth 30 > pool.txt", "without a server"),
            ],
        ),
        Command(
            "costs",
            "count the documents to judge by depth",
            _costs,
            together(_pool_options, _no_order, server_options),
            [Example("gainboard pool costs -c web --top 2", "of each team's first two runs")],
        ),
    ],
)
