"""Tell whether a new run is worse than an old one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

import numpy as np

from gainboard.cli.command import Example, Misuse, Option, Told, command
from gainboard.cli.compared_files import FilesToCompare
from gainboard.cli.connecting import OneCollection
from gainboard.cli.gated_runs import FORMS, Baseline, CannotTell, hash_of
from gainboard.cli.scored_files import ScoredFiles, score_files
from gainboard.evaluation.boards.gates import PairedScores, gate_scores, paired_scores
from gainboard.vocabulary import Combination, Verdict

EXITS: Final[Mapping[Verdict, int]] = {"not worse": 0, "worse": 1, "cannot tell": 3}


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
    Example("gainboard gate -c web other tag -m Q --margin 0.02", "runs of a server"),
    Example("gainboard gate bm25 splade --scores accuracy.csv --margin 0.1", "systems, by scores from elsewhere"),
    trouble=2,
)
def gate(
    files: FilesToCompare,
    *,
    margin: Annotated[
        str | None,
        Option(
            "the largest loss that does not matter, stated before the scores were seen: in the units of the metric, or "
            "as a share of the old mean, such as 2%%; required",
            metavar="LOSS",
        ),
    ] = None,
    all: Annotated[bool, "several metrics: the run must be not worse under all, each at 0.05 (default: Holm)"] = False,
    any: Annotated[bool, "several metrics: it is enough that the run is not worse under one"] = False,
    cannot_tell: Annotated[
        CannotTell | None, Option("exit with 0 or with 1 if the topics cannot tell (default: 3)")
    ] = None,
    baseline: Annotated[str | None, Option("a file with the scores of the old run", metavar="BASELINE")] = None,
    write_baseline: Annotated[
        str | None, Option("write the scores of a run to a file; nothing is tested", metavar="BASELINE")
    ] = None,
    format: Annotated[
        str,
        Option("the format (default: table); github also writes the step's summary", "-f", "--format", choices=FORMS),
    ] = "table",
    at: OneCollection,
) -> int:
    """Tell whether a new run is worse than an old one, by one-sided tests at 0.05 of the differences by topic: `gate
    QRELS OLD NEW`, `gate QRELS NEW --baseline FILE`, `gate -c COLLECTION OLD NEW` or `gate --scores FILE OLD NEW`.

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
    files = files.with_systems()
    others = [other for other in (at.named, baseline, write_baseline, files.of_scores.scores) if other]
    wanted = 1 if others else 2
    if len(files.runs) < wanted or (len(files.runs) > wanted and not files.replicates) or len(others) > 1:
        raise Misuse(
            "name QRELS OLD NEW; QRELS NEW with --baseline; QRELS RUN with --write-baseline; OLD NEW with -c, --scores"
        )
    if write_baseline:
        scored = _scored(files)
        by_topic = scored.run_as_json(0, per_topic=True)["topics"]
        Baseline(scored.names[0], hash_of(files.qrels), by_topic).write(write_baseline)
        print(f"{write_baseline} has {scored.names[0]}: {', '.join(scored.labels)}")
        return 0
    if at.named:
        names, pairs = (files.qrels, files.runs[0]), list[PairedScores]()
        query: dict[str, Any] = {**files.parameters, "resample": files.resample}
        with at.connect() as gainboard:
            compared = gainboard.compare(at.collection, files.runs[0], files.qrels, files.metrics, **query)
        for pair in compared.comparisons:
            rows = sorted((row.topic, row.b, row.a) for row in pair.topics)
            rows += [(topic, np.nan, np.nan) for topic in pair.topics_undefined]
            topics, old, new = zip(*rows, strict=True)
            pairs.append(PairedScores(pair.metric, topics, np.array(old), np.array(new), pair.noise or 0.0))
    elif baseline:
        kept = Baseline.read(baseline)
        run = _scored(files if files.metrics else replace(files, metrics=list(kept.scores), names="gainboard"))
        of_old = kept.fit(baseline, run, files.qrels)
        names, pairs = (kept.run, run.names[0]), paired_scores(run, of_old, run.by_topic[:, 0])
    else:
        both = files.score_systems(()) if files.of_scores.scores else _scored(files)
        names, pairs = (both.names[0], both.names[1]), paired_scores(both, *both.by_topic.swapaxes(0, 1))
    combination: Combination = "all" if all else "any" if any else "holm"
    found = gate_scores(names, pairs, margin or "", combination)
    sys.stdout.writelines(FORMS[format](found, cannot_tell))
    if found.verdict == "cannot tell" and cannot_tell:
        return EXITS["not worse" if cannot_tell == "pass" else "worse"]
    return EXITS[found.verdict]


def _scored(files: FilesToCompare) -> ScoredFiles:
    """Return the scores of all files. Raise Told for a file with faults, which are printed."""
    scored = score_files(files, files.runs)
    if scored is None or scored.refused:
        raise Told
    return scored.by_system(files.replicates, files.resample)
