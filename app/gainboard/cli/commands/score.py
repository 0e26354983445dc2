"""Score run files, without a server."""

from __future__ import annotations

import sys
from typing import Annotated

from gainboard.cli.command import Example, Option, command
from gainboard.cli.files import expand_folders
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import FORMS, FilesToScore, bind_metrics, score_files
from gainboard.errors import BadSetting
from gainboard.vocabulary import TiesAsked


@command(
    __doc__,
    Example("gainboard score qrels.txt run.txt", "AP, Q and nDCG@10"),
    Example("gainboard score qrels.txt run.txt -m 'Q(beta=10)' -m nDCG@10 --gains 3:2:1"),
    Example("gainboard score qrels.txt runs --sort Q", "all runs of a folder, the best first"),
    Example("gainboard score qrels.txt runs/* -m map -m P.5,10 -q -f trec_eval", "in the format of trec_eval -q"),
    Example("gainboard score qrels.txt runs/* -m 'nDCG@10 R@100' --names ir_measures", "what ir_measures computes"),
    Example("gainboard score qrels.txt runs/* -m 'nDCG@10 P@5 RR' -f json > scores.json"),
    Example("gainboard score qrels.txt runs/* -f latex > scores.tex", "a table for a paper"),
    Example("gainboard score qrels.txt runs/* -m AP --ties range", "what equal retrieval scores decide"),
    Example("gainboard score qrels.txt runs/* -m AP --bounds", "what unjudged documents may change"),
    Example("gainboard score qrels.txt runs/* -m 'RBP INST CWL(C=0.9-g/2)' --cwl", "what users find (C/W/L)"),
    Example("gainboard score intents.txt runs/* --intents -m alpha-nDCG@20 -m ERR-IA@20", "subtopic qrels of TREC"),
    Example("gainboard score intents.txt runs/* --iprob iprob.txt -m 'D#-nDCG@10'", "Dqrels and Iprob of NTCIR"),
    Example(
        "gainboard score qrels.txt runs/* -m GFR@10 --memberships gender=gender.txt --target gender=equal.txt",
        "group fairness and relevance, as in FairWeb",
    ),
)
def score(
    files: FilesToScore,
    *,
    ties: Annotated[
        TiesAsked | None,
        "also the scores under other orders of tied documents: the worst and the best one, or their mean",
    ] = None,
    bounds: Annotated[bool, "also the means if every unjudged document retrieved were of the highest level"] = False,
    cwl: Annotated[bool, "the five numbers of users (C/W/L): RBP, ERR, P@k, RR, INST, INSQ and CWL"] = False,
    sort: Annotated[
        str | None, Option("sort the runs by their means under this metric, best first", metavar="METRIC")
    ] = None,
    format: Annotated[str, Option("the format (default: table)", "-f", "--format", choices=FORMS)] = "table",
) -> int:
    """Score run files by a qrels file. Scores and labels are the same as those of the service, but no server is needed.

    Topics left out of a mean, and warnings about a file, are printed on standard error. A faulty run is reported with
    its faults and the other runs are scored; then the exit code is 1.
    """
    asked = {"ties": ties, "bounds": bounds, "cwl": cwl}
    for what in asked if format in ("csv", "trec_eval") else ():
        if asked[what]:
            raise BadSetting(f"The format {format} has no place for {what}. Use table, json or latex: -f json.")
    if format != "json" and (bounds or cwl) and (ties or files.per_topic):
        raise BadSetting("A table with --bounds or --cwl has means alone. Leave out --ties and -q, or use -f json.")
    scored = score_files(files, expand_folders(files.runs, files.qrels), **asked)
    if scored is None:
        return 1
    if sort:
        wanted = [metric.label for metric in bind_metrics([sort], scored.scale, files.parameters, files.names)[0]]
        if len(wanted) != 1 or wanted[0] not in scored.labels:
            raise BadSetting(f"--sort {sort} is not one of the metrics. Available: {', '.join(scored.labels)}")
        scored = scored.best_first(wanted[0])
    sys.stdout.writelines(FORMS[format](scored, has_colours(sys.stdout)))
    return 1 if scored.refused else 0
