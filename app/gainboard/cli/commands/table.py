"""Make the table of a paper: the means of runs, and where they differ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Final

from gainboard.cli.command import Example, Option, command
from gainboard.cli.compared_files import FilesToCompare, find_baseline
from gainboard.cli.files import expand_folders
from gainboard.cli.printing import format_table
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import ScoredFiles, name_systems, named_for_paper, score_files
from gainboard.evaluation.boards.paper_tables import TESTS, MeansTable, paper_table
from gainboard.statistics.significance import Correction


def _text(table: MeansTable) -> str:
    return "\n".join([format_table(table.printed, weights=has_colours(sys.stdout)), *table.printed.notes, ""])


FORMS: Final[Mapping[str, Callable[[MeansTable], str]]] = {
    "table": _text,
    "csv": MeansTable.to_csv,
    "latex": MeansTable.to_latex,
    "markdown": MeansTable.to_markdown,
    "html": MeansTable.to_html,
}


@command(
    __doc__,
    Example('gainboard table qrels.txt run.txt runs/* -m nDCG@10 -m "AP(rel=2)" --baseline run.txt', "a baseline"),
    Example("gainboard table qrels.txt run.txt runs/* -m nDCG@10 -m AP", "with letters, as no baseline is named"),
    Example("gainboard table qrels.txt runs --baseline civet -m AP -f latex --asl --label main > main.tex"),
)
def table(
    files: FilesToCompare,
    *,
    baseline: Annotated[str | None, Option("the run with which the others are compared", metavar="RUN")] = None,
    correction: Annotated[Correction, Option("for several runs (default: holm)", choices=TESTS)] = "holm",
    asl: Annotated[bool, "with a baseline: also the corrected level of each difference"] = False,
    caption: Annotated[str | None, Option("the caption", metavar="TEXT")] = None,
    label: Annotated[str, Option(r"the label of LaTeX's \ref, after tab: (default: means)", metavar="NAME")] = "means",
    format: Annotated[str, Option("the format (default: table)", "-f", "--format", choices=FORMS)] = "table",
) -> int:
    """Make the table of a paper: a row for each run, in the order of the files, and a column for each metric. The best
    means are bold. A dagger says that a mean is significantly better than that of the baseline, and a double dagger
    that it is worse. Without a baseline, runs that share no letter are told apart.

    Means, levels and letters are those of `score`, `compare` and `leaderboard`. If a file has faults, the exit code is
    1.
    """
    scored: ScoredFiles | None
    if files.of_scores.scores:
        named, scored = baseline, files.score_systems([baseline] if baseline else [])
    else:
        runs = expand_folders(files.runs, files.qrels)
        named = find_baseline(baseline, runs, files.replicates) if baseline else None
        scored = score_files(files, list(dict.fromkeys([*([named] if named else []), *runs])))
        if scored and named in scored.files:
            named = name_systems(scored.files, files.replicates)[scored.files.index(named)]
        scored = scored and scored.by_system(files.replicates, files.resample)
    if scored is None or not scored.runs or (named and named not in scored.files):
        return 1
    of_paper = scored if files.of_scores.scores else named_for_paper(scored)
    own = of_paper.names[scored.files.index(named)] if named in scored.files else named
    made = paper_table(of_paper, baseline=own, correction=correction, caption=caption, label=label, asl=asl)
    sys.stdout.write(FORMS[format](made))
    return 1 if scored.refused else 0
