"""Upload nuggets, and what judges say of the answers of runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Unpack

from gainboard.cli.command import Argument, Example, Option, command
from gainboard.cli.connecting import OneCollection, uploading
from gainboard.cli.printing import Format, print_many, print_rows, printable
from gainboard.notation.queries import NuggetsUploadQuery, VerdictsUploadQuery
from gainboard.vocabulary import OFFICIAL

if TYPE_CHECKING:
    from gainboard.api.models.judgments import NuggetsAnswer

COLUMNS = ("version", "state", "in_use", "topics", "nuggets", "strays", "created_at", "published_at")
Version = Annotated[int, Argument("its number")]
Judge = Annotated[str, Option("a person, a model or a version of one", metavar="JUDGE")]


@command("upload nuggets", Example("gainboard nuggets put nuggets.jsonl -c web"))
def put(
    at: OneCollection,
    file: Annotated[str, Argument("the nuggets; - is standard input")],
    **query: Unpack[NuggetsUploadQuery],
) -> None:
    """Upload nuggets, a topic on each line of JSON, as the next version (organisers). The scores of answers follow."""
    with at.connect() as gainboard, uploading(file) as source:
        version = gainboard.put_nuggets(at.collection, source, **query)
    tell(version)


def tell(version: NuggetsAnswer) -> None:
    """Print a version, and on standard error the verdicts that do not fit it."""
    strays = f", {version.strays:,} neither vital nor okay" if version.strays else ""
    print(
        f"version {version.version} ({version.state}): {version.topics:,} topics, {version.nuggets:,} nuggets{strays}"
    )
    for sentence in version.unfit:
        print(printable(sentence), file=sys.stderr)


@command("list the versions", Example("gainboard nuggets list -c web"))
def list_(at: OneCollection, *, format: Format = "table") -> None:
    """List the versions of the nuggets. Only organisers see drafts."""
    with at.connect() as gainboard:
        print_many(gainboard.nuggets(at.collection), COLUMNS, format)


@command("print a version", Example("gainboard nuggets get 1 -c web > nuggets.jsonl"))
def get(at: OneCollection, version: Version) -> None:
    """Print a version of the nuggets as it was uploaded."""
    with at.connect() as gainboard:
        sys.stdout.buffer.write(gainboard.nuggets_file(at.collection, version))


@command("publish a version")
def publish(at: OneCollection, version: Version) -> None:
    """Publish a draft, or return to an earlier version: the scores of all answers follow (organisers)."""
    with at.connect() as gainboard:
        tell(gainboard.publish_nuggets(at.collection, version))


@command("discard a draft")
def discard(at: OneCollection, version: Version) -> None:
    """Discard a draft of the nuggets (organisers)."""
    with at.connect() as gainboard:
        gainboard.discard_nuggets(at.collection, version)
    print(f"version {version}: discarded")


@command(
    "upload verdicts on answers",
    Example("gainboard nuggets assign assignments.jsonl -c web"),
    Example("gainboard nuggets assign people.jsonl -c web --judge people --sample", "of people, on some topics"),
)
def assign(
    at: OneCollection,
    file: Annotated[str, Argument("assignments of nuggets, or verdicts on citations; - is standard input")],
    *,
    judge: Judge = OFFICIAL,
    **query: Unpack[VerdictsUploadQuery],
) -> None:
    """Upload what a judge says of the answers of runs, a run and topic on each line of JSON (organisers): which nuggets
    they have, or whether what they cite supports them. Then nuggets:vital_strict and support:precision are metrics, as
    nuggets:vital_strict(judge=NAME) for other judges. A run that is new has no ranking.
    """
    with at.connect() as gainboard, uploading(file) as source:
        judged = gainboard.put_verdicts(at.collection, judge, source, **query)
    for run, topics in judged.unanswered.items():
        meaning = "have no score" if judged.sample else "score 0"
        print(printable(f"{run}: {topics} of {judged.topics} topics have no answer, and {meaning}"), file=sys.stderr)
    if judged.strays:
        print(f"{judged.strays:,} labels are none of the known ones, and count as nothing", file=sys.stderr)
    new = f", {len(judged.new_runs):,} new" if judged.new_runs else ""
    print(f"{judge}: {judged.runs:,} runs{new}; {', '.join(judged.metrics)}")


@command("list the judges", Example("gainboard nuggets judges -c web"))
def judges(at: OneCollection, *, format: Format = "table") -> None:
    """List the judges of answers, and how many runs they have judged."""
    with at.connect() as gainboard:
        print_many(gainboard.judges(at.collection), ("judge", "runs", "topics", "sample"), format)


@command("print which nuggets runs have", Example("gainboard nuggets counts -c web"))
def counts(at: OneCollection, *, judge: Judge = OFFICIAL, format: Format = "table") -> None:
    """Print how many runs have each nugget, as a judge says: those that nobody has, and those that everybody has."""
    with at.connect() as gainboard:
        counted = gainboard.nugget_counts(at.collection, judge)
    rows = [
        (topic, nugget.importance, nugget.full, nugget.partial, nugget.none, nugget.text)
        for topic, of_topic in counted.by_topic.items()
        for nugget in of_topic
    ]
    print_rows(("topic", "importance", "full", "partial", "none", "nugget"), rows, format)


@command("delete what a judge says")
def delete(at: OneCollection, judge: Annotated[str, Argument("its name")]) -> None:
    """Delete all that a judge says of answers, with the scores that follow (organisers)."""
    with at.connect() as gainboard:
        gainboard.delete_verdicts(at.collection, judge)
    print(f"{judge}: deleted")
