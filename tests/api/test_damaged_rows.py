"""No list falls with one row: what cannot be read is shown as damaged, can be deleted, and `doctor` names it."""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from functools import cached_property

import pytest
from sqlalchemy import JSON, String, event

from gainboard.store.audit import digest
from gainboard.store.damage import RECORDS, find_damage
from gainboard.store.tables import UtcTime
from tests.api.test_answers import assigned, cited, nuggets
from tests.world.campaigns import refused, slug
from tests.world.laboratories import TOPICS, Laboratory
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving

MATRIX = f"run,{','.join(TOPICS)}\n" + "".join(f"run-{n}{',0.5' * len(TOPICS)}\n" for n in range(4))
FROZEN = {"title": "First", "metrics": ["AP"], "creators": ["R. Mokoena"]}
TEXTS = ("nope",)
VALUES = ("3", "null", "{", '[{"a": 1}]', '{"tables": [{}], "figures": []}', "[" * 5000)
KEYS = ("id", "name", "hash", "sha256", "uuid", "judgments")
"""Columns by which rows are found: whoever damages one hides the row."""
COLUMNS = [
    column
    for table, record in RECORDS.items()
    for column in table.c
    if not (column.primary_key or column.foreign_keys or (column.name in KEYS and table.name != "reports"))
    # Of other texts, any is valid.
    if isinstance(column.type, (JSON, UtcTime)) or find_damage(record, {"level_names": None, column.name: "nope"})
    if isinstance(column.type, (JSON, UtcTime, String))
]
DAMAGED_JOB = {"kind": "nope", "params": '"x"', "run_ids": "3", "exhibits": '{"tables": [3]}', "created_at": "x"}


class Damaged(Laboratory):
    """A collection with one of everything, beside a sound one, and the database that they are in."""

    def __init__(self, service, folder):
        super().__init__(service, topics=TOPICS, metrics=["AP"], policy={"presets": ["AP"]})
        self.sound = Laboratory(service)
        self.sound_id = self.sound.worked(self.sound.ask())["id"]
        self.job_id = self.worked(self.ask())["id"]
        self.made = self.worked(self.report())
        client = self.organiser
        client.put(f"{self.path}/topic-groups/even", json=TOPICS[:4]).raise_for_status()
        client.put(f"{self.path}/score-matrices/mine", content=MATRIX).raise_for_status()
        client.put(f"{self.path}/nuggets", content=nuggets()).raise_for_status()
        said = assigned("210") + cited("run-1", [["full"]])
        client.put(f"{self.path}/answers/official", content=said).raise_for_status()
        self.put_qrels(judgments="second").raise_for_status()
        self.sound.release()
        client.post(f"{self.sound.path}/releases", json=FROZEN).raise_for_status()
        self.pages = Person(service, ADMIN)
        self.database = folder / "gainboard.db"
        self.tables_of = {}
        """The tables that each path reads."""

    @cached_property
    def whole(self):
        """Every list and page that has rows of the collection among its own, and what it shows while they are whole."""
        below = [
            "runs",
            "tokens",
            "teams",
            "audit",
            "topic-groups",
            "score-matrices",
            "qrels",
            "leaderboard",
            "nuggets",
        ]
        below += ["answers", "answers/official"]
        paths = [f"/v1/{each}" for each in ("collections", "jobs", "reports", "audit")]
        paths += [f"/v1/{each}?collection={self.name}" for each in ("jobs", "reports")]
        paths += [f"{self.sound.path}/releases", self.path, *(f"{self.path}/{each}" for each in below)]
        paths += ["/", f"/c/{self.name}", f"/jobs/{self.job_id}", f"/reports/{self.made['id']}"]
        paths += [
            f"/c/{self.name}/{each}" for each in ("analyses", "answers", "judgments", "settings", "teams", "topics")
        ]
        engine, said, shown = self.service.application.state.workspace.database.engine, [], {}
        event.listen(engine, "before_cursor_execute", lambda *sent: said.append(sent[2]))
        for path in paths:
            self.forget()
            said.clear()
            shown[path] = self.ask_for(path).text
            self.tables_of[path] = {each for each in RECORDS if re.search(rf"\b{each.name}\b", " ".join(said))}
        return shown

    def forget(self):
        """No answer is kept any more."""
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=60)) as database:
            database.execute("UPDATE collections SET revision = revision + 1")

    def ask_for(self, path):
        return (self.organiser if path.startswith("/v1/") else self.pages).get(path)

    def fallen(self, paths=()):
        """Those of the paths that are answered by a fault of ours, and those that show something else."""
        answers = {path: self.ask_for(path) for path in paths or self.whole}
        fallen = [path for path, answer in answers.items() if answer.status_code >= 500]
        return fallen, [path for path, answer in answers.items() if answer.text != self.whole[path]]

    @contextmanager
    def damaged(self, column, value, where=""):
        """Another value in a column of all rows but of the sound collection's own."""
        table, name = column if isinstance(column, tuple) else (column.table.name, column.name)
        own = where or (f"name = '{self.name}'" if table == "collections" else "1")
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=60)) as database:
            kept = database.execute(f'SELECT rowid, "{name}" FROM {table} WHERE {own}').fetchall()
            assert kept, table
            database.execute(f'UPDATE {table} SET "{name}" = ? WHERE {own}', (value,))
            self.forget()
            yield
            database.executemany(f'UPDATE {table} SET "{name}" = ? WHERE rowid = ?', [(v, row) for row, v in kept])


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    with serving(new_settings(folder, job_slots=0)) as service:
        yield Damaged(service, folder)


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_no_list_and_no_page_falls_with_a_damaged_value(lab, column):
    assert lab.whole
    reading, showing = [path for path, tables in lab.tables_of.items() if column.table in tables], []
    for value in VALUES if isinstance(column.type, JSON) else TEXTS:
        with lab.damaged(column, value):
            fallen, differing = lab.fallen(showing or reading)
        assert fallen == [], value[:40]
        showing = showing or differing  # once a damaged value was seen: nothing else shows the column


def test_no_list_falls_with_a_damaged_entry_of_the_log_and_the_chain_shows_it(lab):
    assert lab.whole
    with closing(sqlite3.connect(lab.database, isolation_level=None, timeout=60)) as database:
        find = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
        triggers = database.execute(find).fetchall()
        for trigger, _ in triggers:
            database.execute(f"DROP TRIGGER {trigger}")
        for name in ("at", "action", "role", "subject", "details", "previous", "hash"):
            with lab.damaged(("audit", name), "nope"):
                assert lab.fallen([path for path in lab.whole if "audit" in path or path == "/"])[0] == [], name
                lines = map(json.loads, lab.organiser.get("/v1/audit?format=ndjson").text.splitlines())
                assert any(digest(entry) != entry["hash"] for entry in lines), name
        for _, made in triggers:
            database.execute(made)


@pytest.mark.parametrize(("column", "value"), DAMAGED_JOB.items(), ids=DAMAGED_JOB)
def test_a_damaged_job_is_listed_as_damaged_and_refused_by_its_id(lab, column, value):
    with lab.damaged(("jobs", column), value, f"id = '{lab.job_id}'"):
        listed = {each["id"]: each for each in lab.organiser.get("/v1/jobs").json()["items"]}
        assert listed[lab.job_id]["state"] == "damaged"
        assert f"`{column}` is" in listed[lab.job_id]["error"]
        assert listed[lab.sound_id]["state"] == "succeeded"
        assert refused(lab.organiser.get(f"/v1/jobs/{lab.job_id}")) == (409, "damaged")
        assert [each["id"] for each in lab.organiser.get("/v1/jobs?state=damaged").json()["items"]] == [lab.job_id]


def test_no_damaged_setting_shows_more_than_the_strictest(lab):
    lab.release(public=True)
    try:
        for column in ("phase", "topics", "level_names", "releases_at", "order_by"):
            with lab.damaged(("collections", column), "[3]"):
                assert slug(lab.service.anonymous.get(lab.path)) == "not-authenticated"
                names = [each["name"] for each in lab.service.anonymous.get("/v1/collections").json()["items"]]
                assert lab.name not in names
                assert refused(lab.get("")) == (409, "damaged")
    finally:
        assert lab.change(policy={"phase": "hidden"}).status_code == 200
    with lab.damaged(("collections", "policy"), '{"scores": "all", "parameters": "free", "decimals": "x"}'):
        assert slug(lab.get("/leaderboard", lab.client("participant", "team-0"))) == "judgments-hidden"
        (warning,) = lab.get("").json()["warnings"]
    assert (warning["code"], "`policy` is" in warning["message"]) == ("damaged", True)


def test_what_is_damaged_can_be_deleted_and_asked_for_again(tmp_path):
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        lab = Damaged(service, tmp_path)
        with lab.damaged(("reports", "name"), "nope"):
            assert lab.organiser.delete(f"/v1/reports/{lab.made['id']}").json()["state"] == "damaged"
        assert lab.organiser.get("/v1/reports").json()["items"] == []
        lab.worked(lab.report())
        with lab.damaged(("jobs", "params"), "3", f"id = '{lab.job_id}'"):
            assert lab.organiser.delete(f"/v1/jobs/{lab.job_id}").status_code == 200
        assert refused(lab.organiser.get(f"/v1/jobs/{lab.job_id}")) == (404, "not-found")
        assert lab.worked(lab.ask())["id"] == lab.job_id
        with lab.damaged(("collections", "level_names"), "{"):
            assert lab.organiser.delete(lab.path).status_code == 204
        assert [each["name"] for each in lab.organiser.get("/v1/collections").json()["items"]] == [lab.sound.name]
