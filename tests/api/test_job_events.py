"""Jobs followed as server-sent events."""

import json
from threading import Thread

import httpx

from tests.waiting import until
from tests.world.laboratories import LONG, Laboratory
from tests.world.servers import ADMIN, new_settings, serving


def _events(answer):
    event = {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if line:
            event[name] = value
        elif event:
            assert event["event"] == "job"
            job = json.loads(event["data"])
            assert event["id"] == f"{job['state']}-{job['progress']['done']}"
            yield job
            event = {}


def test_a_job_is_followed_to_its_end(tmp_path):
    with serving(new_settings(tmp_path)) as service:
        lab = Laboratory(service)
        url = lab.ask().headers["location"]
        with lab.organiser.stream("GET", f"{url}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            followed = list(_events(answer))
        assert followed[-1] == lab.organiser.get(url).json()
    states = [each["state"] for each in followed]
    assert states == sorted(states, key=["queued", "running", "succeeded"].index)
    assert followed[-1]["tables"]


def test_events_come_as_they_happen_and_nobody_keeps_them(lab):
    url = lab.ask(metrics=["AP"], trials=21).headers["location"]
    with lab.organiser.stream("GET", f"{url}/events", headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["cache-control"] == "private, no-store"
        assert not {"etag", "content-encoding", "content-length"} & answer.headers.keys()
        events = _events(answer)
        assert next(events)["state"] == "queued"
        lab.service.client(ADMIN).delete(url)
        assert [each["state"] for each in events] == ["cancelled"]


def test_head_of_events_is_answered_at_once(lab):
    url = lab.ask(metrics=["AP"], trials=23).headers["location"]
    answer = lab.organiser.head(f"{url}/events", timeout=60)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert lab.organiser.get(url, timeout=60).status_code == 200  # on the same connection


def test_followers_who_leave_leave_nothing_behind(lab):
    url = lab.ask(metrics=["AP"], trials=24).headers["location"]
    for _ in range(50):  # more than there are threads or connections
        with lab.organiser.stream("GET", f"{url}/events") as answer:
            assert next(_events(answer))["state"] == "queued"
    until(lambda: lab.service.application.state.watch.waiting == 0)
    assert lab.organiser.get("/readyz").status_code == 200


def test_a_server_that_stops_does_not_wait_for_those_who_wait(tmp_path):
    got = []
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        lab = Laboratory(service)
        url = lab.ask(**LONG).headers["location"]
        clients = [httpx.Client(base_url=service.url, headers=dict(lab.organiser.headers), timeout=60) for _ in "ab"]
        waiting = [
            Thread(target=lambda client=client, path=path: got.append(client.get(url + path).text))
            for client, path in zip(clients, ("/events", "?wait=30"), strict=True)
        ]
        for each in waiting:
            each.start()
        until(lambda: service.application.state.watch.waiting == 2)
    for thread, client in zip(waiting, clients, strict=True):
        thread.join()
        client.close()
    assert ['"state":"queued"' in each for each in got] == [True] * 2  # answered whole, and not cut off by the stop
