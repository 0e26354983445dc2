"""Find problems, and say how to solve them."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from typing import TYPE_CHECKING

from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import data_option

if TYPE_CHECKING:
    from gainboard.cli.doctor import Finding


def _doctor(parsed: argparse.Namespace) -> int:
    """Check the installation, the settings and the data. Say what is wrong and how to solve it. Nothing is changed and
    no secret is shown: include the output in every bug report. The exit code is 0 if there is no problem, else 1. The
    command needs no running service, and no working database.
    """
    from gainboard.cli.doctor import run_checks  # noqa: PLC0415

    findings = []
    for name, finding in run_checks(os.environ, parsed.data, thorough=parsed.thorough):
        findings.append((name, finding))
        if not parsed.json:
            print(_line(name, finding), flush=True)
    counted = Counter(finding.verdict for _, finding in findings)
    if parsed.json:
        rows = [
            {"check": name, "verdict": finding.verdict, "said": finding.message, "advice": finding.advice}
            for name, finding in findings
        ]
        print(json.dumps({"problems": counted["problem"], "notes": counted["note"], "findings": rows}, indent=2))
    else:
        print(f"problems: {counted['problem']}, notes: {counted['note']}")
    return 1 if counted["problem"] else 0


def _line(name: str, finding: Finding) -> str:
    advice = f"\n{'':8} {'':17} -> {finding.advice}" if finding.advice else ""
    return f"{finding.verdict:8} {name:17} {finding.message}{advice}"


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thorough", action="store_true", help="also read and verify everything that is stored")
    parser.add_argument("--json", action="store_true", help="for programs")


COMMAND = Command(
    "doctor",
    __doc__,
    _doctor,
    together(data_option, _options),
    [
        Example("gainboard doctor"),
        Example("gainboard doctor --thorough --json", "after a crash of the machine, for a program to read"),
    ],
)
