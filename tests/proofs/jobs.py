"""Kills a server and the processes that compute for it at random moments, while uploads and jobs go on.

    python -m tests.proofs.jobs --kills 50
    python -m tests.proofs.jobs --kills 100 --workers 3 --database-url URL

Afterwards no upload that was answered 201 may be missing or half there, every job must be over, every result must
be the one of an undisturbed run, and none may be stored twice. What is wrong is said, and the exit code is 1.
"""

import argparse
import hashlib
import random
import sys
import time
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx
from sqlalchemy import func, select

from gainboard.store.job_tables import job_chunks
from gainboard.store.tables import blob_parts, blobs
from tests.waiting import until
from tests.world.benches import Bench, undisturbed
from tests.world.campaigns import run_text
from tests.world.processes import FleetWorker, Server, answers, kill
from tests.world.servers import ADMIN

SEEDS = 2
"""Different jobs that are asked for again and again."""
OPEN_JOBS = 2
DEAD_AFTER = 3.0
"""Seconds after which a worker counts as dead."""


class Uploads:
    """Uploads runs, one after the other, and knows which of them were answered."""

    def __init__(self):
        self._client = httpx.Client(timeout=60)
        self.answered = {}

    def go_on(self, number):
        """Uploads a run; what is not answered may be there or not."""
        name = f"upload-{number}"
        text = run_text({str(topic): [f"d{number * topic}", f"d{topic}"] for topic in range(1, 200)}, name)
        query = {"team": "lemur", "name": name}
        answer = self._client.post("/v1/collections/uploads/runs", params=query, content=text)
        if answer.status_code == 201:
            self.answered[name] = hashlib.sha256(text.encode()).hexdigest()

    def begin(self):
        """Makes the collection that the runs are for, in any case before the first of them."""
        settings = {"name": "uploads", "levels": 1}
        assert self._client.post("/v1/collections", json=settings).status_code == 201
        assert self._client.put("/v1/collections/uploads/qrels", content="1 0 d1 1\n").status_code == 201

    def wrong(self):
        """What the server has not kept as it said it would."""
        found = {name: self._file(name) for name in self.answered}
        kept = {name: hashlib.sha256(answer.content).hexdigest() for name, answer in found.items()}
        return [f"{name} was answered and is not what was sent" for name in kept if kept[name] != self.answered[name]]

    def _file(self, name):
        return self._client.get(f"/v1/collections/uploads/runs/{name}", headers={"Accept": "text/plain"})

    def turn_to(self, url):
        """Goes on with the server at this address."""
        before, self._client = self._client, _client(url)
        before.close()

    def close(self):
        """Closes its connections."""
        self._client.close()


class Jobs:
    """Asks for jobs, cancels some, and asks for them again."""

    def __init__(self, bench, drawn):
        self._bench, self._drawn = bench, drawn
        self.asked = {}

    def go_on(self, number):
        """Asks for one more where few are open; now and then cancels one, or deletes one that is over."""
        open_jobs = [job for job in self.asked.values() if not self._bench.job(job).is_over]
        if len(open_jobs) < OPEN_JOBS:
            self._ask(self._drawn.randrange(SEEDS))
        elif self._drawn.random() < 0.02:
            self._bench.cancel(self._drawn.choice(open_jobs))
        time.sleep(0.05)

    def _ask(self, seed):
        if seed in self.asked and self._bench.job(self.asked[seed]).state == "succeeded":
            self._bench.forget(self.asked[seed])
        self.asked[seed] = self._bench.ask(seed)

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
        return wrong + self._wrongly_stored()

    def _wrongly_stored(self):
        results = {self._bench.job(job).result_sha256 for job in self.asked.values()}
        left = select(func.count()).select_from(job_chunks)
        firsts = select(func.count()).where(blob_parts.c.position == 0, blob_parts.c.sha256.in_(results))
        with self._bench.workspace.database.reading() as tx:
            stored = tx.execute(select(func.count()).where(blobs.c.sha256.in_(results))).scalar()
            begun, chunks = tx.execute(firsts).scalar(), tx.execute(left).scalar()
        counts = (stored, begun, chunks)
        return [] if counts == (SEEDS, SEEDS, 0) else [f"results, their files, chunks left: {counts}"]


def soak(database_url, kills, seed=0, workers=0):
    """What is wrong after so many kills; nothing, it is hoped. The server works the jobs, or so many workers do."""
    drawn = random.Random(seed)
    bench, uploads = Bench(database_url), Uploads()
    jobs = Jobs(bench, random.Random(seed + 1))
    slots = 0 if workers else 2
    server = _started(bench, uploads, slots)
    fleet = [FleetWorker(bench.url, 1, DEAD_AFTER) for _ in range(workers)]
    uploads.begin()
    try:
        with _again_and_again(uploads.go_on), _again_and_again(jobs.go_on):
            for _ in range(kills):
                time.sleep(drawn.uniform(0.1, 1.5))
                pids = server.computing() + [pid for worker in fleet for pid in worker.computing()]
                chance = drawn.random()
                if chance < 0.5 and pids:
                    kill(drawn.choice(pids))
                elif chance < 0.8 and fleet:
                    fleet.pop(drawn.randrange(len(fleet))).kill()
                    fleet.append(FleetWorker(bench.url, 1, DEAD_AFTER))
                else:
                    server.kill()
                    server = _started(bench, uploads, slots)
        print(f"{kills} kills, {len(uploads.answered)} uploads answered", flush=True)
        return ([] if uploads.answered else ["no upload was answered"]) + uploads.wrong() + jobs.wrong()
    finally:
        server.kill()
        for worker in fleet:
            worker.kill()
        uploads.close()
        bench.close()


def _started(bench, uploads, slots):
    server = Server(bench.url, slots)
    until(lambda: answers(server.url), 60)
    uploads.turn_to(server.url)
    return server


def _client(url):
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=30)


@contextmanager
def _again_and_again(go_on):
    stop, faults = Event(), []

    def run():
        number = 0
        while not stop.is_set():
            number += 1
            try:
                go_on(number)
            except (httpx.TransportError, RuntimeError):
                time.sleep(0.05)  # the server was killed, and its client closed
            except Exception as error:  # noqa: BLE001 (raised below, where it is seen)
                faults.append(error)
                return

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if faults:
        raise faults[0]


def main():
    """Soaks a new database, or the one that is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--workers", type=int, default=0, help="workers of a fleet, which work the jobs (PostgreSQL)")
    parser.add_argument("--database-url", help="an empty database (default: SQLite in a temporary folder)")
    parsed = parser.parse_args()
    with TemporaryDirectory() as folder:
        url = parsed.database_url or f"sqlite:///{folder}/gainboard.db"
        wrong = soak(url, parsed.kills, parsed.seed, parsed.workers)
    print("\n".join(wrong) or "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
