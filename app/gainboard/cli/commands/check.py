"""Check run and qrels files, with or without a server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.files import FileReader, expand_folders, limits_here, reading_options, total_size
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import require_one_input
from gainboard.cli.parallel import Count, PlainCount, choose_processes, process_files
from gainboard.cli.printing import COLLECTION_HINTS, FILE_HINTS, fault_lines, list_faults, print_utf8
from gainboard.cli.scored_files import check_topics
from gainboard.errors import Fault, GainboardError, NameRequired
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import RunFile, no_declared_topics, topic_warnings
from gainboard.notation.remarks import warning_lines
from gainboard.notation.texts import name_from_tag
from gainboard.trec import FileWarning, QrelsFile
from gainboard.vocabulary import RunOrder


@dataclass(frozen=True)
class CheckedFile:
    """The findings about a file; `facts` are what the file holds, if it can be read."""

    file: str
    kind: str
    warnings: Sequence[FileWarning] = ()
    faults: Sequence[Fault] = ()
    faults_total: int = 0
    total_is_minimum: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def refused(self, error: GainboardError) -> CheckedFile:
        """Return the same file, refused."""
        faults, total, is_minimum = list_faults(error)
        return replace(self, faults=faults, faults_total=total, total_is_minimum=is_minimum)

    def lines(self, hints: Mapping[str, str]) -> Iterator[str]:
        """Yield the findings with hints by the codes of faults, then a line about the whole file."""
        yield from fault_lines(self.file, self.faults, self.faults_total, self.total_is_minimum, hints)
        yield from warning_lines(self.file, self.warnings)
        facts = ", ".join(
            f"{name.replace('_', ' ')} {_format_fact(value)}" for name, value in self.facts.items() if value is not None
        )
        yield f"{self.file}: {'faulty' if self.faults_total else 'fine'}: {self.kind}" + (f", {facts}" if facts else "")

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            **self.facts,
            "warnings": [warning.as_json() for warning in self.warnings],
            "errors": [fault.as_json() for fault in self.faults],
            "errors_total": self.faults_total,
            **({"errors_total_is_minimum": True} if self.total_is_minimum else {}),
        }


@dataclass(frozen=True)
class Declared:
    """The topics that a collection declares; none if it declares none."""

    collection: str
    topics: frozenset[str]

    def warnings(self, file: RunFile) -> list[FileWarning]:
        """Return the service's warnings about the topics of a run. Raise FaultyFile if it has no declared topic."""
        own = set(file.topics)
        if self.topics.isdisjoint(own) and self.topics:
            raise no_declared_topics(file.topics[0], self.collection, self.topics)
        missing, unknown = len(self.topics - own), len(own - self.topics) if self.topics else 0
        return topic_warnings(unknown, missing, "collection")


@dataclass(frozen=True)
class RunChecking:
    """The task of checking a run, for `process_files`."""

    reading: FileReader
    qrels: str | None
    index: QrelsIndex | None
    declared: Declared | None

    def __call__(self, name: str, count: Count) -> CheckedFile:
        checked = CheckedFile(name, "run")
        try:
            file = self.reading.run(name, self.index, count)
            checked = replace(
                checked, warnings=[*file.warnings, *_warnings_about_name(file.tag)], facts=_facts_of_run(file)
            )
            if self.qrels is not None and self.index is not None:
                about = check_topics(file, self.index, self.qrels)
                checked = replace(checked, warnings=[*checked.warnings, *about])
            if self.declared is not None:
                checked = replace(checked, warnings=[*checked.warnings, *self.declared.warnings(file)])
        except GainboardError as error:
            return checked.refused(error)
        return checked


def _check(parsed: argparse.Namespace) -> int:
    """Check run and qrels files as the service does at an upload. Print every fault with its line, its code and what to
    write instead, every warning, and what each file holds. With --qrels, also compare runs with the judgments.

    With -c or GAINBOARD_COLLECTION, ask the server for the collection. Then compare runs with its declared topics, and
    read files with its levels, depth and order instead of those of the options. Otherwise, no server is needed.

    The exit code is 0 if the service would accept all files, else 1.
    """
    if not parsed.runs and parsed.qrels is None:
        parsed.misused(
            "There is nothing to check. Name run files, or qrels with --qrels: gainboard check run.txt --qrels "
            "qrels.txt"
        )
    parsed.runs = expand_folders(parsed.runs, parsed.qrels)
    require_one_input([*parsed.runs, *(each for each in (parsed.qrels, parsed.iprob) if each)])
    reading, declared = FileReader.of(parsed, limits_here()), None
    if parsed.collection or os.environ.get("GAINBOARD_COLLECTION"):
        reading, declared = _as_the_collection(parsed, reading)
    found = _check_files(parsed, reading, declared)
    if parsed.json:
        print_utf8()
        print(json.dumps([each.as_json() for each in found], indent=2, ensure_ascii=False))
    else:
        hints = COLLECTION_HINTS if declared else FILE_HINTS
        print("\n".join(line for each in found for line in each.lines(hints)))
    return 1 if any(each.faults_total for each in found) else 0


def _as_the_collection(parsed: argparse.Namespace, reading: FileReader) -> tuple[FileReader, Declared]:
    """Return the reader with the settings of the collection on the server, and the collection's topics."""
    with connect_server(parsed) as server:
        shown = server.gainboard.collection(server.collection)
    if shown.topics is None:
        print(f"note: {shown.name} declares no topics, so those of the runs were not compared", file=sys.stderr)
    order = RunOrder(shown.order_by, shown.ignore_identical_ids)
    reading = replace(reading, levels=shown.levels, depth=shown.depth, order=order, intents=shown.intents)
    return reading, Declared(shown.name, frozenset(shown.topics or ()))


def _check_files(parsed: argparse.Namespace, reading: FileReader, declared: Declared | None) -> list[CheckedFile]:
    index, found = None, []
    if parsed.qrels is not None:
        index, about = _check_qrels(reading, parsed.qrels)
        found.append(about)
    work, size = RunChecking(reading, parsed.qrels, index, declared), total_size(parsed.runs)
    return found + process_files(
        work, parsed.runs, label="checking", size=size, processes=choose_processes(parsed.runs, size)
    )


def _check_qrels(reading: FileReader, name: str) -> tuple[QrelsIndex | None, CheckedFile]:
    checked = CheckedFile(name, "qrels")
    try:
        file = reading.qrels(name, PlainCount())
    except GainboardError as error:
        return None, checked.refused(error)
    return reading.index(file), replace(checked, warnings=file.warnings, facts=_facts_of_qrels(file))


def _facts_of_run(file: RunFile) -> dict[str, Any]:
    facts: dict[str, Any] = {"tag": file.tag or "none", "topics": len(file.topics), "retrieved": file.retrieved}
    if file.joined is None:
        return facts
    judgeable = int(file.joined.run.retrieved.sum())
    return facts | {"unjudged_share": file.joined.unjudged / judgeable if judgeable else None}


def _facts_of_qrels(file: QrelsFile) -> dict[str, Any]:
    levels = file.judgments.count_levels()
    per_level = {str(level): levels[level] for level in sorted(levels)}
    return {"columns": file.columns, "topics": len(file.judgments), "judged": levels.total(), "per_level": per_level}


def _warnings_about_name(tag: str) -> list[FileWarning]:
    """Return the service's warning for a run whose tag cannot be its name, unless a name is given."""
    try:
        name_from_tag(tag)
    except NameRequired as error:
        return [FileWarning(error.slug, error.message)]
    return []


def _format_fact(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}:{_format_fact(number)}" for key, number in value.items())
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        metavar="RUN_FILE",
        nargs="*",
        help="run files, plain, .gz or .zst, or folders; - is standard input",
    )
    parser.add_argument("--qrels", metavar="QRELS", help="judgments, which are checked as well")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(misused=parser.error)


COMMAND = Command(
    "check",
    __doc__,
    _check,
    together(_options, collection_option, reading_options, server_options),
    [
        Example("gainboard check run.txt"),
        Example("gainboard check runs/* --qrels qrels.txt", "and how many of their documents are judged"),
        Example("gainboard check --qrels qrels.txt --levels B,A,S", "only qrels, whose levels have names"),
        Example("gainboard check run.txt -c web", "with the settings and the declared topics of a collection"),
        Example("gainboard check --order-by rank --depth 100 - < run.txt", "with settings that you name"),
    ],
)
