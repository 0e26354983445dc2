"""Kills a server, the processes that compute for it, or both, at random moments, while clients write.

    python -m tests.proofs.crash --kills 200

on SQLite, and on PostgreSQL where GAINBOARD_TEST_POSTGRES names one. Teams upload and withdraw runs and ask for scores,
organisers publish, draft and discard qrels, make and revoke tokens, ask for jobs and reports and cancel them, import
folders and freeze releases. Commands that back up, export and import are killed as well. After each kill, what was
answered must be there byte for byte, and nothing half. After each round of kills, jobs are over, slots are free,
budgets are exact, and the chain of the audit log is whole. In the end nothing is left of killed imports, and
`gainboard doctor --thorough` reads all that is stored. What is wrong is printed, and the exit code is 1.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event
from uuid import uuid4

import httpx
from sqlalchemy import text

from gainboard.evaluation.audit import verify
from gainboard.evaluation.runs.pruning import prune
from gainboard.evaluation.workspace import Workspace
from gainboard.store.database import Database
from tests.api.changes import log
from tests.outside import outside
from tests.proofs import asked
from tests.proofs.movers import KINDS, Imports, KilledCommand, Releases, another_instance, differing, read_folder
from tests.proofs.writers import PRESETS, QRELS, TIMES, TOPICS, Jobs, Judgments, Runs, Tokens
from tests.waiting import over, until
from tests.world.files import unpacked
from tests.world.laboratories import Laboratory
from tests.world.processes import Server, all_end, answers, kill
from tests.world.servers import ADMIN, Service, new_database

ROUND = 10
"""Kills of one round, after which the writers go on with new collections: checks stay as fast as at first."""
FREE_WITHIN = 20
"""Seconds until a team has its slots back."""
SECOND_PLACE = "".join(f"{topic} Q0 other 1 2 tag\n{topic} Q0 good 2 1 tag\n" for topic in TOPICS)
SERVER, CHILD, BOTH = "server", "child", "both"


class Proof:
    """A database, a server on it that is killed again and again, and what was counted and is wrong."""

    def __init__(self, database_url, seed, folder):
        self.database_url, self.draw, self.folder = database_url, Random(seed), folder
        self.counts, self.wrong = Counter(), []
        self.orphans = []
        self.next_kills = []
        self._stack = ExitStack()
        self.make_folder = self._stack.enter_context(another_instance(folder))
        self.server = self._started()

    def run(self, kills):
        for first in range(0, kills, ROUND):
            with Round(self) as writing:
                for number in range(first, min(first + ROUND, kills)):
                    writing.kill_once(number)
                writing.end()
            print(f"  {min(first + ROUND, kills)} kills, {len(self.wrong)} wrong", flush=True)
        self._clean()
        self.wrong += map(str, _damage(self.database_url))

    def _clean(self):
        """Clean up as a server does once a day: of killed imports, nothing is left."""
        with closing(Database(self.database_url)) as database:
            self.counts["imports: hidden leftovers"] = _hidden(database)
            until(lambda: _hidden(database, "AND deleted_at IS NULL") == 0, FREE_WITHIN)
            prune(Workspace(database))
            if left := _hidden(database):
                self.wrong.append(f"{left} hidden collections are left")
            with database.reading() as tx:
                of_none = "SELECT count(*) FROM runs WHERE collection_id NOT IN (SELECT id FROM collections)"
                if rows := tx.execute(text(of_none)).scalar_one():
                    self.wrong.append(f"{rows} runs are left of imports")

    def _started(self):
        server = Server(self.database_url, slots=2)
        until(lambda: answers(server.url), 60)
        return server

    def kill(self, what):
        children = until(self.server.computing, 60) if what != SERVER else self.server.computing()
        if what != SERVER:
            kill(self.draw.choice(children))
        if what != CHILD:
            self.orphans += children
            self.server.kill()
        self.counts[f"kills: {what}"] += 1

    def wait_for_job(self):
        """Returns as soon as a job is run."""
        with httpx.Client(base_url=self.server.url, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60) as own:
            until(lambda: own.get("/v1/jobs?state=running").json()["items"], 60)
        self.counts["kills: while a job ran"] += 1

    def restart(self):
        self.server = self._started()

    def close(self):
        self.orphans += self.server.computing()
        self.server.kill()
        all_end(self.orphans)
        self._stack.close()


class Round:
    """New collections, and the clients that write to them."""

    def __init__(self, proof):
        self.proof, self.draw = proof, proof.draw
        service = Service(proof.server.url)
        name = uuid4().hex[:12]
        policy = {"scores": "own-mean", "presets": PRESETS, "answers": 1_000_000, "quotas": {"concurrent": 100}}
        settings = {"name": f"hidden-{name}", "levels": 1, "topics": TOPICS, "policy": policy}
        _must(service.organiser.post("/v1/collections", json=settings))
        hidden = f"/v1/collections/hidden-{name}"
        _must(service.organiser.put(f"{hidden}/qrels", content=QRELS))
        _must(service.organiser.post("/v1/collections", json={"name": f"open-{name}", "levels": 1}))
        released = f"/v1/collections/open-{name}"
        _must(service.organiser.put(f"{released}/qrels", content=QRELS))
        _must(service.organiser.post(f"{released}/runs?team=t", content=SECOND_PLACE))
        laboratory = Laboratory(service, name=f"jobs-{name}", policy={"phase": "released"})
        self.teams = [Runs(hidden, self._random(), team) for team in ("lemur", "otter")]
        self.judgments = Judgments(released, self._random(), QRELS)
        self.jobs = Jobs(laboratory.path, self._random())
        self.tokens = Tokens(released, self._random())
        self.imports = Imports("/v1/imports", self._random(), proof.make_folder)
        self.releases = Releases(service, f"frozen-{name}", self._random())
        organisers = (self.judgments, self.jobs, self.tokens, self.imports, self.releases)
        self.writers = dict.fromkeys(organisers, ADMIN)
        for team in self.teams:
            made = service.organiser.post(f"{hidden}/tokens", json={"role": "participant", "team": team.team})
            self.writers[team] = _must(made).json()["token"]
        service.close()
        self._turn()

    def _random(self):
        return Random(self.draw.getrandbits(64))

    def _turn(self):
        for writer, token in self.writers.items():
            writer.turn_to(self.proof.server.url, token)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for writer in self.writers:
            writer.close()
            self.proof.counts.update(writer.counts)
            self.proof.wrong += writer.wrong

    def kill_once(self, number):
        proof = self.proof
        what = self._next_kill()
        before, after = self.draw.uniform(0.02, 1.0), self.draw.uniform(0, 0.3)
        # The processes that compute stay when no job runs, and then a kill says little about jobs.
        hits_job = what != SERVER or self.draw.random() < 0.5
        stop = Event()
        command = self._command(number)
        with self._writing(stop):
            if hits_job:
                proof.wait_for_job()
                before /= 3
            stop.wait(before)
            proof.kill(what)
            self.jobs.children_killed += what != SERVER
            if what == CHILD:
                stop.wait(after)
        if what != CHILD:
            proof.restart()
            self._turn()
        self._check_command(command, number)
        for writer in self.writers:
            writer.check()

    def _next_kill(self):
        if not self.proof.next_kills:
            self.proof.next_kills = self.draw.sample([SERVER, CHILD, BOTH], 3)
        return self.proof.next_kills.pop()

    @contextmanager
    def _writing(self, stop):
        def write(writer):
            for _ in range(TIMES):
                if stop.is_set() or writer.act() is None:
                    break

        with ThreadPoolExecutor(len(self.writers)) as pool:
            try:
                under_way = [pool.submit(write, writer) for writer in self.writers]
                yield
            finally:
                stop.set()
        for each in under_way:
            each.result()

    def _command(self, number):
        """Start a command that is killed: each kind in its turn."""
        kind, folder = KINDS[number % len(KINDS)], self.proof.folder / f"{number}.of-command"
        server = {"GAINBOARD_SERVER": self.proof.server.url}
        if kind == "backup":
            arguments = ["backup", str(folder)]
            return KilledCommand(kind, self.draw, arguments, GAINBOARD_DATABASE_URL=self.proof.database_url)
        if kind == "export":
            arguments = ["export", self.releases.path.rpartition("/")[2], "--output", str(folder)]
            return KilledCommand(kind, self.draw, arguments, **server)
        return KilledCommand(kind, self.draw, ["import", str(unpacked(self.imports.take().packed, folder))], **server)

    def _check_command(self, command, number):
        """Note what is wrong with what a killed command has left. What is absent can be made at once."""
        proof, place = self.proof, self.proof.folder / f"{number}.of-command"
        code = command.end()
        proof.counts[f"{command.kind} command: {'killed' if code == -9 else 'ended before'}"] += 1
        if command.kind == "import":
            return  # its folder is checked with the others
        for left in proof.folder.glob(f".{place.name}.*.partial"):
            if left.is_file():
                self._check_partial(left)
        if not place.exists():
            proof.counts[f"{command.kind} command: nothing under its name"] += 1
            if errors := command.repeat(GAINBOARD_SERVER=proof.server.url):
                proof.wrong.append(f"{command.kind} cannot be repeated: {errors}")
                return
        if command.kind == "backup" and (damage := _damage(f"sqlite:///{place}")):
            proof.wrong.append(f"a backup under its final name is damaged: {damage}")
        if command.kind == "export" and (wrong := differing(read_folder(place))):
            proof.wrong.append(f"an export under its final name differs in {wrong[:5]}")

    def _check_partial(self, left):
        """Restore what a killed backup has left: it is refused, or was whole already."""
        into = left.with_suffix(".restored")
        command = [sys.executable, "-m", "gainboard", "restore", str(left)]
        environment = outside(GAINBOARD_DATABASE_URL=f"sqlite:///{into}")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.proof.counts[f"partial backup: {'restored' if done.returncode == 0 else 'refused'}"] += 1
        if done.returncode == 0 and (damage := _damage(f"sqlite:///{into}")):
            self.proof.wrong.append(f"a partial backup was restored: {damage}")
        if done.returncode != 0 and (into.exists() or "Traceback" in done.stderr):
            self.proof.wrong.append(f"a partial backup was refused, but: {done.stderr}")

    def end(self):
        """Waits until jobs are over and slots are free, and reads the audit log."""
        service = Service(self.proof.server.url)
        try:
            self.jobs.check_results({url: over(service.organiser, url) for url in self.jobs.asked})
            until(lambda: not any(team.slots_used() for team in self.teams), FREE_WITHIN)
            for team in self.teams:
                team.check()
            self.proof.wrong += filter(None, [verify(log(service.organiser)).fault])
            self._check_log(service.organiser)
        except AssertionError as error:
            self.proof.wrong.append(f"jobs are not over, or slots are not free: {error}")
        finally:
            service.close()

    def _check_log(self, organiser):
        """There is one entry for each upload that is stored, and none without."""
        entries = Counter((entry["action"], entry["subject"]) for entry in log(organiser, self.teams[0].path))
        for team in self.teams:
            for name, run in team.sent.items():
                done = entries["run-uploaded", name], entries["run-withdrawn", name]
                allowed = [(1, 0)] if run.there else [(1, 1), (0, 0)]
                if done not in allowed:
                    self.proof.wrong.append(f"the audit log has {done} entries of {name}, which is there: {run.there}")


def _hidden(database, which=""):
    """Count the collections whose names no request can have."""
    with database.reading() as tx:
        return int(tx.execute(text(f"SELECT count(*) FROM collections WHERE name LIKE '~%' {which}")).scalar_one())


def _must(answer):
    assert answer.status_code == 201, answer.text
    return answer


def _damage(database_url):
    """Return what `gainboard doctor --thorough` finds wrong with all that is stored."""
    command = [sys.executable, "-m", "gainboard", "doctor", "--thorough", "--json"]
    environment = outside(GAINBOARD_DATABASE_URL=database_url, GAINBOARD_ADMIN_TOKEN=ADMIN)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout)["findings"]
    read = {each["check"] for each in found if each["verdict"] == "ok"}
    # A backup may hold jobs that no server runs, which is no damage.
    problems = [each for each in found if each["verdict"] == "problem" and each["check"] != "jobs"]
    return problems + [{"check": name, "said": "not done"} for name in ("files", "audit log") if name not in read]


def prove(database_url, kills, folder, seed=0):
    proof = Proof(database_url, seed, folder)
    try:
        proof.run(kills)
    except AssertionError as error:
        proof.wrong.append(f"the proof ended early: {error}")
    finally:
        proof.close()
    return proof.counts, proof.wrong


@contextmanager
def _databases(folder):
    urls = {"sqlite": f"sqlite:///{folder / 'gainboard.db'}"}
    if not (url := os.environ.get("GAINBOARD_TEST_POSTGRES")):
        yield urls
        return
    with new_database(url) as own:
        yield urls | {"postgresql": own}


def main():
    parsed = asked(__doc__, kills=200, seed=0, only=None)
    is_wrong = False
    with TemporaryDirectory() as folder, _databases(Path(folder)) as urls:
        for name, url in urls.items():
            if parsed.only not in (None, name):
                continue
            print(f"{name}:", flush=True)
            began = time.monotonic()
            counts, wrong = prove(url, parsed.kills, Path(folder), parsed.seed)
            print(*(f"{count:8,}  {what}" for what, count in sorted(counts.items())), sep="\n")
            print(*wrong[:50], f"{len(wrong)} wrong in {time.monotonic() - began:.0f} s", sep="\n", flush=True)
            is_wrong |= bool(wrong)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
