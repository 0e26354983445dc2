"""Upload, list and publish judgments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import (
    CalledServer,
    collection_option,
    connect_server,
    server_options,
    tell_of_refusal,
    tell_of_warnings,
)
from gainboard.cli.options import (
    STANDARD_INPUT,
    judgments_option,
    metric_option,
    number,
    parameter_default_options,
    read_metrics,
    read_parameters,
    require_one_input,
    run_option,
    whole_number,
)
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import DIGITS, format_option, print_json, print_many, print_rows
from gainboard.client import Problem
from gainboard.errors import BadSetting, Fault, GainboardError
from gainboard.vocabulary import Columns

if TYPE_CHECKING:
    from gainboard.api.models.judgments import ImpactAnswer, MetricImpactAnswer, QrelsAnswer

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


def _put(parsed: argparse.Namespace) -> int:
    """Upload judgments in TREC's or NTCIR's layout as the next version; all stored runs are judged by it (organisers).
    Only organisers see a draft until it is published.
    """
    if parsed.iprob is None:
        return _send(parsed, sys.stdin.buffer if parsed.file == STANDARD_INPUT else parsed.file)
    from gainboard.cli.files import TwoFiles  # noqa: PLC0415 (with NumPy)
    from gainboard.evaluation.runs.run_files import NO_LIMITS  # noqa: PLC0415 (with NumPy)

    require_one_input([parsed.file, parsed.iprob])
    both = TwoFiles(parsed.file, parsed.iprob)
    try:
        source = b"".join(both.chunks(NO_LIMITS, PlainCount()))
    except GainboardError as error:
        tell_of_refusal(parsed.file, error)
        return 1
    return _send(parsed, source, both.located)


def _send(parsed: argparse.Namespace, source: Any, located: Callable[[Sequence[Fault]], Sequence[Fault]] = list) -> int:
    """Send the judgments. `located` returns faults by the lines of the user's files."""
    with connect_server(parsed) as server:
        try:
            put = server.gainboard.put_qrels(
                server.collection,
                source,
                columns=parsed.columns,
                draft=parsed.draft or None,
                judgments=parsed.judgments,
                pool=_pool(server, parsed.pool),
            )
        except OSError as error:
            raise BadSetting(f"Cannot read {parsed.file}: {error.strerror or error}.") from error
        except Problem as problem:
            tell_of_refusal(parsed.file, problem, located)
            return 1
    tell_of_warnings(parsed.file, put.warnings)
    _tell(put, server.collection)
    return 0


def _pool(server: CalledServer, given: str | None) -> str | None:
    """Return the id of the pool's job from its first characters. Raise BadSetting unless one job has them."""
    if given is None:
        return None
    found = [job.id for job in server.gainboard.jobs(collection=server.collection, kind="pool")]
    matching = [identity for identity in found if identity.startswith(given)]
    if len(matching) != 1:
        raise BadSetting(
            f"--pool {given}: {len(matching)} pools of {server.collection!r} have an id that begins so. To see the "
            "ids: gainboard job list --kind pool -f json"
        )
    return matching[0]


def _list(parsed: argparse.Namespace) -> int:
    """List the versions of the judgments, and say which one is in use: it answers requests that name no version. Only
    organisers see drafts.
    """
    with connect_server(parsed) as server:
        print_many(server.gainboard.qrels(server.collection, judgments=parsed.judgments), COLUMNS, parsed.format)
    return 0


def _get(parsed: argparse.Namespace) -> int:
    """Print a version of the judgments as it was uploaded, or write it into a file. The file appears when it is
    complete.
    """
    with connect_server(parsed) as server:
        version, own = parsed.version or _answering(server, parsed.judgments), {"judgments": parsed.judgments}
        if parsed.output is None:
            sys.stdout.buffer.write(server.gainboard.qrels_file(server.collection, version, **own))
        else:
            server.gainboard.save_qrels_file(server.collection, version, parsed.output, **own)
    return 0


def _publish(parsed: argparse.Namespace) -> int:
    """Publish a draft, or return to an earlier version: from then on its judgments are used (organisers)."""
    with connect_server(parsed) as server:
        put = server.gainboard.publish_qrels(server.collection, parsed.version, judgments=parsed.judgments)
        _tell(put, server.collection)
    return 0


def _discard(parsed: argparse.Namespace) -> int:
    """Discard a draft and the jobs about it (organisers)."""
    with connect_server(parsed) as server:
        server.gainboard.discard_qrels(server.collection, parsed.version, judgments=parsed.judgments)
    print(f"version {parsed.version}: discarded")
    return 0


def _impact(parsed: argparse.Namespace) -> int:
    """Show what a version, such as a draft, changes against another one: judgments, means, ranks, and the pairs of runs
    whose significant difference appears, disappears or reverses (organisers).
    """
    with connect_server(parsed) as server:
        found = server.gainboard.impact(
            server.collection,
            parsed.version,
            judgments=parsed.judgments,
            against=parsed.against,
            metrics=read_metrics(parsed),
            runs=parsed.runs,
            alpha=parsed.alpha,
            **read_parameters(parsed),
        )
    if parsed.format == "json":
        print_json(found.model_dump(mode="json"))
        return 0
    if parsed.format == "table":
        _tell_of_impact(found)
    headings = ("run", "team", "metric", "mean_before", "mean_after", "change", "rank_before", "rank_after")
    digits = dict.fromkeys(("mean_before", "mean_after", "change"), DIGITS)
    print_rows(headings, [row for each in found.impact for row in _rows(each)], parsed.format, digits)
    return 0


def _rows(of: MetricImpactAnswer) -> list[tuple[Any, ...]]:
    return [
        (run.name, run.team, of.metric, run.mean_before, run.mean_after, run.change, run.rank_before, run.rank_after)
        for run in of.runs
    ]


def _tell_of_impact(found: ImpactAnswer) -> None:
    judged = found.judgments
    counts = f"{judged.added:,} added, {judged.removed:,} removed, {judged.changed:,} changed"
    print(f"version {found.qrels_version} against {found.against}: judgments {counts}", file=sys.stderr)
    for each in found.impact:
        tau = "undefined" if each.tau_b is None else f"{each.tau_b:.4f}"
        flips = f", pairs with another verdict: {len(each.significance.flips):,}" if each.significance else ""
        print(f"{each.metric}: tau-b of the rankings {tau}{flips}", file=sys.stderr)


def _answering(server: CalledServer, judgments: str | None) -> int:
    if judgments is None:
        version = server.gainboard.collection(server.collection).qrels_version
    else:
        sets = {each.name: each.qrels_version for each in server.gainboard.judgment_sets(server.collection)}
        version = sets.get(judgments)
    if version is None:
        raise BadSetting(
            f"{server.collection} has no judgments that you may see. Organisers upload them: gainboard qrels put "
            f"FILE -c {server.collection}"
        )
    return version


def _tell(version: QrelsAnswer, collection: str) -> None:
    levels = ", ".join(f"{name}: {count:,}" for name, count in version.per_level.items())
    print(
        f"version {version.version} ({version.state}): {version.topics:,} topics, {version.judged:,} judged, "
        f"{version.relevant:,} relevant ({levels})"
    )
    if version.job is not None:
        again = f"gainboard job list -c {collection} --kind judge"
        print(f"A job now judges all runs by this version. To follow it: {again}", file=sys.stderr)


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the judgments; - is standard input")
    parser.add_argument("--columns", choices=get_args(Columns), help="the layout (default: guessed from the lines)")
    parser.add_argument("--iprob", metavar="FILE", help="the probabilities of intents: topic, intent, probability")
    parser.add_argument("--draft", action="store_true", help="do not publish it yet")
    parser.add_argument("--pool", metavar="JOB", help="warn how the judgments differ from the pool that this job made")


def _version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("version", metavar="VERSION", type=whole_number, help="its number")


def _what_and_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("version", metavar="VERSION", type=whole_number, nargs="?", help="(default: the published one)")
    parser.add_argument("--output", metavar="FILE", help="the file to write (default: standard output)")


def _compared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--against", metavar="VERSION", type=whole_number, help="(default: the published one)")
    parser.add_argument("--alpha", type=number, help="significance level (default: 0.05)")


_ABOUT = together(judgments_option, collection_option, server_options)

COMMAND = Group(
    "qrels",
    __doc__,
    [
        Command(
            "put",
            "upload judgments",
            _put,
            together(_file, _ABOUT),
            [
                Example("gainboard qrels put qrels.txt -c web"),
                Example("gainboard qrels put qrels.txt -c web --draft"),
                Example("gainboard qrels put qrels.txt -c web --judgments second", "of a second assessor"),
                Example("gainboard qrels put intents.txt -c diversity --iprob iprob.txt", "by intent (subtopic)"),
            ],
        ),
        Command(
            "list",
            "list the versions",
            _list,
            together(format_option, _ABOUT),
            [Example("gainboard qrels list -c web")],
        ),
        Command(
            "get",
            "read a version",
            _get,
            together(_what_and_where, _ABOUT),
            [Example("gainboard qrels get -c web"), Example("gainboard qrels get 1 -c web --output qrels-1.txt")],
        ),
        Command("publish", "publish a version", _publish, together(_version, _ABOUT)),
        Command("discard", "discard a draft", _discard, together(_version, _ABOUT)),
        Command(
            "impact",
            "show what a version changes",
            _impact,
            together(_version, _compared, metric_option, run_option, parameter_default_options, format_option, _ABOUT),
            [Example("gainboard qrels impact 2 -c web -m Q", "before version 2 is published")],
        ),
    ],
)
