"""The scores of an old run that a repository carries, and the formats of a gate."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from gainboard.cli.files import open_counted, unpacked
from gainboard.cli.options import STANDARD_INPUT, readable
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import DIGITS, format_table
from gainboard.cli.scored_files import ScoredFiles
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.gates import Gate, GatedMetric
from gainboard.exhibits import Column, Marked, Table
from gainboard.exhibits.tables import as_markdown

KIND: Final = "gainboard-baseline-1"
_MOST_NAMED: Final = 5
CannotTell = Literal["pass", "fail"]


@dataclass(frozen=True)
class Baseline:
    """The scores of a run by label and topic, None where a metric is undefined; and the SHA-256 of the qrels."""

    run: str
    qrels: str
    scores: Mapping[str, Mapping[str, float | None]]

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Read a file of `write`. Raise BadSetting if it is none."""
        with readable(path):
            text = Path(path).read_bytes()
        try:
            content = json.loads(text)
            if content.pop("kind") == KIND:
                return cls(**content)
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        how = "gainboard gate qrels.txt run.txt -m nDCG@10 --write-baseline baseline.json"
        raise BadSetting(f"{path} is not a baseline. Write one: {how}")

    def write(self, path: str) -> None:
        """Write the baseline as JSON, with a line for each score. Raise BadSetting if it cannot be written."""
        content = {"kind": KIND, **vars(self)}
        with readable(path, "write"):
            Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def fit(self, path: str, scored: ScoredFiles, qrels: str) -> NDArray[np.float64]:
        """Return the scores [metrics, topics] as those of the new run are. Raise BadSetting for what has changed."""
        changes = list(_changes("metrics", self.scores, scored.labels))
        for of_topics in self.scores.values():
            changes += [change for change in _changes("topics", of_topics, scored.topics) if change not in changes]
        if not changes and self.qrels != (now := hash_of(qrels)):
            changes.append(f"judgments: the SHA-256 of {qrels} was {self.qrels[:12]}..., and is {now[:12]}...")
        if changes:
            again = "If this is wanted, write it again with --write-baseline."
            raise BadSetting(f"Since the baseline {path} was written, this has changed: {'; '.join(changes)}. {again}")
        rows = [[self.scores[label][topic] for topic in scored.topics] for label in scored.labels]
        return np.array(rows, np.float64)  # which makes None NaN


def _changes(what: str, before: Mapping[str, object], now: Sequence[str]) -> Iterator[str]:
    for verb, some in (("new", set(now) - set(before)), ("gone", set(before) - set(now))):
        if some:
            more = ", ..." if len(some) > _MOST_NAMED else ""
            yield f"{what}: {len(some)} {verb} ({', '.join(sorted(some)[:_MOST_NAMED])}{more})"


def hash_of(qrels: str) -> str:
    """Return the SHA-256 of judgments, decompressed. Raise BadSetting for standard input, which is read already."""
    if qrels == STANDARD_INPUT:
        raise BadSetting("A baseline knows its qrels by their hash, so they must be a file, and not standard input.")
    with open_counted(qrels, PlainCount()) as file:
        return sha256(b"".join(unpacked(file))).hexdigest()


def _tables(gate: Gate) -> list[Table]:
    """Return the metrics with their numbers, `worse` marked, and the topics that lost most."""
    values = gate.columns()
    values["verdict"] = [Marked(verdict) if verdict == "worse" else verdict for verdict in values["verdict"]]
    del values["resamples"]
    columns = [
        (
            Column(
                name.replace("_", " "), digits=DIGITS if isinstance(cells[0], float) else None, level="level" in name
            ),
            cells,
        )
        for name, cells in values.items()
    ]
    notes = [
        "low and high are the ends of the one-sided 95 % intervals of the mean difference. detectable is the smallest "
        "difference that these topics show (paired t-test, two-sided 0.05, power 0.8).",
        f"{gate.method[0].upper()}{gate.method[1:]}.",
        *gate.notes,
    ]
    table = Table.of_columns("gate", f"{gate.new} (new) and {gate.old} (old)", columns, mark="worse", notes=notes)
    heads = [Column(name, align="left") for name in ("metric", "topic")]
    heads += [Column(name, digits=DIGITS) for name in ("old", "new", "difference")]
    rows = [(metric.metric, *loss) for metric in gate.metrics for loss in metric.losses]
    return [table, *([Table("losses", "The topics that lost most", heads, rows)] if rows else [])]


def _text(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    yield f"{gate}\n"
    for table in _tables(gate):
        yield f"\n{table.caption}:\n{format_table(table)}"
        yield from (f"{note}\n" for note in table.notes)


def _markdown(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    head, *lines = str(gate).replace("*", r"\*").replace("_", r"\_").splitlines()
    yield "\n\n".join([f"### {head}", "\n".join(f"- {line}" for line in lines), *map(as_markdown, _tables(gate))])


def _json(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    yield json.dumps(gate.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _fails(metric: GatedMetric, cannot_tell: CannotTell | None) -> bool:
    return metric.verdict == "worse" or (metric.verdict == "cannot tell" and cannot_tell != "pass")


def _junit(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    failures = sum(_fails(metric, cannot_tell) for metric in gate.metrics)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuite name="gainboard gate" tests="{len(gate.metrics)}" failures="{failures}">\n'
    for metric in gate.metrics:
        failure = f'<failure type="{metric.verdict}" message="{escape(str(metric))}"/>'
        inner = failure if _fails(metric, cannot_tell) else f"<system-out>{escape(str(metric))}</system-out>"
        yield f'  <testcase classname="gainboard.gate" name="{escape(metric.metric)}">{inner}</testcase>\n'
    yield "</testsuite>\n"


def _github(gate: Gate, cannot_tell: CannotTell | None) -> Iterator[str]:
    """Yield annotations, and add the Markdown to the summary of the step, if there is one."""
    for metric in gate.metrics:
        text = str(metric).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        yield f"::{'error' if _fails(metric, cannot_tell) else 'notice'} title=gainboard gate::{text}\n"
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with readable(summary, "write"), Path(summary).open("a", encoding="utf-8") as file:
            file.writelines(_markdown(gate, cannot_tell))


FORMS: Mapping[str, Callable[[Gate, CannotTell | None], Iterator[str]]] = {
    "table": _text,
    "json": _json,
    "markdown": _markdown,
    "junit": _junit,
    "github": _github,
}
"""The formats of a gate, by name."""
