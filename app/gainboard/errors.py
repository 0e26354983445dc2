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
    │       ├── CollectionExists
    │       ├── RunExists
    │       ├── TeamExists
    │       ├── NoQrels
    │       ├── SettingFixed
    │       ├── JobNotFinished        a result that is still being worked on
    │       ├── NoResult              the result of a job that failed or was cancelled
    │       └── KeyInUse              an Idempotency-Key whose first request is not over
    └── Unavailable               not the sender's fault; trying again may help
        ├── DatabaseBusy
        ├── DatabaseUnusable          the database of the settings is none, or not to be opened
        ├── DatabaseNewer             the database was written by a later Gainboard
        └── Unexpected                a fault of Gainboard's own

Each class carries a stable `slug`, which becomes the `type` of the problem document that a client sees
(`/problems/SLUG`), and a docstring, which becomes that page. The HTTP status is not known here: the edge
(`api/problems.py`) gives it, by class.
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
    """What was sent cannot be used as it is; the message says what would be right."""

    slug, title = "bad-input", "Bad input"


class Refused(GainboardError):
    """The request was understood and is not carried out."""

    slug, title = "refused", "Refused"


class Unavailable(GainboardError):
    """The service cannot answer now; nothing was stored. Trying again later may help."""

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
        """The fault as it stands in a problem document; `line` is always there."""
        return {key: value for key, value in asdict(self).items() if value is not None or key == "line"}


class InvalidRequest(BadInput):
    """The JSON body, a query parameter or a part of the path has the wrong form.

    `errors` lists every place: `location` (where), `code` (stable) and `message` (what would be right).
    """

    slug, title = "invalid-request", "Invalid request"

    @classmethod
    def at(cls, location: str, code: str, message: str) -> InvalidRequest:
        """The common case of one place."""
        return cls(message, errors=[{"location": location, "code": code, "message": message}])


class UnknownParameter(BadInput):
    """The query has a parameter that this resource does not know, so it would have had no effect."""

    slug, title = "unknown-parameter", "Unknown query parameter"


class BadExpression(BadInput):
    """The metric expression names no metric, or gives it a parameter that it lacks or that is out of range.

    An expression is `NAME`, `NAME@cutoff`, `NAME(key=value,...)` or `NAME(key=value,...)@cutoff`; `/v1/metrics`
    lists the names and the parameters of each.
    """

    slug, title = "bad-expression", "Bad metric expression"


class BadGains(BadInput):
    """The gain setting cannot be read, or does not fit the relevance levels of the collection.

    A gain setting is a ratio with one value a level, highest level first (`3:2:1`), `adjust(...)` around one,
    `linear`, or `exp`. Values must not decrease towards higher levels.
    """

    slug, title = "bad-gains", "Bad gain setting"


class FaultyFile(BadInput):
    """The qrels or run file has faults. Nothing of it was stored.

    `errors` lists the first 100, each with `line` (1-based; null where the file as a whole is meant), `code`,
    `topic` and `message`; `errors_total` counts all of them.
    """

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
    """The body, what it decompresses to, or one of its lines is over a limit; the message states the limit."""

    slug, title = "too-large", "Too large"


class UnsupportedEncoding(BadInput):
    """The body is compressed in a way that is not read. Plain, gzip and zstd bodies are."""

    slug, title = "unsupported-encoding", "Unsupported encoding"


class UnsupportedMediaType(BadInput):
    """The body is not of a kind that this resource reads; the message says which it reads."""

    slug, title = "unsupported-media-type", "Unsupported media type"


class KeyReused(BadInput):
    """The `Idempotency-Key` was used within 24 hours for a different request."""

    slug, title = "idempotency-key-reused", "Idempotency key reused"


class BadSetting(BadInput):
    """A setting or an argument of the command line is out of range, or names what cannot be used."""

    slug, title = "bad-setting", "Bad setting"


class TeamRequired(BadInput):
    """An organiser uploads on behalf of a team and must say which: `?team=NAME`."""

    slug, title = "team-required", "Team required"


class NameRequired(BadInput):
    """The run's tag cannot serve as its name in paths; give one: `?name=NAME`."""

    slug, title = "name-required", "Name required"


class NotAuthenticated(Refused):
    """A bearer token is needed, or the one sent is unknown, expired or revoked."""

    slug, title = "not-authenticated", "Not authenticated"


class Forbidden(Refused):
    """This token may see the resource but not do this to it."""

    slug, title = "forbidden", "Forbidden"


class JudgmentsHidden(Refused):
    """The collection's judgments are hidden, so no score, ranking or judgment of it is shown to this token."""

    slug, title = "judgments-hidden", "Judgments hidden"


class NotPreset(JudgmentsHidden):
    """While judgments are hidden, scores are given under the expressions that the organisers named, and no others.

    `presets` lists them. Other gains, cut-offs or bases would tell one judgment after the other.
    """

    slug, title = "not-a-preset", "Not a preset"


class BudgetExhausted(JudgmentsHidden):
    """The team has been given as many distinct scores as it gets while judgments are hidden.

    `limit` and `used` count them; a score that it has been given before is given again at any time.
    """

    slug, title = "budget-exhausted", "Budget of scores exhausted"


class SubmissionsClosed(Refused):
    """Runs are taken between `opens_at` and `closes_at`, by the server's clock when the whole file has arrived."""

    slug, title = "submissions-closed", "Submissions closed"


class QuotaExceeded(Refused):
    """The team has sent as many runs as it may: `quota` is `per_day` (of UTC), `total` or `concurrent`.

    `limit` and `used` count them, `resets_at` says when a day ends. A faulty file costs nothing, nor does one that
    is there already, nor a withdrawn run that no score was given for.
    """

    slug, title = "quota-exceeded", "Quota exceeded"


class TooManyJobs(Refused):
    """The token has as many jobs queued or running as it may; wait for one of them, or cancel one."""

    slug, title = "too-many-jobs", "Too many jobs"


class NotFound(Refused):
    """There is nothing here that this token may see."""

    slug, title = "not-found", "Not found"


class MethodNotAllowed(Refused):
    """The resource does not have this method; the `Allow` header lists those it has."""

    slug, title = "method-not-allowed", "Method not allowed"


class Conflict(Refused):
    """The request contradicts what is stored."""

    slug, title = "conflict", "Conflict"


class CollectionExists(Conflict):
    """A collection of this name exists already."""

    slug, title = "collection-exists", "Collection exists"


class RunExists(Conflict):
    """A run of this name exists with other content. Choose another `name`, or withdraw the stored run first."""

    slug, title = "run-exists", "Run exists"


class TeamExists(Conflict):
    """A team of this name exists in the collection already."""

    slug, title = "team-exists", "Team exists"


class NoQrels(Conflict):
    """The collection has no qrels yet, so nothing can be scored."""

    slug, title = "no-qrels", "No qrels"


class SettingFixed(Conflict):
    """`levels`, `depth` and `order_by` cannot change once the collection holds a run or qrels."""

    slug, title = "setting-fixed", "Setting fixed"


class JobNotFinished(Conflict):
    """The job is queued or running, so it has no result yet; `GET /v1/jobs/{id}?wait=30` waits for it."""

    slug, title = "job-not-finished", "Job not finished"


class NoResult(Conflict):
    """The job failed or was cancelled, so it has no result. Asking for it again queues it again."""

    slug, title = "no-result", "No result"


class KeyInUse(Conflict):
    """The first request with this `Idempotency-Key` has not been answered yet, or its answer is not repeated."""

    slug, title = "idempotency-key-in-use", "Idempotency key in use"


class DatabaseBusy(Unavailable):
    """The database is locked, full or out of reach. Nothing was stored; try again shortly."""

    slug, title = "database-busy", "Database busy"


class DatabaseUnusable(Unavailable):
    """The database that the settings name cannot be opened, or is none. Only a start says so."""

    slug, title = "database-unusable", "Database unusable"


class DatabaseNewer(Unavailable):
    """The database was written by a later version of Gainboard than this one."""

    slug, title = "database-newer", "Database newer than the program"


class Unexpected(Unavailable):
    """A fault of Gainboard's own. The log of the server has it under the `X-Request-ID` of the answer."""

    slug, title = "internal-error", "Internal error"


def every_error() -> Iterator[type[GainboardError]]:
    """All classes of the tree, parents first: the list from which pages and documentation are made."""
    waiting: list[type[GainboardError]] = [GainboardError]
    while waiting:
        error = waiting.pop(0)
        yield error
        waiting.extend(error.__subclasses__())
