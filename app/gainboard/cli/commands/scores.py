"""Score the stored runs of a collection."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gainboard.cli.connecting import CalledServer, collection_option, connect_server, server_options
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import (
    late_option,
    metric_option,
    names_option,
    parameter_default_options,
    qrels_option,
    read_metrics,
    read_parameters,
    run_option,
    score_output_options,
    topics_option,
)
from gainboard.cli.printing import (
    DIGITS,
    format_table,
    mark_best,
    print_json,
    printable,
    tell_of_topics,
    tell_of_version,
)
from gainboard.cli.progress import has_colours
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.latex import as_latex
from gainboard.notation.remarks import why_left_out

if TYPE_CHECKING:
    from gainboard.client.answers import Scores

FORMATS = ("table", "csv", "json", "trec_eval", "latex")


def _scores(parsed: argparse.Namespace) -> int:
    """Score stored runs under any parameters. `gainboard score` does the same with files.

    Topics left out of a mean are printed on standard error, and are part of the JSON.
    """
    with connect_server(parsed) as server:
        if parsed.format == "trec_eval":
            return _trec_eval(server, parsed)
        options = {
            "runs": parsed.runs,
            "topics": _topics(parsed),
            "judgments": parsed.judgments,
            "qrels": parsed.qrels,
            **_asked(parsed),
        }
        if parsed.format == "csv":
            print(
                server.gainboard.scores_text(server.collection, read_metrics(parsed), format="csv", **options), end=""
            )
            return 0
        found = server.gainboard.scores(server.collection, read_metrics(parsed), **options)
    if parsed.format == "json":
        print_json(found.to_dict())
        return 0
    for remark in _remarks(found):
        print(f"note: {printable(remark)}", file=sys.stderr)
    tell_of_version(found.qrels_version)
    tell_of_topics([found.topic_group])
    table = _table(found)
    print(as_latex(table) if parsed.format == "latex" else format_table(table, weights=has_colours(sys.stdout)), end="")
    return 0


def _asked(parsed: argparse.Namespace) -> dict[str, Any]:
    return {"late": parsed.late, "names": parsed.names, **read_parameters(parsed)}


def _topics(parsed: argparse.Namespace) -> bool | str:
    return str(parsed.topics) if parsed.topics else bool(parsed.per_topic)


def _trec_eval(server: CalledServer, parsed: argparse.Namespace) -> int:
    runs = parsed.runs or [run.name for run in server.gainboard.runs(server.collection, late=parsed.late)]
    options = {"topics": _topics(parsed), "judgments": parsed.judgments, "qrels": parsed.qrels, **_asked(parsed)}
    for run in runs:
        text = server.gainboard.scores_text(
            server.collection, read_metrics(parsed), format="trec_eval", runs=run, **options
        )
        print(text, end="", flush=True)
    return 0


def _table(found: Scores) -> Table:
    digits = DIGITS if found.decimals is None else found.decimals
    is_by_topic = any(run.topics for run in found.runs)
    texts = [Column("run", align="left"), *([Column("topic", align="left")] if is_by_topic else [])]
    columns = [*texts, *(Column(label, digits=digits) for label in found.metrics)]
    means = mark_best([[run.mean[label] for run in found.runs] for label in found.metrics])
    rows: list[list[Cell]] = []
    for run, mean in zip(found.runs, means, strict=True):
        topics = run.topics or {}
        names = found.topic_names() if topics else []
        rows += [[run.name, topic, *(topics[label][topic] for label in found.metrics)] for topic in names]
        rows.append([run.name, *(["all"] if is_by_topic else []), *mean])
    version = "the qrels" if found.qrels_version is None else f"version {found.qrels_version} of the qrels"
    caption = f"Scores in {found.collection}, by {version}"
    mark = "the highest mean under a metric" if len(found.runs) > 1 else ""
    return Table("scores", caption, columns, rows, mark=mark, notes=[f"{remark}." for remark in _remarks(found)])


def _remarks(found: Scores) -> Iterator[str]:
    yield from (note.removesuffix(".") for note in found.notes)
    left_out: dict[tuple[str, ...], list[str]] = {}
    for label, topics in (found.topics_undefined or {}).items():
        if topics:
            left_out.setdefault(tuple(topics), []).append(label)
    for names, labels in left_out.items():
        are_uploaded = all(label.startswith("custom:") for label in labels)
        why = "because the upload has no scores on them" if are_uploaded else why_left_out(labels)
        yield f"{len(names)} topics are left out of {', '.join(labels)}, {why}: {', '.join(names)}"
    if missing := [f"{run.name} lacks {run.topics_missing}" for run in found.runs if run.topics_missing]:
        yield f"topics that score 0 because the run lacks them: {', '.join(missing)}"
    yield from (f"{run} has no score: {why}" for run, why in found.withheld.items())


def _form(parser: argparse.ArgumentParser) -> None:
    score_output_options(parser, FORMATS)


COMMAND = Command(
    "scores",
    __doc__,
    _scores,
    together(
        collection_option,
        metric_option,
        names_option,
        run_option,
        topics_option,
        qrels_option,
        late_option,
        _form,
        parameter_default_options,
        server_options,
    ),
    [
        Example("gainboard scores -c web -m Q -m nDCG@10", "all runs that you may see"),
        Example("gainboard scores -c web -m 'Q(beta=10)' --gains 10:5:1 --run tag -q -f csv", "each topic of one run"),
        Example("gainboard scores -c web -m map -m P_10 -q -f trec_eval", "in the format of trec_eval -q"),
    ],
)
