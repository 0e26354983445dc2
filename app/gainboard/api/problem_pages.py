"""The pages of problems: what each class of errors means for a client, and what the client can do about it.

The first line of a page also describes the problem in OpenAPI, in every route that can answer with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc

from gainboard import errors
from gainboard.errors import GainboardError


def meaning_of(kind: type[GainboardError]) -> str:
    """Return the text of a class's page; a class without a page of its own has its docstring."""
    return cleandoc(_PAGES.get(kind) or kind.__doc__ or "")


_PAGES: Mapping[type[GainboardError], str] = {
    errors.GainboardError: """
    Base of all errors raised on purpose. `str(error)` is a sentence for the person who sees it.
    """,
    errors.BadInput: """
    The request cannot be used as it is. The message says what is wrong and what to send instead.
    """,
    errors.Refused: """
    The request was understood but refused. The message says why.
    """,
    errors.Unavailable: """
    The service cannot answer now. Nothing was stored. Try again later.
    """,
    errors.InvalidRequest: """
    The JSON body, a query parameter or a part of the path has the wrong form.

    `errors` lists every location that is wrong: `location` (where), `code` (stable) and `message` (what to send).
    """,
    errors.UnknownParameter: """
    The query has a parameter that this resource does not have. The message lists those that it has.
    """,
    errors.BadExpression: """
    The metric expression names no metric, or has a parameter that is unknown or out of range.

    An expression is `NAME`, `NAME@cutoff`, `NAME(key=value,...)` or `NAME(key=value,...)@cutoff`; `/v1/metrics`
    lists the names and parameters. Examples: `AP`, `nDCG@10`, `Q(beta=10)`.
    """,
    errors.NeedsIntents: """
    The metric needs judgments by intent (subtopic), and the collection has none.

    These are the metrics of diversified rankings, such as `alphanDCG`, and every metric with `ia=true` or `ia=equal`.
    `/v1/metrics` says which metrics need intents. Whether a collection has intents is set when it is made:
    `"intents": true`.
    """,
    errors.BadGains: """
    The gain setting cannot be read, or does not fit the relevance levels of the collection.

    A gain setting is a ratio with one value per level, highest level first (`3:2:1`), a ratio inside `adjust(...)`,
    `linear`, `exp`, or `flat`. A higher level must not have a lower value.
    """,
    errors.FaultyFile: """
    The qrels or run file has faults. Nothing of it was stored.

    `errors` lists the first 100, each with `line` (1-based; null if the fault is in the whole file), `code`,
    `topic` and `message`. Successive lines with the same fault are one entry, from `line` to `last_line`.
    `errors_total` counts every line at fault. Reading ends after 1,000 faults: `errors_total_is_minimum` is then true,
    and the rest of the file may have more.
    """,
    errors.TooLarge: """
    The body, its decompressed content, or one of its lines exceeds a limit. The message states the limit.
    """,
    errors.UnsupportedEncoding: """
    The body has an unsupported compression, or is an archive or a workbook. The message says which. Send it as plain
    text, or compressed with gzip or zstd.
    """,
    errors.UnsupportedMediaType: """
    The media type of the body is not supported here. The message says which type to send.
    """,
    errors.KeyReused: """
    The `Idempotency-Key` was used for a different request in the last 24 hours. Send a new key.
    """,
    errors.BadSetting: """
    A setting or a command-line argument is out of range, or names something that cannot be used.
    """,
    errors.TeamRequired: """
    An organiser uploads for a team and must name the team: `?team=NAME`.
    """,
    errors.NameRequired: """
    The run's tag cannot be used as its name in addresses. Give a name: `?name=NAME`.
    """,
    errors.AddressTooLong: """
    The address with its query has more than 60 KiB. Ask for less in one request.

    An address of more than 64 KiB is refused before Gainboard reads it. Without a proxy, the answer is then 400 with
    the plain text "Invalid HTTP request received.", and the connection is closed.
    """,
    errors.SeveralHosts: """
    The request has several `Host` headers, so that a proxy may have read another one than the service.
    """,
    errors.WrongHost: """
    A service that `gainboard view` or `Gainboard.local()` started is there for one user of this machine. It refuses
    requests for any other host than its own, so that pages of other sites cannot reach it.
    """,
    errors.BodyStalled: """
    Nothing of the body arrived for 30 seconds, so the connection was closed. Nothing was stored. Send the request
    again.
    """,
    errors.NotAuthenticated: """
    A bearer token is required, or the token sent is unknown, expired or revoked. Such a token is refused by public
    collections, too: leave it out to read what everybody may read.
    """,
    errors.Forbidden: """
    This token may see the resource, but may not do this.
    """,
    errors.JudgmentsHidden: """
    The collection's judgments are hidden. This token gets no scores, rankings or judgments of the collection.
    """,
    errors.NotPreset: """
    While judgments are hidden, scores are available only under the expressions that the organisers chose.

    `presets` lists them. Other gains, cut-offs or bases would reveal one judgment after another.
    """,
    errors.BudgetExhausted: """
    The team's runs have all the distinct scores that the team may get while judgments are hidden.

    `limit` and `used` count them. An upload is refused if the budget cannot pay for the run's scores under all presets.
    Scores under presets, and scores that the team has received before, are available at any time.
    """,
    errors.SubmissionsClosed: """
    Runs are accepted between `opens_at` and `closes_at`. The server's time when the whole file has arrived counts.
    """,
    errors.UploadAfterRelease: """
    The judgments have been released, and the collection's policy (`late` is `closed`) accepts no more runs of teams.

    `released_at` is the time of the release. Organisers can upload the run, or accept late runs: `late` as `marked`.
    """,
    errors.WithdrawalAfterRelease: """
    The judgments have been released, so teams cannot withdraw their runs any more. Organisers can.

    `released_at` is the time of the release.
    """,
    errors.QuotaExceeded: """
    The team has sent or stored as much as it may. `quota` is `per_day` (UTC), `total`, `concurrent` or `bytes`.

    `limit` and `used` count runs, uploads or bytes; `resets_at` is the end of the day. Faulty files, repeated files and
    runs that were withdrawn within 10 minutes and never scored are not counted. `bytes` counts the decompressed files
    of all runs; a withdrawn run counts until its content is deleted, 30 days later.
    """,
    errors.TooManyUploads: """
    The server, the team or the token has as many uploads under way as it may. The body was not read.

    `limit` is the most at once. Send the file again after `Retry-After` seconds.
    """,
    errors.TooManyJobs: """
    The token has as many open jobs as it may: 200 in all, and 5 on each public collection that is not its own.

    Wait until one of them is over, or cancel one.
    """,
    errors.TooManyDearRequests: """
    The request takes much computing, and too many such requests wait already.

    What a request will cost is estimated before its work starts. Dear requests of one token, and those of all anonymous
    visitors together, are done one at a time, and few of them wait. Send the request again after the seconds of
    `Retry-After`, or ask for fewer runs, metrics or baselines.
    """,
    errors.TooManyFailures: """
    The address has sent 20 invalid tokens within a minute, and this request has another invalid one.

    Requests with a valid token, or without one, are answered as always. Check the token, and try again after
    `Retry-After` seconds. Behind one address there may be many people: somebody else may have sent the other tokens.
    """,
    errors.NotFound: """
    The resource does not exist, or this token may not see it.
    """,
    errors.MethodNotAllowed: """
    The resource does not allow this method. The `Allow` header lists the methods that it allows.
    """,
    errors.Conflict: """
    The request conflicts with what is stored.
    """,
    errors.CollectionExists: """
    A collection with this name exists already. Choose another name.
    """,
    errors.RunExists: """
    A run with this name exists, of another team or with other content. Choose another `name`, or withdraw the stored
    run first.
    """,
    errors.TeamExists: """
    A team with this name exists in the collection already. Choose another name.
    """,
    errors.NoQrels: """
    The collection has no published qrels yet, so nothing can be scored.
    """,
    errors.SettingFixed: """
    `levels` and `depth` cannot change once the collection holds a run or qrels. `order_by` can, if the
    request changes nothing else.
    """,
    errors.SettingsChanged: """
    Somebody else changed a setting that you change, after you had read it. Nothing was changed. `conflicts` has for
    each such setting what you had `seen`, what you `sent`, and what it is `now`. Read the collection again, and send
    your change with `seen` as it is now, or without `seen` to override theirs.
    """,
    errors.JobNotFinished: """
    The job is queued or running, so it has no result yet; `GET /v1/jobs/{id}?wait=30` waits for it.
    """,
    errors.NoResult: """
    The job failed or was cancelled, so it has no result. Send the same request again to queue it again.
    """,
    errors.ResultOutdated: """
    A version of Gainboard that computes in another way made this result. What it stored is still there; what
    would have to be laid out or drawn anew is not. Send the same request again: it makes a new job.
    """,
    errors.RowDamaged: """
    The stored row of this collection, job or report has a value that cannot be read, so none of it is used. Lists show
    it as damaged, with what is wrong. Its organisers can delete it with `DELETE` at its address, and ask for the job or
    report again; or the operator restores a backup from before the damage. `gainboard doctor` names every such row.
    """,
    errors.HeldByRelease: """
    A release of the collection holds this run, version or collection, and a release never changes. `releases` names
    the releases. Only an organiser of the instance may withdraw or delete it, and the audit log says so.
    """,
    errors.KeyInUse: """
    The first request with this `Idempotency-Key` is not finished yet, or its answer is not repeated.
    """,
    errors.OutOfMemory: """
    The server has too little memory for this request now. Nothing was stored.

    Send it again later, or ask for less at once. Operators find the request in the log.
    """,
    errors.NoSpace: """
    A disk of the service is full: that of the database, of temporary files, or of files outside of the database.

    Nothing was stored. Send the request again after `Retry-After` seconds, and tell the operator if this goes on. Other
    requests are answered as always. `/readyz` says 503 until there is room again; no restart is needed.
    """,
    errors.DatabaseBusy: """
    The database is locked or unreachable. Nothing was stored. Try again in a few seconds.
    """,
    errors.ObjectsUnreachable: """
    The content of files is kept outside of the database, in a folder or an object store, and cannot be read or written
    there now. Nothing was stored. Try again in a few seconds. Operators find the reason in the log.
    """,
    errors.DatabaseUnusable: """
    The database in the settings cannot be opened, or is not a database. This is reported only when the service starts.
    """,
    errors.DatabaseNewer: """
    A later version of Gainboard has written the database. Install that version or a later one.
    """,
    errors.DatabaseOlder: """
    The database has a schema from before the first release, which this version cannot upgrade. The message names the
    last commit that can. This is reported only when the service starts.
    """,
    errors.Unexpected: """
    This is an error inside Gainboard. The server's log has the details under the answer's `X-Request-ID`.
    """,
}
