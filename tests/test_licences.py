"""The licences of everything that is locked: scripts/licences.csv; `python -m tests.test_licences` renews it."""

import csv
import io
import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.outside import ROOT
from tests.test_locks import locked

FILE = ROOT / "scripts/licences.csv"
RENEW = "python -m tests.test_licences"
PERMITTED = re.compile(
    r"MIT\b|BSD\b|0BSD|Apache|PSF|Python Software Foundation|Zlib|CC0|MPL|Mozilla Public|LGPL|HPND|ISC|DFSG|LLVM"
)
UNSTATED = {"axe-playwright-python": "MIT; the script inside is MPL-2.0", "ppi-python": "MIT"}
"""Licences of packages whose metadata have none: as their files have them."""
PARTS = (*("postgres", "cluster", "metrics", "otel", "figures", "objects", "fast", "ir-measures", "ir-datasets"), "dev")


def _licence(name):
    stated = metadata.metadata(name)
    if expression := stated.get("License-Expression"):
        return str(expression)
    classifiers = [each.split(" :: ")[-1] for each in stated.get_all("Classifier", ()) if each.startswith("License ::")]
    if name in UNSTATED:
        return UNSTATED[name]
    named = sorted(each for each in classifiers if each != "DFSG approved")
    return ", ".join(named) or str(stated.get("License", "")).partition("\n")[0]


def _needed(requirements, extra=""):
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name == "gainboard":
            continue
        yield name
        for each in ("", *requirement.extras):
            yield from _needed(metadata.requires(name) or (), each)


def _parts():
    """Return for each package that is installed as it is locked the first part of the project that needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    by_part = {"always": set(_needed(project["dependencies"]))}
    by_part |= {part: set(_needed(optional[part])) for part in PARTS}
    return {
        name: next(part for part, names in by_part.items() if name in names)
        for name, versions in locked().items()
        if _installed(name) in versions
    }


def _installed(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _rows():
    return {name: rest for name, *rest in list(csv.reader(FILE.read_text(encoding="utf-8").splitlines()))[1:]}


def _renewed():
    kept, parts = _rows(), _parts()
    found = {name: [_licence(name), parts[name]] if name in parts else kept[name] for name in sorted(locked())}
    text = io.StringIO()
    rows = [["package", "licence", "needed by"], *([name, *rest] for name, rest in found.items())]
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def test_the_file_has_every_locked_package_with_its_licence():
    if others := [name for name, versions in locked().items() if _installed(name) not in (None, *versions)]:
        pytest.skip(f"the file is about the locked versions; others are installed of {', '.join(others)}")
    assert FILE.read_text(encoding="utf-8") == _renewed(), f"to renew it: {RENEW}"


def test_every_licence_permits_what_we_do():
    licences = {name: licence for name, (licence, _) in _rows().items()}
    assert [name for name, licence in licences.items() if not PERMITTED.search(licence)] == []
    # The GPL is that of docutils's mode for Emacs, which no wheel of it holds.
    assert [name for name, licence in licences.items() if re.search(r"\bA?GPL", licence)] == ["docutils"]


if __name__ == "__main__":
    FILE.write_text(_renewed(), encoding="utf-8")
