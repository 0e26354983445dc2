"""The options of trec_eval: what a command line says, and what is refused.

Scripts call the program once per run, so it should start quickly. NumPy takes most of the time until then: modules that
need it are imported inside functions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from getopt import GetoptError, gnu_getopt
from typing import Final

from gainboard.trec_eval.parameters import whole_number

SHORT: Final = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG: Final = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure=": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel=": "l",
    "nosummary": "n",
    "Debug_level=": "D",
    "Judged_docs_only": "J",
    "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R",
    "Results_format=": "T",
    "Output_old_results_format=": "o",
    "Zscore=": "Z",
}
USAGE: Final = """Usage: trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file
   -h: Print help, with the other options
   -q: In addition to the summary, print the values of each topic
   -m: Compute and print the measures named by 'measure'
       ('-m all_trec' prints all measures of TREC; '-m official' is the default)
"""
HELP: Final = """trec_eval [-h] [-q] [-m measure[.params]] [-c] [-n] [-l <num>] [-N <num>] [-M <num>] [-J]
   rel_info_file results_file ...

Compute and print measures of the results in results_file by the judgments in rel_info_file. If results_file is '-', it
is standard input. Several files of results are evaluated one after the other.

 -h, --help                       print this help, and explain the measures of '-m'
 -v, --version                    print the version
 -q, --query_eval_wanted          print the values of each topic, too
 -m, --measure MEASURE[.PARAMS]   add a measure, or several: official, all_trec, set. 'P.5,10' has parameters
 -c, --complete_rel_info_wanted   average over all judged topics: topics that the results lack have the value 0
 -l, --level_for_rel NUM          the lowest level of relevant documents (default 1)
 -n, --nosummary                  print no summary
 -J, --Judged_docs_only           remove unjudged documents before anything is computed
 -N, --Number_docs_in_coll NUM    the number of documents in the collection
 -M, --Max_retrieved_per_topic NUM  the most documents of a topic that are evaluated

"""
FILES: Final = "The judgments are TREC qrels (-R qrels), and the results are TREC runs (-T trec_results)."


class Exit(Exception):
    """The end of the program with a message and an exit code other than 0."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message, self.code = message, code


class Options:
    """The options of a command line."""

    def __init__(self) -> None:
        self.by_topic = False
        self.is_complete = False
        self.summary = True
        self.judged_only = False
        self.threshold = 1
        self.documents = 0
        self.most = sys.maxsize
        self.topic: bytes | None = None  # the only topic to evaluate
        self.rel_format = "qrels"
        self.results_format = "trec_results"
        self.marked: set[str] = set()
        self.parameters: dict[str, str] = {}
        self.help = False
        self.version = False


def read_options(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """Return the options and the files of a command line. Raise Exit if trec_eval refuses it."""
    try:
        options_written, files = gnu_getopt(list(arguments), SHORT, list(LONG))
    except GetoptError as error:
        raise Exit(f"trec_eval: {error}\n{USAGE}", 1) from error
    options = Options()
    for name, value in options_written:
        # `getopt` gives long names without the = that means a value.
        short = name[1:] if len(name) == 2 else LONG.get(name[2:]) or LONG[f"{name[2:]}="]
        _take(options, short, value)
        if options.version:
            return options, []
    if not options.help and len(files) < 2:
        raise Exit(USAGE, 1)
    return options, files


def _take(options: Options, name: str, value: str) -> None:
    match name:
        case "h":
            options.help = True
        case "v":
            options.version = True
        case "q":
            options.by_topic = True
        case "m":
            _mark(options, value)
        case "c":
            options.is_complete = True
        case "n":
            options.summary = False
        case "J":
            options.judged_only = True
        case "l":
            options.threshold = whole_number(os.fsencode(value))
        case "N":
            options.documents = whole_number(os.fsencode(value))
        case "M":
            options.most = whole_number(os.fsencode(value))
        case "R":
            options.rel_format = value
        case "T":
            options.results_format = value
        case "D":
            level, dot, topic = value.partition(".")
            if whole_number(os.fsencode(level)) > 0:
                raise Exit("trec_eval: -D is not supported: Gainboard prints no steps of a computation", 1)
            options.topic = os.fsencode(topic) if dot else None
        case "Z":
            raise Exit("trec_eval: -Z is not supported: Gainboard prints scores, not their deviations from a mean", 1)


def _mark(options: Options, text: str) -> None:
    from gainboard.trec_eval.measures import MEASURES, NICKNAMES, REFUSED  # noqa: PLC0415

    name, dot, parameters = text.partition(".")
    if dot and not parameters:
        raise Exit(f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{name}'", 1)
    if name in REFUSED or name.startswith("prefs_") or name.endswith("_avgjg"):
        raise Exit(f"trec_eval: measure '{name}' is not supported: it needs preferences or judgment groups", 1)
    if name not in MEASURES and name not in NICKNAMES:
        raise Exit(f"trec_eval: illegal measure '{name}'", 1)
    options.marked.update(NICKNAMES.get(name, (name,)))
    if dot:
        options.parameters.setdefault(name, parameters)


def help_of(options: Options) -> str:
    """Return the help, which explains the chosen measures."""
    from gainboard.trec_eval.measures import MEASURES  # noqa: PLC0415

    named = [measure for measure in MEASURES.values() if measure.name in options.marked]
    lines = [f"{measure.name}\n    {' '.join(measure.explanation.split())}\n" for measure in named]
    return HELP + FILES + "\n\n" + ("".join(lines) or "Name measures with -m to have them explained.\n")
