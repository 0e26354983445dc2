"""Repeated attempts: after which failures a request is sent again, when, and which error is raised in the end."""

from __future__ import annotations

import logging
import os
import random
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import httpx

from gainboard.client.errors import ClientError, NoAnswer, NotGainboard, Problem
from gainboard.client.requests import Call, Request

T = TypeVar("T")

log = logging.getLogger("gainboard.client")

AGAIN = (429, 502, 503, 504)
"""Statuses after which another attempt may succeed."""
BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures of a connection. A slow answer is not one: the service still works, and would do the work twice."""
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures before anything was sent."""
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 60.0
_TITLE = re.compile(r"<title[^>]*>\s*(.{1,80}?)\s*</title>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send a request. All attempts of a request have the same key."""

    request: Request
    key: str = field(default_factory=lambda: uuid4().hex)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the request, without the token."""
        headers = {"Accept": self.request.accept}
        if self.request.json is not None:
            headers["Content-Type"] = "application/json"
        if self.request.once:
            headers["Idempotency-Key"] = self.key
        return headers


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause before the next attempt."""

    seconds: float


Outcome: TypeAlias = "httpx.Response | httpx.RequestError | None"
Steps: TypeAlias = "Generator[Attempt | Pause, Outcome, T]"


def steps(call: Call[T], retries: int) -> Steps[T]:
    """Yield each step of a call, receive the outcome of each attempt, and return the call's result.

    An error is raised in the call, which may know what to do.
    """
    try:
        request = next(call)
        while True:
            try:
                outcome = yield from _send_until_answered(request, retries)
            except ClientError as error:
                request = call.throw(error)
            else:
                request = call.send(outcome)
    except StopIteration as done:
        result: T = done.value
        return result


def _send_until_answered(request: Request, retries: int) -> Steps[httpx.Response]:
    attempt = Attempt(request)
    number, may_be_done = 0, False
    while True:
        outcome = yield attempt
        assert outcome is not None
        if isinstance(outcome, httpx.Response):
            # An earlier attempt, whose answer was lost, may have removed the resource already.
            if outcome.is_success or (may_be_done and request.removes and outcome.status_code == 404):
                return outcome
            # These come from a proxy, so the service may have done the work.
            may_be_done = may_be_done or outcome.status_code in (502, 504)
        else:
            may_be_done = may_be_done or not isinstance(outcome, UNSENT)
        pause = _pause(outcome, number) if number < retries and request.may_repeat else None
        if pause is None:
            raise _error(outcome) from (outcome if isinstance(outcome, Exception) else None)
        outcome_text = f"status {outcome.status_code}" if isinstance(outcome, httpx.Response) else repr(outcome)
        log.info("%s %s failed: %s. It is sent again in %.1f s", request.method, request.path, outcome_text, pause)
        yield Pause(pause)
        number += 1


def _pause(outcome: httpx.Response | httpx.RequestError, number: int) -> float | None:
    """Return the seconds after which another attempt may succeed; None if none will, or not soon."""
    # Random, so that many clients do not all come back at the same moment.
    ours = FIRST_PAUSE * 2**number * random.uniform(0.5, 1)
    if isinstance(outcome, httpx.RequestError):
        return ours if isinstance(outcome, BROKEN) else None
    # The service may still work on an attempt whose connection broke; at the first one, none of ours is under way. An
    # answer with the `id` of a created token is final.
    in_use = number and _type_of(outcome).endswith("/idempotency-key-in-use") and "id" not in (_members(outcome) or {})
    if outcome.status_code not in AGAIN and not in_use:
        return None
    if _type_of(outcome).endswith("/too-many-failures"):  # the token is invalid, and will be later
        return None
    pause = max(ours, _retry_after(outcome.headers.get("retry-after", "")))
    return pause if pause <= LONGEST_PAUSE else None


def _type_of(answer: httpx.Response) -> str:
    return str((_members(answer) or {}).get("type", ""))


def _retry_after(sent: str) -> float:
    if sent.isdecimal():
        return float(sent)
    try:
        return parsedate_to_datetime(sent).timestamp() - time()
    except ValueError:
        return 0


def _error(outcome: httpx.Response | httpx.RequestError) -> ClientError:
    if isinstance(outcome, httpx.RequestError):
        return _no_answer(outcome)
    if (members := _members(outcome)) is not None:
        return Problem(members, outcome.status_code, outcome.headers.get("x-request-id"))
    return NotGainboard(_describe_stranger(outcome))


def _members(answer: httpx.Response) -> dict[str, Any] | None:
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        members = answer.json()
    except ValueError:
        return None
    return members if isinstance(members, dict) else None


def _no_answer(error: httpx.RequestError) -> NoAnswer:
    where = _origin(error.request.url)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NoAnswer(
            f"There is no server at {where} ({_reason(error)}). Check that the server runs, and that the address is "
            "right."
        )
    if isinstance(error, httpx.TimeoutException):
        return NoAnswer(
            f"{where} has not answered {error.request.method} {error.request.url.path} in time. Try again, or raise "
            "the timeout."
        )
    return NoAnswer(f"The connection to {where} broke ({str(error).rstrip('.') or type(error).__name__}). Try again.")


def _reason(error: BaseException) -> str:
    """Return the operating system's reason, which the libraries wrap in their own errors."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    if isinstance(error, ConnectionError) and error.errno is not None:
        return os.strerror(error.errno).lower()
    return str(error) or "no connection in time"


def _describe_stranger(answer: httpx.Response) -> str:
    answered = f"{_origin(answer.request.url)} answered {answer.status_code} {answer.reason_phrase}".rstrip()
    if answer.has_redirect_location:
        return f"{answered}: a redirect to {answer.headers['location']}. Use the address of Gainboard itself."
    title = _TITLE.search(answer.text)
    page = f", a page titled {title[1]!r}" if title else ""
    return (
        f"{answered}{page}, which is not an answer of Gainboard. Check the address, and the proxy before Gainboard "
        "if there is one."
    )


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
