"""Boards, jobs and reports of files without a server, and `gainboard view`."""

import re
import signal
import subprocess
import sys
import tarfile
import zipfile

import httpx
import pytest

from gainboard.client import Gainboard
from tests.cli.shells import Shell
from tests.outside import outside
from tests.world.campaigns import QRELS, RUN, WORSE, run_text
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer
ID = re.compile("[0-9a-f]{64}")
"""A job's id, which depends on the collection that it is about."""
JOB = "job run rank-correlation -m AP -m Q --set resamples=100 --output"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    for team, run in (("lemur", RUN), ("otter", WORSE)):
        (tmp_path / "runs" / team).mkdir(parents=True)
        (tmp_path / "runs" / team / f"{team}-1.txt").write_text(run)
    return tmp_path


def test_a_job_over_files_gives_the_bytes_that_a_server_gives(shared, folder):
    with Gainboard(shared.url, ADMIN) as server:
        server.create_collection("files", server.survey(folder / "qrels.txt").levels)
        server.put_qrels("files", folder / "qrels.txt")
        for team in ("lemur", "otter"):
            server.submit("files", folder / "runs" / team / f"{team}-1.txt", team=team, name=f"{team}-1")
    asked = Shell(folder, GAINBOARD_SERVER=shared.url, GAINBOARD_TOKEN=ADMIN)
    assert asked.run(f"gainboard {JOB} there -c files").code == 0
    done = Shell(folder).run(f"gainboard {JOB} here --qrels qrels.txt --runs 'runs/*/*.txt'")
    assert done.code == 0, done.err
    names = sorted(path.name for path in (folder / "there").iterdir())
    assert {"result.json", "depends_on.json", "index.html"} <= set(names)
    for name in set(names) - {"depends_on.json"}:  # which has the uuid of the collection
        here, there = ((folder / place / name).read_text() for place in ("here", "there"))
        assert ID.sub("ID", here) == ID.sub("ID", there), name


def test_runs_come_from_archives_and_tables_and_faulty_ones_are_left_out(folder):
    (folder / "faulty.txt").write_text("1 Q0\n")
    with zipfile.ZipFile(folder / "runs.zip", "w") as zipped:
        zipped.write(folder / "runs/lemur/lemur-1.txt", "deep/lemur-1.txt")
    with tarfile.open(folder / "runs.tgz", "w:gz") as tarred:
        tarred.add(folder / "runs/otter/otter-1.txt", "otter-1.txt")
    (folder / "runs.csv").write_text("file,team,name\nruns/otter/otter-1.txt,badger,listed\n")
    done = Shell(folder).run(
        "gainboard leaderboard --qrels qrels.txt --runs runs.zip runs.tgz runs.csv faulty.txt -m AP"
    )
    assert done.code == 1, done.err
    rows = {line.split()[1]: line.split()[2:-1] for line in done.out.splitlines()[1:]}
    assert rows == {"lemur-1": ["deep"], "otter-1": [], "listed": ["badger"]}
    assert "faulty.txt:1: bad-columns" in done.err
    assert "3 of 4 runs loaded" in done.err
    (folder / "teams.csv").write_text("run,team\nlemur-1,newt\n")
    done = Shell(folder).run("gainboard leaderboard --qrels qrels.txt --runs runs teams.csv -m AP -f csv")
    assert {line.split(",")[1]: line.split(",")[2] for line in done.out.splitlines()[1:]} == {
        "lemur-1": "newt",
        "otter-1": "otter",
    }


def test_a_board_of_files_is_corrected_by_a_file(folder):
    topics = range(40)
    (folder / "model.txt").write_text("".join(f"{topic} 0 good 1\n{topic} 0 bad 0\n" for topic in topics))
    people = "".join(f"{topic} 0 good {3 * (topic % 2)}\n{topic} 0 bad 1\n" for topic in topics[:25])
    (folder / "people.txt").write_text(people)
    orders = {"first": ("good", "bad"), "second": ("bad", "good")}
    for name, order in orders.items():
        (folder / f"{name}.run").write_text(run_text({str(topic): order for topic in topics}, name))
    board = "gainboard leaderboard --qrels model.txt --runs first.run second.run -m AP --corrected-by"
    done = Shell(folder).run(f"{board} people.txt")
    assert done.code == 0, done.err
    assert "Means under official, corrected by people on 25 of 40 topics" in done.err
    assert done.out.split("\n")[0].split()[:5] == ["rank", "run", "AP", "AP,", "uncorrected"]


@pytest.fixture(params=["qrels.txt runs", "--scores scores.csv"], ids=["runs", "scores"])
def viewed(folder, request):
    (folder / "scores.csv").write_text("model,x,y\nlemur-1,1,0.5\nown/model,0.25,\n")
    command = [sys.executable, "-m", "gainboard", "view", *request.param.split(), "--no-browser", "-c", "web"]
    with subprocess.Popen(
        command, cwd=folder, env=outside(TMPDIR=str(folder)), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


def test_a_view_lets_one_browser_in_and_leaves_nothing(viewed, folder):
    process, entrance = viewed
    base = entrance.partition("/enter")[0]
    with (
        httpx.Client(follow_redirects=True, base_url=base, timeout=60) as browser,
        httpx.Client(base_url=base, timeout=60) as other,
    ):
        board = browser.get(entrance)
        assert (board.status_code, board.url.path) == (200, "/c/web")
        assert "lemur-1" in board.text
        assert other.get(entrance).status_code == 401
        assert other.get("/v1/collections").json()["items"] == []
        strange = other.get("/c/web", headers={"Host": "gainboard.example"})
        assert (strange.status_code, strange.json()["type"]) == (421, "/problems/wrong-host")
    assert list(folder.glob("gainboard-*"))
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert not list(folder.glob("gainboard-*"))
