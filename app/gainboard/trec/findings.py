"""What a reader finds in a file besides its data: faults, which refuse it, and warnings, which do not; and limits.

Every limit is an environment variable of the service.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gainboard.errors import FAULTS_SHOWN, Fault, FaultyFile, TooLarge

MIB = 1 << 20
SHOWN_CHARACTERS = 60
RESERVED_TOPIC = b"all"


@dataclass(frozen=True)
class Limits:
    """Bounds on one file. The field `lines` is the environment variable `GAINBOARD_MAX_LINES`, and so on."""

    compressed_bytes: int = 256 * MIB
    """Bytes of a gzip or zstd body as it is sent."""
    decompressed_bytes: int = 1024 * MIB
    """Bytes of the file itself."""
    lines: int = 20_000_000
    """Lines of the file, comments and blank lines included."""
    topic_lines: int = 1_000_000
    """Lines of one topic of a run, which is held as a whole."""
    line_bytes: int = 4096
    """Bytes of one line before its line feed."""
    ratio: int = 200
    """Decompressed bytes for each byte sent, once `ratio_after` bytes are out."""
    ratio_after: int = 16 * MIB

    def exceeded(self, limit: str, what: str) -> TooLarge:
        """Return the error for the field `limit`; `what` is the sentence's beginning, up to the figure."""
        setting = f"GAINBOARD_MAX_{limit.upper()}"
        bound: int = getattr(self, limit)
        return TooLarge(f"{what} {bound:,} (the limit {setting})", limit=bound, setting=setting)


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class FileWarning:
    """Something odd about a file that was accepted. `count` says how many lines or topics it concerns."""

    code: str
    message: str
    count: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the warning as a member of an answer."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def shortened(token: bytes) -> str:
    """Return a token as text for a message; a long token loses its end."""
    text = token.decode(errors="replace")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def quoted(token: bytes) -> str:
    """Return a token in quotes, with characters that print as nothing or reorder a line made visible."""
    return repr(shortened(token))


class Faults:
    """All faults of one file: how many there are, and the first of them in the order of lines.

    The same faults give the same error in whatever order they are added, and memory stays flat however many
    there are.
    """

    def __init__(self) -> None:
        self.total = 0
        self._kept: list[Fault] = []

    def __bool__(self) -> bool:
        return self.total > 0

    def add(
        self,
        code: str,
        message: str,
        *lines: int,
        topic: bytes | None = None,
    ) -> None:
        """Note a fault. Of two `lines` the later one is at fault and the earlier one is what it repeats."""
        self.total += 1
        self._kept.append(
            Fault(
                code,
                message,
                line=lines[-1] if lines else None,
                topic=None if topic is None else shortened(topic),
                lines=lines if len(lines) > 1 else None,
            )
        )
        if len(self._kept) > 10 * FAULTS_SHOWN:
            self._kept = self.first()

    def first(self) -> list[Fault]:
        """Return the first faults by line; faults of the file as a whole come before all."""
        return sorted(self._kept, key=lambda fault: (fault.line or 0, fault.code))[:FAULTS_SHOWN]

    def error(self) -> FaultyFile:
        """Return the error that reports all faults."""
        return FaultyFile(self.first(), self.total)


def note_reserved(topic: bytes, line: int, faults: Faults) -> None:
    """Note a topic, beginning at `line`, whose id the service's own answers need."""
    if topic == RESERVED_TOPIC:
        problem = "'all' names the mean over topics in every answer, so no topic can have this id"
        faults.add("reserved-topic", problem, line, topic=topic)
