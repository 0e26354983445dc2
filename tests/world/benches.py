"""A small collection and jobs over it, without HTTP; and the processes that work them, from outside."""

import os
import random
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from sqlalchemy import create_engine, delete, select, text
from sqlalchemy.engine import make_url

from gainboard.analyses.job_kinds import find_kind
from gainboard.evaluation import collections
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.jobs.submission import launch
from gainboard.jobs.worker import Worker
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store import blobs, claims, jobs
from gainboard.store.tables import blobs as table_of_blobs
from gainboard.store.tables import job_chunks
from gainboard.store.tables import jobs as table_of_jobs
from tests.waiting import until
from tests.world.campaigns import body, run_text
from tests.world.servers import ADMIN

COLLECTION = "bench"
TOPICS, RUNS, PARTS, TRIALS = 20, 12, 6, 100_000
CHUNK_SECONDS = 0.15
"""Of the estimate: two parts of a job's six."""


class Bench:
    """A database with a collection that has been judged, and jobs about it."""

    def __init__(self, url):
        # A name of its own, by which its connections are known to PostgreSQL.
        named = make_url(url).update_query_dict({"application_name": uuid4().hex})
        self.url = url if url.startswith("sqlite") else named.render_as_string(hide_password=False)
        self.owner = None  # the process whose children compute; this one by default
        self.workspace, _ = open_workspace(Settings.read({}, database_url=self.url, admin_token=ADMIN))
        self.organiser = authenticate(self.workspace, Sender.of(ADMIN))
        if not collections.list_collections(self.workspace, self.organiser, None, 1):
            fill(self.workspace, self.organiser)

    def ask(self, seed=0, kind="swap-rate", chunk_seconds=CHUNK_SECONDS, **params):
        asked = {"metrics": [f"P@{cutoff}" for cutoff in range(1, PARTS + 1)], "trials": TRIALS, "seed": seed} | params
        found = find_kind(kind)
        body = found.params_model.model_validate(asked)
        return launch(self.workspace, self.organiser, COLLECTION, found, body, chunk_seconds)

    def job(self, job):
        with self.workspace.database.reading() as tx:
            found = jobs.find(tx, job.id)
        assert found is not None
        return found

    def cancel(self, job):
        with self.workspace.database.writing() as tx:
            jobs.cancel(tx, job.id, self.workspace.now())

    def over(self, job):
        until(lambda: self.job(job).is_over)
        return self.job(job)

    def begun(self, job):
        until(lambda: any(chunk.done for chunk in self.chunks(job)) and self.is_worked(job))

    def is_worked(self, job):
        return any(chunk.claim is not None for chunk in self.chunks(job))

    def result(self, job):
        over = self.over(job)
        assert over.state == "succeeded", over.error
        assert over.result_sha256 is not None
        return b"".join(blobs.get(self.workspace.database, over.result_sha256))

    def work(self, job):
        worker = Worker(self.workspace)
        while (held := self.claim()) is not None:
            worker.work(held)
        return self.result(job)

    def forget(self, job):
        """Deletes a job that is over, so that an equal one is worked again."""
        with self.workspace.database.writing() as tx:
            tx.execute(delete(table_of_jobs).where(table_of_jobs.c.id == job.id))

    def chunks(self, job):
        query = select(job_chunks).where(job_chunks.c.job_number == job.number).order_by(job_chunks.c.position)
        with self.workspace.database.reading() as tx:
            return list(tx.execute(query))

    def add(self, sizes, identity=None, **given):
        names = ("collection_id", "kind", "params", "qrels_id", "run_ids")
        version, token = find_kind(self.like.kind).engine_version, self.organiser.require_token()
        own = {"engine_version": version, "token_id": token.id}
        values = {name: getattr(self.like, name) for name in names} | own | given
        with self.workspace.database.writing() as tx:
            return jobs.add(tx, self.workspace.now(), sizes, id=identity or self.new_id(), **values)[0]

    def new_id(self):
        return uuid4().hex * 2

    def claim(self, owner="a", turns=None):
        with self.workspace.database.writing() as tx:
            return claims.claim(tx, owner, self.workspace.now(), turns)

    def computing(self):
        """The processes that compute for whoever works the jobs here, oldest first."""
        return computing(self.owner)

    def cancel_all(self):
        with self.workspace.database.reading() as tx:
            found = jobs.page(tx, before=None, limit=1000, collection_id=None)
        for job in found:
            self.cancel(job)

    @cached_property
    def like(self):
        """A job to take what jobs have from; cancelled."""
        job = self.ask(trials=1)
        self.cancel(job)
        return job

    @cached_property
    def a_blob(self):
        with self.workspace.database.reading() as tx:
            return str(tx.execute(select(table_of_blobs.c.sha256)).scalars().first())

    def close(self):
        self.workspace.database.close()


@cache
def undisturbed(seed):
    """What `Bench.ask` comes to when it is worked in one process, by nobody else and on a database of its own."""
    with TemporaryDirectory() as folder:
        bench = Bench(f"sqlite:///{folder}/gainboard.db")
        try:
            return bench.work(bench.ask(seed))
        finally:
            bench.close()


def fill(workspace, organiser):
    """Makes the collection: runs that differ, on topics that differ, the same each time."""
    drawn = random.Random(2002)
    topics = {str(topic): [f"d{topic}-{number}" for number in range(12)] for topic in range(1, TOPICS + 1)}
    judged = "".join(f"{t} 0 {d} {drawn.randrange(3)}\n" for t, documents in topics.items() for d in documents)
    create_collection(workspace, organiser, COLLECTION)
    qrels.publish(workspace, organiser, COLLECTION, body(judged))
    for number in range(RUNS):
        ranked = {topic: drawn.sample(documents, 8) for topic, documents in topics.items()}
        details = RunDetails(team="lemur", name=f"run-{number:02d}")
        runs.submit(workspace, organiser, COLLECTION, body(run_text(ranked, f"tag{number}")), details)


def create_collection(workspace, organiser, name):
    settings = {"name": name, "title": "", "level_names": None, "highest_level": 2}
    settings |= {"gains": "linear", "depth": 1000, "order_by": "score", "topics": None, "metrics": None}
    collections.create(workspace, organiser, settings | {"phase": "released", "public": False})


def disconnect(url):
    """Ends all connections of a test to its PostgreSQL database, as a restart of it would."""
    named = make_url(url).query["application_name"]
    administrator = create_engine(make_url(url).set(query={}), isolation_level="AUTOCOMMIT")
    with administrator.connect() as connection:
        ended = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = :name AND datname = current_database()"""
        assert connection.execute(text(ended), {"name": named}).all()
    administrator.dispose()


def computing(owner=None):
    """The processes that compute for this one or another, oldest first."""
    return [pid for pid in _children(owner or os.getpid()) if b"gainboard.jobs.process" in _read(pid, "cmdline")]


def is_there(pid):
    """Whether the process runs; one that has ended does not, though nobody has waited for it."""
    return _status(pid) not in ("", "Z", "X")


def is_zombie(pid):
    return _status(pid) == "Z"


def _children(owner):
    pids = sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [pid for pid in pids if (stat := _stat(pid)) and int(stat[1]) == owner]


def _status(pid):
    return stat[0] if (stat := _stat(pid)) else ""


def _stat(pid):
    # After the name, which may hold anything: state, parent, ...
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
