"""The scores of an old and a new run, from files, a server or a baseline; and the formats of their gate."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from gainboard.cli.files import open_counted, unpacked
from gainboard.cli.options import STANDARD_INPUT, readable
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import DIGITS, format_table
from gainboard.cli.scored_files import ScoredFiles
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.gates import Gate, GatedMetric, PairedScores
from gainboard.exhibits import Cell, Column, Marked, Table
from gainboard.exhibits.tables import as_markdown

if TYPE_CHECKING:
    from gainboard.client.answers import Comparison

Floats = NDArray[np.float64]
CannotTell = Literal["pass", "fail"]
KIND: Final = "gainboard-baseline"
VERSION: Final = 1
_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class Baseline:
    """The scores of a run that a repository carries: float64 [metrics, topics], NaN where a metric is undefined."""

    run: str
    qrels: str
    """The SHA-256 of the qrels, decompressed."""
    labels: Sequence[str]
    topics: Sequence[str]
    scores: Floats

    @classmethod
    def of(cls, scored: ScoredFiles, qrels: str) -> Baseline:
        """Return the scores of the only run of some files."""
        return cls(scored.names[0], hash_of(qrels), scored.labels, scored.topics, scored.by_topic[:, 0])

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Read a file of `write`. Raise BadSetting if it is none."""
        try:
            with readable(path):
                content = json.loads(Path(path).read_bytes())
            if (content["kind"], content["version"]) != (KIND, VERSION):
                raise ValueError
            labels, topics = list(content["scores"]), list(content["topics"])
            rows = [[np.nan if value is None else float(value) for value in row] for row in content["scores"].values()]
            scores = np.array(rows, np.float64).reshape(len(labels), len(topics))
            return cls(str(content["run"]), str(content["qrels_sha256"]), labels, topics, scores)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            how = "gainboard gate qrels.txt run.txt -m nDCG@10 --write-baseline baseline.json"
            raise BadSetting(f"{path} is not a baseline. Write one: {how}") from error

    def write(self, path: str) -> None:
        """Write the baseline as JSON with a line for each metric. Raise BadSetting if it cannot be written."""
        values = {"kind": KIND, "version": VERSION, "run": self.run, "qrels_sha256": self.qrels, "topics": self.topics}
        members = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
        rows = [[None if np.isnan(value) else value for value in row] for row in self.scores.tolist()]
        scores = [f"{json.dumps(label)}: {json.dumps(row)}" for label, row in zip(self.labels, rows, strict=True)]
        lines = ",\n    ".join(scores)
        members.append(f'"scores": {{\n    {lines}\n  }}')
        with readable(path, "write"):
            Path(path).write_text("{\n  " + ",\n  ".join(members) + "\n}\n", encoding="utf-8")

    def fit(self, path: str, scored: ScoredFiles, qrels: str) -> Floats:
        """Return the scores in the order of the new run's metrics and topics. Raise BadSetting for what has changed."""
        changes = [
            *_changes("topics of the qrels", self.topics, scored.topics),
            *_changes("metrics", self.labels, scored.labels),
        ]
        if not changes and self.qrels != (now := hash_of(qrels)):
            changes.append(f"judgments: the SHA-256 of {qrels} was {self.qrels[:12]}..., and is {now[:12]}...")
        if changes:
            again = "Write it again if this is wanted: gainboard gate ... --write-baseline"
            raise BadSetting(
                f"The baseline {path} does not fit. Changed since it was written: {'; '.join(changes)}. {again}"
            )
        rows = [self.labels.index(label) for label in scored.labels]
        columns = [self.topics.index(topic) for topic in scored.topics]
        return self.scores[np.ix_(rows, columns)]


def _changes(what: str, before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    for verb, some in (("are new", set(now) - set(before)), ("are gone", set(before) - set(now))):
        if some:
            named, more = sorted(some)[:_MOST_NAMED], len(some) - _MOST_NAMED
            yield f"{what}: {len(some)} {verb} ({', '.join(named)}{f' and {more} more' if more > 0 else ''})"


def hash_of(qrels: str) -> str:
    """Return the SHA-256 of the judgments, decompressed. Raise BadSetting for standard input, which is read already."""
    if qrels == STANDARD_INPUT:
        raise BadSetting("A baseline names its qrels by their hash, so they must be a file, and not standard input.")
    hashed = sha256()
    with open_counted(qrels, PlainCount()) as file:
        for chunk in unpacked(file):
            hashed.update(chunk)
    return hashed.hexdigest()


def pairs_of(compared: Comparison) -> list[PairedScores]:
    """Return the scores of a server's comparison of the new run, its first, with the old one."""
    pairs = []
    for pair in compared.comparisons:
        rows = sorted((row.topic, row.b, row.a) for row in pair.topics)
        rows += [(topic, np.nan, np.nan) for topic in pair.topics_undefined]
        topics, old, new = zip(*rows, strict=True)
        pairs.append(PairedScores(pair.metric, topics, np.array(old), np.array(new)))
    return pairs


def gate_table(gate: Gate) -> Table:
    """Make a table with one row for each metric. The verdict `worse` is marked."""
    levels, shown = ("level, worse", "level, not worse"), ("topics that tell",)
    numbers = (gate.old, gate.new, "difference", "low", "high", "margin", "detectable")
    numbers = numbers if gate.old != gate.new else ("old", "new", *numbers[2:])
    columns = [Column("metric", align="left"), Column("verdict", align="left")]
    columns += [Column(name, digits=DIGITS) for name in numbers]
    columns += [Column(name, digits=DIGITS, level=True) for name in levels]
    columns += [Column("topics"), *map(Column, shown)]
    rows: list[list[Cell]] = []
    for metric in gate.metrics:
        verdict: Cell = Marked(metric.verdict) if metric.verdict == "worse" else metric.verdict
        means = [metric.old, metric.new, metric.difference, metric.low, metric.high, metric.margin, metric.detectable]
        tests = [metric.level_worse, metric.level_not_worse, metric.topics, metric.topics_needed]
        rows.append([metric.metric, verdict, *means, *tests])
    notes = [
        "low and high are the ends of the one-sided 95 % intervals of the mean difference.",
        "detectable is the smallest difference that these topics show (paired t-test, two-sided 0.05, power 0.8).",
        f"{gate.method}.",
        *gate.notes,
    ]
    return Table("gate", f"{gate.new} beside {gate.old}", columns, rows, mark="worse", notes=notes)


def _losses(gate: Gate) -> Iterator[Table]:
    for number, metric in enumerate(gate.metrics, start=1):
        if metric.losses:
            columns = [
                Column("topic", align="left"),
                *(Column(name, digits=DIGITS) for name in ("old", "new", "change")),
            ]
            yield Table(f"losses-{number}", f"The topics that lost most under {metric.metric}", columns, metric.losses)


def _text(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    table = gate_table(gate)
    yield f"{gate}\n\n{format_table(table)}"
    for losses in _losses(gate):
        yield f"\n{losses.caption}:\n{format_table(losses)}"
    yield f"\n{gate.method}\n"


def _markdown(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    yield f"### {gate.verdict.capitalize()}\n\n"
    yield "".join(f"- {line}\n" for line in _escaped_lines(gate)) + "\n"
    yield "\n".join(map(as_markdown, [gate_table(gate), *_losses(gate)]))


def _escaped_lines(gate: Gate) -> list[str]:
    return [escape(line).replace("|", "\\|").replace("*", "\\*") for line in str(gate).splitlines()]


def _json(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    yield json.dumps(gate.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _junit(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    fails = [metric for metric in gate.metrics if _severity(metric, cannot_tell) == "error"]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuite name="gainboard gate" tests="{len(gate.metrics)}" failures="{len(fails)}">\n'
    for metric in gate.metrics:
        yield f'  <testcase classname="gainboard.gate" name={quoteattr(metric.metric)}>'
        if metric in fails:
            yield f"<failure type={quoteattr(metric.verdict)} message={quoteattr(str(metric))}/>"
        yield f"<system-out>{escape(str(metric))}</system-out></testcase>\n"
    yield "</testsuite>\n"


def _severity(metric: GatedMetric, cannot_tell: CannotTell | None) -> Literal["error", "notice"]:
    passes = metric.verdict == "not worse" or (metric.verdict == "cannot tell" and cannot_tell == "pass")
    return "notice" if passes else "error"


def _github(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    """Yield annotations, and add the Markdown to the summary of the step, if there is one."""
    for metric in gate.metrics:
        title = _command_text(metric.metric).replace(":", "%3A").replace(",", "%2C")
        yield f"::{_severity(metric, cannot_tell)} title={title}::{_command_text(str(metric))}\n"
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with readable(summary, "write"), Path(summary).open("a", encoding="utf-8") as file:
            file.writelines(_markdown(gate, cannot_tell))


def _command_text(text: str) -> str:
    """Return text for a workflow command, which ends at its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


FORMS: Mapping[str, Callable[[Gate, CannotTell | None], Iterable[str]]] = {
    "table": _text,
    "json": _json,
    "markdown": _markdown,
    "junit": _junit,
    "github": _github,
}
"""The formats of a gate, by name."""
