"""Every error that Gainboard raises on purpose.

    GainboardError
    ├── BadInput                  the request cannot be used as it is
    │   ├── InvalidRequest            JSON, query or path in the wrong form
    │   ├── UnknownParameter          a query parameter that the route does not have
    │   ├── BadExpression             a metric expression that is invalid
    │   │   └── NeedsIntents              a metric for judgments by intent, where there are none
    │   ├── BadGains                  a gain setting that is invalid, or not for this scale
    │   ├── FaultyFile                a qrels or run file with faults, with their lines
    │   ├── TooLarge                  a body, line or ratio that exceeds a limit
    │   ├── UnsupportedEncoding       a Content-Encoding or archive that is unsupported
    │   ├── UnsupportedMediaType      a body whose media type the resource does not support
    │   ├── BadSetting                a setting or an argument of the command line
    │   ├── KeyReused                 an Idempotency-Key used for another request
    │   ├── TeamRequired              an organiser's upload that names no team
    │   ├── NameRequired              a run whose tag cannot be used as its name
    │   ├── BodyStalled               a body of which nothing arrived for too long
    │   ├── AddressTooLong            an address with its query that exceeds a limit
    │   ├── SeveralHosts              a request with several Host headers
    │   └── WrongHost                 a request for another host, to a service of one process
    ├── Refused                   the request is understood but refused
    │   ├── NotAuthenticated          no valid token
    │   ├── Forbidden                 visible to this principal, but not allowed
    │   ├── JudgmentsHidden           scores of a collection whose qrels are hidden
    │   │   ├── NotPreset                 parameters that the organisers have not allowed
    │   │   └── BudgetExhausted           more scores than a team may get
    │   ├── SubmissionsClosed         a run outside the submission window
    │   ├── UploadAfterRelease        a team's run after the release of hidden judgments
    │   ├── WithdrawalAfterRelease    a team's withdrawal after the release of hidden judgments
    │   ├── QuotaExceeded             more runs than a team may send
    │   ├── TooManyUploads            more uploads at once than the server reads, or than a team may send
    │   ├── TooManyJobs               more open jobs than a token may have
    │   ├── TooManyDearRequests       more requests of much computing than wait at once
    │   ├── TooManyFailures           another invalid token from an address that has sent many
    │   ├── NotFound                  missing, or not visible to this principal
    │   ├── MethodNotAllowed          the resource does not have this method
    │   └── Conflict                  in conflict with what is stored
    │       ├── CollectionExists      a collection with this name exists
    │       ├── RunExists             a run with this name exists
    │       ├── TeamExists            a team with this name exists in the collection
    │       ├── NoQrels               nothing can be scored without qrels
    │       ├── SettingFixed          a setting that cannot change once something is stored
    │       ├── SettingsChanged       a setting that somebody else has changed meanwhile
    │       ├── JobNotFinished        a result that is not ready yet
    │       ├── NoResult              the result of a job that failed or was cancelled
    │       ├── ResultOutdated        what another version's result would have to be laid out or drawn from
    │       ├── RowDamaged            a collection, job or report whose stored row cannot be read
    │       ├── HeldByRelease         what a release of the collection holds, so that it stays
    │       └── KeyInUse              an Idempotency-Key whose first request is not finished
    ├── MissingPackage            a package that few people need, and that is not installed
    └── Unavailable               the service cannot answer; trying again may help
        ├── NoSpace                   a disk of the service is full
        ├── OutOfMemory               no memory for a request
        ├── DatabaseBusy              locked or unreachable
        ├── ObjectsUnreachable        the store of the files outside of the database does not answer
        ├── DatabaseUnusable          the database in the settings is invalid or cannot be opened
        ├── DatabaseNewer             the database was written by a later Gainboard
        ├── DatabaseOlder             the database has a schema from before the first release
        └── Unexpected                an error inside Gainboard

Each class carries a stable `slug`, which becomes the `type` of the problem document that a client sees
(`/problems/SLUG`). This module knows neither the texts of these pages nor the HTTP statuses. The API adds them by
class (`api/problem_pages.py` and `api/problems.py`).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

FAULTS_SHOWN = 100
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of the system for a full disk, and for a quota or a limit that has the same effect."""
NO_SPACE = "The server has no room left on a disk, so nothing was stored. Try again later, and tell the operator."


class GainboardError(Exception):
    """The base of all errors raised on purpose. `str(error)` is a sentence for the user."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = details
        """More members of the problem document (JSON values)."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes raise it as it is, though the arguments of the classes differ.
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[GainboardError], arguments: tuple[Any, ...], state: Mapping[str, Any]) -> GainboardError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class MissingPackage(GainboardError, ModuleNotFoundError):
    """A package that few people need is not installed."""

    slug, title = "missing-package", "Missing package"


class BadInput(GainboardError):
    slug, title = "bad-input", "Bad input"


class Refused(GainboardError):
    slug, title = "refused", "Refused"


class Unavailable(GainboardError):
    slug, title = "unavailable", "Service unavailable"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a file. `line` is 1-based, or None if the fault is in the whole file.

    `last_line` is the last of several successive lines that all have this fault. `file` is the name of the file if
    several files are read as one and the fault is not in the first of them.
    """

    code: str
    message: str
    line: int | None = None
    topic: str | None = None
    lines: tuple[int, ...] | None = None
    last_line: int | None = None
    file: str | None = None

    @property
    def place(self) -> str:
        """The line or the lines in words; empty if the fault is in the whole file."""
        lines = "" if self.line is None else f"line {self.line}"
        if self.last_line is not None:
            lines = f"lines {self.line}-{self.last_line}"
        return " of ".join(part for part in (lines, self.file) if part)

    def as_json(self) -> dict[str, Any]:
        """Return the fault as a member of a problem document. `line` is always present."""
        return {key: value for key, value in asdict(self).items() if value is not None or key == "line"}


class InvalidRequest(BadInput):
    """A request in the wrong form, with every location that is wrong."""

    slug, title = "invalid-request", "Invalid request"

    @classmethod
    def at(cls, location: str, code: str, message: str) -> InvalidRequest:
        """Return the error about one location, which is the common case."""
        return cls(message, errors=[{"location": location, "code": code, "message": message}])


class UnknownParameter(BadInput):
    slug, title = "unknown-parameter", "Unknown query parameter"


class BadExpression(BadInput):
    slug, title = "bad-expression", "Bad metric expression"


class NeedsIntents(BadExpression):
    slug, title = "needs-intents", "The metric needs judgments by intent"


class BadGains(BadInput):
    slug, title = "bad-gains", "Bad gain setting"


class FaultyFile(BadInput):
    """A qrels or run file with faults. The first 100 are kept, and all are counted.

    Successive lines with the same fault are one of the 100, but each line counts.

    `is_minimum` says that reading ended at the last of `total` faults, so that the rest of the file may have more.
    """

    slug, title = "faulty-file", "Faulty file"

    def __init__(self, faults: Sequence[Fault], total: int, *, is_minimum: bool = False) -> None:
        first = faults[0]
        where = f"{first.place}: " if first.place else ""
        others = total - (1 if first.last_line is None else first.last_line - (first.line or 0) + 1)
        more = f" (and {others} more)" if others else ""
        if is_minimum:
            more = f" (at least {total:,} faults; the rest of the file was not read)"
        super().__init__(
            f"{where}{first.message}{more}",
            errors=[fault.as_json() for fault in faults[:FAULTS_SHOWN]],
            errors_total=total,
            **({"errors_total_is_minimum": True} if is_minimum else {}),
        )
        self.faults = tuple(faults[:FAULTS_SHOWN])
        self.total, self.is_minimum = total, is_minimum


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


class BodyStalled(BadInput):
    slug, title = "body-stalled", "Body stalled"


class AddressTooLong(BadInput):
    slug, title = "address-too-long", "Address too long"


class SeveralHosts(BadInput):
    slug, title = "several-hosts", "Several hosts"


class WrongHost(BadInput):
    slug, title = "wrong-host", "Wrong host"


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


class UploadAfterRelease(Refused):
    slug, title = "upload-after-release", "Upload after the release"


class WithdrawalAfterRelease(Refused):
    slug, title = "withdrawal-after-release", "Withdrawal after the release"


class QuotaExceeded(Refused):
    slug, title = "quota-exceeded", "Quota exceeded"


class TooManyUploads(Refused):
    slug, title = "too-many-uploads", "Too many uploads at once"


class TooManyJobs(Refused):
    slug, title = "too-many-jobs", "Too many jobs"


class TooManyDearRequests(Refused):
    slug, title = "too-many-dear-requests", "Too many dear requests at once"


class TooManyFailures(Refused):
    slug, title = "too-many-failures", "Too many invalid tokens"


class NotFound(Refused):
    slug, title = "not-found", "Not found"


class MethodNotAllowed(Refused):
    slug, title = "method-not-allowed", "Method not allowed"


class Conflict(Refused):
    slug, title = "conflict", "Conflict"


class RowDamaged(Conflict):
    slug, title = "damaged", "Damaged"


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


class SettingsChanged(Conflict):
    """Somebody else changed a setting after the sender had read it, and the sender changes it, too."""

    slug, title = "settings-changed", "Settings changed by somebody else"


class JobNotFinished(Conflict):
    slug, title = "job-not-finished", "Job not finished"


class NoResult(Conflict):
    slug, title = "no-result", "No result"


class ResultOutdated(Conflict):
    slug, title = "outdated", "Result of another version"


class HeldByRelease(Conflict):
    slug, title = "held-by-release", "Held by a release"


class KeyInUse(Conflict):
    slug, title = "idempotency-key-in-use", "Idempotency key in use"


class NoSpace(Unavailable):
    slug, title = "no-space", "No space left"

    @classmethod
    def of(cls, error: OSError) -> NoSpace | None:
        """Return the refusal that a failed write stands for; None if it failed for another reason than room."""
        return cls(NO_SPACE) if error.errno in DISK_FULL else None


class OutOfMemory(Unavailable):
    slug, title = "out-of-memory", "Out of memory"


class DatabaseBusy(Unavailable):
    slug, title = "database-busy", "Database busy"


class ObjectsUnreachable(Unavailable):
    slug, title = "objects-unreachable", "Files unreachable"


class DatabaseUnusable(Unavailable):
    slug, title = "database-unusable", "Database unusable"


class DatabaseNewer(Unavailable):
    slug, title = "database-newer", "Database newer than the program"


class DatabaseOlder(Unavailable):
    slug, title = "database-older", "Database too old for the program"


class Unexpected(Unavailable):
    slug, title = "internal-error", "Internal error"


def every_error() -> Iterator[type[GainboardError]]:
    """Yield all classes of the tree, parents first. The problem pages and the docs are made from this list.

    The client's own errors are left out, for no server answers with them.
    """
    waiting: list[type[GainboardError]] = [GainboardError]
    while waiting:
        error = waiting.pop(0)
        yield error
        waiting.extend(subclass for subclass in error.__subclasses__() if subclass.__module__ == __name__)
