"""Records what a version of Gainboard leaves in its database, for the test of upgrades.

    python -m tests.operations.record CHECKOUT

runs the service of a checkout of any version, new or old, fills it over HTTP, and writes two files named after its
schema revision into `tests/operations/recorded`: the database as SQL, and what the service answered. Run it for the
revision that a new migration leaves behind, and never again for that one: what an old version wrote stays as it was.
"""

import json
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.outside import outside
from tests.waiting import until
from tests.world.laboratories import qrels_text, rotated
from tests.world.processes import answers
from tests.world.servers import ADMIN

RECORDED = Path(__file__).parent / "recorded"
PATH = "/v1/collections/old"
SCORES = {"metric": ["AP", "Q", "nDCG@5", "ADM"], "gains": "10:5:1", "topics": "all"}
RUNS = {f"run-{number}": rotated(number) for number in range(4)}
PLAIN = {"Accept": "text/plain"}
SETTINGS = {"name": "old", "title": "Größe ☃", "levels": 3}
JOB = {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
REPORT = {"name": "q-measure-appendix", "collections": ["old"], "params": {}}


@contextmanager
def served(checkout, data):
    """The service of a checkout, and an organiser's client of it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    package = _package(checkout)
    process = subprocess.Popen(
        [sys.executable, "-m", package.name, "serve", "--data", str(data), "--port", str(port)],
        cwd=checkout,
        env=outside(GAINBOARD_ADMIN_TOKEN=ADMIN, PYTHONPATH=str(package.parent), PYTHONDONTWRITEBYTECODE="1"),
    )
    headers = {"Authorization": f"Bearer {ADMIN}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            until(lambda: answers(str(client.base_url)))
            yield client
    finally:
        process.terminate()
        process.wait()


def _package(checkout):
    # It was the folder `app` itself in versions up to 0.1.
    found = checkout / "app" / "gainboard"
    return found if found.is_dir() else checkout / "app"


def fill(client):
    """Leaves something of everything that the version knows; gives what it answered."""
    _done(client.post("/v1/collections", json=SETTINGS))
    _done(client.put(f"{PATH}/qrels", content=qrels_text(1)))
    for number, (name, text) in enumerate(RUNS.items()):
        _done(client.post(f"{PATH}/runs", content=text, params={"team": f"team-{number % 2}", "name": name}))
    _done(client.put(f"{PATH}/qrels", content=qrels_text()))
    withdrawn = {"team": "team-0", "name": "withdrawn"}
    _done(client.post(f"{PATH}/runs", content=rotated(5), params=withdrawn))
    _done(client.delete(f"{PATH}/runs/withdrawn"))
    token = _done(client.post(f"{PATH}/tokens", json={"role": "participant", "team": "team-0"}))["token"]
    job, report = (_finished(client, *each) for each in ((f"{PATH}/jobs", JOB), ("/v1/reports", REPORT)))
    if client.get(f"{PATH}/audit").status_code == 200:
        client.put(f"{PATH}/qrels", content=qrels_text(2), params={"draft": True})
    return {
        "scores": _done(client.get(f"{PATH}/scores", params=SCORES))["runs"],
        "first_scores": _done(client.get(f"{PATH}/scores", params={**SCORES, "qrels": 1}))["runs"],
        "qrels": {"1": qrels_text(1), "2": qrels_text()},
        "runs": RUNS,
        "token": token,
        "job": job,
        "report": report,
    }


def _done(answer):
    if not answer.is_success:
        raise SystemExit(f"{answer.request.method} {answer.request.url}: {answer.text}")
    return answer.json() if answer.content else None


def _finished(client, path, asked):
    """What was asked for, once it is over, with its result; None where the version does not know such a thing."""
    answer = client.post(path, json=asked)
    if answer.status_code in (404, 405):
        return None
    _done(answer)
    place = answer.headers["location"]
    for _ in range(60):
        found = _done(client.get(place, params={"wait": 30} if "/jobs/" in place else {}))
        if found["state"] not in ("queued", "running"):
            return {"path": place, "state": found["state"], "result": client.get(f"{place}/result").json()}
        time.sleep(0.5)
    raise SystemExit(f"{place} does not end")


def record(checkout):
    with TemporaryDirectory() as folder:
        with served(checkout, Path(folder)) as client:
            answered = fill(client)
        with closing(sqlite3.connect(Path(folder) / "gainboard.db")) as connection:
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            dumped = "\n".join(connection.iterdump())
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{revision}.sql").write_text(dumped + "\n", encoding="utf-8")
    text = json.dumps(answered, indent=1, ensure_ascii=False)
    (RECORDED / f"{revision}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve())
