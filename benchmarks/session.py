"""One run of the benchmarks: the order of the measurements, and the servers and files that they share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copytree
from subprocess import CalledProcessError
from typing import Any

import httpx

from benchmarks.analyses import PAPER, measure_jobs, measure_kernels
from benchmarks.boards import Boards, measure_boards, measure_repeated
from benchmarks.commands import generate, measure_large_score, measure_score, measure_start_up, unpack_real
from benchmarks.compilation import measure_compilation
from benchmarks.data import LEVELS, SHORT_TREC, TREC, Campaign
from benchmarks.expressions import parameters, shared_with_trec_eval
from benchmarks.footprint import database_bytes, measure_start, storage
from benchmarks.judgments import SHORT_SIZE, SIZE, measure_judgments
from benchmarks.load import MISSING, has_wrk
from benchmarks.marco import measure_marco, write_campaign
from benchmarks.peers import LIBRARIES, PytrecEval, find_peers
from benchmarks.report import Report, Row, Target
from benchmarks.reports import REAL, load_real, measure_reports
from benchmarks.rescoring import Rescoring, measure_rescoring
from benchmarks.servers import FAST, PLAIN, Server, ServerFailed, gainboard
from benchmarks.upload import (
    COLLECTION,
    Disagreement,
    check_agreement,
    create_collection,
    measure_upload,
    parse_and_evaluate,
    scores,
    upload,
)
from benchmarks.varied import FEW, SHORT, measure_memory
from benchmarks.waiting import short_jobs
from benchmarks.wide import COUNTS, SHORT_COUNTS, SHORT_TOPICS, TOPICS, measure_topics, measure_wide, size_of
from gainboard import acceleration

_FAILURES = (Disagreement, ServerFailed, httpx.HTTPError, CalledProcessError)


@dataclass(frozen=True)
class Options:
    """The options of the command."""

    seed: int
    repetitions: int
    is_short: bool
    is_whole_wide: bool
    requests: int | None
    real: Path | None
    postgresql: str | None


class Session:
    """The first run is for checking and warming, the next ones are timed, and all are ranked."""

    def __init__(self, folder: Path, options: Options, report: Report) -> None:
        """Make the qrels and the runs in the folder, and find the peers."""
        self._folder, self._options, self._report = folder, options, report
        size = SHORT_TREC if options.is_short else TREC
        count = max(size.runs, options.repetitions + 1)
        _say(f"making qrels and {count} runs from seed {options.seed}")
        campaign, self._qrels = Campaign(options.seed, size), folder / "qrels.txt"
        self._qrels.write_bytes(campaign.qrels())
        self._runs = [folder / f"run-{number:02}.txt" for number in range(count)]
        for number, run in enumerate(self._runs):
            run.write_bytes(campaign.run(number))
        self._fresh = parameters()
        libraries = LIBRARIES[:1] if options.is_short else LIBRARIES
        self._peers, self._program, missing = find_peers(self._qrels, shared_with_trec_eval(), libraries)
        self._report.missing += missing if has_wrk() else [*missing, MISSING]
        self._columns = [PLAIN, FAST] if acceleration.is_installed() and not options.is_short else [PLAIN]
        if FAST not in self._columns:
            why = "it takes a minute to compile" if options.is_short else "it is not installed"
            self._report.missing.append(f"the column of the fast extra: {why}")
        if not options.postgresql:
            self._report.missing.append("PostgreSQL: --postgresql names no database")

    @property
    def _column(self) -> str:
        return self._columns[-1]

    @property
    def _pytrec_eval(self) -> PytrecEval | None:
        return next((peer for peer in self._peers if isinstance(peer, PytrecEval)), None)

    def measure(self) -> None:
        """Measure everything; what fails is named in the report, and the rest is measured all the same."""
        if FAST in self._columns:
            self._add("compiling, which takes a minute", lambda: measure_compilation(self._folder))
        try:
            self._measure_stored_runs()
        except _FAILURES as error:
            self._report.failed.append(str(error))
        self._add("uploading up to 1,000 runs", self._measure_wide)
        self._add("uploading judgments", self._measure_judgments)
        self._add("sending varied requests", self._measure_memory)
        self._add("starting commands", self._measure_commands)
        options = self._options
        self._add(
            "resampling and correlating, beside plain loops", lambda: measure_kernels(options.seed, options.repetitions)
        )
        for column in self._columns:
            self._add(f"starting {column} servers", partial(measure_start, self._folder, options.repetitions, column))

    def _measure_stored_runs(self) -> None:
        """Measure what needs the runs of trec size: both servers are running meanwhile, and one has work at a time."""
        repetitions = self._options.repetitions
        with ExitStack() as stack:
            servers = {
                column: stack.enter_context(gainboard(self._folder / column, column)) for column in self._columns
            }
            self._check(servers)
            before = database_bytes(self._folder / PLAIN)
            timed = self._runs[1 : repetitions + 1]
            self._add("uploading", lambda: measure_upload(servers, self._peers, self._program, timed))
            self._upload_all(servers.values())
            self._add("reading the database's size", lambda: [self._storage(before)])
            self._add("rescoring", lambda: measure_rescoring(self._rescoring()))
            self._add("asking for boards", lambda: self._measure_boards(servers[self._column]))
            client = servers[self._column].client
            self._add("running jobs", lambda: measure_jobs(client, len(self._runs)))
            self._add("running short jobs", lambda: short_jobs(client, COLLECTION, self._long_job(), repetitions))
            self._add("making reports", lambda: self._measure_reports(client))
            if not self._options.is_short:
                self._add("making and uploading a run of 6,980 topics", lambda: self._measure_marco(servers))

    def _long_job(self) -> Mapping[str, Any] | None:
        """Return a job that takes a minute of its only slot."""
        params = {"metrics": PAPER, "test": "randomised-tukey-hsd", "resamples": 100_000}
        return None if self._options.is_short else {"kind": "bootstrap-sensitivity", "params": params}

    def _check(self, servers: Mapping[str, Server]) -> None:
        """Upload the first run and compare all scores with those of every peer; everything is warm then."""
        ours = {}
        for column, server in servers.items():
            create_collection(server.client, LEVELS, self._qrels)
            name = upload(server.client, self._runs[0])
            ours[column] = scores(server.client, name, topics="all", gains="linear")["topics"]
        for peer in self._peers:
            theirs = parse_and_evaluate(peer, self._runs[0])
            for column in servers:
                compared = check_agreement(ours[column], peer, theirs)
                _say(f"{column}: {compared} scores agree with {peer.name} to four decimals")

    def _upload_all(self, servers: Iterable[Server]) -> None:
        for server in servers:
            for run in self._runs:
                upload(server.client, run)  # those that are there already stay as they are

    def _storage(self, before: int) -> Row:
        # The first run was there before the growth was measured, and the others came since.
        raw = sum(run.stat().st_size for run in self._runs[1:])
        return storage(before, database_bytes(self._folder / PLAIN), raw, len(self._runs) - 1)

    def _rescoring(self) -> Rescoring:
        code = self._folder / FAST / "compiled" if FAST in self._columns else None
        repetitions = self._options.repetitions
        return Rescoring.of(self._qrels, self._runs[0], self._pytrec_eval, self._fresh, repetitions, code)

    def _measure_boards(self, server: Server) -> Iterator[Row]:
        options = self._options
        seconds = 1 if options.is_short else 2
        boards = Boards(server, self._column, len(self._runs), self._fresh, options.repetitions, self._folder, seconds)
        yield from measure_boards(boards, "system-00")
        with self._on_postgresql() as other:
            yield from measure_repeated(boards, other)

    @contextmanager
    def _on_postgresql(self) -> Iterator[Server | None]:
        """Run a server over the database that the options name, with all runs stored."""
        if not self._options.postgresql:
            yield None
            return
        data = self._folder / "postgresql"
        with gainboard(data, PLAIN, self._options.postgresql) as server:
            create_collection(server.client, LEVELS, self._qrels)
            self._upload_all([server])
            yield server

    def _measure_reports(self, client: httpx.Client) -> Iterator[Row]:
        if self._options.real is None:
            self._report.missing.append("real runs: --real names no folder of them")
            return measure_reports(client, COLLECTION.rpartition("/")[2], len(self._runs))
        return measure_reports(client, REAL, load_real(client, self._options.real), Target(60))

    def _measure_marco(self, servers: Mapping[str, Server]) -> Iterator[Row]:
        qrels, run = write_campaign(self._folder, self._options.seed)
        known = self._pytrec_eval
        yield from measure_marco(servers, PytrecEval(qrels, known.labels) if known else None, qrels, run)
        yield from measure_large_score(qrels, run)

    def _measure_wide(self) -> Iterator[Row]:
        options = self._options
        size = size_of(options.is_whole_wide, options.is_short)
        counts = SHORT_COUNTS if options.is_short else COUNTS
        with self._server("wide") as server:
            yield from measure_wide(server, options.seed, size, counts, self._fresh, options.repetitions)
            topics = SHORT_TOPICS if options.is_short else TOPICS
            yield from measure_topics(server, options.seed, self._fresh, options.repetitions, topics)

    def _measure_judgments(self) -> Iterator[Row]:
        with self._server("judgments") as server:
            size = SHORT_SIZE if self._options.is_short else SIZE
            yield from measure_judgments(server, self._options.seed, size)

    def _measure_memory(self) -> Iterator[Row]:
        """Yield the memory of a server that starts over the stored runs and has computed nothing."""
        options = self._options
        requests = options.requests or (SHORT if options.is_short else FEW)
        with gainboard(self._folder / self._column, self._column) as server:
            yield from measure_memory(server, options.seed, len(self._runs), requests, self._fresh)

    def _measure_commands(self) -> Iterator[Row]:
        options = self._options
        if options.real:
            files = unpack_real(self._folder, options.real)
        else:
            files = generate(self._folder, options.seed, self._qrels, self._runs)
        yield from measure_score(files, options.repetitions)
        yield from measure_start_up(options.repetitions)

    def _server(self, name: str) -> AbstractContextManager[Server]:
        """Return a server of the last column over a new folder, with what is compiled already in its place."""
        data = self._folder / name
        if self._column == FAST:
            copytree(self._folder / FAST / "compiled", data / "compiled")
        return gainboard(data, self._column)

    def _add(self, doing: str, measure: Callable[[], Iterable[Row]]) -> None:
        _say(doing)
        try:
            self._report.add(measure())
        except _FAILURES as error:
            self._report.failed.append(f"{doing}: {error}")


def _say(what: str) -> None:
    print(f"benchmarks: {what}", file=sys.stderr, flush=True)
