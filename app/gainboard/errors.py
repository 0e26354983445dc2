"""Every error that Gainboard raises on purpose.

    GainboardError
    ├── BadInput                  what was sent cannot be used as it is
    │   ├── InvalidRequest            JSON, query or path of the wrong form
    │   ├── UnknownParameter          a query parameter that the route does not have
    │   ├── BadExpression             a metric expression that names no metric
    │   ├── BadGains                  a gain setting that is none, or not for this scale
    │   ├── FaultyFile                a qrels or run file with faults, each with its line
    │   ├── TooLarge                  a body, line or ratio over a limit
    │   ├── UnsupportedEncoding       a Content-Encoding or archive that is not read
    │   ├── UnsupportedMediaType      a body of another kind than the resource reads
    │   ├── BadSetting                a setting or an argument of the command line
    │   ├── KeyReused                 an Idempotency-Key seen with another body
    │   ├── TeamRequired              an organiser's upload without a team
    │   └── NameRequired              a run whose tag cannot serve as its name
    ├── Refused                   understood, and not done
    │   ├── NotAuthenticated          no token, or none that is valid
    │   ├── Forbidden                 visible to this principal, but not theirs to do
    │   ├── JudgmentsHidden           scores of a collection whose qrels are hidden
    │   │   ├── NotPreset                 parameters that the organisers have not named
    │   │   └── BudgetExhausted           more scores than a team is given
    │   ├── SubmissionsClosed         a run outside the submission window
    │   ├── QuotaExceeded             more runs than a team may send
    │   ├── TooManyJobs               more open jobs than a token may have
    │   ├── NotFound                  absent, or not visible to this principal
    │   ├── MethodNotAllowed          the resource does not have this method
    │   └── Conflict                  contradicts what is stored
    │       ├── CollectionExists      a collection of this name exists
    │       ├── RunExists             a run of this name exists with other content
    │       ├── TeamExists            a team of this name exists in the collection
    │       ├── NoQrels               nothing can be scored without qrels
    │       ├── SettingFixed          a setting that stays once something is stored
    │       ├── JobNotFinished        a result that is still being worked on
    │       ├── NoResult              the result of a job that failed or was cancelled
    │       └── KeyInUse              an Idempotency-Key whose first request is not over
    └── Unavailable               not the sender's fault; trying again may help
        ├── DatabaseBusy              locked, full or out of reach
        ├── DatabaseUnusable          the database of the settings is none, or not to be opened
        ├── DatabaseNewer             the database was written by a later Gainboard
        └── Unexpected                a fault of Gainboard's own

Each class carries a stable `slug`, which becomes the `type` of the problem document that a client sees
(`/problems/SLUG`). The texts of these pages and the HTTP statuses are not known here: the edge gives them by class
(`api/problem_pages.py` and `api/problems.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

FAULTS_SHOWN = 100


class GainboardError(Exception):
    """Base of all errors raised on purpose. `str(error)` is a sentence for the person who sees it."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = details
        """Further members of the problem document (JSON values)."""


class BadInput(GainboardError):
    slug, title = "bad-input", "Bad input"


class Refused(GainboardError):
    slug, title = "refused", "Refused"


class Unavailable(GainboardError):
    slug, title = "unavailable", "Service unavailable"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a file. `line` is 1-based, None where the file as a whole is meant."""

    code: str
    message: str
    line: int | None = None
    topic: str | None = None
    lines: tuple[int, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fault as a member of a problem document; `line` is always there."""
        return {key: value for key, value in asdict(self).items() if value is not None or key == "line"}


class InvalidRequest(BadInput):
    """A request of the wrong form, with every place that is wrong."""

    slug, title = "invalid-request", "Invalid request"

    @classmethod
    def at(cls, location: str, code: str, message: str) -> InvalidRequest:
        """Return the error about one place, the common case."""
        return cls(message, errors=[{"location": location, "code": code, "message": message}])


class UnknownParameter(BadInput):
    slug, title = "unknown-parameter", "Unknown query parameter"


class BadExpression(BadInput):
    slug, title = "bad-expression", "Bad metric expression"


class BadGains(BadInput):
    slug, title = "bad-gains", "Bad gain setting"


class FaultyFile(BadInput):
    """A qrels or run file with faults: the first 100 are kept, and all are counted."""

    slug, title = "faulty-file", "Faulty file"

    def __init__(self, faults: Sequence[Fault], total: int) -> None:
        first = faults[0]
        where = f"line {first.line}: " if first.line is not None else ""
        more = f" (and {total - 1} more)" if total > 1 else ""
        super().__init__(
            f"{where}{first.message}{more}",
            errors=[fault.as_json() for fault in faults[:FAULTS_SHOWN]],
            errors_total=total,
        )
        self.faults = tuple(faults[:FAULTS_SHOWN])
        self.total = total


class TooLarge(BadInput):
    slug, title = "too-large", "Too large"


class UnsupportedEncoding(BadInput):
    slug, title = "unsupported-encoding", "Unsupported encoding"


class UnsupportedMediaType(BadInput):
    slug, title = "unsupported-media-type", "Unsupported media type"


class KeyReused(BadInput):
    slug, title = "idempotency-key-reused", "Idempotency key reused"


class BadSetting(BadInput):
    slug, title = "bad-setting", "Bad setting"


class TeamRequired(BadInput):
    slug, title = "team-required", "Team required"


class NameRequired(BadInput):
    slug, title = "name-required", "Name required"


class NotAuthenticated(Refused):
    slug, title = "not-authenticated", "Not authenticated"


class Forbidden(Refused):
    slug, title = "forbidden", "Forbidden"


class JudgmentsHidden(Refused):
    slug, title = "judgments-hidden", "Judgments hidden"


class NotPreset(JudgmentsHidden):
    slug, title = "not-a-preset", "Not a preset"


class BudgetExhausted(JudgmentsHidden):
    slug, title = "budget-exhausted", "Budget of scores exhausted"


class SubmissionsClosed(Refused):
    slug, title = "submissions-closed", "Submissions closed"


class QuotaExceeded(Refused):
    slug, title = "quota-exceeded", "Quota exceeded"


class TooManyJobs(Refused):
    slug, title = "too-many-jobs", "Too many jobs"


class NotFound(Refused):
    slug, title = "not-found", "Not found"


class MethodNotAllowed(Refused):
    slug, title = "method-not-allowed", "Method not allowed"


class Conflict(Refused):
    slug, title = "conflict", "Conflict"


class CollectionExists(Conflict):
    slug, title = "collection-exists", "Collection exists"


class RunExists(Conflict):
    slug, title = "run-exists", "Run exists"


class TeamExists(Conflict):
    slug, title = "team-exists", "Team exists"


class NoQrels(Conflict):
    slug, title = "no-qrels", "No qrels"


class SettingFixed(Conflict):
    slug, title = "setting-fixed", "Setting fixed"


class JobNotFinished(Conflict):
    slug, title = "job-not-finished", "Job not finished"


class NoResult(Conflict):
    slug, title = "no-result", "No result"


class KeyInUse(Conflict):
    slug, title = "idempotency-key-in-use", "Idempotency key in use"


class DatabaseBusy(Unavailable):
    slug, title = "database-busy", "Database busy"


class DatabaseUnusable(Unavailable):
    slug, title = "database-unusable", "Database unusable"


class DatabaseNewer(Unavailable):
    slug, title = "database-newer", "Database newer than the program"


class Unexpected(Unavailable):
    slug, title = "internal-error", "Internal error"


def every_error() -> Iterator[type[GainboardError]]:
    """Yield all classes of the tree, parents first: the list from which pages and documentation are made.

    The client's own errors are left out, which no server answers with.
    """
    waiting: list[type[GainboardError]] = [GainboardError]
    while waiting:
        error = waiting.pop(0)
        yield error
        waiting.extend(each for each in error.__subclasses__() if each.__module__ == __name__)
