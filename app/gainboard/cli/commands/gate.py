"""Say whether a new run is worse than an old one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from gainboard.cli.command import Argument, Example, Misuse, Option, Told, command, refuse
from gainboard.cli.connecting import OneCollection
from gainboard.cli.files import Reading
from gainboard.cli.gated_runs import FORMS, Baseline, CannotTell, pairs_of
from gainboard.cli.options import TOOL, Defaults, Quiet, metric_option
from gainboard.cli.scored_files import FilesToScore, ScoredFiles, score_files
from gainboard.errors import BadInput
from gainboard.evaluation.boards.gates import Gate, Margin, gate_scores, paired_scores
from gainboard.metrics import Names
from gainboard.vocabulary import Combination, Verdict

TROUBLE: Final = 2
EXITS: Final[Mapping[Verdict, int]] = {"not worse": 0, "worse": 1, "cannot tell": 3}


def _read_margin(text: str) -> Margin:
    try:
        return Margin.read(text)
    except BadInput as error:
        refuse(error.message)


@command(
    __doc__,
    Example("gainboard gate qrels.txt run.txt runs/civet.txt -m nDCG@10 --margin 0.01", "an old and a new run"),
    Example(
        "gainboard gate qrels.txt run.txt runs/civet.txt -m AP -m nDCG@10 --margin 2% -f markdown", "for a comment"
    ),
    Example(
        "gainboard gate qrels.txt run.txt -m nDCG@10 --write-baseline baseline.json", "keep scores in a repository"
    ),
    Example("gainboard gate qrels.txt runs/civet.txt --baseline baseline.json --margin 0.01", "and compare with them"),
    Example("gainboard gate -c web tag other -m Q --margin 0.02", "runs of a server"),
    trouble=TROUBLE,
)
def gate(
    files: Annotated[
        Sequence[str],
        Argument("judgments, the old and the new run; with -c or --scores, the names of both", metavar="FILE"),
    ],
    *,
    margin: Annotated[
        Margin | None,
        Option(
            "the largest loss that does not matter, stated before the scores were seen: in the units of the metric, or "
            "as a share of the old mean, such as 2%%; required",
            metavar="LOSS",
            read=_read_margin,
        ),
    ] = None,
    metrics: Annotated[Sequence[str], metric_option("AP, Q, nDCG@10, or those of the baseline")] = (),
    all: Annotated[bool, "several metrics: the run must be not worse under all, each at 0.05 (default: Holm)"] = False,
    any: Annotated[bool, "several metrics: it is enough that the run is not worse under one"] = False,
    cannot_tell: Annotated[
        CannotTell | None, "what to do if the topics cannot tell: exit with 0 or with 1 (default: 3)"
    ] = None,
    baseline: Annotated[str | None, Option("a file with the scores of the old run", metavar="BASELINE")] = None,
    write_baseline: Annotated[
        str | None, Option("write the scores of a run to a file; nothing is tested", metavar="BASELINE")
    ] = None,
    names: Annotated[Names, TOOL] = "gainboard",
    quiet: Quiet = False,
    format: Annotated[
        Literal["table", "json", "markdown", "junit", "github"],
        Option("the format (default: table); github also writes the summary of the step", "-f", "--format"),
    ] = "table",
    reading: Reading,
    parameters: Defaults,
    at: OneCollection,
) -> int:
    """Say whether a new run is worse than an old one, by one-sided tests at 0.05 of the differences by topic.

    `not worse`: it is surely not worse by the margin or more. `worse`: the mean difference is significantly below 0. If
    both hold, it is not worse, and the answer says by how much. `cannot tell`: neither is shown; the answer says which
    difference these topics show, and how many topics would tell. Below 50 topics the test is Student's t; from there on
    a bootstrap over topics must agree with it. Several metrics are corrected by Holm's method, and the run is worse if
    it is worse under one.

    The exit code is 0 for not worse, 1 for worse, 3 for cannot tell, and 2 for every error, whatever it is.
    """
    if all and any:
        raise Misuse("--all and --any exclude each other")
    if (margin is None) == (write_baseline is None):
        raise Misuse("give --margin, or --write-baseline FILE")
    if baseline and (write_baseline or at.named):
        raise Misuse("--baseline is for a file of judgments and a new run alone")
    combination: Combination = "all" if all else "any" if any else "holm"

    def scored(count: int) -> ScoredFiles:
        needed = {1: "QRELS RUN", 2: "QRELS OLD NEW"}[count]
        if len(files) != count + 1:
            raise Misuse(f"{needed}: {count + 1} files are needed, not {len(files)}")
        kept = Baseline.read(baseline).labels if baseline and not metrics else metrics
        asked = FilesToScore(
            qrels=files[0],
            runs=files[1:],
            metrics=kept,
            names=names if metrics else "gainboard",
            quiet=quiet,
            reading=reading,
            parameters=parameters,
        )
        table = score_files(asked, files[1:])
        if table is None or table.refused:
            raise Told
        return table

    if write_baseline:
        Baseline.of(scored(1), files[0]).write(write_baseline)
        return 0
    assert margin is not None
    if at.named:
        found = _of_server(at, files, metrics, margin, combination, parameters)
    elif baseline:
        new, old = scored(1), Baseline.read(baseline)
        pairs = paired_scores(new, old.fit(baseline, new, files[0]), new.by_topic[:, 0])
        found = gate_scores(old.run, new.names[0], pairs, margin, combination)
    else:
        both = scored(2)
        pairs = paired_scores(both, both.by_topic[:, 0], both.by_topic[:, 1])
        found = gate_scores(both.names[0], both.names[1], pairs, margin, combination)
    sys.stdout.writelines(FORMS[format](found, cannot_tell))
    if found.verdict == "cannot tell" and cannot_tell:
        return EXITS["not worse" if cannot_tell == "pass" else "worse"]
    return EXITS[found.verdict]


def _of_server(
    at: OneCollection,
    names: Sequence[str],
    metrics: Sequence[str],
    margin: Margin,
    combination: Combination,
    parameters: Mapping[str, str],
) -> Gate:
    if len(names) != 2:
        raise Misuse(f"-c {at.named}: the names of two runs are needed, the old and the new one, not {len(names)}")
    old, new = names
    with at.connect() as gainboard:
        compared = gainboard.compare(at.collection, new, old, metrics, **parameters)  # type: ignore[arg-type]
    return gate_scores(old, new, pairs_of(compared), margin, combination)
