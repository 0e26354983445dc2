"""Calls about runs and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias, Unpack

from gainboard.api.models.common import Page, ReceiptAnswer
from gainboard.api.models.runs import (
    IdentifyAnswer,
    JudgedSharesAnswer,
    MetadataFileAnswer,
    RunAnswer,
    RunMetadataAnswer,
    RunProfileAnswer,
)
from gainboard.api.models.scores import TopicRankingsAnswer
from gainboard.client.answers import Comparison, Leaderboard, Scores, Sweep
from gainboard.client.connections import call, listing
from gainboard.client.requests import (
    Call,
    Pages,
    Request,
    Upload,
    delete,
    of_collection,
    read_bytes,
    read_model,
    read_text,
    save_file,
)
from gainboard.notation.queries import (
    CompareOptions,
    IdentifyQuery,
    LeaderboardOptions,
    NumbersOptions,
    RunProfileQuery,
    RunsQuery,
    RunUploadQuery,
    ScoresOptions,
    SweepOptions,
    TopicRankingsQuery,
    VersionQuery,
)
from gainboard.notation.sources import Source, Table, as_run

OneOrMore: TypeAlias = "str | Sequence[str]"
"""One name, or several."""
_ACCEPT = {
    "csv": "text/csv",
    "trec_eval": "text/plain",
    "latex": "application/x-tex",
    "markdown": "text/markdown",
}


class RunCalls:
    """Runs."""

    @call
    def submit(self, collection: str, file: Table, **query: Unpack[RunUploadQuery]) -> Call[RunAnswer]:
        """Submit a run: the path of its file, its bytes, its text, an open binary file, a frame, or a dictionary.

        Organisers must give the team. The name is by default the run tag of the file. Files compressed with gzip or
        zstd are sent unchanged; other files are compressed while they are sent, if they are large.
        """
        path = of_collection(collection, "runs")
        upload = Upload.of(as_run(file, query.get("name") or "run"))
        return read_model(RunAnswer, Request("POST", path, query, upload=upload, once=True))

    @listing
    def runs(self, collection: str, **query: Unpack[RunsQuery]) -> Pages[RunAnswer]:
        """List the runs that the token may see, by name; without late runs if `late` is `"exclude"`."""
        return Pages(Page[RunAnswer], of_collection(collection, "runs"), query)

    @call
    def run(self, collection: str, name: str) -> Call[RunAnswer]:
        """Return one run."""
        return read_model(RunAnswer, Request("GET", of_collection(collection, "runs", name)))

    @call
    def receipt(self, collection: str, name: str) -> Call[ReceiptAnswer]:
        """Return the receipt of a run: its SHA-256, size, time, team, and the entry of the audit log."""
        return read_model(ReceiptAnswer, Request("GET", of_collection(collection, "runs", name, "receipt")))

    @call
    def run_metadata(self, collection: str, name: str) -> Call[RunMetadataAnswer]:
        """Return the ir_metadata of a run: the header in its file, and the values of the file beside it."""
        return read_model(RunMetadataAnswer, Request("GET", of_collection(collection, "runs", name, "metadata")))

    @call
    def put_run_metadata(self, collection: str, name: str, file: Source) -> Call[MetadataFileAnswer]:
        """Store a file of ir_metadata beside a run, such as tirex-tracker writes (its team, organisers)."""
        path = of_collection(collection, "runs", name, "metadata")
        return read_model(MetadataFileAnswer, Request("PUT", path, upload=Upload.of(file)))

    @call
    def run_metadata_file(self, collection: str, name: str) -> Call[bytes]:
        """Return the file of ir_metadata beside a run, as it was sent."""
        return read_bytes(Request("GET", of_collection(collection, "runs", name, "metadata"), accept="text/plain"))

    @call
    def run_file(self, collection: str, name: str) -> Call[bytes]:
        """Return a run's file as it was uploaded, decompressed."""
        return read_bytes(Request("GET", of_collection(collection, "runs", name), accept="text/plain"))

    @call
    def save_run_file(self, collection: str, name: str, to: str | PathLike[str]) -> Call[Path]:
        """Write a run's file to a path. The file appears when it is complete."""
        return save_file(Request("GET", of_collection(collection, "runs", name), accept="text/plain", to=Path(to)))

    @call
    def prioritise(self, collection: str, name: str, priority: int | None) -> Call[RunAnswer]:
        """Set the place of a run among those of its team, from 1; None removes it (its team, organisers)."""
        path = of_collection(collection, "runs", name)
        return read_model(RunAnswer, Request("PATCH", path, json={"priority": priority}))

    @call
    def mark_family(self, collection: str, name: str, family: str | None) -> Call[RunAnswer]:
        """Set the family of models that a run was built with; None removes it (its team, organisers)."""
        path = of_collection(collection, "runs", name)
        return read_model(RunAnswer, Request("PATCH", path, json={"family": family}))

    @call
    def withdraw(self, collection: str, name: str) -> Call[None]:
        """Withdraw a run. Its name may then be used again (its team until the release, organisers)."""
        return delete(of_collection(collection, "runs", name))


class ScoreCalls:
    """Scores, rankings of runs, and sweeps of parameters. With `late="exclude"`, late runs are left out.

    `metrics` are expressions, by default the collection's. `parameters` are defaults for all of them, such as
    `gains="3:2:1"`, `beta=10`, `base=2`.
    """

    @call
    def scores(
        self,
        collection: str,
        /,
        metrics: OneOrMore = (),
        *,
        runs: OneOrMore = (),
        topics: Topics = False,
        **query: Unpack[ScoresOptions],
    ) -> Call[Scores]:
        """Return scores of the named runs, or of all visible runs; with `topics`, also the scores of each topic.

        With the name of a topic group as `topics`, scores are over its topics alone.

        `ties` adds what other orders of documents with equal retrieval scores would score, `bounds` what the means
        would be if unjudged documents were relevant, and `cwl` the numbers of user models.
        """
        asked = {"metric": metrics, "run": runs, "topics": topics_query(topics), **query}
        return read_model(Scores, Request("GET", of_collection(collection, "scores"), asked))

    @call
    def scores_text(
        self,
        collection: str,
        /,
        metrics: OneOrMore = (),
        *,
        format: Literal["csv", "trec_eval"] = "csv",
        runs: OneOrMore = (),
        topics: Topics = False,
        **query: Unpack[NumbersOptions],
    ) -> Call[str]:
        """Return scores as CSV or, for one run, in the format of trec_eval."""
        asked = {"metric": metrics, "run": runs, "topics": topics_query(topics), "format": format, **query}
        return read_text(Request("GET", of_collection(collection, "scores"), asked, accept=_ACCEPT[format]))

    @call
    def leaderboard(
        self, collection: str, /, metrics: OneOrMore = (), **query: Unpack[LeaderboardOptions]
    ) -> Call[Leaderboard]:
        """Rank all runs by their mean under the metric `by`, by default the first.

        Return their means under all metrics, over all topics or the topic group `topics`. `by_group` adds the means
        over other groups, by their names; `"all"` names all groups. `standardise` gives the means of scores that are
        standardised by topic over the `reference` runs. `best_per_team` keeps the best run of each team, and `top` the
        first rows. `corrected_by` names a judgment set of people that corrects the means under `judgments`. Runs of
        the families of models `exclude_family` are left out.
        """
        path = of_collection(collection, "leaderboard")
        return read_model(Leaderboard, Request("GET", path, {"metric": metrics, **query}))

    @call
    def leaderboard_text(
        self,
        collection: str,
        /,
        metrics: OneOrMore = (),
        *,
        format: Literal["csv", "latex", "markdown", "bibtex", "csl", "sentence"],
        runs: OneOrMore = (),
        **query: Unpack[LeaderboardOptions],
    ) -> Call[str]:
        """Return the board, or that of some runs, as text: CSV, for print or to cite. `query` is that of the board."""
        asked = {"metric": metrics, "format": format, "run": runs, **query}
        path = of_collection(collection, "leaderboard")
        return read_text(Request("GET", path, asked, accept=_ACCEPT.get(format, "text/plain")))

    @call
    def compare(
        self,
        collection: str,
        first: str,
        second: str,
        /,
        metrics: OneOrMore = (),
        **query: Unpack[CompareOptions],
    ) -> Call[Comparison]:
        """Compare two runs topic by topic: differences, tests, effect size, and the topics that decide.

        `margin` also asks whether the runs are equivalent.
        """
        path = of_collection(collection, "compare")
        return read_model(Comparison, Request("GET", path, {"run": (first, second), "metric": metrics, **query}))

    @call
    def compare_with(
        self,
        collection: str,
        /,
        baselines: OneOrMore,
        metrics: OneOrMore = (),
        *,
        runs: OneOrMore = (),
        **query: Unpack[CompareOptions],
    ) -> Call[Comparison]:
        """Compare all runs, or the named runs, with each baseline. Levels are corrected for exactly these pairs."""
        path = of_collection(collection, "compare")
        asked = {"baseline": baselines, "run": runs, "metric": metrics, **query}
        return read_model(Comparison, Request("GET", path, asked))

    @call
    def topic_rankings(
        self, collection: str, topic: str, **query: Unpack[TopicRankingsQuery]
    ) -> Call[TopicRankingsAnswer]:
        """Return the levels that each run found for a topic, by rank, and those of the ideal ranking."""
        path = of_collection(collection, "topics", topic, "rankings")
        return read_model(TopicRankingsAnswer, Request("GET", path, query))

    @call
    def run_profile(self, collection: str, run: str, **query: Unpack[RunProfileQuery]) -> Call[RunProfileAnswer]:
        """Return the curves of a run: judged share and gain by rank, interpolated precision by recall."""
        return read_model(RunProfileAnswer, Request("GET", of_collection(collection, "runs", run, "profile"), query))

    @call
    def identify(self, collection: str, run: str, **query: Unpack[IdentifyQuery]) -> Call[IdentifyAnswer]:
        """Return which metric and which tool give numbers of a run: `number=["0.3842"]`."""
        return read_model(IdentifyAnswer, Request("GET", of_collection(collection, "runs", run, "identify"), query))

    @call
    def judged_shares(self, collection: str, **query: Unpack[VersionQuery]) -> Call[JudgedSharesAnswer]:
        """Return for each rank the share of judged documents down to it, of each run and in the mean."""
        return read_model(JudgedSharesAnswer, Request("GET", of_collection(collection, "judged-shares"), query))

    @call
    def sweep(
        self,
        collection: str,
        /,
        metrics: OneOrMore = (),
        *,
        runs: OneOrMore = (),
        **query: Unpack[SweepOptions],
    ) -> Call[Sweep]:
        """Return mean scores under every combination of parameters: `gains=["3:2:1", "10:5:1"], beta=[0.1, 1, 10]`."""
        path = of_collection(collection, "sweep")
        return read_model(Sweep, Request("GET", path, {"metric": metrics, "run": runs, **query}))


Topics: TypeAlias = "bool | str"
"""True for the scores of all topics, or the name of a topic group."""


def topics_query(topics: Topics) -> str | None:
    """Return the value of the query parameter `topics`."""
    return topics if isinstance(topics, str) else "all" if topics else None
