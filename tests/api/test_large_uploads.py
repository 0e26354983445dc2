"""Large files are read in a process of their own, and answered as all others."""

import gzip
import logging
import os
import pickle
import signal
import time
from contextlib import contextmanager
from threading import Thread

import pytest
from starlette.requests import ClientDisconnect

from gainboard import acceleration
from gainboard.errors import OutOfMemory
from gainboard.evaluation.runs import intake
from gainboard.trec import READING
from tests.waiting import until
from tests.world.campaigns import QRELS, RUN, Campaign, judged, refused
from tests.world.servers import ADMIN, new_settings, serving

LINES = "".join(f"3 Q0 document-{rank:09} {rank} {-rank} tag\n" for rank in range(1, 50_000))
LARGE = RUN + LINES
"""A run of 2 MB, of which two topics are judged."""


@pytest.fixture(autouse=True)
def _large_is_small(monkeypatch):
    """Files are large from 1 MiB on, in place of 16."""
    monkeypatch.setattr(intake, "LARGE_BYTES", 1 << 20)


@pytest.fixture
def started(monkeypatch):
    found = []
    start = intake._started

    def noted(files):
        process = start(files)
        found.append(process.pid)
        return process

    monkeypatch.setattr(intake, "_started", noted)
    return found


@pytest.fixture
def campaign(service):
    found = Campaign(service, depth=500_000)
    found.put_qrels()
    return found


def test_a_large_run_is_stored_and_scored_as_a_small_one(campaign, started, monkeypatch):
    assert len(LARGE) > intake.LARGE_BYTES
    answer = campaign.submit(LARGE)
    assert (answer.status_code, len(started)) == (201, 1), answer.text
    small = campaign.submit(RUN.replace("tag", "small"))
    assert (small.status_code, len(started)) == (201, 1)
    assert answer.json()["retrieved"] == small.json()["retrieved"] + 49_999
    rows = {row["name"]: row["mean"] for row in campaign.scores("AP", "nDCG@10")["runs"]}
    assert rows["tag"] == rows["small"]
    found = campaign.organiser.get(f"{campaign.path}/runs/tag", headers={"Accept": "text/plain"})
    assert found.text == LARGE
    faulty = campaign.submit(LARGE + "3 Q0 one-more 1\n")
    assert (refused(faulty), len(started)) == ((422, "faulty-file"), 2)
    assert faulty.json()["errors"][0]["line"] == LARGE.count("\n") + 1
    monkeypatch.setattr(intake, "LARGE_COMPRESSED_BYTES", 1 << 17)
    files = {"file": ("a.run", gzip.compress(LARGE.replace("tag", "other").encode(), 1))}
    packed = campaign.organiser.post(f"{campaign.path}/runs", params={"team": "lemur"}, files=files)
    assert (packed.status_code, len(started)) == (201, 3), packed.text
    assert campaign.get("/runs/other").json()["retrieved"] == answer.json()["retrieved"]


@pytest.mark.parametrize("settings", [{}, {"intents": True}], ids=["plain", "by intent"])
def test_a_large_run_is_read_after_a_restart_and_a_request(settings, tmp_path, started, monkeypatch):
    with serving(new_settings(tmp_path)) as before:
        campaign = judged(before, qrels=QRELS.replace(" 0 ", " 1 "), **settings)
    monkeypatch.setattr(intake, "LARGE_BYTES", 0)
    with serving(new_settings(tmp_path)) as service:
        # The judgments that the request has used are those that the other process gets.
        asked = {"metric": ["AP", *(["D#-nDCG@5"] if settings else [])]}
        path = campaign.path
        scored = service.organiser.get(f"{path}/scores", params=asked).json()["runs"]
        answer = service.organiser.post(f"{path}/runs", params={"team": "other"}, content=RUN.replace("tag", "large"))
        assert (answer.status_code, len(started)) == (201, 1), answer.text
        again = service.organiser.get(f"{path}/scores", params=asked).json()["runs"]
        assert [run["mean"] for run in again] == [scored[0]["mean"]] * 2


def test_large_qrels_are_published(campaign, started):
    campaign.submit(RUN)
    large = QRELS + "".join(f"9 0 document-{number:09} 0\n" for number in range(60_000))
    answer = campaign.put_qrels(large)
    assert (answer.status_code, len(started)) == (201, 1), answer.text
    assert answer.json()["judged"] == QRELS.count("\n") + 60_000
    assert refused(campaign.put_qrels(large + "9 0 document-000000000 1\n")) == (422, "faulty-file")


def test_others_are_answered_while_a_reader_works_and_one_that_is_killed_stores_nothing(campaign, started):
    with submitting(campaign, LARGE) as answers:
        until(lambda: started)
        os.kill(started[0], signal.SIGSTOP)
        try:
            assert campaign.get("/runs").status_code == 200
            assert answers == []
        finally:
            os.kill(started[0], signal.SIGKILL)
    assert refused(answers[0]) == (503, "out-of-memory")
    assert campaign.get("/runs").json()["items"] == []
    assert campaign.submit(LARGE).status_code == 201


@contextmanager
def submitting(campaign, text):
    """Submits a run beside the block, and yields the list into which its answer comes."""
    answers = []
    client = campaign.service.client(ADMIN)
    thread = Thread(target=lambda: answers.append(campaign.submit(text, client, team="lemur")))
    thread.start()
    yield answers
    thread.join()


def test_a_reader_that_fails_is_not_said_to_lack_memory():
    with pytest.raises(RuntimeError, match=r"ended without an answer \(exit code 7\)"):
        intake.apart(os._exit, 7)
    with pytest.raises(ZeroDivisionError) as failed:
        intake.apart(divmod, 1, 0)
    assert "In the process that reads large files" in failed.value.__notes__[0]
    with pytest.raises(OutOfMemory):
        intake.apart(signal.raise_signal, signal.SIGKILL)


def test_the_reader_ends_when_the_server_ends_and_when_nobody_waits_for_it(started):
    process = intake._started(())
    process.stdin.write(pickle.dumps(intake.Task(time.sleep, [600], compiled=False)))
    process.stdin.close()  # the system does it for a server that is killed
    assert process.wait(60) == 1
    process.stdout.close()
    with pytest.raises(ClientDisconnect):
        intake.apart(time.sleep, 600, require_client=_leave)
    with pytest.raises(ProcessLookupError):
        os.kill(started[1], 0)


def _leave():
    raise ClientDisconnect


def test_compiled_code_that_cannot_be_loaded_is_given_up_once(tmp_path, monkeypatch, caplog):
    if not acceleration.is_installed():
        pytest.skip("the fast extra is not installed")
    monkeypatch.setattr(READING, "_loaded", object())  # this process has it, but the folder is empty
    monkeypatch.setattr(acceleration, "kept_in", lambda: tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    with caplog.at_level(logging.WARNING, "gainboard.acceleration"):
        assert [intake.apart(divmod, 7, 2) for _ in range(2)] == [(3, 1)] * 2
    (said,) = [record.getMessage() for record in caplog.records]
    assert "plain code is used for reading: NotCompiled: " in said
    assert READING.get() is None
