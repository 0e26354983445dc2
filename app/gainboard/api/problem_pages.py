"""The pages of problems: what each class of errors means to a client, and what the client can do about it.

The first line of a page is also its line in the OpenAPI description of every route that answers with it.
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
    What was sent cannot be used as it is; the message says what would be right.
    """,
    errors.Refused: """
    The request was understood and is not carried out.
    """,
    errors.Unavailable: """
    The service cannot answer now; nothing was stored. Trying again later may help.
    """,
    errors.InvalidRequest: """
    The JSON body, a query parameter or a part of the path has the wrong form.

    `errors` lists every place: `location` (where), `code` (stable) and `message` (what would be right).
    """,
    errors.UnknownParameter: """
    The query has a parameter that this resource does not know, so it would have had no effect.
    """,
    errors.BadExpression: """
    The metric expression names no metric, or gives it a parameter that it lacks or that is out of range.

    An expression is `NAME`, `NAME@cutoff`, `NAME(key=value,...)` or `NAME(key=value,...)@cutoff`; `/v1/metrics`
    lists the names and the parameters of each.
    """,
    errors.BadGains: """
    The gain setting cannot be read, or does not fit the relevance levels of the collection.

    A gain setting is a ratio with one value a level, highest level first (`3:2:1`), `adjust(...)` around one,
    `linear`, or `exp`. Values must not decrease towards higher levels.
    """,
    errors.FaultyFile: """
    The qrels or run file has faults. Nothing of it was stored.

    `errors` lists the first 100, each with `line` (1-based; null where the file as a whole is meant), `code`,
    `topic` and `message`; `errors_total` counts all of them.
    """,
    errors.TooLarge: """
    The body, what it decompresses to, or one of its lines is over a limit; the message states the limit.
    """,
    errors.UnsupportedEncoding: """
    The body is compressed in a way that is not read. Plain, gzip and zstd bodies are.
    """,
    errors.UnsupportedMediaType: """
    The body is not of a kind that this resource reads; the message says which it reads.
    """,
    errors.KeyReused: """
    The `Idempotency-Key` was used within 24 hours for a different request.
    """,
    errors.BadSetting: """
    A setting or an argument of the command line is out of range, or names what cannot be used.
    """,
    errors.TeamRequired: """
    An organiser uploads on behalf of a team and must say which: `?team=NAME`.
    """,
    errors.NameRequired: """
    The run's tag cannot serve as its name in paths; give one: `?name=NAME`.
    """,
    errors.NotAuthenticated: """
    A bearer token is needed, or the one sent is unknown, expired or revoked.
    """,
    errors.Forbidden: """
    This token may see the resource but not do this to it.
    """,
    errors.JudgmentsHidden: """
    The collection's judgments are hidden, so no score, ranking or judgment of it is shown to this token.
    """,
    errors.NotPreset: """
    While judgments are hidden, scores are given under the expressions that the organisers named, and no others.

    `presets` lists them. Other gains, cut-offs or bases would tell one judgment after the other.
    """,
    errors.BudgetExhausted: """
    The team has been given as many distinct scores as it gets while judgments are hidden.

    `limit` and `used` count them; a score that it has been given before is given again at any time.
    """,
    errors.SubmissionsClosed: """
    Runs are taken between `opens_at` and `closes_at`, by the server's clock when the whole file has arrived.
    """,
    errors.QuotaExceeded: """
    The team has sent as many runs as it may: `quota` is `per_day` (of UTC), `total` or `concurrent`.

    `limit` and `used` count them, `resets_at` says when a day ends. A faulty file costs nothing, nor does one that
    is there already, nor a withdrawn run that no score was given for.
    """,
    errors.TooManyJobs: """
    The token has as many jobs queued or running as it may; wait for one of them, or cancel one.
    """,
    errors.NotFound: """
    There is nothing here that this token may see.
    """,
    errors.MethodNotAllowed: """
    The resource does not have this method; the `Allow` header lists those it has.
    """,
    errors.Conflict: """
    The request contradicts what is stored.
    """,
    errors.CollectionExists: """
    A collection of this name exists already.
    """,
    errors.RunExists: """
    A run of this name exists with other content. Choose another `name`, or withdraw the stored run first.
    """,
    errors.TeamExists: """
    A team of this name exists in the collection already.
    """,
    errors.NoQrels: """
    The collection has no qrels yet, so nothing can be scored.
    """,
    errors.SettingFixed: """
    `levels` and `depth` cannot change once the collection holds a run or qrels. `order_by` can, alone in its request.
    """,
    errors.JobNotFinished: """
    The job is queued or running, so it has no result yet; `GET /v1/jobs/{id}?wait=30` waits for it.
    """,
    errors.NoResult: """
    The job failed or was cancelled, so it has no result. Asking for it again queues it again.
    """,
    errors.KeyInUse: """
    The first request with this `Idempotency-Key` has not been answered yet, or its answer is not repeated.
    """,
    errors.DatabaseBusy: """
    The database is locked, full or out of reach. Nothing was stored; try again shortly.
    """,
    errors.DatabaseUnusable: """
    The database that the settings name cannot be opened, or is none. Only a start says so.
    """,
    errors.DatabaseNewer: """
    The database was written by a later version of Gainboard than this one.
    """,
    errors.Unexpected: """
    A fault of Gainboard's own. The log of the server has it under the `X-Request-ID` of the answer.
    """,
}
