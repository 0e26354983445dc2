"""Rank the runs of a collection."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gainboard.cli.connecting import collection_option, server_options
from gainboard.cli.loading import connect, runs_option, set_name
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import (
    judgments_option,
    late_option,
    metric_option,
    names_option,
    parameter_default_options,
    read_metrics,
    read_parameters,
    topics_option,
    whole_number,
)
from gainboard.cli.printing import (
    DIGITS,
    format_table,
    mark_best,
    print_json,
    print_rows,
    tell_of_topics,
    tell_of_version,
)
from gainboard.cli.progress import has_colours
from gainboard.errors import BadSetting
from gainboard.exhibits import Column, Table

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")

if TYPE_CHECKING:
    from gainboard.api.models.scores import LeaderboardRow
    from gainboard.client.answers import Leaderboard

FORMATS = ("table", "csv", "json", "latex", "markdown")


def _leaderboard(parsed: argparse.Namespace) -> int:
    """Rank the runs of a collection by one metric, with their means under other metrics beside it. Runs that share a
    letter under `groups` are not told apart (bootstrap range test, alpha 0.05), which does not show that they are
    equal. The rank set of a run has the ranks that it may have by the same test.
    """
    _require_correctable(parsed)
    parsed.version = None if parsed.run_files else _version(parsed.qrels_file)
    parsed.qrels_file = parsed.qrels_file if parsed.run_files else None
    with connect(parsed) as server:
        given = {name: getattr(parsed, name) for name in ("by", "topics", "judgments", "late", "names")}
        asked: dict[str, Any] = {**given, "qrels": parsed.version, **read_parameters(parsed)}
        if parsed.run_files and parsed.corrected_by:
            # The set of these judgments is named by their file, as runs are.
            parsed.corrected_by = set_name(parsed.corrected_by)
        kept = ("by_group", "standardise", "reference", "best_per_team", "corrected_by", "top")
        columns = {name: given for name in kept if (given := getattr(parsed, name))}
        if parsed.format in ("latex", "markdown"):
            form = parsed.format
            text = server.gainboard.leaderboard_text(
                server.collection, read_metrics(parsed), format=form, **asked, **columns
            )
            print(text, end="")
            return 0
        found = server.gainboard.leaderboard(server.collection, read_metrics(parsed), **asked, **columns)
    if parsed.format == "json":
        print_json(found.to_dict())
    elif parsed.format == "csv":
        values = found.columns()
        print_rows(list(values), list(zip(*values.values(), strict=True)), "csv")
    else:
        tell_of_version(found.qrels_version)
        tell_of_topics([found.topic_group, *found.by_group])
        _tell_of_standard(found)
        _tell_of_correction(found)
        _tell_of_groups(found)
        for note in found.notes:
            print(note, file=sys.stderr)
        print(format_table(_table(found, bool(parsed.run_files)), weights=has_colours(sys.stdout)), end="")
    return 0


def _require_correctable(parsed: argparse.Namespace) -> None:
    """Raise BadSetting if --corrected-by is a file beside a server, or a set of judgments beside files."""
    if not (by := parsed.corrected_by):
        return
    if parsed.run_files and parsed.judgments:
        raise BadSetting(
            f"--judgments {parsed.judgments} is a set of a server. With --runs, name the cheap judgments as a file: "
            f"--qrels FILE --corrected-by {by}"
        )
    if parsed.run_files and not Path(by).is_file():
        raise BadSetting(
            f"--corrected-by {by} is no file. With --runs, name a file of trusted judgments on some topics: "
            "--qrels model.txt --corrected-by people.txt"
        )
    # A set may be called as a file is, but hardly with a suffix or in a folder.
    if not parsed.run_files and Path(by).is_file() and (Path(by).suffix or len(Path(by).parts) > 1):
        raise BadSetting(
            f"--corrected-by {by} is a file, but a server's collection has judgment sets. Upload the file, and name "
            f"the set: gainboard qrels put {by} --judgments people, then --corrected-by people. For files alone, name "
            "the runs with --runs."
        )


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadSetting(f"--qrels {text!r} is not the number of a version. To score files, name runs with --runs.")
    return int(text)


def _tell_of_standard(found: Leaderboard) -> None:
    if (standard := found.standardised) is None:
        return
    left_out = [f"{len(topics)} ({label})" for label, topics in standard.topics_left_out.items() if topics]
    lost = f" Topics left out, because these score alike: {', '.join(left_out)}." if left_out else ""
    reference = len(standard.reference)
    print(f"Means of standardised scores ({standard.form}, over {reference} reference runs).{lost}", file=sys.stderr)


def _tell_of_correction(found: Leaderboard) -> None:
    if (corrected := found.corrected) is None:
        return
    own = corrected.metrics[found.by]
    print(
        f"Means under {found.judgment_set}, corrected by {corrected.by} on {own.trusted_topics} of {own.topics} topics "
        f"(weight {own.weight:.2f}). This holds only if these topics are a random sample.",
        file=sys.stderr,
    )


def _tell_of_groups(found: Leaderboard) -> None:
    if (test := found.groups_test) is None:
        if len(found.rows) > 1:
            print(f"No groups: {found.no_groups_because}", file=sys.stderr)
        return
    by = f"{test.name}, alpha {test.alpha:g}, {test.draws:,} draws, seed {test.seed}"
    if test.different_pairs:
        print(f"{test.different_pairs} of {test.pairs} pairs of runs are told apart ({by}).", file=sys.stderr)
    else:
        print(f"No two runs are told apart ({by}).", file=sys.stderr)


def _table(found: Leaderboard, is_of_files: bool) -> Table:
    labels = list(dict.fromkeys((found.by, *found.metrics)))
    digits = DIGITS if found.decimals is None else found.decimals
    groups = [str(each.name) for each in found.by_group]
    columns_of_means = [[row.mean[label] for row in found.rows] for label in labels]
    columns_of_means += [[row.by_group[name][label] for row in found.rows] for name in groups for label in labels]
    alone = labels if found.corrected else []
    columns_of_means += [[row.uncorrected[label] for row in found.rows] for label in alone]
    means = mark_best(columns_of_means)
    is_grouped = found.groups_test is not None and found.groups_test.different_pairs > 0
    has_late = any(row.late for row in found.rows)
    # A file without a team is of one that is named like its run, which says nothing.
    teams = ["" if is_of_files and row.team == row.name else row.team for row in found.rows]
    has_teams = not found.rows or any(team != row.name for team, row in zip(teams, found.rows, strict=True) if team)
    texts = [Column("rank"), Column("run", align="left"), *([Column("team", align="left")] if has_teams else [])]
    columns = [*texts, *(Column(label, digits=digits) for label in labels)]
    columns += [Column(f"{label}, {name}", digits=digits) for name in groups for label in labels]
    columns += [Column(f"{label}, {found.judgment_set} alone", digits=digits) for label in alone]
    rows = [
        [row.rank, row.name, *([team] if has_teams else []), *mean, *_remarks(row, is_grouped, has_late)]
        for row, team, mean in zip(found.rows, teams, means, strict=True)
    ]
    columns += [Column("rank set"), Column("groups", align="left")] if is_grouped else []
    columns += [Column("late", align="left")] if has_late else []
    return Table("leaderboard", f"Runs by {found.by}", columns, rows, mark="the highest mean under a metric")


def _remarks(row: LeaderboardRow, is_grouped: bool, has_late: bool) -> list[str]:
    places = "-".join(map(str, row.rank_set or ()))
    groups = [places, "".join(row.groups or ())] if is_grouped else []
    return [*groups, *(["yes" if row.late else "no"] if has_late else [])]


def _qrels_option(parser: argparse.ArgumentParser) -> None:
    judgments_option(parser)
    parser.add_argument(
        "--qrels",
        dest="qrels_file",
        metavar="VERSION",
        help="a version (default: the published one); with --runs, a file: then no server is needed",
    )


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", metavar="METRIC", help="the metric to rank by (default: the first)")
    parser.add_argument(
        "--by-group",
        metavar="GROUP",
        action="append",
        default=[],
        help="a topic group, for a column with the means over its topics; may be repeated; all: every group",
    )
    parser.add_argument(
        "--standardise",
        metavar="FORM",
        help="standardise the scores of each topic over the reference runs: normal, linear or empirical",
    )
    parser.add_argument(
        "--reference", metavar="RUN", action="append", default=[], help="a reference run; may be repeated; two or more"
    )
    parser.add_argument("--best-per-team", action="store_true", help="show of each team its best run alone")
    parser.add_argument(
        "--corrected-by",
        metavar="NAME",
        help="a judgment set of people, on a random sample of the topics, that corrects the means under --judgments; "
        "with --runs, a file of judgments, which corrects those under --qrels",
    )
    parser.add_argument("--top", type=whole_number, metavar="ROWS", help="the first rows alone (default: all)")


def _form(parser: argparse.ArgumentParser) -> None:
    help_text = "the format (default: table); latex compiles as it is"
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help=help_text)


COMMAND = Command(
    "leaderboard",
    __doc__,
    _leaderboard,
    together(
        collection_option,
        metric_option,
        names_option,
        _options,
        topics_option,
        _qrels_option,
        late_option,
        parameter_default_options,
        _form,
        runs_option,
        server_options,
    ),
    [
        Example("gainboard leaderboard -c web -m Q -m nDCG@10 -m AP", "by Q"),
        Example("gainboard leaderboard --qrels qrels.txt --runs runs/* -m Q", "of files, without a server"),
        Example("gainboard leaderboard -c web -m Q --topics hard", "over the topics of a group"),
        Example("gainboard leaderboard -c web -m Q --by-group all", "with a column for each topic group"),
        Example("gainboard leaderboard -c web -m Q --best-per-team", "one run of each team"),
        Example(
            "gainboard leaderboard -c web -m Q --standardise normal --reference tag --reference other",
            "by scores that are standardised by topic",
        ),
        Example(
            "gainboard leaderboard -c web -m Q --judgments model --corrected-by people",
            "under a cheap judge, corrected by people",
        ),
        Example(
            "gainboard leaderboard --qrels model.txt --runs runs/* -m Q --corrected-by people.txt", "the same of files"
        ),
        Example("gainboard leaderboard -c web -m Q -m AP -f latex > board.tex", "for a paper, with groups and ranks"),
        Example("gainboard leaderboard -c web -m Q -m AP --by AP --format csv", "with the ends of each interval"),
    ],
)
