"""Scored run files compared in pairs, as the service compares stored runs, and the formats of comparisons."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self

from gainboard.cli.command import Argument, Option
from gainboard.cli.files import RUN_FILES, Reading, open_counted, short_names, unpacked
from gainboard.cli.loading import ScoreFiles
from gainboard.cli.options import REPLICATES, STANDARD_INPUT
from gainboard.cli.parallel import PlainCount
from gainboard.cli.printing import DIGITS, format_table
from gainboard.cli.scored_files import (
    FilesToScore,
    ScoredFile,
    ScoredFiles,
    list_refused,
    name_systems,
    named_for_paper,
)
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.scoring.score_files import as_file_scores
from gainboard.exhibits import Cell, Column, Level, Marked, Table, csv_line
from gainboard.exhibits.latex import as_latex
from gainboard.metrics import Scale
from gainboard.notation.sources import run_name
from gainboard.trec import RunReader
from gainboard.vocabulary import Resample

if TYPE_CHECKING:  # the gate starts without them, and so without the store
    from gainboard.evaluation.boards.pair_statistics import PairComparison, PairTest

_COUNTS = ("won", "lost", "tied")
_EFFECTS = ("difference", "low", "high", "effect size", "detectable")
MOST_NAMED: Final = 3
"""The most topics that a remark names."""
MOST_SHOWN: Final = 10
"""The most runs that a message lists."""
FEW, PAPER_DIGITS, LEFT_OUT = 3, 3, ("randomisation", "paired-bootstrap", "wilcoxon", "sign")
"""A table for a paper with more pairs than the first number has so many decimals, and not these tests."""


@dataclass(frozen=True, kw_only=True)
class FilesToCompare(FilesToScore):
    """Runs and judgments, or scores that were computed elsewhere: then arguments are systems."""

    qrels: Annotated[
        str,
        Argument("judgments; - is standard input; with --scores, a system"),
        Option("judgments; all arguments are then runs", metavar="QRELS"),
    ] = ""
    runs: Annotated[
        Sequence[str], Argument("run files or folders of them; with --scores, systems", metavar="RUN_FILE"), RUN_FILES
    ] = ()
    replicates: Annotated[str | None, REPLICATES] = None
    resample: Annotated[Resample, "what tests draw anew of systems with replicates (default: topics)"] = "topics"
    of_scores: ScoreFiles

    def with_systems(self) -> Self:
        """Return the same with those of --scores that are no files as systems: the option takes all that follow it."""
        given = self.of_scores.scores
        files = [name for name in given if Path(name).exists()]
        if not files or len(files) == len(given):
            return self
        first, *others = [*filter(None, (self.qrels, *self.runs)), *(name for name in given if name not in files)]
        return replace(self, qrels=first, runs=others, of_scores=replace(self.of_scores, scores=files))

    def score_systems(self, baselines: Sequence[str]) -> ScoredFiles:
        """Return the scores of the systems that are named, or of all. Raise BadSetting for options about judgments."""
        if self.parameters or self.names != "gainboard" or self.reading != Reading():
            raise BadSetting("Scores were computed already. Leave out parameters of metrics, and how files are read.")
        systems, files = [name for name in (self.qrels, *self.runs) if name], self.of_scores
        options = {"direction": files.direction, "missing": files.missing, "resample": self.resample}
        systems = [*systems, *baselines] if systems else []
        found = as_file_scores(files.read(), self.metrics, systems=systems, **options)
        if unknown := [name for name in baselines if name not in found.runs]:
            raise BadSetting(f"--baseline {unknown[0]} is no system of these scores. Use one of its names.")
        for note in () if self.quiet else found.notes:
            print(f"note: {note}", file=sys.stderr)
        table, missing = found.scores, found.scores.arrays.topics_missing.tolist()
        columns = zip(found.runs, missing, found.by_topic, found.means, strict=True)
        return ScoredFiles(
            **{field.name: getattr(table, field.name) for field in fields(table)},
            qrels=" ".join(files.scores),
            scale=Scale(1, 1000, False),
            runs=[ScoredFile(name, (), lacking, scores, means) for name, lacking, scores, means in columns],
            files=found.runs,
            refused={},
            per_topic=self.per_topic,
        )


@dataclass(frozen=True)
class ComparedFiles:
    """The pairs of scored files under each metric. `margin` is None without a test of equivalence.

    `is_quiet` leaves the remarks out of all forms.
    """

    scored: ScoredFiles
    pairs: Sequence[PairComparison]
    margin: float | None
    is_quiet: bool = False

    def remarks(self) -> Iterator[str]:
        """Yield what a reader of the table should know: levels that mislead, and the topics that decide.

        With few pairs there is a remark on the topics of each, and with more one for all of them under a metric.
        """
        if self.is_quiet:
            return
        for (label, note), places in self._notes().items():
            pairs, tests = (list(dict.fromkeys(each)) for each in zip(*places, strict=True))
            which = f"{pairs[0][0]} and {pairs[0][1]}" if len(pairs) == 1 else f"{len(pairs)} pairs of runs"
            yield f"{label}, {which}, {', '.join(tests)}: {note[0].lower()}{note[1:-1]}"
        for pair in self.pairs:
            if not (own := pair.statistics):
                continue
            about = f"{pair.label}, {pair.names[0]} and {pair.names[1]}:"
            if own.equivalence and own.equivalence.asl is None:
                yield f"{about} no topic differs, so there is no test of equivalence"
            said = [f"without {_named(own.deciding)}, the difference would not be significant"] if own.deciding else []
            if own.turning:
                one = "any one of " if len(own.turning) > 1 else ""
                said.append(f"without {one}{_named(own.turning)}, the mean difference has another sign, or is 0")
            if said and len(self.pairs) <= FEW * len(self.scored.metrics):
                yield f"{about} {'; '.join(said)}"
        if len(self.pairs) > FEW * len(self.scored.metrics):
            yield from self._topics_of_many()

    def _topics_of_many(self) -> Iterator[str]:
        for label in self.scored.labels:
            own = [pair for pair in self.pairs if pair.label == label]
            deciding = [pair.statistics.deciding for pair in own if pair.statistics and pair.statistics.deciding]
            if deciding:
                often = Counter(chain.from_iterable(deciding)).most_common(MOST_NAMED)
                named = ", ".join(f"{topic} (in {count})" for topic, count in often)
                yield (
                    f"{label}: {len(deciding)} of {len(own)} pairs would not differ significantly without the topics "
                    f"that contribute most; most often these are {named}"
                )

    def _notes(self) -> Mapping[tuple[str, str], list[tuple[tuple[str, str], str]]]:
        """Return the pairs of runs and tests by metric and note, so that a note is printed once for all of them."""
        places: dict[tuple[str, str], list[tuple[tuple[str, str], str]]] = {}
        for pair in self.pairs:
            for test in pair.statistics.tests if pair.statistics else ():
                if test.note:
                    places.setdefault((pair.label, test.note), []).append((pair.names, test.name))
        return places


def _named(topics: Sequence[str]) -> str:
    more = f" and {len(topics) - MOST_NAMED} more" if len(topics) > MOST_NAMED else ""
    return f"topic {topics[0]}" if len(topics) == 1 else f"topics {', '.join(topics[:MOST_NAMED])}{more}"


def make_table(found: ComparedFiles) -> Table:
    """Make a table with one row for each pair and metric. Significant levels are marked."""
    tests = [test.name for test in (found.pairs[0].statistics.tests if found.pairs[0].statistics else ())]
    numbers = [*_EFFECTS, *tests, "Holm", "BH", "max-T"]
    if found.margin is not None:
        numbers += ["TOST", "TOST, Holm"]
    columns = [Column(name, align="left") for name in ("metric", "run", "baseline")]
    columns += [Column(name, digits=DIGITS, level=name not in _EFFECTS) for name in numbers]
    columns += map(Column, _COUNTS)
    notes = [
        "low and high are the ends of the 95 % interval of the mean difference. detectable is the smallest difference "
        "that these topics show (paired t-test, power 0.8, 0.05 divided by the number of pairs).",
        "Holm and BH are corrected levels of the t-test, and max-T that of the paired bootstrap. BH, of Benjamini and "
        "Hochberg, controls the false discovery rate, the others any false discovery. The level of "
        "bootstrap-range is about all these runs together.",
        *(f"{remark}." for remark in found.remarks()),
    ]
    caption = f"Differences of mean scores and their levels, by {found.scored.qrels}"
    rows = [_row(pair, len(numbers)) for pair in found.pairs]
    return Table("comparison", caption, columns, rows, mark="a corrected level below 0.05", notes=notes)


def _row(pair: PairComparison, width: int) -> list[Cell]:
    numbers: list[Cell] = [None] * width
    if own := pair.statistics:
        numbers = [own.difference, own.low, own.high, own.effect_size, own.detectable, *map(_level, own.tests)]
        holm = own.corrected("holm")
        numbers += [Marked(holm) if pair.is_significant else holm]
        numbers += [own.corrected("benjamini-hochberg"), own.corrected("max-t")]
        if same := own.equivalence:
            numbers += [same.asl, Marked(same.asl_holm) if same.holds else same.asl_holm]
    return [pair.label, *pair.names, *numbers, pair.won, pair.lost, pair.tied]


def _level(test: PairTest) -> Level | None:
    return Level(test.asl, test.resamples) if test.asl is not None else None


def make_topics_table(found: ComparedFiles) -> Table:
    """Make a table with one row for each pair, metric and topic, the largest difference first."""
    columns = [Column(name, align="left") for name in ("metric", "run", "baseline", "topic")]
    columns += [Column(name, digits=DIGITS) for name in ("a", "b", "difference")]
    rows: list[list[Cell]] = [[pair.label, *pair.names, *topic] for pair in found.pairs for topic in pair.topics]
    return Table("differences", f"Differences by topic, by {found.scored.qrels}", columns, rows)


def _tables(found: ComparedFiles) -> list[Table]:
    return [make_table(found), *([make_topics_table(found)] if found.scored.per_topic else [])]


def _text(found: ComparedFiles, weights: bool) -> Iterable[str]:
    return ["\n".join(format_table(table, weights=weights) for table in _tables(found))]


def _latex(found: ComparedFiles, weights: bool) -> Iterable[str]:
    scored = named_for_paper(found.scored)
    shown = dict(zip(found.scored.names, scored.names, strict=True))
    pairs = [replace(pair, names=(shown[pair.names[0]], shown[pair.names[1]])) for pair in found.pairs]
    return [as_latex(_for_paper(table)) for table in _tables(replace(found, scored=scored, pairs=pairs))]


def _for_paper(table: Table) -> Table:
    """Return a table of many pairs that fits on a turned page, and the same table if there are few.

    The caption has what is the same in each row. Four uncorrected tests are left out, and counts are one column.
    """
    texts = [place for place, column in enumerate(table.columns) if column.align == "left"]
    said = {place: str(table.rows[0][place]) for place in texts if len({row[place] for row in table.rows}) == 1}
    if len(table.rows) <= FEW or not said or len(said) == len(texts):
        return table
    caption = "; ".join([table.caption, *(f"{table.columns[place].title} {text}" for place, text in said.items())])
    heads = {column.title: place for place, column in enumerate(table.columns)}
    counts = [heads[name] for name in _COUNTS if name in heads]
    dropped = {*said, *counts, *(heads[name] for name in LEFT_OUT if name in heads)}
    kept = [place for place in range(len(table.columns)) if place not in dropped]
    columns = [
        replace(each, title=each.title.replace("-", " "), digits=each.digits and PAPER_DIGITS)
        for each in (table.columns[place] for place in kept)
    ]
    rows: list[list[Cell]] = [[row[place] for place in kept] for row in table.rows]
    if counts:
        columns.append(Column(", ".join(_COUNTS), align="right"))
        for row, own in zip(rows, table.rows, strict=True):
            row.append("-".join(str(own[place]) for place in counts))
    return replace(table, caption=caption, columns=columns, rows=rows)


def _csv(found: ComparedFiles, weights: bool) -> Iterator[str]:
    # The columns are those of the API, whose models need Pydantic, which other commands on files do without.
    from gainboard.api.models.scores import COMPARE_COLUMNS  # noqa: PLC0415

    yield csv_line(COMPARE_COLUMNS)
    for pair in found.pairs:
        yield from (csv_line((each.topic, pair.label, *each[1:], *pair.names)) for each in pair.topics)


def _json(found: ComparedFiles, weights: bool) -> Iterable[str]:
    scored = found.scored
    answer = {
        "qrels": scored.qrels,
        "metrics": scored.labels,
        "asked": dict(scored.label_by_expression),
        "runs": [
            {"name": name, "file": file, "tag": run.tag, "topics_missing": run.topics_missing}
            for name, file, run in zip(scored.names, scored.files, scored.runs, strict=True)
        ],
        "comparisons": [pair.as_json() for pair in found.pairs],
        "faulty": list_refused(scored.refused),
    }
    return [json.dumps(answer, indent=2, ensure_ascii=False), "\n"]


FORMS: Mapping[str, Callable[[ComparedFiles, bool], Iterable[str]]] = {
    "table": _text,
    "csv": _csv,
    "json": _json,
    "latex": _latex,
}
"""The formats of comparisons, by name. The second argument says whether marked levels may be bold."""


def find_baseline(name: str, files: Sequence[str], sign: str | None) -> str:
    """Return the file of a baseline: a run file, a run by its printed name or without a suffix, or by its tag.

    With the `sign` of replicates, a system is found by its name, too: its first file. Raise BadSetting if there is
    none, or several. It is asked before any file is read as a whole.
    """
    if sign and name in (systems := name_systems(files, sign)):
        return files[systems.index(name)]
    if name in files or name == STANDARD_INPUT:
        return name
    if os.path.isfile(name):
        return next((file for file in files if os.path.isfile(file) and os.path.samefile(file, name)), name)
    shown = short_names(files)
    for names in (shown, [run_name(Path(file)) for file in files], map(_find_tag, files)):
        fitting = [file for file, shown_name in zip(files, names, strict=True) if shown_name == name]
        if len(fitting) > 1:
            raise BadSetting(
                f"--baseline {name} names {len(fitting)} runs: {', '.join(fitting)}. Name one of the files."
            )
        if fitting:
            return fitting[0]
    some = ", ".join([*shown[:MOST_SHOWN], *(["..."] if len(shown) > MOST_SHOWN else [])])
    raise BadSetting(f"--baseline {name} is no file, and the name or tag of no run. Available: {some}")


def _find_tag(name: str) -> str:
    """Return the run tag of the first line of a file; empty if it has none, or cannot be read."""
    if not os.path.isfile(name):
        return ""  # Standard input can be read only once, so its tag is not known yet.
    try:
        with open_counted(name, PlainCount()) as file:
            reader = RunReader(unpacked(file))
            reader.first_document()
            return reader.tag
    except GainboardError:
        return ""
