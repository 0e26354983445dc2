"""Rights that end while an answer takes time: event streams, requests that wait, downloads, and uploads."""

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread
from time import monotonic

import httpx
import pytest

from gainboard.api.job_answers import ASKED_AGAIN_SECONDS
from gainboard.evaluation.access.sessions import IDLE, LIFETIME
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.access import find_work
from tests.waiting import until
from tests.world.campaigns import RUN, refused
from tests.world.laboratories import Laboratory, work
from tests.world.people import Person
from tests.world.servers import new_settings, serving

SOON = timedelta(hours=1)
PATIENCE = 20
"""Seconds within which a stream must end: the 5 that we promise, on a slow machine that does much else."""


@dataclass
class Reader:
    """A reader of a released collection, with a job: over the API with a token, or on pages with a session."""

    lab: Laboratory
    workspace: Workspace
    client: httpx.Client
    token_id: str
    job: str
    monkeypatch: pytest.MonkeyPatch
    csrf: str = ""

    @property
    def url(self):
        return f"/jobs/{self.job}" if self.csrf else f"/v1/jobs/{self.job}"

    def revoke(self):
        assert self.lab.organiser.delete(f"{self.lab.path}/tokens/{self.token_id}").status_code == 204

    def rotate(self):
        assert self.lab.organiser.post(f"{self.lab.path}/tokens/{self.token_id}/rotate").status_code == 201

    def expire(self):
        self.pass_time(SOON)

    def hide(self):
        assert self.lab.change(policy={"phase": "hidden"}).status_code == 200

    def sign_out(self):
        """Signs out, as another window of the same browser does."""
        window = self.lab.service.client(None)
        window.cookies = self.client.cookies
        answer = window.post("/signout", data={"csrf": self.csrf}, headers={"Origin": self.lab.service.url})
        assert answer.status_code == 303

    def outlive_session(self):
        self.pass_time(LIFETIME)

    def pass_time(self, time):
        now = Workspace.now
        self.monkeypatch.setattr(Workspace, "now", lambda workspace: now(workspace) + time)


def new_reader(service, monkeypatch, on_pages=False, lives=SOON):
    lab = Laboratory(service)
    lab.release()
    workspace = service.application.state.workspace
    made = lab.new_token("participant", team="own", expires_at=(workspace.now() + lives).isoformat())
    person = Person(service, made["token"]) if on_pages else None
    client = person.client if person else service.client(made["token"])
    csrf = person.csrf if person else ""
    return Reader(lab, workspace, client, made["id"], lab.ask().json()["id"], monkeypatch, csrf)


@contextmanager
def streaming(reader, url=None):
    """The further lines of the events of the reader's job, once the server waits for news of it."""
    with reader.client.stream("GET", f"{url or reader.url}/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) in ("event: job", "event: report")
        until(lambda: reader.lab.service.application.state.watch.waiting)
        yield lines


def ends_soon(lines):
    """Fail where a stream goes on: comments keep one open that does not end."""
    began = monotonic()
    for line in lines:
        assert not line.startswith("event:")
        assert monotonic() - began < PATIENCE


ENDS = (
    *((way, end) for way in ("api", "pages") for end in (Reader.revoke, Reader.rotate, Reader.expire, Reader.hide)),
    ("pages", Reader.sign_out),
    ("pages", Reader.outlive_session),
)
over_both = pytest.mark.parametrize(
    ("way", "end"), ENDS, ids=[f"{way}-{end.__name__.replace('_', '-')}" for way, end in ENDS]
)


def _reader(service, monkeypatch, way, end):
    lives = timedelta(days=2) if end is Reader.outlive_session else SOON
    return new_reader(service, monkeypatch, way == "pages", lives)


@over_both
def test_a_stream_of_a_quiet_job_ends_with_the_right_to_see_it(unworked, monkeypatch, way, end):
    reader = _reader(unworked, monkeypatch, way, end)
    monkeypatch.setattr("gainboard.api.job_answers.ASKED_AGAIN_SECONDS", 0.1)  # the stream of a report has the real one
    with streaming(reader) as lines:
        end(reader)
        ends_soon(lines)
    assert ASKED_AGAIN_SECONDS <= 4  # of the 5 seconds in which a stream ends


@over_both
def test_no_event_is_sent_after_the_right_has_ended(unworked, monkeypatch, way, end):
    reader = _reader(unworked, monkeypatch, way, end)
    monkeypatch.setattr("gainboard.api.job_answers.ASKED_AGAIN_SECONDS", 60)  # only the event itself asks
    with streaming(reader) as lines:
        end(reader)
        reader.lab.organiser.delete(f"/v1/jobs/{reader.job}")
        assert not any("cancelled" in line for line in lines)


def test_a_stream_of_a_report_ends_too(unworked, monkeypatch):
    reader = new_reader(unworked, monkeypatch)
    with streaming(reader, reader.lab.report().headers["location"]) as lines:
        reader.revoke()
        ends_soon(lines)


@pytest.fixture
def asked(monkeypatch):
    """A function that gives how often anybody was asked about; open streams ask all the time."""
    count = 0

    def counted(*arguments):
        nonlocal count
        count += 1
        return find_work(*arguments)

    monkeypatch.setattr("gainboard.api.job_answers.ASKED_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr("gainboard.api.job_answers.find_work", counted)
    return lambda: count


def test_a_quiet_stream_stays_open_and_says_nothing_twice(unworked, monkeypatch, asked):
    reader = new_reader(unworked, monkeypatch)
    with streaming(reader) as lines:
        until(lambda: asked() > 5)
        reader.lab.organiser.delete(f"/v1/jobs/{reader.job}")
        assert [line for line in lines if line.startswith("event:")] == ["event: job"]


def test_an_open_stream_keeps_no_session_alive(unworked, monkeypatch, asked):
    reader = new_reader(unworked, monkeypatch, on_pages=True, lives=timedelta(days=2))
    with streaming(reader) as lines:
        reader.pass_time(IDLE / 2)
        before = asked()
        until(lambda: asked() > before + 5)
        reader.pass_time(IDLE / 2)
        ends_soon(lines)


def in_background(ask):
    """A request that is under way, and the list where its answer will be."""
    got = []
    thread = Thread(target=lambda: got.append(ask()))
    thread.start()
    return thread, got


def test_a_request_that_waits_asks_again_who_sent_it(unworked, monkeypatch):
    reader = new_reader(unworked, monkeypatch)
    thread, got = in_background(lambda: reader.client.get(reader.url, params={"wait": 30}))
    until(lambda: unworked.application.state.watch.waiting)
    reader.revoke()
    reader.lab.organiser.delete(f"/v1/jobs/{reader.job}")
    thread.join()
    assert refused(got[0]) == (401, "not-authenticated")


def test_a_download_that_waited_asks_again_who_sent_it(tmp_path, monkeypatch):
    with serving(new_settings(tmp_path, job_slots=0)) as alone:  # so that no other test's jobs are worked
        reader = new_reader(alone, monkeypatch)
        assert work(reader.workspace) > 0
        url = reader.client.get(reader.url).json()["figures"][0]["svg"]
        thread, got = in_background(lambda: reader.client.get(url))
        until(lambda: alone.application.state.watch.waiting)
        reader.revoke()
        assert work(reader.workspace) > 0
        thread.join()
    assert refused(got[0]) == (401, "not-authenticated")


@pytest.mark.parametrize("end", [Reader.revoke, Reader.sign_out])
def test_an_upload_whose_sender_lost_its_token_on_the_way_is_not_stored(unworked, monkeypatch, end):
    reader = new_reader(unworked, monkeypatch, end is Reader.sign_out)
    assert reader.lab.change(policy={"phase": "released", "late": "open"}).status_code == 200

    def body():
        yield RUN[:10].encode()
        until(lambda: unworked.application.state.readers.busy)  # the token has been looked at, and the body is awaited
        end(reader)
        yield RUN[10:].encode()

    path = f"/c/{reader.lab.name}/runs" if reader.csrf else f"{reader.lab.path}/runs"
    headers = {"X-CSRF-Token": reader.csrf, "Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
    answer = reader.client.post(path, content=body(), headers=headers)
    assert refused(answer) == (401, "not-authenticated")
    assert "own" not in {run["team"] for run in reader.lab.read("/runs")["items"]}
