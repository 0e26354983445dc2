"""Plants defects in the product, one at a time, and tells which of them the tests find.

    pytest -n 2 --cov=gainboard --cov-context=test --cov-report= --junitxml=times.xml
    python -m tests.defects choose --coverage .coverage --seed 33 --count 220 > tests/defects/list.txt
    python -m tests.defects try --coverage .coverage --times times.xml tests/defects/list.txt > found.txt
    python -m tests.defects whole found.txt

`choose` draws defects at lines that tests reach. `try` runs the tests that reach a defect's line, the quickest first,
until one fails or 60 seconds are over; as many are tried at once as there are cores. `whole` plants all that survived
at once and runs the whole suite; then it tries each of them on the tests that failed. A line of `list.txt` is a
defect's name; one of `found.txt` has also `caught` or `survived`, the seconds, and by what. (The file that is kept here
has no seconds.) Coverage comes with pytest-cov, which is not among the project's dependencies: install it for this.
"""

import argparse
import ast
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

from tests.defects.planting import VARIABLE, functions, places

HERE, ROOT = Path(__file__).parent, Path(__file__).parent.parent.parent
SOURCE = ROOT / "app"
SECONDS = 60
NOT_COMPILED = re.compile(r"gainboard\.(trec|metrics)\.(kernels|compiled_pass)$|gainboard\.compiled$")
"""Modules whose compiled code is kept by their source: a defect would not reach it."""


@dataclass(frozen=True)
class Defect:
    """A place in a function, and its line."""

    name: str
    path: Path
    line: int


def every_defect():
    """All places of all modules that can be changed."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if NOT_COMPILED.search(module):
            continue
        for function, node in functions(ast.parse(path.read_text(encoding="utf-8"))):
            for number, place in enumerate(places(node)):
                yield Defect(f"{module}:{function}:{number}", path, getattr(place, "lineno", 0))


def reached(file):
    """A function that returns the tests that reach a line of a file."""
    data = import_module("coverage").CoverageData(file)  # not among the project's dependencies
    data.read()
    by_file = {}

    def tests(defect):
        if defect.path not in by_file:
            by_file[defect.path] = data.contexts_by_lineno(str(defect.path))
        contexts = by_file[defect.path].get(defect.line, [])
        return sorted({context.partition("|")[0] for context in contexts if context})

    return tests


def seconds_of(file):
    """The seconds of each test, by its name without the parameters."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '').partition('[')[0]}"
        found[name] = max(found.get(name, 0.0), float(case.get("time", 0)))
    return found


def run_tests(defects, tests, seconds, *options):
    """Return the tests that fail with these defects, without their parameters.

    A run that does not end in time has found nothing.
    """
    environment = {**os.environ, VARIABLE: " ".join(defects)}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (HERE, ROOT, SOURCE)))
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "tests")
        names.write_text("\n".join(tests), encoding="utf-8")
        environment |= {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/t", *options]
        with subprocess.Popen(
            [*command, f"@{names}"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                said = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                return []
    failed = dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", said, re.MULTILINE))
    if failed or process.returncode in (0, 5):
        return list(failed)
    stopped = re.search(r"ImportError|rror while loading", said)
    return [stopped[0] if stopped else f"exit {process.returncode}"]


def _choose(given):
    tests, drawn = reached(given.coverage), list(every_defect())
    random.Random(given.seed).shuffle(drawn)
    chosen = []
    for defect in drawn:
        if len(chosen) < given.count and tests(defect):
            chosen.append(defect.name)
    print("\n".join(sorted(chosen)))
    return 0


def _try(given):
    tests, seconds = reached(given.coverage), seconds_of(given.times)
    known = {defect.name: defect for defect in every_defect()}

    def try_one(name):
        began = time.monotonic()
        if name not in known:
            return f"{name}\tgone\t0\t"
        quickest = sorted(tests(known[name]), key=lambda test: seconds.get(test.partition("[")[0], 1.0))
        failed = run_tests([name], quickest, SECONDS, "-x", "-m", "") if quickest else []
        return f"{name}\t{'caught' if failed else 'survived'}\t{time.monotonic() - began:.1f}\t{''.join(failed[:1])}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(try_one, Path(given.list).read_text(encoding="utf-8").split()):
            print(line, flush=True)
    return 0


def _whole(given):
    survived = [line.split("\t")[0] for line in Path(given.found).read_text().splitlines() if "\tsurvived" in line]
    failed = run_tests(survived, ["tests"], 7200, "-n", "auto", "--dist", "loadfile")
    print(f"{len(survived)} defects at once: {len(failed)} tests failed", file=sys.stderr, flush=True)
    for name in survived:
        by = run_tests([name], failed, 600, "-x") if failed else []
        print(f"{name}\t{'caught' if by else 'survived'}\t{''.join(by[:1])}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    wanted = {
        "choose": (_choose, {"--coverage": None, "--seed": 33, "--count": 220}),
        "try": (_try, {"--coverage": None, "--times": None, "list": None}),
        "whole": (_whole, {"found": None}),
    }
    for name, (run, arguments) in wanted.items():
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        for argument, default in arguments.items():
            own = {"required": True} if default is None else {"type": int, "default": default}
            command.add_argument(argument, **(own if argument[0] == "-" else {}))
    given = parser.parse_args()
    return int(given.run(given))


if __name__ == "__main__":
    sys.exit(main())
