"""Kills each party at each of its writes, and shows that what the dead held is free, and that all ends well.

    python -m tests.proofs.kills --kills 200

The parties are a server, a worker (on PostgreSQL, where GAINBOARD_TEST_POSTGRES names one) and a process that computes.
A client uploads a run in a team's only slot, asks for jobs and imports a folder. One party kills itself (`kill -9`)
just before or just after the commit of its first write, then, on another database, of its second one, until it is no
more killed before all is done. A second server lives on. Within 20 seconds, the team must have its slot again. Each
request must be answered when it is sent again, with its key. Jobs must end with the bytes of undisturbed ones, and
nothing of the dead may be left. What is wrong is printed, and the exit code is 1.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import httpx
from sqlalchemy import text

from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import Engine
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from tests.outside import outside
from tests.proofs import asked
from tests.waiting import until
from tests.world.benches import COLLECTION, Bench, computing
from tests.world.campaigns import RUN, Campaign
from tests.world.laboratories import Laboratory
from tests.world.processes import all_end, answers
from tests.world.servers import ADMIN, free_port, migrated, new_database, new_settings, running, serving

FREE_WITHIN = 20
"""Seconds until a team has its slot again."""
SWEPT_WITHIN = 60
"""Seconds until a sweep has deleted what the dead held, on a machine that does much else."""
AT_ONCE = 3
"""Databases on which somebody is killed at the same time: mostly, one waits there for the end of a lease."""
STREAMS = [
    *(("sqlite", party, moment) for party in ("server", "child") for moment in ("before", "after")),
    *(("postgresql", party, moment) for party in ("server", "worker", "child") for moment in ("before", "after")),
]
JOB = {"kind": "rank-correlation", "params": {"metrics": ["P@1", "P@2"]}}


class Party:
    """A server or a worker in a process of its own, which kills itself, or whose child does, if the file says so."""

    def __init__(self, command, url, told, **settings):
        folders = os.pathsep.join([str(Path(__file__).parent / "killed"), outside()["PYTHONPATH"]])
        given = {"GAINBOARD_DATABASE_URL": url, "GAINBOARD_ADMIN_TOKEN": ADMIN, **settings}
        environment = outside(KILLED_AT=str(told), PYTHONPATH=folders, **given)
        program = [sys.executable, "-m", "gainboard", *command]
        self.process = subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    @property
    def has_ended(self):
        return self.process.poll() is not None

    def end(self):
        left = computing(self.process.pid)
        self.process.kill()
        self.process.wait()
        all_end(left)


class Scene:
    """A database with a server that lives on, and parties of which one is killed."""

    def __init__(self, stack, url, told, packed):
        self.url, self.told, self.packed, self.wrong = url, told, packed, []
        self.bench = stack.enter_context(closing(Bench(url)))
        settings = Settings.read({}, database_url=url, admin_token=ADMIN, job_slots=0)
        self.survivor = stack.enter_context(running(create_app(open_workspace(settings)[0], settings)))
        self.campaign = Campaign(self.survivor, levels=2, policy={"quotas": {"concurrent": 1}})
        self.campaign.put_qrels()
        self.token = self.campaign.token("participant", "own")
        self.requests = {
            "run": (f"{self.campaign.path}/runs?name=one", self.token, {"content": RUN}, (201, 200)),
            "job": (f"/v1/collections/{COLLECTION}/jobs", ADMIN, {"json": JOB}, (202, 200, 303)),
            "import": ("/v1/imports", ADMIN, {"content": packed}, (201, 409)),
        }
        self.parties = []

    def play(self, party, number, moment, is_postgresql):
        """Let the party be killed. Return whether it was, and whether a job ran then."""
        self.told.write_text(json.dumps([party, number, moment]))
        port = free_port()
        self.parties.append(Party(["serve", "--port", str(port), "--job-slots", "1"], self.url, self.told))
        if is_postgresql:
            self.parties.append(Party(["worker", "--job-slots", "1"], self.url, self.told))
        try:
            job = self.bench.ask(trials=20_000)
            server = f"http://127.0.0.1:{port}"
            until(lambda: answers(server) or any(each.has_ended for each in self.parties))
            for name in self.requests:
                self.send(server, name)
            until(lambda: not self.told.exists() or self.bench.job(job).is_over, 120)
            was_killed = not self.told.exists()
            self.told.unlink(missing_ok=True)
            self.check(job, was_killed)
        finally:
            for each in self.parties:
                each.end()
        return was_killed

    def send(self, server, name):
        """Send a request with its key, and return its status: 0 without an answer."""
        path, token, sent, _ = self.requests[name]
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": name}
        headers |= {"Content-Type": "application/x-tar"} if name == "import" else {}
        try:
            return httpx.post(f"{server}{path}", headers=headers, timeout=60, **sent).status_code
        except httpx.TransportError:
            return 0

    def check(self, job, was_killed):
        """Note what is wrong after the kill: what is not free in time, not answered, or not the same."""
        try:
            until(lambda: self.slots_used() == 0, FREE_WITHIN)
            for name, (*_, expected) in self.requests.items():
                until(lambda name=name, expected=expected: self.send(self.survivor.url, name) in expected, SWEPT_WITHIN)
            if any(each.has_ended for each in self.parties) and len(self.parties) == 1:
                # The server that ran the jobs is dead: another process runs them.
                with closing(Database(self.url)) as database:
                    engine = Engine(Workspace(database), 1)
                    engine.start()
                    try:
                        self.check_results(job)
                    finally:
                        engine.stop()
            else:
                self.check_results(job)
            until(lambda: not any(self.left().values()), SWEPT_WITHIN)
        except AssertionError as error:
            self.wrong.append(f"{error}; left are {self.left()}")

    def check_results(self, job):
        if self.bench.result(job) != few_trials():
            self.wrong.append("a job has another result")
        until(lambda: all(each["state"] == "succeeded" for each in self.jobs()), 120)

    def slots_used(self):
        limits = self.survivor.client(self.token).get("/v1/me/limits").json()
        return limits["team"]["runs"]["concurrent"]["used"]

    def jobs(self):
        return self.survivor.organiser.get("/v1/jobs").json()["items"]

    def left(self):
        """Count what nobody may hold in the end, by its name."""
        ended = {each.process.pid for each in self.parties if each.has_ended}
        with self.bench.workspace.database.reading() as tx:
            counts = {what: tx.execute(text(query)).scalar_one() for what, query in LEFT.items()}
            registered = set(tx.execute(text("SELECT pid FROM processes")).scalars())
            return counts | {"dead processes": len(ended & registered)}


LEFT = {
    "claims without a process": "SELECT count(*) FROM job_chunks WHERE claim IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM processes WHERE job_chunks.claim LIKE processes.id || '/%')",
    "slots": "SELECT count(*) FROM uploads",
    "keys under way": "SELECT count(*) FROM idempotency_keys WHERE status IS NULL",
    "imports under way": "SELECT count(*) FROM collections WHERE name LIKE '~%' AND deleted_at IS NULL",
}
_EXPECTED, _making = {}, Lock()


def few_trials():
    """What the job of a scene comes to, undisturbed."""
    with _making:
        if not _EXPECTED:
            with TemporaryDirectory() as folder, closing(Bench(f"sqlite:///{folder}/gainboard.db")) as bench:
                _EXPECTED["job"] = bench.work(bench.ask(trials=20_000))
    return _EXPECTED["job"]


@contextmanager
def scene(kind, packed, postgres):
    with TemporaryDirectory() as folder, ExitStack() as stack:
        if kind == "sqlite":
            (Path(folder) / "gainboard.db").write_bytes(migrated())
            url = f"sqlite:///{folder}/gainboard.db"
        else:
            url = stack.enter_context(new_database(postgres, is_migrated=True))
        yield Scene(stack, url, Path(folder) / "told", packed)


def packed_release():
    """The folder of a small release."""
    with TemporaryDirectory() as folder, serving(new_settings(Path(folder))) as service:
        lab = Laboratory(service)
        lab.release(public=True)
        lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["AP"]}).raise_for_status()
        return lab.get("/releases/1/archive").raise_for_status().content


class Proof:
    """The kills of all streams, which go on at the same time, until there were enough."""

    def __init__(self, kills, postgres=None):
        self.packed, self.kills, self.postgres = packed_release(), kills, postgres
        self.counts, self.wrong, self.lock = Counter(), [], Lock()
        few_trials()

    def kill_once(self, stream, number):
        """Return whether this party has so many writes."""
        kind, party, moment = stream
        with scene(kind, self.packed, self.postgres) as played:
            was_killed = played.play(party, number, moment, kind == "postgresql")
        with self.lock:
            self.counts[f"{kind}: {party}, {moment} a commit"] += was_killed
            self.wrong += [f"{kind}: {party} {moment} commit {number}: {wrong}" for wrong in played.wrong]
            print(f"{kind} {party} {moment} {number}: {was_killed}", *played.wrong, sep=", ", flush=True)
        return was_killed

    def kill_in(self, stream):
        """Kill at each write in turn, until there were enough kills in all."""
        for number in count(1):
            with self.lock:
                if self.counts.total() >= self.kills:
                    return
            if not self.kill_once(stream, number):
                return

    def run(self, streams):
        """Kill at each write of each party, again and again until there were enough kills."""
        while self.counts.total() < self.kills:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(self.kill_in, streams))


def main():
    parsed = asked(__doc__, kills=200, only=None)
    postgres = os.environ.get("GAINBOARD_TEST_POSTGRES")
    kinds = {"sqlite", "postgresql"} if postgres else {"sqlite"}
    streams = [stream for stream in STREAMS if stream[0] in kinds and parsed.only in (None, stream[0])]
    began, proof = time.monotonic(), Proof(parsed.kills, postgres)
    proof.run(streams)
    print(*(f"{number:6}  {what}" for what, number in sorted(proof.counts.items())), sep="\n")
    print(*proof.wrong[:50], sep="\n")
    print(f"{proof.counts.total()} kills, {len(proof.wrong)} wrong, in {time.monotonic() - began:.0f} s")
    return 1 if proof.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
