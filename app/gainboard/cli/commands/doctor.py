"""Find problems, and say how to solve them."""

from __future__ import annotations

import json as json_format
import os
from collections import Counter
from typing import Annotated

from gainboard.cli.command import Example, command
from gainboard.cli.options import Data


@command(
    __doc__,
    Example("gainboard doctor"),
    Example("gainboard doctor --thorough --json", "after a crash of the machine, for a program to read"),
)
def doctor(
    *,
    data: Data = None,
    thorough: Annotated[bool, "also read and verify everything that is stored"] = False,
    json: Annotated[bool, "for programs"] = False,
) -> int:
    """Check the installation, the settings and the data. Say what is wrong and how to solve it. Nothing is changed and
    no secret is shown: include the output in every bug report. The exit code is 0 if there is no problem, else 1. The
    command needs no running service, and no working database.
    """
    from gainboard.cli.doctor import run_checks  # noqa: PLC0415

    findings = []
    for name, finding in run_checks(os.environ, data, thorough=thorough):
        findings.append((name, finding))
        if not json:
            advice = f"\n{'':8} {'':17} -> {finding.advice}" if finding.advice else ""
            print(f"{finding.verdict:8} {name:17} {finding.message}{advice}", flush=True)
    counted = Counter(finding.verdict for _, finding in findings)
    if json:
        rows = [
            {"check": name, "verdict": finding.verdict, "said": finding.message, "advice": finding.advice}
            for name, finding in findings
        ]
        report = {"problems": counted["problem"], "notes": counted["note"], "findings": rows}
        print(json_format.dumps(report, indent=2))
    else:
        print(f"problems: {counted['problem']}, notes: {counted['note']}")
    return 1 if counted["problem"] else 0
