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
    │       ├── ScoresAlone           what needs judgments or rankings, of a collection that has scores alone
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

Each class carries all that a client is told of it: the stable `slug`, which becomes the `type` of the problem document
(`/problems/SLUG`), the status of the answer, after how many seconds another try may succeed, and, as its docstring, the
page of the problem. The first line of the page also describes the problem in OpenAPI, in every route that can answer
with it. `api/problems.py` makes answers of these.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from inspect import cleandoc
from typing import Any, ClassVar

FAULTS_SHOWN = 100
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of the system for a full disk, and for a quota or a limit that has the same effect."""
NO_SPACE = "The server has no room left on a disk, so nothing was stored. Try again later, and tell the operator."


class GainboardError(Exception):
    """Base of all errors raised on purpose. `str(error)` is a sentence for the person who sees it."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"
    status: int = 500
    """The status of HTTP. Only a problem that a client was sent has one of its own."""
    retry_after: ClassVar[int | None] = None
    """Seconds after which another try may succeed."""
    headers: ClassVar[Mapping[str, str]] = {}

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
    """The request cannot be used as it is. The message says what is wrong and what to send instead."""

    slug, title = "bad-input", "Bad input"
    status = 422


class Refused(GainboardError):
    """The request was understood but refused. The message says why."""

    slug, title = "refused", "Refused"
    status = 403


class Unavailable(GainboardError):
    """The service cannot answer now. Nothing was stored. Try again later."""

    slug, title = "unavailable", "Service unavailable"
    status = 503


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
    """The JSON body, a query parameter or a part of the path has the wrong form.

    `errors` lists every location that is wrong: `location` (where), `code` (stable) and `message` (what to send).
    """

    slug, title = "invalid-request", "Invalid request"

    @classmethod
    def at(cls, location: str, code: str, message: str) -> InvalidRequest:
        """Return the error about one location, which is the common case."""
        return cls(message, errors=[{"location": location, "code": code, "message": message}])


class UnknownParameter(BadInput):
    """The query has a parameter that this resource does not have. The message lists those that it has."""

    slug, title = "unknown-parameter", "Unknown query parameter"


class BadExpression(BadInput):
    """The metric expression names no metric, or has a parameter that is unknown or out of range.

    An expression is `NAME`, `NAME@cutoff`, `NAME(key=value,...)` or `NAME(key=value,...)@cutoff`; `/v1/metrics`
    lists the names and parameters. Examples: `AP`, `nDCG@10`, `Q(beta=10)`.
    """

    slug, title = "bad-expression", "Bad metric expression"


class NeedsIntents(BadExpression):
    """The metric needs judgments by intent (subtopic), and the collection has none.

    These are the metrics of diversified rankings, such as `alphanDCG`, and every metric with `ia=true` or `ia=equal`.
    `/v1/metrics` says which metrics need intents. Whether a collection has intents is set when it is made:
    `"intents": true`.
    """

    slug, title = "needs-intents", "The metric needs judgments by intent"


class BadGains(BadInput):
    """The gain setting cannot be read, or does not fit the relevance levels of the collection.

    A gain setting is a ratio with one value per level, highest level first (`3:2:1`), a ratio inside `adjust(...)`,
    `linear`, `exp`, or `flat`. A higher level must not have a lower value.
    """

    slug, title = "bad-gains", "Bad gain setting"


class FaultyFile(BadInput):
    """The qrels or run file has faults. Nothing of it was stored.

    `errors` lists the first 100, each with `line` (1-based; null if the fault is in the whole file), `code`,
    `topic` and `message`. Successive lines with the same fault are one entry, from `line` to `last_line`.
    `errors_total` counts every line at fault. Reading ends after 1,000 faults: `errors_total_is_minimum` is then true,
    and the rest of the file may have more.
    """

    slug, title = "faulty-file", "Faulty file"

    def __init__(self, faults: Sequence[Fault], total: int, *, is_minimum: bool = False) -> None:
        # Successive lines with the same fault are one of `faults`, and each line counts in `total`. `is_minimum` says
        # that reading ended there, so that the rest of the file may have more.
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
    """The body, its decompressed content, or one of its lines exceeds a limit. The message states the limit."""

    slug, title = "too-large", "Too large"
    status = 413


class UnsupportedEncoding(BadInput):
    """The body has an unsupported compression, or is an archive or a workbook. The message says which. Send it as plain
    text, or compressed with gzip or zstd.
    """

    slug, title = "unsupported-encoding", "Unsupported encoding"
    status = 415


class UnsupportedMediaType(BadInput):
    """The media type of the body is not supported here. The message says which type to send."""

    slug, title = "unsupported-media-type", "Unsupported media type"
    status = 415


class KeyReused(BadInput):
    """The `Idempotency-Key` was used for a different request in the last 24 hours. Send a new key."""

    slug, title = "idempotency-key-reused", "Idempotency key reused"


class BadSetting(BadInput):
    """A setting or a command-line argument is out of range, or names something that cannot be used."""

    slug, title = "bad-setting", "Bad setting"


class TeamRequired(BadInput):
    """An organiser uploads for a team and must name the team: `?team=NAME`."""

    slug, title = "team-required", "Team required"


class NameRequired(BadInput):
    """The run's tag cannot be used as its name in addresses. Give a name: `?name=NAME`."""

    slug, title = "name-required", "Name required"


class BodyStalled(BadInput):
    """Nothing of the body arrived for 30 seconds, so the connection was closed. Nothing was stored. Send the request
    again.
    """

    slug, title = "body-stalled", "Body stalled"
    status = 408
    headers: ClassVar[Mapping[str, str]] = {"Connection": "close"}  # the rest of the body may still come


class AddressTooLong(BadInput):
    """The address with its query has more than 60 KiB. Ask for less in one request.

    An address of more than 64 KiB is refused before Gainboard reads it. Without a proxy, the answer is then 400 with
    the plain text "Invalid HTTP request received.", and the connection is closed.
    """

    slug, title = "address-too-long", "Address too long"
    status = 414


class SeveralHosts(BadInput):
    """The request has several `Host` headers, so that a proxy may have read another one than the service."""

    slug, title = "several-hosts", "Several hosts"
    status = 400


class WrongHost(BadInput):
    """A service that `gainboard view` or `Gainboard.local()` started is there for one user of this machine. It refuses
    requests for any other host than its own, so that pages of other sites cannot reach it.
    """

    slug, title = "wrong-host", "Wrong host"
    status = 421


class NotAuthenticated(Refused):
    """A bearer token is required, or the token sent is unknown, expired or revoked. Such a token is refused by public
    collections, too: leave it out to read what everybody may read.
    """

    slug, title = "not-authenticated", "Not authenticated"
    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class Forbidden(Refused):
    """This token may see the resource, but may not do this."""

    slug, title = "forbidden", "Forbidden"


class JudgmentsHidden(Refused):
    """The collection's judgments are hidden. This token gets no scores, rankings or judgments of the collection."""

    slug, title = "judgments-hidden", "Judgments hidden"


class NotPreset(JudgmentsHidden):
    """Scores are available only under the expressions that the organisers chose, while judgments are hidden.

    `presets` lists them. Other gains, cut-offs or bases would reveal one judgment after another.
    """

    slug, title = "not-a-preset", "Not a preset"


class BudgetExhausted(JudgmentsHidden):
    """The team's runs have all the distinct scores that the team may get while judgments are hidden.

    `limit` and `used` count them. An upload is refused if the budget cannot pay for the run's scores under all presets.
    Scores under presets, and scores that the team has received before, are available at any time.
    """

    slug, title = "budget-exhausted", "Budget of scores exhausted"


class SubmissionsClosed(Refused):
    """
    Runs are accepted between `opens_at` and `closes_at`. The server's time when the whole file has arrived counts.
    """

    slug, title = "submissions-closed", "Submissions closed"


class UploadAfterRelease(Refused):
    """The judgments have been released, and the collection's policy (`late` is `closed`) accepts no more runs of teams.

    `released_at` is the time of the release. Organisers can upload the run, or accept late runs: `late` as `marked`.
    """

    slug, title = "upload-after-release", "Upload after the release"


class WithdrawalAfterRelease(Refused):
    """The judgments have been released, so teams cannot withdraw their runs any more. Organisers can.

    `released_at` is the time of the release.
    """

    slug, title = "withdrawal-after-release", "Withdrawal after the release"


class QuotaExceeded(Refused):
    """The team has sent or stored as much as it may. `quota` is `per_day` (UTC), `total`, `concurrent` or `bytes`.

    `limit` and `used` count runs, uploads or bytes; `resets_at` is the end of the day. Faulty files, repeated files and
    runs that were withdrawn within 10 minutes and never scored are not counted. `bytes` counts the decompressed files
    of all runs; a withdrawn run counts until its content is deleted, 30 days later.
    """

    slug, title = "quota-exceeded", "Quota exceeded"


class TooManyUploads(Refused):
    """The server, the team or the token has as many uploads under way as it may. The body was not read.

    `limit` is the most at once. Send the file again after `Retry-After` seconds.
    """

    slug, title = "too-many-uploads", "Too many uploads at once"
    status = 429
    retry_after = 5


class TooManyJobs(Refused):
    """The token has as many open jobs as it may: 200 in all, and 5 on each public collection that is not its own.

    Wait until one of them is over, or cancel one.
    """

    slug, title = "too-many-jobs", "Too many jobs"
    status = 429
    retry_after = 30


class TooManyDearRequests(Refused):
    """The request takes much computing, and too many such requests wait already.

    What a request will cost is estimated before its work starts. Dear requests of one token, and those of all anonymous
    visitors together, are done one at a time, and few of them wait. Send the request again after the seconds of
    `Retry-After`, or ask for fewer runs, metrics or baselines.
    """

    slug, title = "too-many-dear-requests", "Too many dear requests at once"
    status = 429
    retry_after = 5


class TooManyFailures(Refused):
    """The address has sent 20 invalid tokens within a minute, and this request has another invalid one.

    Requests with a valid token, or without one, are answered as always. Check the token, and try again after
    `Retry-After` seconds. Behind one address there may be many people: somebody else may have sent the other tokens.
    """

    slug, title = "too-many-failures", "Too many invalid tokens"
    status = 429
    retry_after = 60


class NotFound(Refused):
    """The resource does not exist, or this token may not see it."""

    slug, title = "not-found", "Not found"
    status = 404


class MethodNotAllowed(Refused):
    """The resource does not allow this method. The `Allow` header lists the methods that it allows."""

    slug, title = "method-not-allowed", "Method not allowed"
    status = 405


class Conflict(Refused):
    """The request conflicts with what is stored."""

    slug, title = "conflict", "Conflict"
    status = 409


class RowDamaged(Conflict):
    """
    The stored row of this collection, job or report has a value that cannot be read, so none of it is used. Lists show
    it as damaged, with what is wrong. Its organisers can delete it with `DELETE` at its address, and ask for the job or
    report again; or the operator restores a backup from before the damage. `gainboard doctor` names every such row.
    """

    slug, title = "damaged", "Damaged"


class CollectionExists(Conflict):
    """A collection with this name exists already. Choose another name."""

    slug, title = "collection-exists", "Collection exists"


class RunExists(Conflict):
    """A run with this name exists, of another team or with other content. Choose another `name`, or withdraw the stored
    run first.
    """

    slug, title = "run-exists", "Run exists"


class TeamExists(Conflict):
    """A team with this name exists in the collection already. Choose another name."""

    slug, title = "team-exists", "Team exists"


class NoQrels(Conflict):
    """The collection has no published qrels yet, so nothing can be scored."""

    slug, title = "no-qrels", "No qrels"


class ScoresAlone(Conflict):
    """The collection has scores that were computed elsewhere, and neither judgments nor rankings. What needs those
    cannot be had of it. `metrics` lists its metrics, if you asked for another one.
    """

    slug, title = "scores-alone", "Scores alone"


class SettingFixed(Conflict):
    """`levels` and `depth` cannot change once the collection holds a run or qrels. `order_by` can, if the
    request changes nothing else.
    """

    slug, title = "setting-fixed", "Setting fixed"


class SettingsChanged(Conflict):
    """Somebody else changed a setting that you change, after you had read it. Nothing was changed. `conflicts` has for
    each such setting what you had `seen`, what you `sent`, and what it is `now`. Read the collection again, and send
    your change with `seen` as it is now, or without `seen` to override theirs.
    """

    slug, title = "settings-changed", "Settings changed by somebody else"


class JobNotFinished(Conflict):
    """The job is queued or running, so it has no result yet; `GET /v1/jobs/{id}?wait=30` waits for it."""

    slug, title = "job-not-finished", "Job not finished"
    retry_after = 1


class NoResult(Conflict):
    """The job failed or was cancelled, so it has no result. Send the same request again to queue it again."""

    slug, title = "no-result", "No result"


class ResultOutdated(Conflict):
    """A version of Gainboard that computes in another way made this result. What it stored is still there; what
    would have to be laid out or drawn anew is not. Send the same request again: it makes a new job.
    """

    slug, title = "outdated", "Result of another version"


class HeldByRelease(Conflict):
    """A release of the collection holds this run, version or collection, and a release never changes. `releases` names
    the releases. Only an organiser of the instance may withdraw or delete it, and the audit log says so.
    """

    slug, title = "held-by-release", "Held by a release"


class KeyInUse(Conflict):
    """The first request with this `Idempotency-Key` is not finished yet, or its answer is not repeated."""

    slug, title = "idempotency-key-in-use", "Idempotency key in use"


class NoSpace(Unavailable):
    """A disk of the service is full: that of the database, of temporary files, or of files outside of the database.

    Nothing was stored. Send the request again after `Retry-After` seconds, and tell the operator if this goes on. Other
    requests are answered as always. `/readyz` says 503 until there is room again; no restart is needed.
    """

    slug, title = "no-space", "No space left"
    retry_after = 60

    @classmethod
    def of(cls, error: OSError) -> NoSpace | None:
        """Return the refusal that a failed write stands for; None if it failed for another reason than room."""
        return cls(NO_SPACE) if error.errno in DISK_FULL else None


class OutOfMemory(Unavailable):
    """The server has too little memory for this request now. Nothing was stored.

    Send it again later, or ask for less at once. Operators find the request in the log.
    """

    slug, title = "out-of-memory", "Out of memory"
    retry_after = 60


class DatabaseBusy(Unavailable):
    """The database is locked or unreachable. Nothing was stored. Try again in a few seconds."""

    slug, title = "database-busy", "Database busy"
    retry_after = 1


class ObjectsUnreachable(Unavailable):
    """
    The content of files is kept outside of the database, in a folder or an object store, and cannot be read or written
    there now. Nothing was stored. Try again in a few seconds. Operators find the reason in the log.
    """

    slug, title = "objects-unreachable", "Files unreachable"
    retry_after = 5


class DatabaseUnusable(Unavailable):
    """
    The database in the settings cannot be opened, or is not a database. This is reported only when the service starts.
    """

    slug, title = "database-unusable", "Database unusable"


class DatabaseNewer(Unavailable):
    """A later version of Gainboard has written the database. Install that version or a later one."""

    slug, title = "database-newer", "Database newer than the program"


class DatabaseOlder(Unavailable):
    """The database has a schema from before the first release, which this version cannot upgrade. The message names the
    last commit that can. This is reported only when the service starts.
    """

    slug, title = "database-older", "Database too old for the program"


class Unexpected(Unavailable):
    """This is an error inside Gainboard. The server's log has the details under the answer's `X-Request-ID`."""

    slug, title = "internal-error", "Internal error"
    status = 500


def meaning_of(kind: type[GainboardError]) -> str:
    """Return the text of a problem's page: what the problem means for a client, and what the client can do about it."""
    return cleandoc(kind.__doc__ or "")


def every_error() -> Iterator[type[GainboardError]]:
    """Yield all classes of the tree, parents first. The problem pages and the docs are made from this list.

    `MissingPackage` and the client's own errors are left out, for no server answers with them.
    """
    waiting: list[type[GainboardError]] = [GainboardError]
    while waiting:
        error = waiting.pop(0)
        if error is MissingPackage:
            continue
        yield error
        waiting.extend(subclass for subclass in error.__subclasses__() if subclass.__module__ == __name__)
