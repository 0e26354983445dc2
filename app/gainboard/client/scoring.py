"""Calls for scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from gainboard.client.answers import Leaderboard, Scores, Sweep
from gainboard.client.calling import call
from gainboard.client.requests import Call, Request, model, path, text

Parameter: TypeAlias = "str | float | bool | None"
Names: TypeAlias = "str | Sequence[str]"
"""Several, or one."""

_ACCEPT = {"csv": "text/csv", "trec_eval": "text/plain"}


class ScoreCalls:
    """Scores, rankings of runs, sweeps of parameters.

    `metrics` are expressions, the collection's own if there are none; `parameters` are defaults for all of them, such
    as `gains="3:2:1"`, `beta=10`, `base=2`.
    """

    @call
    def scores(
        self,
        collection: str,
        /,
        metrics: Names = (),
        *,
        runs: Names = (),
        topics: bool = False,
        qrels: int | None = None,
        **parameters: Parameter,
    ) -> Call[Scores]:
        """Scores of runs, all that are seen if none is named; with `topics` those of each topic too."""
        shown = "all" if topics else None
        query = {"metric": metrics, "run": runs, "topics": shown, "qrels": qrels, **parameters}
        return model(Scores, Request("GET", path("collections", collection, "scores"), query))

    @call
    def scores_text(
        self,
        collection: str,
        /,
        metrics: Names = (),
        *,
        format: Literal["csv", "trec_eval"] = "csv",
        runs: Names = (),
        topics: bool = False,
        qrels: int | None = None,
        **parameters: Parameter,
    ) -> Call[str]:
        """The same as CSV, or, of one run, as trec_eval prints it."""
        shown = "all" if topics else None
        query = {"metric": metrics, "run": runs, "topics": shown, "qrels": qrels, "format": format, **parameters}
        place = path("collections", collection, "scores")
        return text(Request("GET", place, query, accept=_ACCEPT[format]))

    @call
    def leaderboard(
        self,
        collection: str,
        /,
        metrics: Names = (),
        *,
        by: str | None = None,
        qrels: int | None = None,
        **parameters: Parameter,
    ) -> Call[Leaderboard]:
        """All runs ranked by their mean under one metric, the first if `by` names none, with those under the others."""
        query = {"metric": metrics, "by": by, "qrels": qrels, **parameters}
        return model(Leaderboard, Request("GET", path("collections", collection, "leaderboard"), query))

    @call
    def sweep(
        self,
        collection: str,
        /,
        metrics: Names = (),
        *,
        runs: Names = (),
        qrels: int | None = None,
        **parameters: Parameter | Sequence[Parameter],
    ) -> Call[Sweep]:
        """Mean scores under every combination of parameters: `gains=["3:2:1", "10:5:1"], beta=[0.1, 1, 10]`."""
        query = {"metric": metrics, "run": runs, "qrels": qrels, **parameters}
        return model(Sweep, Request("GET", path("collections", collection, "sweep"), query))
