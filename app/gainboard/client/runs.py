"""Calls about runs."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from gainboard.api.models.answers import Page
from gainboard.api.models.runs import ShownRun
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, content, model, path, removed, saved, text
from gainboard.client.uploads import Source, Upload


class RunCalls:
    """Runs, and the pool made of them."""

    @call
    def submit(
        self,
        collection: str,
        file: Source,
        *,
        team: str | None = None,
        name: str | None = None,
        description: str | None = None,
        type: str | None = None,
        pooled: bool | None = None,
    ) -> Call[ShownRun]:
        """Submit a run: the path of its file, its bytes, its text, or an open binary file.

        Organisers say for which team. The name is by default the run tag of the file. What is compressed with gzip or
        zstd is sent as it is; other files are compressed on the way if they are large.
        """
        query = {"team": team, "name": name, "description": description, "type": type, "pooled": pooled}
        place = path("collections", collection, "runs")
        return model(ShownRun, Request("POST", place, query, upload=Upload.of(file), once=True))

    @listing
    def runs(self, collection: str) -> Pages[ShownRun]:
        """The runs that the token sees, by name."""
        return Pages(Page[ShownRun], path("collections", collection, "runs"))

    @call
    def run(self, collection: str, name: str) -> Call[ShownRun]:
        """One run."""
        return model(ShownRun, Request("GET", path("collections", collection, "runs", name)))

    @call
    def run_file(self, collection: str, name: str) -> Call[bytes]:
        """A run's file, byte for byte as it was uploaded, decompressed."""
        return content(Request("GET", path("collections", collection, "runs", name), accept="text/plain"))

    @call
    def save_run_file(self, collection: str, name: str, to: str | PathLike[str]) -> Call[Path]:
        """Write a run's file, as `run_file` gives it, to a path; it is there when it is whole."""
        place = path("collections", collection, "runs", name)
        return saved(Request("GET", place, accept="text/plain", to=Path(to)))

    @call
    def withdraw(self, collection: str, name: str) -> Call[None]:
        """Withdraw a run; its name is free again (its team, organisers)."""
        return removed(path("collections", collection, "runs", name))

    @call
    def pool(self, collection: str, depth: int | None = None) -> Call[str]:
        """The documents to judge: `topic document` lines; a third column has the level of those judged already."""
        place = path("collections", collection, "pool")
        return text(Request("GET", place, {"depth": depth}, accept="text/plain"))
