"""Makes a release: `python -m scripts.release --check` tries all of it and keeps nothing.

It takes the last commit, twice, into folders of their own: the documentation is built, then wheel and source
distribution, and both times have the same bytes. Each Python that is found gets the wheel into an empty environment,
alone and with each extra by itself. There it has to score a file and to serve its pages. The source distribution is
installed once for each Python. Without `--check`, the two files of the first build are written to `dist`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.metadata import Metadata

from gainboard import __version__
from gainboard.trec.bodies import extract

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)
MODULES: Mapping[str, str] = {
    "postgres": "psycopg",
    "cluster": "procrastinate",
    "metrics": "prometheus_client",
    "objects": "obstore",
    "otel": "opentelemetry.sdk",
    "figures": "matplotlib",
    "fast": "numba",
    "ir-measures": "gainboard.ir_measures",
    "ir-datasets": "ir_datasets",
    "bench": "ranx",
    "dev": "pytest",
}
"""A module that each extra brings."""
TRIAL = """
import importlib, sys, httpx, gainboard
from gainboard.client.connections import HOST, LocalService
for name in sys.argv[1:]:
    importlib.import_module(name)
gainboard.score(b"1 0 a 2\\n1 0 b 0\\n", [b"1 Q0 a 1 2.0 x\\n1 Q0 b 2 1.0 x\\n"], ["AP", "nDCG@10"])
service = LocalService()
with httpx.Client(transport=service.transport, base_url=f"http://{HOST}") as client:
    assert client.get("/readyz").status_code == 200
    assert "Explanation" in client.get("/help/index.html").text, "the wheel has no documentation"
service.close()
"""


def names() -> Iterator[str]:
    """Yield what is wrong with the version and its names."""
    changelog = _read("CHANGELOG.md")
    if not re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no entry with a date for {__version__}"
    unreleased = changelog.partition("## [Unreleased]")[2].partition("\n## [")[0].strip()
    if unreleased:
        yield f"CHANGELOG.md has {len(unreleased):,} characters under Unreleased: move them to the version's entry"
    if f"\nversion: {__version__}\n" not in _read("CITATION.cff"):
        yield f"CITATION.cff has another version than {__version__}"
    if json.loads(_read("codemeta.json"))["version"] != __version__:
        yield f"codemeta.json has another version than {__version__}"
    tag = f"v{__version__}"
    here = _told("git", "tag", "--points-at", "HEAD").split()
    if here and tag not in here:
        yield f"the last commit has the tag {', '.join(here)}, and its version wants {tag}"
    if tag in _told("git", "tag").split() and tag not in here:
        yield f"the tag {tag} is on another commit: raise __version__"
    if changed := _told("git", "status", "--porcelain").strip():
        yield f"not committed: {', '.join(changed.split()[1::2])}"


def built(folder: Path) -> list[Path]:
    """Build wheel and source distribution of the last commit, and return them."""
    source, target = folder / "source", folder / "dist"
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        extract(files, source)
    environment = {
        **os.environ,
        "PYTHONPATH": str(source / "app"),
        "PYTHONHASHSEED": folder.name,
    }  # another order of sets
    environment["SOURCE_DATE_EPOCH"] = _told("git", "log", "-1", "--format=%ct").strip()
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    return sorted(target.iterdir())


def contents(wheel: Path, sdist: Path) -> Iterator[str]:
    """Yield what a wheel, its description and the source distribution lack."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        (metadata,) = (name for name in inside if name.endswith(".dist-info/METADATA"))
        bill = next((name for name in inside if ".dist-info/sboms/" in name), "")
        text = archive.read(metadata)
        parts = json.loads(archive.read(bill))["components"] if bill else ()
    for wanted in ("gainboard/py.typed", "gainboard/pages/docs/index.md", "gainboard/migrations/env.py"):
        if wanted not in inside:
            yield f"the wheel has no {wanted}"
    if len(parts) < 30:
        yield "the bill of materials is empty"
    described = Metadata.from_email(text, validate=True)
    for field in ("summary", "description", "license_expression", "requires_python", "classifiers", "keywords"):
        if not getattr(described, field):
            yield f"the metadata has no {field}"
    yield from description_faults(described.description or "")
    with tarfile.open(sdist) as files:
        packed = {name.partition("/")[2] for name in files.getnames()}
    for wanted in ("requirements.lock", "scripts/building.py", "docs/index.md", "CITATION.cff", "tests/conftest.py"):
        if wanted not in packed:
            yield f"the source distribution has no {wanted}"


def description_faults(text: str) -> Iterator[str]:
    """Yield what a package index would not show of a description in Markdown."""
    from readme_renderer import markdown  # noqa: PLC0415 (of the extra `dev`)

    html = markdown.render(text)
    if not html:
        yield "the README does not render"
    for link in re.findall(r'(?:href|src)="([^"]*)"', html or ""):
        if not link.startswith(("http:", "https:", "#", "mailto:")):
            yield f"the description leads to {link}, which an index does not have"


def pythons() -> list[str]:
    """Return the interpreters that are found: on the path, and of pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*versions.glob("3.*/bin/python"), *(shutil.which(f"python3.{minor}") or "" for minor in range(11, 20))]
    by_version: dict[tuple[int, ...], str] = {}
    for path in map(str, found):
        if path and (version := _version_of(path)) >= OLDEST:
            by_version.setdefault(version, path)
    return [by_version[version] for version in sorted(by_version)]


def _version_of(python: str) -> tuple[int, ...]:
    done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, done.stdout.split()))


def installed(python: str, what: str, modules: Iterable[str], folder: Path) -> str:
    """Install into an empty environment and try it. Return what went wrong, or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    constraints = folder.with_suffix(".txt")
    constraints.write_text("".join(f"{line}\n" for line in locked()), encoding="utf-8")
    inside = str(folder / "bin/python")
    pip = [inside, "-m", "pip", "--disable-pip-version-check"]
    commands = (
        [python, "-m", "venv", str(folder)],
        [*pip, "install", "--quiet", "--no-compile", "--constraint", str(constraints), what],
        [*pip, "check"],
        [inside, "-c", TRIAL, *modules],
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for command in commands:
        done = subprocess.run(command, cwd=folder.parent, env=environment, capture_output=True, text=True)
        if done.returncode:
            return (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"
    return ""


def locked() -> list[str]:
    """Return the tested versions without their hashes, which would be wanted of the new file, too."""
    return re.findall(r"^([\w.-]+==[^\\\n]+?) *\\?$", _read("requirements.lock"), re.MULTILINE)


def extras() -> list[str]:
    """Return the names of all extras."""
    return list(tomllib.loads(_read("pyproject.toml"))["project"]["optional-dependencies"])


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _told(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def hashes(files: Iterable[Path]) -> dict[str, str]:
    """Return the hash of each file by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Report:
    """What is printed, line by line, and whether anything was wrong."""

    def __init__(self) -> None:
        self.is_fine = True
        self._since = time.monotonic()

    def line(self, what: str, faults: Iterable[str]) -> None:
        """Print a check with its time and its faults."""
        found = [*faults]
        now = time.monotonic()
        print(f"{'failed' if found else 'ok':7}{now - self._since:6.1f} s  {what}", flush=True)
        for fault in found:
            print("       ", fault.replace("\n", "\n        "), flush=True)
        self.is_fine, self._since = self.is_fine and not found, now


def check(chosen: list[str], wanted: list[str]) -> bool:
    """Try a release with these Pythons and extras. Return whether all is fine."""
    report = Report()
    report.line(f"version {__version__}: changelog, citation, tag, tree", names())
    with TemporaryDirectory() as name:
        folders = [Path(name) / number for number in ("1", "2")]
        first, second = (built(folder) for folder in folders)
        wheel, sdist = (next(path for path in first if path.suffix == ending) for ending in (".whl", ".gz"))
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in first)
        report.line(f"built twice with the same bytes: {sizes}", _differences(first, second))
        report.line("contents, metadata and description", contents(wheel, sdist))
        for python in chosen:
            version = ".".join(map(str, _version_of(python)))
            environment = Path(name) / f"environment-{version}"
            for extra in ("", *wanted):
                what = f"{wheel}[{extra}]" if extra else str(wheel)
                fault = installed(python, what, [MODULES[extra]] if extra else [], environment)
                title = f"Python {version}: the wheel{f' with {extra}' if extra else ''}, {_megabytes(environment)} MB"
                report.line(title, [fault] if fault else ())
            fault = installed(python, str(sdist), [], environment)
            report.line(f"Python {version}: the source distribution", [fault] if fault else ())
            shutil.rmtree(environment, ignore_errors=True)
    return report.is_fine


def _megabytes(environment: Path) -> int:
    """Return the size of what is installed, without pip."""
    files = (path for path in environment.glob("lib/*/site-packages/**/*") if path.is_file() and not path.is_symlink())
    return round(sum(path.stat().st_size for path in files if "pip" not in path.parts) / 1e6)


def _differences(first: list[Path], second: list[Path]) -> Iterator[str]:
    others = hashes(second)
    yield from (f"{name} differs" for name, digest in hashes(first).items() if others.get(name) != digest)


def main(arguments: list[str]) -> int:
    """Check a release, or write it to `dist`."""
    parser = argparse.ArgumentParser(prog="python -m scripts.release", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="try everything, and keep nothing")
    parser.add_argument("--python", action="append", metavar="PATH", help="an interpreter to install into (all found)")
    parser.add_argument("--extra", action="append", choices=extras(), help="an extra to install by itself (all)")
    asked = parser.parse_args(arguments)
    if asked.check:
        return 0 if check(asked.python or pythons(), asked.extra or extras()) else 1
    if faults := [*names()]:
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    with TemporaryDirectory() as name:
        (ROOT / "dist").mkdir(exist_ok=True)
        for path in built(Path(name) / "1"):
            print(shutil.copy(path, ROOT / "dist"))
    print(f"Tag this commit as v{__version__}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
