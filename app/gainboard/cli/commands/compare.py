"""Compare run files topic by topic, without a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Final

from gainboard.cli.command import Argument, Example, Misuse, Option, command, refuse
from gainboard.cli.compared_files import FORMS, ComparedFiles
from gainboard.cli.files import RUN_FILES, Reading, expand_folders, open_counted, short_names, unpacked
from gainboard.cli.loading import ScoreFiles
from gainboard.cli.options import STANDARD_INPUT
from gainboard.cli.parallel import PlainCount
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import FilesToScore, ScoredFile, ScoredFiles, score_files
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.boards.pair_statistics import compare_pairs, pair_up
from gainboard.evaluation.scoring.score_files import as_file_scores
from gainboard.metrics import Scale
from gainboard.notation.sources import run_name
from gainboard.notation.texts import read_number
from gainboard.trec import RunReader

MOST_SHOWN: Final = 10
"""The most runs that a message lists."""


@dataclass(frozen=True, kw_only=True)
class FilesToCompare(FilesToScore):
    """Runs and judgments, or scores that were computed elsewhere: then arguments are systems."""

    qrels: Annotated[
        str,
        Argument("judgments; - is standard input; with --scores, a system"),
        Option("judgments; all arguments are then runs", metavar="QRELS"),
    ] = ""
    runs: Annotated[
        Sequence[str],
        Argument("run files or folders of them; with --scores, systems", metavar="RUN_FILE"),
        RUN_FILES,
    ] = ()
    of_scores: ScoreFiles

    def score_systems(self, baselines: Sequence[str]) -> ScoredFiles:
        """Return the scores of the systems that are named, or of all. Raise BadSetting for options about judgments."""
        if self.parameters or self.names != "gainboard" or self.reading != Reading():
            raise BadSetting("Scores were computed already. Leave out parameters of metrics, and how files are read.")
        systems, files = [name for name in (self.qrels, *self.runs) if name], self.of_scores
        options = {"direction": files.direction, "missing": files.missing}
        systems = [*systems, *baselines] if systems else []
        table = as_file_scores(files.read(), self.metrics, systems=systems, **options)
        if unknown := [name for name in baselines if name not in table.runs]:
            raise BadSetting(f"--baseline {unknown[0]} is no system of these scores. Use one of its names.")
        runs = [
            ScoredFile(name, (), int(missing), scores, means)
            for name, missing, scores, means in zip(
                table.runs, table.scores.arrays.topics_missing, table.by_topic, table.means, strict=True
            )
        ]
        for note in () if self.quiet else table.notes:
            print(f"note: {note}", file=sys.stderr)
        return ScoredFiles(
            **{field.name: getattr(table.scores, field.name) for field in fields(table.scores)},
            qrels=" ".join(files.scores),
            scale=Scale(1, 1000, False),
            runs=runs,
            files=table.runs,
            refused={},
            per_topic=self.per_topic,
        )


def _read_margin(text: str) -> float:
    try:
        margin = read_number(text)
    except ValueError:
        margin = 0
    if margin <= 0:
        refuse(f"{text!r} is not a margin. Use a number above 0, such as 0.02")
    return margin


@command(
    __doc__,
    Example("gainboard compare qrels.txt run.txt runs/civet.txt", "two runs"),
    Example("gainboard compare qrels.txt runs/* --baseline run.txt -m nDCG@10", "all runs with one baseline"),
    Example("gainboard compare qrels.txt runs --baseline civet -m nDCG@10", "all runs of a folder with one"),
    Example("gainboard compare qrels.txt run.txt runs/civet.txt -m AP --margin 0.02", "are they equivalent?"),
    Example("gainboard compare qrels.txt run.txt runs/civet.txt -m AP -q", "also the difference on each topic"),
    Example("gainboard compare qrels.txt runs/* --baseline run.txt -f json > compared.json"),
    Example("gainboard compare bm25 splade --scores accuracy.csv", "two systems, by scores from elsewhere"),
)
def compare(
    files: FilesToCompare,
    *,
    baselines: Annotated[
        Sequence[str],
        Option(
            "a run with which the others are compared: its file, its printed name or its tag; may be repeated",
            "--baseline",
            metavar="RUN",
        ),
    ] = (),
    margin: Annotated[
        float | None,
        Option(
            "also ask whether runs are equivalent (TOST): the largest mean difference that does not matter",
            metavar="DIFFERENCE",
            read=_read_margin,
        ),
    ] = None,
    format: Annotated[str, Option("the format (default: table)", "-f", "--format", choices=FORMS)] = "table",
) -> int:
    """Compare two run files, or run files with baselines, by a qrels file. The numbers are those of the service.

    Levels are corrected for exactly these pairs, under each metric. The topics that decide are printed on standard
    error. If a file has faults, its pairs are left out, and the exit code is 1.
    """
    scored: ScoredFiles | None = None
    if files.of_scores.scores:
        scored = files.score_systems(baselines)
        kept, others = list(baselines), [name for name in scored.names if name not in baselines]
    elif not (files.qrels and files.runs):
        raise Misuse("the following arguments are required: QRELS, RUN_FILE; or --scores FILE")
    else:
        runs = expand_folders(files.runs, files.qrels)
        kept = list(dict.fromkeys(_find_baseline(name, runs) for name in baselines))
        others = [file for file in dict.fromkeys(runs) if file not in kept]
    if not (kept and others) and len(others) != 2:
        raise BadSetting(
            f"Two different {'systems' if files.of_scores.scores else 'run files'} can be compared, but the number of "
            f"{'systems' if files.of_scores.scores else 'files'} is {len(others)}. Name two, or say with which run the "
            "others are compared: --baseline RUN."
        )
    scored = scored or score_files(files, [*others, *kept])
    if scored is None:
        return 1
    # Files with faults make no pairs.
    is_alone, kept = not kept, [file for file in kept if file in scored.files]
    pairs = pair_up(scored.files, kept) if kept or (is_alone and len(scored.files) == 2) else []
    if not pairs:
        return 1
    compared = ComparedFiles(scored, list(compare_pairs(scored, pairs, margin)), margin, is_quiet=files.quiet)
    for remark in compared.remarks():
        print(f"note: {remark}", file=sys.stderr)
    sys.stdout.writelines(FORMS[format](compared, has_colours(sys.stdout)))
    return 1 if scored.refused else 0


def _find_baseline(name: str, files: Sequence[str]) -> str:
    """Return the file of a baseline: a run file, a run by its printed name or without a suffix, or by its tag.

    Raise BadSetting if there is none, or several. It is asked before any file is read as a whole.
    """
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
