"""Compare run files topic by topic, without a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from gainboard.cli.command import Example, Misuse, Option, command, refuse
from gainboard.cli.compared_files import FORMS, ComparedFiles, FilesToCompare, find_baseline
from gainboard.cli.files import expand_folders
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import ScoredFiles, name_systems, score_files
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.pair_statistics import compare_pairs, pair_up
from gainboard.notation.texts import read_number


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
    systems = dict[str, str]()
    files = files.with_systems()
    if files.of_scores.scores:
        scored = files.score_systems(baselines)
        kept, others = list(baselines), [name for name in scored.names if name not in baselines]
    elif not (files.qrels and files.runs):
        raise Misuse("the following arguments are required: QRELS, RUN_FILE; or --scores FILE")
    else:
        runs = expand_folders(files.runs, files.qrels)
        found = [find_baseline(name, runs, files.replicates) for name in baselines]
        every = list(dict.fromkeys([*runs, *found]))
        systems = dict(zip(every, name_systems(every, files.replicates), strict=True))
        kept = [file for system in dict.fromkeys(map(systems.get, found)) for file in every if systems[file] == system]
        others = [file for file in every if file not in kept]
    if not (kept and others) and (count := len({systems.get(name, name) for name in others})) != 2:
        kind, kinds = ("systems", "systems") if files.of_scores.scores or files.replicates else ("run files", "files")
        raise BadSetting(
            f"Two different {kind} can be compared, but the number of {kinds} is {count}. Name two, or say with "
            "which run the others are compared: --baseline RUN."
        )
    scored = scored or score_files(files, [*others, *kept])
    if scored is None:
        return 1
    # Files with faults make no pairs, and without them names may be shorter.
    systems = dict(zip(scored.files, name_systems(scored.files, files.replicates), strict=True))
    is_alone, kept = not kept, list(dict.fromkeys(systems[file] for file in kept if file in systems))
    scored = scored.by_system(files.replicates, files.resample)
    pairs = pair_up(scored.files, kept) if kept or (is_alone and len(scored.files) == 2) else []
    if not pairs:
        return 1
    compared = ComparedFiles(scored, list(compare_pairs(scored, pairs, margin)), margin, is_quiet=files.quiet)
    for remark in compared.remarks():
        print(f"note: {remark}", file=sys.stderr)
    sys.stdout.writelines(FORMS[format](compared, has_colours(sys.stdout)))
    return 1 if scored.refused else 0
