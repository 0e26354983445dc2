"""Kills a server, workers and the processes that compute for them at random moments, while jobs are asked for.

    python -m tests.proofs.jobs --kills 50
    python -m tests.proofs.jobs --kills 100 --workers 3 --database-url URL

Equal jobs are asked for, cancelled and deleted again. Afterwards every job must be over, every result must be the one
of an undisturbed run, and none may be stored twice. What is wrong is said, and the exit code is 1. (That no upload is
lost is the proof of crashes.)
"""

import random
import sys
import time
from contextlib import closing
from tempfile import TemporaryDirectory

from sqlalchemy import func, select

from gainboard.store.job_tables import job_chunks
from gainboard.store.tables import blob_parts, blobs
from tests.proofs import asked
from tests.waiting import until
from tests.world.benches import Bench, undisturbed
from tests.world.processes import FleetWorker, Server, answers, kill

SEEDS = 2
"""Different jobs that are asked for again and again."""
OPEN_JOBS = 2
DEAD_AFTER = 3.0
"""Seconds after which a worker counts as dead."""


class Jobs:
    """Asks for jobs, cancels some, and asks for them again."""

    def __init__(self, bench, drawn):
        self._bench, self._drawn = bench, drawn
        self.asked = {}

    def go_on(self):
        """Ask for one more where few are open; now and then cancel one, or delete one that is over."""
        open_jobs = [job for job in self.asked.values() if not self._bench.job(job).is_over]
        if len(open_jobs) < OPEN_JOBS:
            seed = self._drawn.randrange(SEEDS)
            if seed in self.asked and self._bench.job(self.asked[seed]).state == "succeeded":
                self._bench.forget(self.asked[seed])
            self.asked[seed] = self._bench.ask(seed)
        elif self._drawn.random() < 0.02:
            self._bench.cancel(self._drawn.choice(open_jobs))

    def wrong(self):
        """What became of jobs that should not have; first they are all asked for once more."""
        for seed in range(SEEDS):
            if seed not in self.asked or self._bench.over(self.asked[seed]).state != "succeeded":
                self.asked[seed] = self._bench.ask(seed)
        wrong = [
            f"the job of seed {seed} did not come to what it comes to undisturbed"
            for seed, job in self.asked.items()
            if self._bench.over(job).state != "succeeded" or self._bench.result(job) != undisturbed(seed)
        ]
        results = {self._bench.job(job).result_sha256 for job in self.asked.values()}
        firsts = select(func.count()).where(blob_parts.c.position == 0, blob_parts.c.sha256.in_(results))
        counted = (
            *(select(func.count()).where(blobs.c.sha256.in_(results)), firsts),
            select(func.count()).select_from(job_chunks),
        )
        with self._bench.workspace.database.reading() as tx:
            counts = tuple(tx.execute(each).scalar() for each in counted)
        return wrong + ([] if counts == (SEEDS, SEEDS, 0) else [f"results, their files, chunks left: {counts}"])


def soak(database_url, kills, seed=0, workers=0):
    """What is wrong after so many kills; nothing, it is hoped. The server works the jobs, or so many workers do."""
    drawn, slots = random.Random(seed), 0 if workers else 2
    with closing(Bench(database_url)) as bench:
        jobs = Jobs(bench, random.Random(seed + 1))
        server = _started(bench, slots)
        fleet = [FleetWorker(bench.url, 1, DEAD_AFTER) for _ in range(workers)]
        try:
            for _ in range(kills):
                end = time.monotonic() + drawn.uniform(0.1, 1.5)
                while time.monotonic() < end:
                    jobs.go_on()
                    time.sleep(0.05)
                pids = server.computing() + [pid for worker in fleet for pid in worker.computing()]
                chance = drawn.random()
                if chance < 0.5 and pids:
                    kill(drawn.choice(pids))
                elif chance < 0.8 and fleet:
                    fleet.pop(drawn.randrange(len(fleet))).kill()
                    fleet.append(FleetWorker(bench.url, 1, DEAD_AFTER))
                else:
                    server.kill()
                    server = _started(bench, slots)
            return jobs.wrong()
        finally:
            for each in (server, *fleet):
                each.kill()


def _started(bench, slots):
    server = Server(bench.url, slots)
    until(lambda: answers(server.url), 60)
    return server


def main():
    given = asked(__doc__, kills=50, seed=0, workers=0, database_url=None)
    with TemporaryDirectory() as folder:
        wrong = soak(given.database_url or f"sqlite:///{folder}/gainboard.db", given.kills, given.seed, given.workers)
    print("\n".join(wrong) or "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
