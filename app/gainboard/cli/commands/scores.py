"""Score the stored runs of a collection."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from gainboard.cli.command import Example, Option, command
from gainboard.cli.loading import CampaignOrFiles
from gainboard.cli.options import Metrics, PerTopic, RunNames
from gainboard.cli.printing import (
    DIGITS,
    by_judgments,
    format_table,
    mark_best,
    print_json,
    printable,
    table_beside,
    tell_of_judgments,
    tell_of_unbound,
)
from gainboard.cli.progress import has_colours
from gainboard.errors import BadSetting
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.latex import as_latex
from gainboard.notation.queries import NumbersOptions
from gainboard.notation.texts import order_topics, why_left_out

if TYPE_CHECKING:
    from gainboard.client.answers import Scores


@command(
    __doc__,
    Example("gainboard scores -c web -m Q -m nDCG@10", "all runs that you may see"),
    Example("gainboard scores -c web -m 'Q(beta=10)' --gains 10:5:1 --run tag -q -f csv", "each topic of one run"),
    Example("gainboard scores -c web -m AP --bounds", "what unjudged documents may change"),
    Example("gainboard scores -c web -m map -m P_10 -q -f trec_eval", "in the format of trec_eval -q"),
)
def scores(
    at: CampaignOrFiles,
    *,
    metrics: Metrics = (),
    run_names: RunNames = (),
    topics: Annotated[
        str | None, Option("a topic group: scores over its topics alone (default: all)", metavar="GROUP")
    ] = None,
    per_topic: PerTopic = False,
    format: Annotated[
        Literal["table", "csv", "json", "trec_eval", "latex"], Option("the format (default: table)", "-f", "--format")
    ] = "table",
    **query: Unpack[NumbersOptions],
) -> None:
    """Score stored runs under any parameters. `gainboard score` does the same with files.

    Topics left out of a mean are printed on standard error, and are part of the JSON.
    """
    if per_topic and format in ("table", "latex") and (query.get("bounds") or query.get("cwl")):
        raise BadSetting("A table with --bounds or --cwl has means alone. Leave out -q, or use -f json.")
    chosen = topics or per_topic
    with at.connect() as gainboard:
        query["qrels"] = at.version
        if format == "trec_eval":
            for run in run_names or [run.name for run in gainboard.runs(at.collection, late=query.get("late"))]:
                text = gainboard.scores_text(at.collection, metrics, format=format, runs=run, topics=chosen, **query)
                print(text, end="", flush=True)
            return
        if format == "csv":
            print(gainboard.scores_text(at.collection, metrics, runs=run_names, topics=chosen, **query), end="")
            return
        answer = gainboard.scores(at.collection, metrics, runs=run_names, topics=chosen, **query)
        declared = gainboard.collection(at.collection).topics if chosen and format != "json" else None
        if format == "json":
            print_json(answer.to_dict())
            return
        for remark in _remarks(answer):
            print(f"note: {printable(remark)}", file=sys.stderr)
        tell_of_judgments(answer, are_files=bool(at.runs))
        if query.get("bounds"):
            tell_of_unbound(answer.metrics, answer.runs)
        table = _table(answer, declared, "" if at.runs else by_judgments(answer))
        print(as_latex(table) if format == "latex" else format_table(table, weights=has_colours(sys.stdout)), end="")


def _table(answer: Scores, declared: Sequence[str] | None, by: str) -> Table:
    if any(run.numbers for run in answer.runs):
        return table_beside([run.name for run in answer.runs], [run.numbers for run in answer.runs])
    digits = DIGITS if answer.decimals is None else answer.decimals
    is_by_topic = any(run.topics for run in answer.runs)
    texts = [Column("run", align="left"), *([Column("topic", align="left")] if is_by_topic else [])]
    columns = [*texts, *(Column(label, digits=digits) for label in answer.metrics)]
    means = mark_best([[run.mean[label] for run in answer.runs] for label in answer.metrics])
    rows: list[list[Cell]] = []
    for run, mean in zip(answer.runs, means, strict=True):
        topics = run.topics or {}
        names = answer.topic_names() if topics else []
        in_order = [names[index] for index in order_topics(names, declared)]
        rows += [[run.name, topic, *(topics[label][topic] for label in answer.metrics)] for topic in in_order]
        rows.append([run.name, *(["all"] if is_by_topic else []), *mean])
    caption = ", ".join(filter(None, (f"Scores in {answer.collection}", by)))
    mark = "the highest mean under a metric" if len(answer.runs) > 1 else ""
    return Table("scores", caption, columns, rows, mark=mark, notes=[f"{remark}." for remark in _remarks(answer)])


def _remarks(answer: Scores) -> Iterator[str]:
    yield from (note.removesuffix(".") for note in answer.notes)
    left_out: dict[tuple[str, ...], list[str]] = {}
    for label, topics in (answer.topics_undefined or {}).items():
        if topics:
            left_out.setdefault(tuple(topics), []).append(label)
    for names, labels in left_out.items():
        are_uploaded = all(label.startswith("custom:") for label in labels)
        why = "because the upload has no scores on them" if are_uploaded else why_left_out(labels)
        are = "topic is" if len(names) == 1 else "topics are"
        yield f"{len(names)} {are} left out of {', '.join(labels)}, {why}: {', '.join(names)}"
    if missing := [f"{run.name} lacks {run.topics_missing}" for run in answer.runs if run.topics_missing]:
        is_of_scores = answer.qrels_version is None and answer.topics_scored is not None
        fate = "left out of the run's mean" if is_of_scores else "that score 0"
        yield f"topics {fate} because the run lacks them: {', '.join(missing)}"
    yield from (f"{run} has no score: {why}" for run, why in answer.withheld.items())
