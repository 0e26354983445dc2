"""Make the tables and figures of a paper for stored collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Unpack

from gainboard.cli.command import Example, Option, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.jobs import Kind, Noun, ResultForm, Wait, WorkParameters, print_work, run_work
from gainboard.cli.jobs import kinds as describe_kinds
from gainboard.cli.loading import CampaignOrFiles
from gainboard.cli.printing import Format
from gainboard.client import Gainboard, Report
from gainboard.errors import BadSetting
from gainboard.notation.queries import ReportsQuery

REPORT = Noun(
    "report",
    list_kinds=lambda gainboard: gainboard.report_kinds(),
    find=lambda gainboard, report: gainboard.find_report(report),
    list_all=lambda gainboard: gainboard.reports(),
    columns=("collections", "name"),
)
kinds = REPORT.command("list what can be run", describe_kinds)


@dataclass(frozen=True)
class Campaigns(CampaignOrFiles):
    """The collections of a report."""

    named: str | None = None
    collections: Annotated[
        Sequence[str],
        Option("a collection; may be repeated (GAINBOARD_COLLECTION)", "-c", "--collection", metavar="NAME"),
    ] = ()

    @property
    def collection(self) -> str:
        """Return the first collection. Raise BadSetting if none is named."""
        return self.collections[0] if self.collections else super().collection


@command(
    "run a report",
    Example(
        "gainboard report run q-measure-appendix -c web --wait --output appendix",
        "every table as CSV and LaTeX, every figure as SVG",
    ),
)
def run(at: Campaigns, kind: Kind, *, parameters: WorkParameters = (), wait: Wait = False, form: ResultForm) -> None:
    """Ask for the work; an equal request returns the one that exists. Without --wait or --output, print its id on
    standard output. Ctrl+C ends the waiting; the work goes on.
    """

    def ask(gainboard: Gainboard) -> Report:
        collections = at.collections or [at.collection]
        values = REPORT.read_parameters(gainboard, kind, parameters)
        if at.version:
            if "qrels" in values:
                raise BadSetting("--qrels and --set qrels both name versions. Leave one of them out.")
            values["qrels"] = dict.fromkeys(collections, at.version)
        return gainboard.report(kind, collections, **values)

    run_work(REPORT, at, ask, form, waits=wait)


@command("list the reports that you may see, newest first")
def list_(at: OneCollection, *, format: Format = "table", **query: Unpack[ReportsQuery]) -> None:
    """List those that you may see, newest first. A table shows the first characters of each id, which are enough to
    name it; without a token, whole ids.
    """
    query["collection"] = at.some_collection
    with at.connect() as gainboard:
        print_work(REPORT, at, gainboard.reports(**query), format)


show, wait, result, cancel = REPORT.commands_on_one()
