"""Upload, list and publish judgments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from gainboard.cli.command import Argument, Example, Option, Told, command
from gainboard.cli.connecting import OneCollection, tell_of_refusal, tell_of_warnings, uploading
from gainboard.cli.options import AttributeFiles, FileBehind, Metrics, RunNames, require_one_input
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import DIGITS, Format, print_json, print_many, print_rows
from gainboard.errors import BadSetting, GainboardError
from gainboard.notation.queries import ImpactOptions, JudgmentsQuery, QrelsUploadQuery

if TYPE_CHECKING:
    from gainboard.api.models.judgments import QrelsAnswer

COLUMNS = (
    "version",
    "state",
    "in_use",
    "topics",
    "judged",
    "relevant",
    "order_by",
    "ignore_identical_ids",
    "created_at",
    "published_at",
)
Version = Annotated[int, Argument("its number")]


@command(
    "upload judgments",
    Example("gainboard qrels put qrels.txt -c web"),
    Example("gainboard qrels put qrels.txt -c web --draft"),
    Example("gainboard qrels put qrels.txt -c web --judgments second", "of a second assessor"),
    Example("gainboard qrels put intents.txt -c diversity --iprob iprob.txt", "by intent (subtopic)"),
    Example(
        "gainboard qrels put qrels.txt -c web --memberships gender=gender.txt --target gender=equal.txt", "for fairness"
    ),
)
def put(
    at: OneCollection,
    file: Annotated[str, Argument("the judgments; - is standard input")],
    *,
    iprob: Annotated[
        str | None, Option("the probabilities of intents: topic, intent, probability", metavar="FILE")
    ] = None,
    attributes: AttributeFiles,
    **query: Unpack[QrelsUploadQuery],
) -> None:
    """Upload judgments in TREC's or NTCIR's layout as the next version; all stored runs are judged by it (organisers).
    Only organisers see a draft until it is published.
    """
    both: bytes | None = None
    located: Any = list
    if behind := [FileBehind(iprob)] if iprob is not None else attributes.behind():
        from gainboard.cli.files import JoinedFiles  # noqa: PLC0415 (with NumPy)
        from gainboard.evaluation.runs.run_files import NO_LIMITS  # noqa: PLC0415 (with NumPy)

        require_one_input([file, *(part.name for part in behind)])
        joined = JoinedFiles(file, behind)
        located = joined.located
        try:
            both = b"".join(joined.chunks(NO_LIMITS, PlainCount()))
        except GainboardError as error:
            tell_of_refusal(file, error)
            raise Told from error
    with at.connect() as gainboard:
        if pool := query.get("pool"):
            pools = gainboard.jobs(collection=at.collection, kind="pool")
            matching = [work.id for work in pools if work.id.startswith(pool)]
            if len(matching) != 1:
                raise BadSetting(
                    f"--pool {pool}: {len(matching)} pools of {at.collection!r} have an id that begins so. To see the "
                    "ids: gainboard job list --kind pool -f json"
                )
            query["pool"] = matching[0]
        with uploading(file, located) as source:
            version = gainboard.put_qrels(at.collection, source if both is None else both, **query)
    tell_of_warnings(file, version.warnings)
    _tell(version, at.collection)


@command("list the versions", Example("gainboard qrels list -c web"))
def list_(at: OneCollection, *, format: Format = "table", **query: Unpack[JudgmentsQuery]) -> None:
    """List the versions of the judgments, and say which one is in use: it answers requests that name no version. Only
    organisers see drafts.
    """
    with at.connect() as gainboard:
        print_many(gainboard.qrels(at.collection, **query), COLUMNS, format)


@command(
    "read a version",
    Example("gainboard qrels get -c web"),
    Example("gainboard qrels get 1 -c web --output qrels-1.txt"),
)
def get(
    at: OneCollection,
    version: Annotated[int | None, Argument("(default: the published one)")] = None,
    *,
    output: Annotated[Path | None, Option("the file to write (default: standard output)", metavar="FILE")] = None,
    **query: Unpack[JudgmentsQuery],
) -> None:
    """Print a version of the judgments as it was uploaded, or write it into a file. The file appears when it is
    complete.
    """
    with at.connect() as gainboard:
        if version is None and "judgments" not in query:
            version = gainboard.collection(at.collection).qrels_version
        elif version is None:
            sets = {
                judgment_set.name: judgment_set.qrels_version for judgment_set in gainboard.judgment_sets(at.collection)
            }
            version = sets.get(str(query["judgments"]))
        if version is None:
            raise BadSetting(
                f"{at.collection} has no judgments that you may see. Organisers upload them: gainboard qrels put "
                f"FILE -c {at.collection}"
            )
        if output is None:
            sys.stdout.buffer.write(gainboard.qrels_file(at.collection, version, **query))
        else:
            gainboard.save_qrels_file(at.collection, version, output, **query)


@command("publish a version")
def publish(at: OneCollection, version: Version, **query: Unpack[JudgmentsQuery]) -> None:
    """Publish a draft, or return to an earlier version: from then on its judgments are used (organisers)."""
    with at.connect() as gainboard:
        _tell(gainboard.publish_qrels(at.collection, version, **query), at.collection)


def _tell(version: QrelsAnswer, collection: str) -> None:
    levels = ", ".join(f"{name}: {count:,}" for name, count in version.per_level.items())
    print(
        f"version {version.version} ({version.state}): {version.topics:,} topics, {version.judged:,} judged, "
        f"{version.relevant:,} relevant ({levels})"
    )
    if version.job is not None:
        again = f"gainboard job list -c {collection} --kind judge"
        print(f"A job now judges all runs by this version. To follow it: {again}", file=sys.stderr)


@command("discard a draft")
def discard(at: OneCollection, version: Version, **query: Unpack[JudgmentsQuery]) -> None:
    """Discard a draft and the jobs about it (organisers)."""
    with at.connect() as gainboard:
        gainboard.discard_qrels(at.collection, version, **query)
    print(f"version {version}: discarded")


@command(
    "show what a version changes", Example("gainboard qrels impact 2 -c web -m Q", "before version 2 is published")
)
def impact(
    at: OneCollection,
    version: Version,
    *,
    metrics: Metrics = (),
    runs: RunNames = (),
    format: Format = "table",
    **query: Unpack[ImpactOptions],
) -> None:
    """Show what a version, such as a draft, changes against another one: judgments, means, ranks, and the pairs of runs
    whose significant difference appears, disappears or reverses (organisers).
    """
    with at.connect() as gainboard:
        answer = gainboard.impact(at.collection, version, metrics=metrics, runs=runs, **query)
    if format == "json":
        print_json(answer.model_dump(mode="json"))
        return
    if format == "table":
        judged = answer.judgments
        counts = f"{judged.added:,} added, {judged.removed:,} removed, {judged.changed:,} changed"
        print(f"version {answer.qrels_version} against {answer.against}: judgments {counts}", file=sys.stderr)
        for of_metric in answer.impact:
            tau = "undefined" if of_metric.tau_b is None else f"{of_metric.tau_b:.4f}"
            flips = (
                f", pairs with another verdict: {len(of_metric.significance.flips):,}" if of_metric.significance else ""
            )
            print(f"{of_metric.metric}: tau-b of the rankings {tau}{flips}", file=sys.stderr)
    headings = ("run", "team", "metric", "mean_before", "mean_after", "change", "rank_before", "rank_after")
    rows = [
        (run.name, run.team, of.metric, run.mean_before, run.mean_after, run.change, run.rank_before, run.rank_after)
        for of in answer.impact
        for run in of.runs
    ]
    print_rows(headings, rows, format, dict.fromkeys(("mean_before", "mean_after", "change"), DIGITS))
