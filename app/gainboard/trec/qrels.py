"""Reading a qrels file in TREC's or NTCIR's layout: every judgment with its level, every fault with its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gainboard.errors import InvalidRequest
from gainboard.trec.findings import DEFAULT_LIMITS, Faults, FileWarning, Limits, note_reserved, quoted
from gainboard.trec.layouts import LAYOUTS, LOWEST_LEVEL, Layout, LevelNotation, Row, decide_layout
from gainboard.trec.lines import Text

_AMBIGUOUS = (
    "The columns fit as topic, document, level and as topic, level, document, or neither: "
    f"say which they are with ?columns=, one of {', '.join(LAYOUTS)}"
)


@dataclass(frozen=True)
class QrelsFile:
    """The judgments of a file: topic -> document id -> level, -127..h, negative levels as they were given.

    `columns` names the layout that the file was read in: a key of `LAYOUTS`.
    """

    judgments: dict[str, dict[bytes, int]]
    columns: str
    warnings: list[FileWarning]


def read_qrels(
    chunks: Iterable[bytes], *, levels: Sequence[str] | int, columns: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> QrelsFile:
    """Read a qrels file, held in memory as a whole.

    `levels` are the names of the levels 1..h, lowest first, or h itself. `columns` is the layout, a key of
    `LAYOUTS`; None lets the lines decide (see `decided`). Raises FaultyFile with all faults of the file,
    TooLarge where a limit is passed, InvalidRequest if there is no such layout.
    """
    text, scale = Text(chunks, limits), LevelNotation.of(levels)
    rows = [row for block in text.blocks() for row in text.rows(block)]
    chosen = _known(columns) or decide_layout([row for _, row in rows], scale)
    judgments = _Judgments(LAYOUTS[chosen or "trec"], scale, text.faults)
    if not rows and not text.faults:
        text.faults.add("empty-file", "The file has no judgments")
    elif chosen is None:
        text.faults.add("ambiguous-columns", _AMBIGUOUS)
    else:
        judgments.read(rows)
    if chosen is None or text.faults:
        raise text.faults.error()
    return QrelsFile(judgments.levels(), chosen, [*text.warnings(), *judgments.warnings()])


def _known(columns: str | None) -> str | None:
    if columns is not None and columns not in LAYOUTS:
        message = f"{columns[:60]!r} is no layout of qrels; there are {', '.join(LAYOUTS)}"
        raise InvalidRequest.at("query.columns", "unknown-columns", message)
    return columns


class _Judgments:
    """Judgments as they are read in one layout, each with the line that it stands on."""

    def __init__(self, layout: Layout, scale: LevelNotation, faults: Faults) -> None:
        self._layout, self._scale, self._faults = layout, scale, faults
        self._judged: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        self._repeated = 0

    def read(self, rows: Iterable[tuple[int, Row]]) -> None:
        for number, row in rows:
            if self._layout.misshapen(row):
                problem = f"{len(row)} columns do not read as {self._layout.columns}"
                self._faults.add("bad-columns", problem, number)
            else:
                self._read(number, row[0], row[self._layout.document], row[self._layout.level])

    def _read(self, number: int, topic: bytes, document: bytes, token: bytes) -> None:
        if topic not in self._judged:
            self._judged[topic] = {}
            note_reserved(topic, number, self._faults)
        level = self._layout.read(self._scale, token)
        if level is None:
            problem = f"level {quoted(token)} of document {quoted(document)} is not {self._expected()}"
            self._faults.add("bad-level", problem, number, topic=topic)
            return
        first_level, first = self._judged[topic].setdefault(document, (level, number))
        if first_level != level:
            problem = f"document {quoted(document)} has level {level}, but level {first_level} on line {first}"
            self._faults.add("conflicting-judgment", problem, first, number, topic=topic)
        self._repeated += first != number

    def _expected(self) -> str:
        if self._layout.read is LevelNotation.numeric:
            return f"an integer from {LOWEST_LEVEL} to {self._scale.highest}"
        others = [token.decode() for token, level in self._scale.tokens.items() if token != b"L%d" % level]
        return "one of " + ", ".join([*others, f"L0 to L{self._scale.highest}"])

    def levels(self) -> dict[str, dict[bytes, int]]:
        return {
            topic.decode(): {document: level for document, (level, _) in judged.items()}
            for topic, judged in self._judged.items()
        }

    def warnings(self) -> Iterator[FileWarning]:
        if self._repeated:
            yield FileWarning("repeated-judgment", "Documents judged again at the same level", self._repeated)
