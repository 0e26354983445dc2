"""Dear requests: an estimate before the work starts, a token for much of it, and one at a time for each principal."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gainboard.errors import TooManyDearRequests
from gainboard.evaluation import workspace
from gainboard.evaluation.boards import pair_statistics
from gainboard.evaluation.runs import run_properties
from gainboard.evaluation.scoring import requests, scorer
from gainboard.evaluation.workspace import MOST_AT_ONCE, MOST_WAITING, MOST_WAITING_OF_ONE, DearRequests
from tests.waiting import until
from tests.world.campaigns import RUN, WORSE, judged, refused

COMPARISON = "/compare?run=tag&run=worse"


@pytest.fixture(scope="module")
def released(shared):
    campaign = judged(shared, RUN, WORSE)
    campaign.release(public=True)
    return campaign


@pytest.fixture
def own_turns(shared):
    return shared.application.state.turns


@pytest.fixture
def threads():
    with ThreadPoolExecutor(MOST_WAITING * 2) as pool:
        yield pool


def _await(turns, number):
    until(lambda: turns._waiting.total() == number)


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (COMPARISON, (pair_statistics, "PAIR_SECONDS")),
        ("/scores?ties=expected&metric=nDCG@7", (run_properties, "READ_SECONDS")),
        ("/leaderboard?metric=nDCG@8", (scorer, "SCORE_SECONDS")),
        ("/scores?beta=7", (scorer, "SCORE_SECONDS")),
        ("/sweep?metric=Q&beta=1&beta=7", (requests, "SCORE_SECONDS")),
    ],
)
def test_much_computing_needs_a_token(released, monkeypatch, path, unit):
    monkeypatch.setattr(*unit, 10.0)
    anonymous = released.service.anonymous.get(released.path + path)
    assert refused(anonymous) == (401, "not-authenticated")
    assert "seconds of computing" in anonymous.json()["detail"]
    assert released.client("reader").get(released.path + path).status_code == 200
    monkeypatch.undo()
    assert released.service.anonymous.get(released.path + path).status_code == 200


def test_the_board_itself_is_open_to_everybody(shared, monkeypatch):
    monkeypatch.setattr(scorer, "SCORE_SECONDS", 10.0)
    campaign = judged(shared)
    campaign.release(public=True)
    for path in ("/leaderboard", "/scores", "/scores?topics=all"):
        assert shared.anonymous.get(campaign.path + path).status_code == 200, path


def test_anonymous_visitors_take_turns_and_others_go_on(released, threads, own_turns, monkeypatch):
    monkeypatch.setattr(pair_statistics, "PAIR_SECONDS", workspace.DEAR_SECONDS)
    service, path = released.service, released.path + COMPARISON
    own_turns.take(workspace.ANYBODY)  # somebody is at work
    try:
        asked = []
        for number in range(MOST_WAITING_OF_ONE):
            asked.append(threads.submit(service.anonymous.get, path))
            _await(own_turns, number + 1)
        refusal = service.anonymous.get(path)
        assert refused(refusal) == (429, "too-many-dear-requests")
        assert int(refusal.headers["retry-after"]) > 0
        assert service.anonymous.get(f"{released.path}/leaderboard").status_code == 200  # this is cheap
        assert service.anonymous.get("/healthz").status_code == 200
        assert released.organiser.get(path).status_code == 200  # another principal has a turn of its own
        assert not any(each.done() for each in asked)
    finally:
        own_turns.give_back(workspace.ANYBODY)
    assert [each.result().status_code for each in asked] == [200] * MOST_WAITING_OF_ONE
    assert service.anonymous.get(path).status_code == 200


def test_a_request_that_fails_gives_its_turn_back(released, monkeypatch):
    monkeypatch.setattr(pair_statistics, "PAIR_SECONDS", workspace.DEAR_SECONDS)

    def fail(*_):
        raise RuntimeError("of the test")

    path = f"{released.path}{COMPARISON}&metric=nDCG@9"
    with monkeypatch.context() as broken:
        broken.setattr(pair_statistics, "compare_pairs", fail)
        assert released.service.anonymous.get(path).status_code == 500
    assert released.service.anonymous.get(path).status_code == 200


def test_few_principals_work_at_once_and_few_requests_wait(threads):
    own = DearRequests()
    for number in range(MOST_AT_ONCE):
        own.take(f"at work {number}")
    asked = []
    for number in range(MOST_WAITING):
        asked.append(threads.submit(own.take, f"waits {number}"))
        _await(own, number + 1)
    with pytest.raises(TooManyDearRequests):
        own.take("one more")
    assert not any(each.done() for each in asked)
    own.give_back("at work 0")
    given = set()
    while len(given) < MOST_WAITING:
        number = until(lambda: next((n + 1 for n, each in enumerate(asked) if each.done() and n not in given), 0)) - 1
        given.add(number)
        own.give_back(f"waits {number}")
    assert own._waiting.total() == 0


def test_a_turn_that_does_not_come_is_refused(monkeypatch):
    monkeypatch.setattr(workspace, "LONGEST_WAIT", 0.01)
    own = DearRequests()
    own.take("one")
    with pytest.raises(TooManyDearRequests):
        own.take("one")
    own.give_back("one")
    own.take("one")
