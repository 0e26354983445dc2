"""What is sent again, and what is not, over a network that fails."""

import io

import pytest

from gainboard.client import NoAnswer, NotGainboard, Problem
from gainboard.evaluation.access.principals import FAILURES, MOST_FAILURES
from tests.client.flaky import flaky
from tests.world.campaigns import QRELS, RUN
from tests.world.laboratories import SHORT, Laboratory
from tests.world.servers import ADMIN

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.fixture
def over(connect, broken):
    """An organiser's client over a network that fails."""
    return connect(broken[0], ADMIN)


@pytest.mark.parametrize("fault", ["busy", "gateway", "lost-request", "lost-answer"])
def test_a_run_that_was_sent_twice_is_there_once(over, broken, organiser, name, fault):
    organiser.create_collection(name, 2)
    broken[1].faults = [fault]
    assert over.submit(name, RUN, team="lemur").name == "tag"
    keys = [headers["idempotency-key"] for _, headers, _ in broken[1].seen]
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert [run.name for run in organiser.runs(name)] == ["tag"]


def test_a_run_whose_answer_was_lost_is_there_once_on_each_database(connect, service):
    direct = connect(service.url, ADMIN)
    direct.create_collection("web", 2)
    with flaky(service.url) as (url, network):
        network.faults = ["lost-answer", "lost-answer"]
        assert connect(url, ADMIN).submit("web", RUN, team="lemur").name == "tag"
    assert [entry.action for entry in direct.audit("web")].count("run-uploaded") == 1


@pytest.mark.parametrize("fault", ["busy", "lost-request", "lost-answer"])
def test_what_is_read_put_or_deleted_is_sent_again(over, broken, organiser, name, fault):
    organiser.create_collection(name, 2)
    broken[1].faults = [fault, fault]
    assert over.collection(name).name == name
    broken[1].faults = [fault]
    assert over.put_qrels(name, io.BytesIO(QRELS.encode())).version == 1
    assert [body for method, _, body in broken[1].seen if method == "PUT"] == [QRELS.encode()] * 2


def test_a_stored_thing_that_was_deleted_by_a_lost_request_is_not_there_any_more(over, broken, organiser, name):
    organiser.create_collection(name, 2)
    organiser.submit(name, RUN, team="lemur")
    broken[1].faults = ["lost-answer"]
    over.withdraw(name, "tag")
    assert list(organiser.runs(name)) == []


def test_what_was_never_there_is_not_said_to_be_deleted_because_the_service_was_busy(over, broken, organiser, name):
    organiser.create_collection(name, 2)
    broken[1].faults = ["busy"]
    with pytest.raises(Problem) as refused:
        over.withdraw(name, "mistyped")
    assert refused.value.status == 404


def test_what_may_not_be_done_twice_is_not_sent_again(over, broken, organiser, name):
    organiser.create_collection(name, 2)
    version = organiser.put_qrels(name, QRELS, draft=True).version
    broken[1].faults = ["lost-request"]
    with pytest.raises(NoAnswer, match=r"broke \(.*[^.]\)\. Try again\.$"):
        over.publish_qrels(name, version)
    broken[1].faults = ["gateway"]
    with pytest.raises(NotGainboard, match="502 Bad Gateway, a page titled 'Bad gateway'"):
        over.change_collection(name, title="other")
    assert len(broken[1].seen) == 2


def test_a_token_whose_making_was_not_heard_of_is_named(over, broken, organiser, name):
    organiser.create_collection(name, 2)
    broken[1].faults = ["lost-answer"]
    with pytest.raises(Problem, match="has created a token already") as refused:
        over.create_token(name, "reader")
    assert [refused.value.details["id"]] == [token.id for token in organiser.tokens(name)]


def test_a_job_is_waited_for_over_broken_connections(over, broken, shared):
    job = over.job(Laboratory(shared).name, "stability", **SHORT)
    broken[1].faults = ["lost-answer", "busy", "lost-request"]
    assert job.wait().state == "succeeded"


def test_an_invalid_token_is_not_sent_again(broken, connect, shared, monkeypatch):
    monkeypatch.setattr("gainboard.client.attempts._retry_after", lambda sent: 0)  # nobody waits if it is sent again
    stranger, statuses = connect(broken[0], "gainboard_guessed"), []
    for _ in range(MOST_FAILURES + 1):
        with pytest.raises(Problem) as raised:
            stranger.me()
        statuses.append(raised.value.status)
    shared.application.state.workspace.kept.pop(FAILURES)
    assert statuses == [401] * MOST_FAILURES + [429]
    assert len(broken[1].seen) == len(statuses)
