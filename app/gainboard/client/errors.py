"""The errors that a call raises.

ClientError
├── Problem           the service refused, and says why
├── NoAnswer          no server at the address, or no answer in time
├── NotGainboard      the answer is not Gainboard's, or of another version
└── WorkFailed        a job or report that failed or was cancelled

`MissingPackage` says that pandas or polars is needed but not installed. It is a `ModuleNotFoundError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gainboard.errors import GainboardError, MissingPackage

__all__ = ["ClientError", "MissingPackage", "NoAnswer", "NotGainboard", "Problem", "WorkFailed"]

FAULTS_IN_TEXT = 10


class ClientError(GainboardError):
    """The base of errors that only clients of the service raise."""

    slug, title = "client", "Client error"


class Problem(ClientError):
    """The service refused a request and said why, in a problem document (RFC 9457).

    `str()` is the detail, followed by the first faults, each with its line.
    """

    slug, title = "problem", "Problem"

    status: int
    """The HTTP status."""
    type: str
    """The kind of problem, such as `faulty-file`. It is stable, and is the name of its page at `/problems/`."""
    detail: str
    errors: Sequence[Mapping[str, Any]]
    """The faults. Those of a file (the first 100) have `line`, `code` and `message`, others `location`."""
    errors_total: int
    request_id: str | None
    """The id of the request in the server's log."""

    def __init__(self, members: Mapping[str, Any], status: int, request_id: str | None = None) -> None:
        self.detail = str(members.get("detail") or members.get("title") or f"status {status}")
        super().__init__(self.detail, **members)
        self.status, self.request_id = status, request_id
        self.type = str(members.get("type", "")).rpartition("/")[2]
        self.title = str(members.get("title", ""))  # type: ignore[misc]  # the server's in place of the class's
        errors = members.get("errors")
        self.errors = [each for each in errors if isinstance(each, Mapping)] if isinstance(errors, list) else ()
        total = members.get("errors_total")
        self.errors_total = total if isinstance(total, int) else len(self.errors)
        self.message = "\n".join(self._lines())

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            dict(self.details),
            self.status,
            self.request_id,
        )  # needed to pass the error between processes

    @property
    def tells_all(self) -> bool:
        """True if the detail has the message of the only fault, as in most problems, or if there is no fault."""
        return len(self.errors) < 2 and all(str(each.get("message") or "") in self.detail for each in self.errors)

    def _lines(self) -> Iterator[str]:
        is_ours = self.status < 500 or self.request_id is None
        yield self.detail if is_ours else f"{self.detail} (request {self.request_id})"
        if not self.tells_all:
            shown = self.errors[:FAULTS_IN_TEXT]
            yield from map(_fault_line, shown)
            if self.errors_total > len(shown):
                yield f"  ... and {self.errors_total - len(shown)} more"


def _fault_line(found: Mapping[str, Any]) -> str:
    line = found.get("line")
    place = f"line {line}" if line is not None else found.get("location")
    return f"  {place}: {found.get('message')}" if place else f"  {found.get('message')}"


class NoAnswer(ClientError):
    """The service did not answer: there is no server at the address, it stopped, or it took longer than `timeout`."""

    slug, title = "no-answer", "No answer"


class NotGainboard(ClientError):
    """The answer is not Gainboard's, but for example another server's page, or it is that of another version."""

    slug, title = "not-gainboard", "Not Gainboard"


class WorkFailed(ClientError):
    """The awaited job or report failed or was cancelled. `state` and `error` say which, and why."""

    slug, title = "work-failed", "Job or report without a result"

    def __init__(self, what: str, state: str, error: str | None) -> None:
        why = f": {error}" if error else ""
        super().__init__(f"The {what} {'was cancelled' if state == 'cancelled' else 'failed'}{why}")
        self.what, self.state, self.error = what, state, error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.state, self.error)
