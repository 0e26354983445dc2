"""Many invalid tokens from one address: further ones are refused with 429, and a valid one always passes."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from gainboard.errors import TooManyFailures
from gainboard.evaluation.access import principals
from gainboard.evaluation.access.principals import FAILURE_SECONDS, FAILURES, MOST_FAILURES, note_failure
from gainboard.evaluation.workspace import Workspace
from gainboard.store.database import Database
from tests.world.campaigns import judged, refused
from tests.world.servers import ADMIN, new_settings, serving

INVALID = (401, "not-authenticated")
TOO_MANY = (429, "too-many-failures")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        campaign = judged(service)
        campaign.release(public=True)
        yield campaign


@pytest.fixture(autouse=True)
def _no_failures(guarded):
    guarded.service.application.state.workspace.kept.pop(FAILURES, None)


def fail(service, times=MOST_FAILURES, address="192.0.2.1", path="/v1/me"):
    client = service.client("gainboard_guessed")
    return [client.get(path, headers={"X-Forwarded-For": address}) for _ in range(times)]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{path}/leaderboard?metric=AP"),
        ("GET", "/v1/me"),
        ("POST", "/v1/collections"),
        ("POST", "{path}/runs"),
        ("DELETE", "{path}"),
        ("POST", "/signin"),
    ],
)
def test_every_route_counts_each_failure_once(guarded, method, path):
    service, path = guarded.service, path.format(path=guarded.path)
    if method == "GET":
        service.anonymous.get(path)  # an answer that may be sent again
    client, sent = service.client("gainboard_guessed"), {"json": {}} if method == "POST" else {}
    if path == "/signin":
        sent = {"data": {"token": "gainboard_guessed"}, "headers": {"Origin": service.url}}
    *answers, further = [client.request(method, path, **sent) for _ in range(MOST_FAILURES + 1)]
    assert [answer.status_code for answer in answers] == [401] * MOST_FAILURES
    assert (further.status_code, further.headers["retry-after"]) == (429, str(FAILURE_SECONDS))
    assert "another one" in further.text


def test_a_valid_token_passes_and_so_does_nobody(guarded):
    fail(guarded.service, MOST_FAILURES + 1)
    headers = {"X-Forwarded-For": "192.0.2.1"}
    assert guarded.organiser.get("/v1/me", headers=headers).status_code == 200
    assert guarded.service.anonymous.get(guarded.path, headers=headers).status_code == 200
    answer = guarded.service.anonymous.post("/signin", data={"token": ADMIN}, headers={"Origin": guarded.service.url})
    assert answer.status_code == 303


def test_each_address_counts_alone_and_a_network_of_ipv6_as_one(guarded):
    fail(guarded.service, MOST_FAILURES, "2001:db8:0:1::1")
    assert refused(fail(guarded.service, 1, "2001:db8:0:1:ffff::2")[0]) == TOO_MANY
    assert refused(fail(guarded.service, 1, "2001:db8:0:2::1")[0]) == INVALID
    assert refused(fail(guarded.service, 1, "192.0.2.2")[0]) == INVALID
    fail(guarded.service, MOST_FAILURES, "192.0.2.3")
    assert refused(fail(guarded.service, 1, "::ffff:192.0.2.3")[0]) == TOO_MANY
    assert refused(fail(guarded.service, 1, "::ffff:192.0.2.4")[0]) == INVALID


def test_after_a_minute_a_failure_is_a_failure_again(guarded, monkeypatch):
    fail(guarded.service)
    monkeypatch.setattr(principals, "monotonic", lambda: monotonic() + FAILURE_SECONDS)
    assert [refused(answer) for answer in fail(guarded.service, 2)] == [INVALID] * 2


def test_sessions_that_have_ended_are_no_failures(guarded):
    client = guarded.service.client(None)
    client.cookies.set("gainboard", "ended")
    for _ in range(MOST_FAILURES):
        assert client.get("/me").status_code == 401
    assert refused(guarded.service.client("gainboard_guessed").get("/v1/me")) == INVALID


@pytest.fixture
def workspace(tmp_path):
    """A workspace on an empty database, which counting never looks at."""
    workspace = Workspace(Database(f"sqlite:///{tmp_path}/gainboard.db"))
    yield workspace
    workspace.database.close()


def test_failures_at_once_are_all_counted(workspace):
    def note(_):
        try:
            note_failure(workspace, "192.0.2.1")
        except TooManyFailures:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(note, range(200))) == MOST_FAILURES


def test_a_bounded_number_of_addresses_is_remembered(workspace, monkeypatch):
    monkeypatch.setattr(FAILURES, "_size", 3)
    for number in range(10):
        for _ in range(MOST_FAILURES):
            note_failure(workspace, f"192.0.2.{number}")
    with pytest.raises(TooManyFailures):
        note_failure(workspace, "192.0.2.9")
    note_failure(workspace, "192.0.2.0")  # forgotten
