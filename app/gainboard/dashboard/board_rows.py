"""The rows of a board: what is shown of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gainboard.evaluation.boards.leaderboard import Board, Row
from gainboard.evaluation.boards.setting_effects import SettingEffect

MOST_LINES = 30
"""The most groups that are drawn as lines; more are given as letters."""


@dataclass(frozen=True)
class BoardRow:
    """A row of the board as a page shows it: the row itself, and what the page adds."""

    ranked: Row
    move: int
    judged: float | None
    letters: Sequence[str]
    appears: int
    """The number of runs from which this run is told apart under the setting, and was not under the official one."""
    disappears: int
    """The same the other way round."""
    lines: Sequence[str]
    """A word for each group: `first`, `last`, `only` or `middle` where its line runs through the row, else nothing."""
    is_mine: bool
    is_pinned: bool

    @property
    def mean(self) -> float:
        return self.ranked.means[self.ranked.board.place]

    @property
    def interval(self) -> tuple[float, float] | None:
        return self.ranked.intervals[self.ranked.board.place]

    @property
    def uncorrected(self) -> float | None:
        """The mean under the cheap judgments alone, on a corrected board."""
        return self.ranked.uncorrected[self.ranked.board.place] if self.ranked.board.corrected else None

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


def rows_of(
    board: Board,
    effect: SettingEffect | None,
    judged: Mapping[str, float],
    own_team: int | None,
    *,
    team: str | None,
    find: str | None,
    pinned: Collection[str],
) -> list[BoardRow]:
    """Return the runs of a team whose name or team has the text `find`, in the order of the board, pinned ones first.

    Pinned runs are shown whatever the filters say. `judged` are the judged shares by run.
    """
    kept = [row for row in board.rows if row.run.name in pinned]
    pins = len(kept)
    for row in board.rows:
        text = f"{row.run.name} {row.run.team}".casefold()
        if row.run.name not in pinned and team in (None, row.run.team) and (not find or find.casefold() in text):
            kept.append(row)
    flips = effect.significance.flips if effect and effect.significance else ()
    appear = Counter(name for flip in flips if flip.better_after and not flip.better_before for name in flip.runs)
    disappear = Counter(name for flip in flips if not flip.better_after for name in flip.runs)
    # Where no two runs are told apart, one sentence says so, and each row would say the same.
    letters = [(row.letters or ()) if board.tells else () for row in kept]
    # A line joins the rows that it runs through, and pinned rows are out of order: they have letters instead.
    lines: list[list[str]] = [[]] * pins + _lines(letters[pins:])
    return [
        BoardRow(
            row,
            move=effect.moves.get(row.run.name, 0) if effect else 0,
            judged=judged.get(row.run.name),
            letters=letters_of_row,
            appears=appear[row.run.name],
            disappears=disappear[row.run.name],
            lines=through,
            is_mine=own_team is not None and row.run.team_id == own_team,
            is_pinned=row.run.name in pinned,
        )
        for row, letters_of_row, through in zip(kept, letters, lines, strict=True)
    ]


def in_order(letters: Sequence[Sequence[str]]) -> list[str]:
    """Return the letters of all groups in their order: z is before aa."""
    return sorted({letter for letters_of_row in letters for letter in letters_of_row}, key=_number)


def _number(letter: str) -> int:
    """Return the number of a letter: 1 for a, 26 for z, 27 for aa."""
    number = 0
    for digit in letter:
        number = 26 * number + ord(digit) - ord("a") + 1
    return number


def _lines(letters: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return for each row, and each group in order, how the group's line runs through the row."""
    order = in_order(letters)
    if len(order) > MOST_LINES:
        return [[] for _ in letters]
    rows = [[row for row, letters_of_row in enumerate(letters) if letter in letters_of_row] for letter in order]
    return [[_line(rows_of_group[0], row, rows_of_group[-1]) for rows_of_group in rows] for row in range(len(letters))]


def _line(first: int, row: int, last: int) -> str:
    if not first <= row <= last:
        return ""
    if first == last:
        return "only"
    return {first: "first", last: "last"}.get(row, "middle")
