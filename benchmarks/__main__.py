"""`python -m benchmarks`: makes its data, checks that the scores agree, measures, and prints a table row by row."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.processes import IS_COUNTED, NOT_COUNTED
from benchmarks.report import Report, machine
from benchmarks.session import Options, Session

_REPETITIONS, _SHORT_REPETITIONS = 9, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit code is 1 where scores disagree or something fails, else 0."""
    parsed = _parser().parse_args(arguments)
    repetitions = parsed.repetitions or (_SHORT_REPETITIONS if parsed.short else _REPETITIONS)
    options = Options(
        parsed.seed, repetitions, parsed.short, parsed.wide, parsed.requests, parsed.real, parsed.postgresql
    )
    print("; ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")
    report = Report(is_judged=not parsed.short)
    if not IS_COUNTED:
        report.missing.append(NOT_COUNTED)
    with TemporaryDirectory(prefix="gainboard-benchmark-") as folder:
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
            # Commands of users find their byte code; here it stays out of the checkout.
            os.environ["PYTHONPYCACHEPREFIX"] = folder
        Session(Path(folder), options, report).measure()
    for sentence in report.missing:
        print(f"\nMissing: {sentence}.")
    for sentence in report.failed:
        print(f"\nFailed: {sentence}")
    if parsed.json:
        settings = {"seed": parsed.seed, "repetitions": repetitions, "short": parsed.short, "wide": parsed.wide}
        parsed.json.write_text(json.dumps(report.as_json(settings), indent=2) + "\n")
    return 1 if report.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Gainboard timed beside its peers.")
    parser.add_argument("--short", action="store_true", help="about a minute: few runs, small sizes, no verdicts")
    parser.add_argument("--wide", action="store_true", help="1,000 runs of 1,000 documents a topic, in place of 100")
    parser.add_argument("--requests", type=int, help="varied requests before memory is read (default: 1500)")
    parser.add_argument("--repetitions", type=int, help=f"of each measurement (default: {_REPETITIONS})")
    parser.add_argument("--seed", type=int, default=0, help="of the generated campaigns (default: 0)")
    real = os.environ.get("GAINBOARD_REAL_DATA")
    parser.add_argument(
        "--real",
        type=Path,
        metavar="FOLDER",
        default=Path(real) if real else None,
        help="of the real runs, for reports and `gainboard score` (default: GAINBOARD_REAL_DATA)",
    )
    parser.add_argument(
        "--postgresql",
        metavar="URL",
        default=os.environ.get("GAINBOARD_BENCHMARK_POSTGRESQL"),
        help="of an empty database, which is filled (default: GAINBOARD_BENCHMARK_POSTGRESQL)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
