"""Run analyses of stored runs that take longer than a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Unpack

from gainboard.cli.command import Example, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.jobs import Kind, Noun, ResultForm, Wait, WorkParameters, print_work, run_work
from gainboard.cli.jobs import kinds as describe_kinds
from gainboard.cli.loading import CampaignOrFiles
from gainboard.cli.options import metric_option
from gainboard.cli.printing import Format
from gainboard.client import Gainboard, Job
from gainboard.errors import BadSetting
from gainboard.notation.queries import JobsQuery

JOB = Noun(
    "job",
    list_kinds=lambda gainboard: gainboard.job_kinds(),
    find=lambda gainboard, job: gainboard.find_job(job),
    list_all=lambda gainboard: gainboard.jobs(),
    columns=("collection", "kind"),
)
kinds = JOB.command("list what can be run", describe_kinds)


@command(
    "run a job",
    Example(
        "gainboard job run bootstrap-sensitivity -c web -m Q -m AP --set alphas=0.05,0.01 --set seed=3 --wait",
        "which metric separates more pairs of runs",
    ),
    Example("gainboard job run swap-rate --qrels qrels.txt --runs runs/* -m AP -m Q --output out", "without a server"),
    Example(
        "gainboard job run bootstrap-sensitivity --scores accuracy.csv -m accuracy --output out",
        "of scores from elsewhere",
    ),
    Example("gainboard job run gain-vectors -c web --output curves", "all tables and figures as files"),
)
def run(
    at: CampaignOrFiles,
    kind: Kind,
    *,
    metrics: Annotated[Sequence[str], metric_option("none; most kinds need some")] = (),
    parameters: WorkParameters = (),
    wait: Wait = False,
    form: ResultForm,
) -> None:
    """Ask for the work; an equal request returns the one that exists. Without --wait or --output, print its id on
    standard output. Ctrl+C ends the waiting; the work goes on.
    """

    def ask(gainboard: Gainboard) -> Job:
        values = {
            **({"metrics": at.of_scores.metrics(metrics)} if metrics else {}),
            **JOB.read_parameters(gainboard, kind, parameters),
        }
        if at.version:
            if "qrels" in values:
                raise BadSetting("--qrels and --set qrels both name a version. Leave one of them out.")
            values["qrels"] = at.version
        return gainboard.job(at.collection, kind, **values)

    run_work(JOB, at, ask, form, waits=wait)


@command("list the jobs that you may see, newest first")
def list_(at: OneCollection, *, format: Format = "table", **query: Unpack[JobsQuery]) -> None:
    """List those that you may see, newest first. A table shows the first characters of each id, which are enough to
    name it; without a token, whole ids.
    """
    query["collection"] = at.some_collection
    with at.connect() as gainboard:
        print_work(JOB, at, gainboard.jobs(**query), format)


show, wait, result, cancel = JOB.commands_on_one()
