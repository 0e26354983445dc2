"""Shows that a fleet is fair: short jobs start soon beside one of four hours, and two teams share it evenly.

    python -m tests.proofs.fairness

starts a PostgreSQL server of its own and two workers of one process each. A team asks for a job of about four hours,
and another team for short ones, at random moments: it says how long each of these waits for its start. Then the first
team asks for four more long jobs, and the other one for one: it says how much of the time each
team had the processes. The exit code is 1 if a short job waits for more than 5 seconds, or a team has less than 45 %.
"""

import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import func, select

from gainboard.analyses.job_kinds import find_kind
from gainboard.evaluation.access import tokens
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.access.tokens import Wish
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.jobs.submission import CHUNK_SECONDS, launch
from gainboard.store.tables import job_chunks
from tests import private_postgres
from tests.proofs import asked
from tests.waiting import until
from tests.world.benches import COLLECTION, RUNS, TOPICS, Bench
from tests.world.campaigns import body, run_text
from tests.world.processes import fleet_worker

MOST_SECONDS = 5.0
"""The longest wait of a short job."""
LEAST_SHARE = 0.45
"""The smallest share of one of two teams."""
LONG = {"metrics": [f"P@{cutoff}" for cutoff in range(1, 41)], "trials": 100_000}
SWAP_RATE = find_kind("swap-rate")
SHORT = {"metrics": ["P@1"], "trials": 10}
TEAMS = ("lemur", "tarsier")


@dataclass(frozen=True)
class Start:
    """What a short job waited for: seconds, and chunks of the long job that began meanwhile."""

    seconds: float
    overtaken_by: int


class Fleet:
    """A database with a collection of many runs, workers on it, and two teams that ask for jobs."""

    def __init__(self, stack, collection_runs, workers):
        folder = stack.enter_context(TemporaryDirectory())
        Path(folder).chmod(0o777)
        server = stack.enter_context(private_postgres.running(Path(folder)))
        self.bench = Bench(f"{server.url}?connect_timeout=30")
        stack.callback(self.bench.close)
        for number in range(RUNS, collection_runs):
            self._upload(number)
        self._teams = [self._member(team) for team in TEAMS]
        for _ in range(workers):
            stack.enter_context(fleet_worker(self.bench.url))

    def _upload(self, number):
        drawn = random.Random(number)
        ranked = {str(topic): [f"d{topic}-{d}" for d in drawn.sample(range(12), 8)] for topic in range(1, TOPICS + 1)}
        details = RunDetails(team="lemur", name=f"run-{number}")
        runs.submit(self.bench.workspace, self.bench.organiser, COLLECTION, body(run_text(ranked, "t")), details)

    def _member(self, team):
        made = tokens.create(self.bench.workspace, self.bench.organiser, COLLECTION, Wish("participant", team))
        return authenticate(self.bench.workspace, Sender.of(made.token))

    def ask(self, team, seed, wanted, chunk_seconds=CHUNK_SECONDS):
        params = SWAP_RATE.params_model.model_validate(wanted | {"seed": seed})
        return launch(self.bench.workspace, self._teams[team], COLLECTION, SWAP_RATE, params, chunk_seconds)

    def begun(self, job):
        return self._count([job], job_chunks.c.done | job_chunks.c.claim.is_not(None))

    def done(self, several):
        return self._count(several, job_chunks.c.done)

    def worked(self, several):
        return self._count(several, job_chunks.c.claim.is_not(None))

    def _count(self, several, which):
        # Only the database reads the chunks: their findings are large.
        of_these = job_chunks.c.job_number.in_([job.number for job in several])
        with self.bench.workspace.database.reading() as tx:
            return tx.execute(select(func.count()).where(of_these, which)).scalar_one()


def starts(fleet, long, count, pause):
    """What each of so many short jobs waits for beside a long one, of which chunks are worked."""
    until(lambda: fleet.begun(long) > 1, 120)
    found = []
    for number in range(count):
        pause()
        before = fleet.begun(long)
        job = fleet.ask(1, number, SHORT)
        until(lambda job=job: fleet.bench.job(job).started_at is not None, 120)
        job, after = fleet.bench.job(job), fleet.begun(long)
        assert job.started_at is not None
        found.append(Start((job.started_at - job.created_at).total_seconds(), after - before))
        fleet.bench.over(job)
    return found


def shares(fleet, wanted, is_over):
    """The share of each team in the processes, while they work the jobs of all teams, until it is over."""
    until(lambda: min(fleet.done(several) for several in wanted) > 0, 120)
    seen = [0] * len(wanted)

    def look():
        for team, several in enumerate(wanted):
            seen[team] += fleet.worked(several)
        return is_over()

    until(look, 3600)
    return [each / sum(seen) for each in seen]


def main():
    given = asked(__doc__, runs=770, workers=2, jobs=20, seconds=90.0)
    drawn = random.Random(1)
    with ExitStack() as stack:
        fleet = Fleet(stack, given.runs, given.workers)
        long = fleet.ask(0, 0, LONG)
        print(f"the long job has {len(fleet.bench.chunks(long))} chunks")
        waits = starts(fleet, long, given.jobs, lambda: time.sleep(drawn.uniform(0, 5)))
        seconds = sorted(each.seconds for each in waits)
        print(f"{len(seconds)} short jobs: median wait {seconds[len(seconds) // 2]:.1f} s, longest {seconds[-1]:.1f} s")
        fleet.bench.cancel(long)
        several = [[fleet.ask(0, seed, LONG) for seed in range(1, 6)], [fleet.ask(1, 6, LONG)]]
        end = time.monotonic() + given.seconds
        held = shares(fleet, several, lambda: time.monotonic() > end)
        print(f"the team with 5 long jobs had {held[0]:.0%} of the processes, the team with one {held[1]:.0%}")
        fleet.bench.cancel_all()
    return 0 if seconds[-1] <= MOST_SECONDS and min(held) >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
