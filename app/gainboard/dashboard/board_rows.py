"""The rows of a board: what is shown of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gainboard.evaluation.boards.leaderboard import Board, Row
from gainboard.evaluation.boards.setting_effects import SettingEffect

MOST_LINES = 30
"""The most groups that are drawn as lines; more are given as letters."""


@dataclass(frozen=True)
class BoardRow:
    """A row of the board: a run, its places on the axis, and the columns of its groups."""

    rank: int
    move: int
    name: str
    team: str
    mean: float
    interval: tuple[float, float] | None
    others: Sequence[float]
    by_group: Sequence[float]
    """The mean over each topic group of the board."""
    uncorrected: float | None
    """The mean under the cheap judgments alone, on a corrected board."""
    judged: float | None
    rank_set: tuple[int, int] | None
    letters: Sequence[str]
    appears: int
    """The number of runs from which this run is told apart under the setting, and was not under the official one."""
    disappears: int
    """The same the other way round."""
    lines: Sequence[str]
    """A word for each group: `first`, `last`, `only` or `middle` where its line runs through the row, else nothing."""
    is_late: bool
    is_mine: bool
    is_pinned: bool

    @property
    def on_axis(self) -> list[float]:
        """The values that the axis must show."""
        return [self.mean, *(self.interval or ()), *([self.uncorrected] if self.uncorrected is not None else [])]

    @property
    def letters_shown(self) -> str:
        """The letters in a few characters: `a–l` for many that follow one another."""
        numbers = [_number(letter) for letter in self.letters]
        follow = all(later == earlier + 1 for earlier, later in pairwise(numbers))
        return f"{self.letters[0]}–{self.letters[-1]}" if len(numbers) > 2 and follow else " ".join(self.letters)


@dataclass(frozen=True)
class RowsWanted:
    """The runs that are shown: those that fit the filters, and those that are pinned, which come first."""

    team: str | None
    find: str | None
    pinned: Collection[str]

    def fits(self, row: Row) -> bool:
        """Return whether the run is shown."""
        if row.run.name in self.pinned:
            return True
        is_found = not self.find or self.find.casefold() in f"{row.run.name} {row.run.team}".casefold()
        return is_found and self.team in (None, row.run.team)


@dataclass(frozen=True)
class Beside:
    """The parts of rows beside those of the board: a setting's effect, judged shares, the visitor's own team."""

    effect: SettingEffect | None
    judged: Mapping[str, float]
    own_team: int | None

    @cached_property
    def changed_pairs(self) -> tuple[Counter[str], Counter[str]]:
        """The number of pairs of each run that are newly told apart, and of those that no longer are."""
        flips = self.effect.significance.flips if self.effect and self.effect.significance else ()
        appear = Counter(name for flip in flips if flip.better_after and not flip.better_before for name in flip.runs)
        disappear = Counter(name for flip in flips if not flip.better_after for name in flip.runs)
        return appear, disappear


def rows_of(board: Board, wanted: RowsWanted, beside: Beside) -> list[BoardRow]:
    """Return the rows in the order of the board, pinned ones first."""
    fitting = (row for row in board.rows if wanted.fits(row))
    kept = sorted(fitting, key=lambda row: row.run.name not in wanted.pinned)
    pinned = sum(row.run.name in wanted.pinned for row in kept)
    # Where no two runs are told apart, one sentence says so, and each row would say the same.
    letters = [(row.letters or ()) if board.tells else () for row in kept]
    # A line joins the rows that it runs through, and pinned rows are out of order: they have letters instead.
    lines: list[list[str]] = [[]] * pinned + _lines(letters[pinned:])
    shown = []
    for row, letters_of_row, through in zip(kept, letters, lines, strict=True):
        place, name, means = board.place, row.run.name, row.means
        shown.append(
            BoardRow(
                rank=row.rank,
                move=beside.effect.moves.get(name, 0) if beside.effect else 0,
                name=name,
                team=row.run.team if board.has_teams else "",
                mean=means[place],
                interval=row.intervals[place],
                others=[mean for number, mean in enumerate(means) if number != place],
                by_group=[means_of_group[place] for means_of_group in row.by_group],
                uncorrected=row.uncorrected[place] if board.corrected else None,
                judged=beside.judged.get(name),
                rank_set=row.rank_set if board.tells else None,
                letters=letters_of_row,
                appears=beside.changed_pairs[0][name],
                disappears=beside.changed_pairs[1][name],
                lines=through,
                is_late=row.is_late,
                is_mine=beside.own_team is not None and row.run.team_id == beside.own_team,
                is_pinned=name in wanted.pinned,
            )
        )
    return shown


def in_order(letters: Sequence[Sequence[str]]) -> list[str]:
    """Return the letters of all groups in their order: z is before aa."""
    return sorted({letter for each in letters for letter in each}, key=_number)


def _number(letter: str) -> int:
    """Return the number of a letter: 1 for a, 26 for z, 27 for aa."""
    number = 0
    for each in letter:
        number = 26 * number + ord(each) - ord("a") + 1
    return number


def _lines(letters: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return for each row, and each group in order, how the group's line runs through the row."""
    order = in_order(letters)
    if len(order) > MOST_LINES:
        return [[] for _ in letters]
    members = [[row for row, each in enumerate(letters) if letter in each] for letter in order]
    return [[_line(rows[0], row, rows[-1]) for rows in members] for row in range(len(letters))]


def _line(first: int, row: int, last: int) -> str:
    if not first <= row <= last:
        return ""
    if first == last:
        return "only"
    return {first: "first", last: "last"}.get(row, "middle")
