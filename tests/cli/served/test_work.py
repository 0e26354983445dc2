"""`gainboard job` and `gainboard report` against a real server: one set of commands, two nouns."""

import json
import re
from html import escape
from pathlib import Path

import pytest
from sqlalchemy import text

from gainboard.cli import main
from tests.cli.terminals import in_terminal, printed
from tests.world.laboratories import REPORT, Laboratory
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

STABILITY = ("job", "run", "stability", "-m", "AP", "-m", "Q", "--set", "trials=20")


@pytest.fixture
def laboratory(shared, folder, monkeypatch):
    made = Laboratory(shared)
    monkeypatch.setenv("GAINBOARD_COLLECTION", made.name)
    return made


@pytest.fixture
def idle(folder, monkeypatch):
    """The same on a server that works no jobs, so that whatever is asked for stays queued."""
    with serving(new_settings(folder / "data", job_slots=0)) as service:
        made = Laboratory(service)
        monkeypatch.setenv("GAINBOARD_SERVER", service.url)
        monkeypatch.setenv("GAINBOARD_COLLECTION", made.name)
        yield made


def test_a_job_is_waited_for_without_a_drawing_listed_and_named_by_the_beginning_of_its_id(laboratory, capsys):
    assert main([*STABILITY, "--wait"]) == 0
    out, err = capsys.readouterr()
    assert ("\N{ESCAPE}" in out + err, "\r" in out + err) == (False, False)
    job = laboratory.finished(laboratory.ask(metrics=["AP", "Q"], trials=20))
    csv = laboratory.organiser.get(job["tables"][0]["csv"]).text
    assert len(out.splitlines()) == len(csv.splitlines())
    assert printed(capsys, "job", "result", job["id"], "--format", "csv") == csv
    result = laboratory.organiser.get(job["result_url"]).json()
    assert json.loads(printed(capsys, "job", "wait", job["id"][:12], "--format", "json")) == result
    _, row = printed(capsys, "job", "list", "--kind", "stability").splitlines()
    assert row.startswith(job["id"][:12] + "  succeeded")
    assert json.loads(printed(capsys, "job", "show", job["id"][:8], "--format", "json")) == job
    assert main(["job", "show", "no-such-beginning"]) == 1
    assert "No job that you see has an id that begins with 'no-such-beginning'." in capsys.readouterr().err


@pytest.mark.parametrize("noun", ["job", "report"])
def test_output_writes_everything_into_a_folder(laboratory, folder, capsys, noun):
    line = STABILITY if noun == "job" else ("report", "run", REPORT)
    written = printed(capsys, *line, "--output", "out/here").splitlines()
    asking = laboratory.ask(metrics=["AP", "Q"], trials=20) if noun == "job" else laboratory.report()
    shown = laboratory.organiser.get(asking.headers["location"]).json()
    result = laboratory.organiser.get(shown["result_url"]).json()
    places = {f"{each['name']}.csv": each["csv"] for each in shown["tables"]}
    places |= {f"{each['name']}.tex": each["latex"] for each in shown["tables"]}
    places |= {f"{each['name']}.svg": each["svg"] for each in shown["figures"]}
    assert shown["figures"]
    assert {Path(each).name for each in written} == {"result.json", "index.html", "depends_on.json", *places}
    page = (folder / "out/here/index.html").read_text()
    assert set(re.findall(r'href="([^"]+)"', page)) == {"result.json", *places}
    assert all(escape(each["caption"]) in page for each in shown["tables"] + shown["figures"])
    assert re.findall(r'<img src="([^"]+)"', page) == [f"{each['name']}.svg" for each in shown["figures"]]
    assert json.loads((folder / "out/here/result.json").read_text()) == result
    for name, place in places.items():
        assert (folder / "out/here" / name).read_bytes() == laboratory.organiser.get(place).content


def test_a_damaged_job_is_deleted_by_cancel(idle, capsys):
    job = idle.ask().json()["id"]
    with idle.service.application.state.workspace.database.writing() as tx:
        tx.execute(text("UPDATE jobs SET kind = 'nope'"))
    assert printed(capsys, "job", "list", "--state", "damaged", "-f", "csv").splitlines()[1].startswith(job)
    assert printed(capsys, "job", "cancel", job[:12]) == "damaged\n"
    assert idle.organiser.get("/v1/jobs").json()["items"] == []


@pytest.mark.parametrize("noun", ["job", "report"])
def test_a_terminal_sees_how_far_it_is_and_ctrl_c_leaves_it_at_work(idle, noun):
    line = STABILITY if noun == "job" else ("report", "run", REPORT)
    where = ["--server", idle.service.url, "-c", idle.name]
    code, seen = in_terminal([*line, *where, "--wait"], lambda seen: "queued" in seen, GAINBOARD_TOKEN=ADMIN)
    work = (idle.ask(metrics=["AP", "Q"], trials=20) if noun == "job" else idle.report()).json()
    short = work["id"][:12]
    assert code == 130
    assert re.search(rf"{noun} {short}  \[-+\] 0/\d+", seen)
    assert f"the {noun} goes on. To wait again: gainboard {noun} wait {short}" in seen
    assert work["state"] == "queued"
