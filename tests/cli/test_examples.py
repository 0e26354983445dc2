"""Every example of every command does what it says, as it stands in the help.

Each runs in a folder of its own that has what examples speak of: qrels.txt, run.txt, runs/, accuracy.csv, paper.csv,
audit.ndjson, one-collection.ndjson, receipts.ndjson, result.json, the data of a service in gainboard-data, and where it
is to be restored a backup, monday.backup; and baseline.json of run.txt.
The service that they ask has the collections `web`, with judgments, a draft of others and runs, `spare`, and
`diversity`, whose judgments are by intent. Each example is run once, so it may change what no other one needs.
"""

import json
import os
import re
import shlex
import shutil

import httpx
import pytest

from gainboard.cli.command import Group
from gainboard.cli.parsing import every_command
from gainboard.client.gainboard import LocalGainboard
from tests.cli.shells import Shell, served
from tests.outside import ROOT, SOURCE
from tests.world.pages import DOCS, block
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

POSTGRES = "postgresql+psycopg://user@host/name"
"""An address that examples give, in the place of which the tests have one that is there."""
FOREVER = ("gainboard serve",)
"""How those begin that end when they are told to."""
ELSEWHERE = {
    "gainboard demo": "tests/test_demo.py runs it and asks it what the README asks",
    f"GAINBOARD_DATABASE_URL={POSTGRES} gainboard worker": "tests/jobs/test_fleet.py starts workers",
    f"GAINBOARD_DATABASE_URL={POSTGRES} gainboard workers": "tests/jobs/test_fleet.py lists those that work",
    **{
        f"GAINBOARD_OBJECTS=s3://bucket/gainboard gainboard move {place}": "tests/operations/test_objects.py moves"
        for place in ("objects", "database")
    },
    **{
        f"gainboard view {files}": "tests/cli/served/test_files_alone.py views files"
        for files in (
            *("qrels.txt runs/*", "qrels.txt runs.zip --data kept --no-browser", "--data kept"),
            "--scores accuracy.csv",
        )
    },
    "gainboard leaderboard -c web -m Q --judgments model --corrected-by people": "tests/test_demo.py",
    "gainboard leaderboard --qrels model.txt --runs runs/* -m Q --corrected-by people.txt": "tests/cli/served/"
    "test_files_alone.py corrects a board of files",
    "gainboard import web-1": "tests/jobs/test_importing.py imports it into another instance",
    "gainboard verify web-1": "tests/jobs/test_importing.py verifies a folder",
    "gainboard warm": "it compiles, as tests/test_dockerfile.py does with the image's own command",
}


def commands():
    for each in every_command():
        yield from each.commands if isinstance(each, Group) else [each]


LINES = [example.line for command in commands() for example in command.examples]


@pytest.fixture(scope="module")
def service(tmp_path_factory, prepared):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        fill(service, prepared)
        yield service


def fill(service, prepared):
    organiser, web = service.organiser, "/v1/collections/web"
    for name in ("web", "spare"):
        sent = {"name": name, "levels": ["B", "A", "S"], "gains": "3:2:1"}
        assert organiser.post("/v1/collections", json=sent).status_code == 201
    by_intent = {"name": "diversity", "levels": 3, "intents": True}
    assert organiser.post("/v1/collections", json=by_intent).status_code == 201
    qrels = (prepared / "qrels.txt").read_bytes()
    assert organiser.put(f"{web}/qrels", content=qrels).status_code == 201
    fewer = b"".join(line for line in qrels.splitlines(keepends=True) if b" d07 " not in line)
    assert organiser.put(f"{web}/qrels", params={"draft": True}, content=fewer).status_code == 201
    for group in ("hard", "spare"):
        assert organiser.put(f"{web}/topic-groups/{group}", json=["1", "2", "3"]).status_code == 201
    assert organiser.put(f"{web}/qrels", params={"judgments": "second"}, content=fewer).status_code == 201
    for name, file in (("tag", "civet"), ("other", "egret"), ("spare", "otter")):
        content = (prepared / "runs" / f"{file}.txt").read_bytes()
        answer = organiser.post(f"{web}/runs", params={"team": "newt", "name": name}, content=content)
        assert answer.status_code == 201, answer.text
    organiser.patch(web, json={"policy": {"phase": "released"}}).raise_for_status()
    organiser.post(f"{web}/releases", json={}).raise_for_status()
    for path in ("nuggets", "answers/official", "answers/spare"):
        content = (prepared / ("nuggets.jsonl" if path == "nuggets" else "assignments.jsonl")).read_bytes()
        assert organiser.put(f"{web}/{path}", content=content).status_code == 201
    for matrix in ("judge", "spare"):
        scores = (prepared / "nuggets.csv").read_bytes()
        assert organiser.put(f"{web}/score-matrices/{matrix}", content=scores).status_code == 201


@pytest.fixture(scope="module")
def folder(service, prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder") / "whole"
    shutil.copytree(prepared, folder)
    for name, address in (("audit", "/v1/audit"), ("one-collection", "/v1/collections/web/audit")):
        answer = service.organiser.get(address, params={"format": "ndjson"})
        (folder / f"{name}.ndjson").write_bytes(answer.raise_for_status().content)
    receipt = service.organiser.get("/v1/collections/web/runs/tag/receipt")
    (folder / "receipts.ndjson").write_bytes(receipt.raise_for_status().content)
    with LocalGainboard() as gainboard:
        gainboard.load("web", folder / "qrels.txt", folder / "runs")
        job = gainboard.job("web", "judgments")
        job.wait()
        (folder / "result.json").write_text(json.dumps(job.result_json()))
        (folder / "depends_on.json").write_text(json.dumps(job.dependencies()))
    new_settings(folder / "gainboard-data")
    assert Shell(folder).run("gainboard backup monday.backup").code == 0
    assert Shell(folder).run("gainboard gate qrels.txt run.txt -m nDCG@10 --write-baseline baseline.json").code == 0
    return folder


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.postgresql] if POSTGRES in line else [])
        for line in LINES
        if line not in ELSEWHERE
    ],
)
def test_an_example_works(line, service, folder, tmp_path, request):
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    if "restore" not in line:
        (own / "monday.backup").unlink()
    if line.startswith(FOREVER):
        assert served(Shell(own), line, lambda url: httpx.get(f"{url}/healthz", timeout=60).status_code)[1] == 200
        return
    if POSTGRES in line:
        line = line.replace(POSTGRES, shlex.quote(request.getfixturevalue("empty_postgres")))
    code, said, complaint = Shell(own, GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=ADMIN).run(line)
    assert code == 0, complaint
    assert said or ">" in line or any(path.name not in os.listdir(folder) for path in own.iterdir())


def test_every_command_that_a_text_names_is_there():
    known = {each.name.split()[0] for each in every_command()}
    texts = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]
    named = {(path.name, word) for path in texts for word in re.findall(r"`gainboard ([a-z][\w_-]*)", path.read_text())}
    assert len(named) > 50
    assert {(path, word) for path, word in named if word not in known} == set()


def test_every_command_or_one_of_its_group_has_an_example():
    without = [each.name for each in every_command() if not any(f"gainboard {each.name}" in line for line in LINES)]
    assert without == []


def test_what_runs_elsewhere_is_an_example():
    assert set(LINES) >= ELSEWHERE.keys()


def test_the_examples_of_the_page_work_on_files(prepared, tmp_path):
    page = DOCS["command-line.md"]
    script = block(page, "example: offline")
    shutil.copytree(prepared, tmp_path / "own")
    done = Shell(tmp_path / "own").run(script)
    assert done.code == 0, done.err
    assert r"\begin{table}" in (tmp_path / "own" / "scores.tex").read_text()
    assert (tmp_path / "own" / "scores.txt").read_text().count("\nmap                   \tall\t") == 3
