"""A backup holds what was there when it began, and restores into either kind of database."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from threading import Event

from gainboard.evaluation.audit import verify
from gainboard.settings import Settings
from gainboard.store.backup import restore, take
from gainboard.store.database import Database
from tests.api.changes import log
from tests.cli.shells import Shell
from tests.operations.stored import fill, rows
from tests.outside import outside
from tests.world.campaigns import run_text
from tests.world.laboratories import TOPICS, Laboratory
from tests.world.servers import ADMIN, serving

METRICS = ("AP", "Q", "nDCG@10")
UPLOADERS = 3


def quiet(table, done, expected):
    """Nobody is told."""


def taken(url, file, *, force=False):
    with closing(Database(url)) as database:
        return take(database, file, quiet, force=force)


def restored(url, file):
    with closing(Database(url)) as database:
        restore(database, file, quiet)


def test_every_row_of_every_table_is_the_same_in_the_other_database(database_url, other_url, tmp_path):
    fill(database_url)
    file = tmp_path / "a.backup"
    written = taken(database_url, file)
    restored(other_url, file)
    before = rows(database_url)
    assert all(before.values()), "a table that holds nothing here shows nothing"
    before["objects"] = set()  # they are outside of the database, and the backup has their content
    assert rows(other_url) == before
    assert written.rows == {name: len(found) for name, found in before.items()}
    assert written.bytes == file.stat().st_size


@contextmanager
def uploading(lab):
    """Several clients upload one run after the other; the files by name, of those that were answered 201."""
    stored = {}
    numbers, enough, first = count(), Event(), Event()

    def upload():
        while not enough.is_set():
            name = f"load-{next(numbers)}"
            ranking = [f"{name}-{place}" for place in range(40)] + ["d1", "d2", name[-1]]
            text = run_text(dict.fromkeys(TOPICS, ranking), name)
            answer = lab.submit(text, team="load", name=name)
            assert answer.status_code == 201, answer.text
            stored[name] = text
            if len(stored) >= UPLOADERS:
                first.set()

    with ThreadPoolExecutor(UPLOADERS) as pool:
        under_way = [pool.submit(upload) for _ in range(UPLOADERS)]
        try:
            assert first.wait(60)
            yield stored
        finally:
            enough.set()
    for each in under_way:
        each.result()


def files_of(service, lab):
    names, page = [], f"{lab.path}/runs"
    while page:
        answer = service.organiser.get(page)
        names += [run["name"] for run in answer.json()["items"]]
        page = answer.links.get("next", {}).get("url", "")
    plain = {"Accept": "text/plain"}
    return {name: service.organiser.get(f"{lab.path}/runs/{name}", headers=plain).text for name in names}


def scores_of(service, lab, names):
    asked = {"metric": METRICS, "run": names, "topics": "all"}
    answer = service.organiser.get(f"{lab.path}/scores", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()["runs"]


def test_a_backup_taken_under_load_restores_to_a_whole_state(database_url, other_url, tmp_path):
    settings = {"admin_token": ADMIN, "job_slots": 0}
    file = tmp_path / "a.backup"
    with serving(Settings.read({}, database_url=database_url, **settings)) as service:
        lab = Laboratory(service)
        with uploading(lab) as stored:
            before = sorted(stored)
            command = [sys.executable, "-m", "gainboard", "backup", str(file)]
            subprocess.run(command, env=outside(GAINBOARD_DATABASE_URL=database_url), check=True, capture_output=True)
        scored = scores_of(service, lab, before)
    assert len(stored) > len(before), "there was no load"
    restored(other_url, file)
    with serving(Settings.read({}, database_url=other_url, **settings)) as service:
        kept = {name: text for name, text in files_of(service, lab).items() if name.startswith("load-")}
        assert set(before) <= set(kept) <= set(stored)
        assert kept == {name: stored[name] for name in kept}
        assert scores_of(service, lab, before) == scored
        lab.organiser = service.organiser
        assert lab.submit(run_text({"1": ["new"]}, "new")).status_code == 201
        assert verify(log(service.organiser)).fault is None


def test_a_backup_of_a_database_that_refuses_entries_is_complete_and_says_so(tmp_path):
    url = f"sqlite:///{tmp_path}/gainboard.db"
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN, job_slots=0)) as service:
        with closing(Database(url)) as database, database.writing() as tx:
            refuse = "BEGIN SELECT RAISE(ABORT, 'only to be read'); END"
            tx.exec_driver_sql(f"CREATE TRIGGER refused BEFORE INSERT ON audit {refuse}")
        done = Shell(tmp_path).run("gainboard backup --data . a.backup")
        measured = service.organiser.get("/metrics").text
    assert (done.code, (tmp_path / "a.backup").exists()) == (0, True), done.err
    assert "gainboard: warning: a.backup is complete, but the audit log has no entry for it" in done.err
    assert "only to be read" in done.err
    assert "gainboard_last_backup_timestamp_seconds 0.0" in measured
