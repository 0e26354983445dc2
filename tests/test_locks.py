"""What a reader installs is what CI installed: the README's commands take versions and hashes from the locks only."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.outside import ROOT
from tests.world.pages import block

DEMO, SERVER, TEST = "demo.lock", "server.lock", "requirements.lock"
OF_A_SERVICE = ("cluster", "fast", "figures", "metrics", "objects", "otel", "postgres")
LOCKS = (DEMO, SERVER, TEST)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = ("linux", "darwin")


def locked(name=TEST):
    """Return the versions of each package of a lock; the first is that of the oldest Python."""
    found = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", _read(name), re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def _read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def _entries(name):
    blocks = re.split(r"^(?=[\w.-]+==)", _read(name), flags=re.MULTILINE)[1:]
    return {block.partition(" \\\n")[0]: re.findall(r"--hash=(sha256:[0-9a-f]{64})", block) for block in blocks}


def test_locks_have_hashes_and_no_addresses_and_a_small_one_is_a_part_of_the_large_one():
    for name in LOCKS:
        assert "://" not in _read(name)
        assert [entry for entry, hashes in _entries(name).items() if not hashes] == []
    demo, server, test = ({(entry.split(" ;")[0], *found) for entry, found in _entries(lock).items()} for lock in LOCKS)
    assert demo <= server <= test


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_one_version_of_a_package_for_each_python_and_system(name):
    for python in PYTHONS:
        for system in SYSTEMS:
            machine = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
            every = map(Requirement, _entries(name))
            names = [each.name for each in every if each.marker is None or each.marker.evaluate(machine)]
            assert len(names) == len(set(names)), (python, system)


def test_the_locks_have_what_the_project_asks_for_and_is_built_with():
    described = tomllib.loads(_read("pyproject.toml"))
    project, built_with = described["project"], described["build-system"]["requires"]
    every = [(DEMO, "fast"), (TEST, "dev"), *((SERVER, extra) for extra in OF_A_SERVICE)]
    for lock, extra in every:
        asked = map(Requirement, [*project["dependencies"], *project["optional-dependencies"][extra], *built_with])
        versions = locked(lock)
        missing = [str(each) for each in asked if each.name != "gainboard" and not _is_met(each, versions)]
        assert missing == [], lock


def _is_met(asked, versions):
    found = versions.get(canonicalize_name(asked.name), [])
    return bool(found) and all(asked.specifier.contains(version) for version in found)


@pytest.mark.parametrize(("command", "lock"), [("demo", DEMO), ("test", TEST)])
def test_the_commands_of_the_readme_install_from_a_lock_with_hashes_and_nothing_else(command, lock):
    found = block(_read("README.md"), f"command: {command}")
    installing = [part for part in found.strip().split(" && ") if "pip" in part]
    hashed, ours = (part.removeprefix(".venv/bin/pip install -q ") for part in installing)
    assert hashed == f"--require-hashes -r {lock}"
    assert ours.removesuffix("-e .").removesuffix(".") == "--no-deps --no-build-isolation "


def test_the_page_about_a_service_installs_from_its_lock_alone():
    text = _read("docs/operating.md")
    installing = re.findall(r"pip install ([^\n`]+)", text)
    hashed = [each for each in installing if each.startswith("--require-hashes -r server.lock")]
    ours = [each for each in installing if each.startswith("--no-deps --no-build-isolation")]
    assert [each for each in installing if each not in hashed + ours] == []
    assert len(hashed) == len(ours)
    assert hashed
