"""How long is paused before what is sent again: read off the steps of a call, without a network or a clock."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from gainboard.client import ClientError
from gainboard.client.attempts import FIRST_PAUSE, LONGEST_PAUSE, Attempt, Pause, steps
from gainboard.client.requests import Request
from gainboard.client.requests import read_text as text

ASKED = httpx.Request("GET", "http://127.0.0.1:8000/v1/me")


def pauses(outcome, request, retries=4):
    """Those that are made where every attempt comes to the same, until it is given up."""
    going, seconds = steps(text(request), retries), []
    step = next(going)
    try:
        while True:
            step = going.send(outcome if isinstance(step, Attempt) else None)
            seconds += [step.seconds] if isinstance(step, Pause) else []
    except ClientError:
        return seconds


def answer(status, **headers):
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=sent, request=ASKED)


GET = Request("GET", "/v1/me")
MADE_ONCE = Request("POST", "/v1/reports", json={}, once=True)


def test_pauses_grow_and_differ_between_clients():
    found = pauses(answer(503), GET, retries=6)
    bounds = [FIRST_PAUSE * 2**number for number in range(6)]
    assert all(bound / 2 <= each <= bound for each, bound in zip(found, bounds, strict=True))
    assert found != pauses(answer(503), GET, retries=6)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_do_better_is_tried_again(status):
    assert len(pauses(answer(status), GET)) == len(pauses(answer(status), MADE_ONCE)) == 4


@pytest.mark.parametrize("status", [200, 301, 400, 401, 404, 409, 413, 422, 500])
def test_what_will_not_do_better_is_not(status):
    assert pauses(answer(status), GET) == []


def test_the_service_says_how_long_up_to_a_bound():
    assert pauses(answer(429, Retry_After="30"), GET) == [30.0] * 4
    assert pauses(answer(429, Retry_After=str(int(LONGEST_PAUSE) + 1)), GET) == []
    soon = pauses(answer(503, Retry_After=format_datetime(datetime.now(UTC) + timedelta(seconds=30), True)), GET)
    assert all(25 < each <= 30 for each in soon)
    assert len(soon) == 4
    assert len(pauses(answer(503, Retry_After="soon"), GET)) == 4


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (httpx.ConnectError, 4),
        (httpx.ReadError, 4),
        (httpx.WriteError, 4),
        (httpx.RemoteProtocolError, 4),
        (httpx.ConnectTimeout, 4),
        (httpx.ReadTimeout, 0),
        (httpx.UnsupportedProtocol, 0),
    ],
)
def test_a_broken_connection_is_made_again_and_a_slow_answer_not_asked_for_again(error, count):
    assert len(pauses(error("", request=ASKED), GET)) == count


def in_use(**more):
    """What a repeated request is answered with while the first is under way, or if its answer is not repeated."""
    content = {"type": "/problems/idempotency-key-in-use", "detail": "...", **more}
    return httpx.Response(409, headers={"Content-Type": "application/problem+json"}, json=content, request=ASKED)


def test_a_first_attempt_that_is_still_worked_on_is_waited_for():
    for after, outcome, count in ((True, in_use(), 4), (False, in_use(), 0), (True, in_use(id="token-1"), 1)):
        going = steps(text(MADE_ONCE), 4)
        seconds = 0
        step = next(going)
        try:
            while True:
                first = answer(503) if after and not seconds else outcome
                step = going.send(first if isinstance(step, Attempt) else None)
                seconds += isinstance(step, Pause)
        except ClientError:
            assert seconds == count


def test_all_attempts_of_a_request_have_one_key_and_other_requests_others():
    keys = []
    for _ in range(2):
        going = steps(text(MADE_ONCE), 1)
        first = next(going)
        assert isinstance(going.send(answer(503)), Pause)
        second = going.send(None)
        assert isinstance(first, Attempt)
        assert isinstance(second, Attempt)
        assert first.headers == second.headers
        keys.append(first.headers["Idempotency-Key"])
    assert keys[0] != keys[1]
    assert "Idempotency-Key" not in Attempt(GET).headers
