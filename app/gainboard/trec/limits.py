"""What one uploaded file may cost. Every limit is an environment variable of the service."""

from __future__ import annotations

from dataclasses import dataclass

from gainboard.errors import TooLarge

MIB = 1 << 20


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
        """The error for the field `limit`; `what` is the sentence's beginning, up to the figure."""
        setting = f"GAINBOARD_MAX_{limit.upper()}"
        bound: int = getattr(self, limit)
        return TooLarge(f"{what} {bound:,} (the limit {setting})", limit=bound, setting=setting)


DEFAULT_LIMITS = Limits()
