"""Rank the runs of a collection."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from gainboard.cli.command import Example, Option, command
from gainboard.cli.loading import NAME, CampaignOrFiles, set_name
from gainboard.cli.options import Metrics
from gainboard.cli.printing import (
    DIGITS,
    format_table,
    mark_best,
    print_json,
    print_rows,
    table_beside,
    tell_of_judgments,
    tell_of_unbound,
)
from gainboard.cli.progress import has_colours
from gainboard.errors import BadSetting
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.tables import as_markdown
from gainboard.notation.queries import LeaderboardOptions

if TYPE_CHECKING:
    from gainboard.client.answers import Leaderboard


@dataclass(frozen=True)
class CorrectableCampaign(CampaignOrFiles):
    """A campaign whose means under cheap judgments may be corrected by those of people on some topics."""

    corrected_by: Annotated[
        str | None,
        Option(
            "a judgment set of people, on a random sample of the topics, that corrects the means under --judgments; "
            "with --runs, a file of judgments, which corrects those under --qrels; with --scores or --answers, one of "
            "scores or verdicts. For scores of answers, a judge; for other uploaded ones, a score matrix",
            metavar="NAME",
        ),
    ] = None

    def find_correcting_set(self, judgments: str | None) -> str | None:
        """Return the judgment set that corrects the means.

        Raise BadSetting if --corrected-by is a file beside a server, or a set of judgments beside files.
        """
        if not (by := self.corrected_by):
            return None
        if self.runs and judgments:
            raise BadSetting(
                f"--judgments {judgments} is a set of a server. With --runs, name the cheap judgments as a file: "
                f"--qrels FILE --corrected-by {by}"
            )
        if self.runs and not Path(by).is_file():
            raise BadSetting(
                f"--corrected-by {by} is no file. With --runs, name a file of trusted judgments on some topics: "
                "--qrels model.txt --corrected-by people.txt"
            )
        # A set may be called as a file is, but hardly with a suffix or in a folder.
        if not self.runs and Path(by).is_file() and (Path(by).suffix or len(Path(by).parts) > 1):
            raise BadSetting(
                f"--corrected-by {by} is a file, but a server's collection has judgment sets. Upload the file, and "
                f"name the set: gainboard qrels put {by} --judgments people, then --corrected-by people. For files "
                "alone, name the runs with --runs."
            )
        # The set of these judgments is named by their file, as runs are.
        return set_name(by) if self.runs else by


@command(
    __doc__,
    Example("gainboard leaderboard -c web -m Q -m nDCG@10 -m AP", "by Q"),
    Example("gainboard leaderboard --qrels qrels.txt --runs runs/* -m Q", "of files, without a server"),
    Example("gainboard leaderboard --scores accuracy.csv", "of scores from elsewhere, such as systems by tasks"),
    Example("gainboard leaderboard --nuggets nuggets.jsonl --answers assignments.jsonl", "of answers"),
    Example("gainboard leaderboard -c web -m nDCG@10 -m nuggets:vital_strict", "of rankings beside answers"),
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
)
def leaderboard(
    at: CorrectableCampaign,
    *,
    metrics: Metrics = (),
    format: Annotated[
        Literal["table", "csv", "json", "latex", "markdown"],
        Option("the format (default: table); latex compiles as it is", "-f", "--format"),
    ] = "table",
    **query: Unpack[LeaderboardOptions],
) -> None:
    """Rank the runs of a collection by one metric, with their means under other metrics beside it. Runs that share a
    letter under `groups` are not told apart (bootstrap range test, alpha 0.05), which does not show that they are
    equal. The rank set of a run has the ranks that it may have by the same test.
    """
    if at.of_scores.scores:
        board = _rank_scores(at, metrics, query)
        if format == "latex" or format == "markdown":
            from gainboard.exhibits.latex import as_latex_document  # noqa: PLC0415 (few ask for it)

            table = replace(_table(board, is_of_files=True), notes=board.notes)
            print(as_latex_document(table) if format == "latex" else as_markdown(table), end="")
        else:
            _print_board(board, format, are_files=True)
        return
    if format == "csv" and (query.get("bounds") or query.get("cwl")):
        raise BadSetting("The format csv has no place for --bounds and --cwl. Use table or json: -f json.")
    query["corrected_by"] = at.find_correcting_set(query.get("judgments"))
    with at.connect() as gainboard:
        query["qrels"] = at.version
        if format == "latex" or format == "markdown":
            text = gainboard.leaderboard_text(at.collection, metrics, format=format, **query)
            print(text.replace(", by version 1 of the qrels", "", 1) if at.runs else text, end="")  # files have none
        else:
            board = gainboard.leaderboard(at.collection, metrics, **query)
            _print_board(board, format, are_files=bool(at.runs))
            if query.get("bounds"):
                tell_of_unbound(board.metrics, board.rows)


def _print_board(board: Leaderboard, format: str, *, are_files: bool) -> None:
    if format == "json":
        print_json(board.to_dict())
    elif format == "csv":
        values = board.columns()
        print_rows(list(values), list(zip(*values.values(), strict=True)), "csv")
    else:
        tell_of_judgments(board, are_files=are_files)
        for line in _remarks_on(board):
            print(line, file=sys.stderr)
        tables = [_table(board, is_of_files=are_files)]
        if any(row.numbers for row in board.rows):
            tables.append(table_beside([row.name for row in board.rows], [row.numbers for row in board.rows]))
        print("\n".join(format_table(table, weights=has_colours(sys.stdout)) for table in tables), end="")


def _rank_scores(at: CorrectableCampaign, metrics: Sequence[str], query: LeaderboardOptions) -> Leaderboard:
    """Return the board of scores that were computed elsewhere, for which no service is needed.

    Raise BadSetting for an option that is about judgments or about a server, and what `gainboard.leaderboard` raises.
    """
    from gainboard.client.answers import Leaderboard  # noqa: PLC0415 (with Pydantic, and what follows with NumPy)
    from gainboard.evaluation.boards import file_boards  # noqa: PLC0415
    from gainboard.evaluation.boards.leaderboard import BoardGroups  # noqa: PLC0415

    unfit = [name for name in ("qrels", "runs", "named", "server") if getattr(at, name)]
    if unfit := [*unfit, *(name for name, value in query.items() if value and name not in ("by", "top", "resample"))]:
        option = {"named": "collection"}.get(unfit[0], unfit[0]).replace("_", "-")
        raise BadSetting(
            f"--{option} is about judgments or a server, and --scores needs neither. Leave out one of them."
        )
    files, people = at.of_scores, None
    if at.corrected_by:
        people = replace(files, scores=[at.corrected_by], is_sample=True).read()
    options = {"corrected_by": people, "direction": files.direction, "missing": files.missing}
    options["resample"] = query.get("resample") or "topics"
    board = file_boards.leaderboard(scores=files.read(), metrics=metrics, by=query.get("by"), **options)
    test = board.groups
    values: dict[str, Any] = {"groups_test": test.described() if isinstance(test, BoardGroups) else None}
    values["no_groups_because"] = test if isinstance(test, str) else None
    rows = [
        {"rank": row.rank, "name": row.run, "team": row.run, "interval": row.intervals, "groups": list(row.groups)}
        | {"mean": {label: None if math.isnan(mean) else mean for label, mean in row.means.items()}}
        | {"rank_set": row.rank_set}
        for row in board.rows[: query.get("top")]
    ]
    values |= {"collection": NAME, "qrels_version": None, "withheld": {}, "rows": rows, "rows_total": len(board.rows)}
    values |= {"by": board.by, "metrics": board.metrics, "asked": board.scores.label_by_expression}
    return Leaderboard.model_validate(values | {"topics_scored": board.scores.topics_scored(), "notes": board.notes})


def _remarks_on(board: Leaderboard) -> Iterator[str]:
    """Yield what a reader of the board should know."""
    if (standard := board.standardised) is not None:
        left_out = [f"{len(topics)} ({label})" for label, topics in standard.topics_left_out.items() if topics]
        lost = f" Topics left out, because these score alike: {', '.join(left_out)}." if left_out else ""
        yield f"Means of standardised scores ({standard.form}, over {len(standard.reference)} reference runs).{lost}"
    if (corrected := board.corrected) is not None:
        weighed = corrected.metrics[board.by]
        yield (
            f"Means under {next(iter(corrected.judges))}, corrected by {corrected.by} on {weighed.trusted_topics} of "
            f"{weighed.topics} topics (weight {weighed.weight:.2f}). This holds only if these topics are a random "
            "sample."
        )
    if (test := board.groups_test) is not None:
        by = f"{test.name}, alpha {test.alpha:g}, {test.draws:,} draws, seed {test.seed}"
        pairs = f"{test.different_pairs} of {test.pairs} pairs of runs" if test.different_pairs else "No two runs"
        yield f"{pairs} are told apart ({by})."
        if (shown := test.detectable_difference) is not None:
            among = f"{test.topics} topics at 80 % power and {test.pairs:,} pair{'s' * (test.pairs > 1)}"
            yield f"Differences below {shown:.3f} are not reliably told apart here, with {among}."
    elif len(board.rows) > 1:
        yield f"No groups: {board.no_groups_because}"
    yield from board.notes


def _table(board: Leaderboard, is_of_files: bool) -> Table:
    labels = list(dict.fromkeys((board.by, *board.metrics)))
    digits = DIGITS if board.decimals is None else board.decimals
    groups = [str(group.name) for group in board.by_group]
    columns_of_means = [[row.mean[label] for row in board.rows] for label in labels]
    columns_of_means += [[row.by_group[name][label] for row in board.rows] for name in groups for label in labels]
    alone = labels if board.corrected else []
    columns_of_means += [[row.uncorrected[label] for row in board.rows] for label in alone]
    means = mark_best(columns_of_means)
    is_grouped = board.groups_test is not None and board.groups_test.different_pairs > 0
    has_late = any(row.late for row in board.rows)
    # A file without a team is of one that is named like its run, which says nothing.
    teams = ["" if is_of_files and row.team == row.name else row.team for row in board.rows]
    has_teams = not board.rows or any(team != row.name for team, row in zip(teams, board.rows, strict=True) if team)
    texts = [Column("rank"), Column("run", align="left"), *([Column("team", align="left")] if has_teams else [])]
    columns = [*texts, *(Column(label, digits=digits) for label in labels)]
    columns += [Column(f"{label}, {name}", digits=digits) for name in groups for label in labels]
    columns += [Column(f"{label}, uncorrected", digits=digits) for label in alone]
    rows: list[list[Cell]] = []
    for row, team, mean in zip(board.rows, teams, means, strict=True):
        rows.append([row.rank, row.name, *([team] if has_teams else []), *mean])
        rows[-1] += ["-".join(map(str, row.rank_set or ())), "".join(row.groups or ())] if is_grouped else []
        rows[-1] += ["yes" if row.late else "no"] if has_late else []
    columns += [Column("rank set"), Column("groups", align="left")] if is_grouped else []
    columns += [Column("late", align="left")] if has_late else []
    return Table("leaderboard", f"Runs by {board.by}", columns, rows, mark="the highest mean under a metric")
