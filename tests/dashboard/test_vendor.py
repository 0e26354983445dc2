"""What others wrote for browsers: unchanged, licensed, and all that pages load beside our own files."""

import hashlib
import json
import re

import pytest

from scripts.vendor import PACKAGES, VENDOR
from tests.outside import ROOT
from tests.world.pages import DOCS

DASHBOARD = ROOT / "app" / "gainboard" / "dashboard"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text(encoding="utf-8"))
OWN = [
    path
    for folder in ("templates", "static")
    for path in sorted((DASHBOARD / folder).glob("*.*"))
    if path.suffix in (".html", ".js", ".css", ".svg")
]
ELSEWHERE = re.compile(r"""(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w-]+\.[\w.-]+""")
INLINE = re.compile(r"<script(?![^>]*\b(?:src=|type=\"application/json\"))|\sstyle=|\son[a-z]+=", re.IGNORECASE)
MOST_LINES = 1000


def test_the_files_are_those_of_the_manifest():
    listed = {name: sha256 for package in MANIFEST for name, sha256 in package["files"].items()}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del found["manifest.json"]
    assert found == listed


def test_the_manifest_has_the_packages_that_are_renewed_with_their_licences():
    assert [(each["name"], each["version"]) for each in MANIFEST] == [(each.name, each.version) for each in PACKAGES]
    assert [each["name"] for each in MANIFEST if not any("LICENSE" in name for name in each["files"])] == []
    page = DOCS["dependencies.md"]
    assert [each.name for each in PACKAGES if f"| {each.name} | {each.version} |" not in page] == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_file_of_ours_names_another_origin_or_has_inline_code(path):
    text = re.sub(r"\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert ELSEWHERE.findall(text) == []
    if path.suffix == ".html":
        assert INLINE.findall(text) == []


def test_nothing_keeps_data_in_the_browser():
    """Swagger UI could keep tokens there. It does so only where a page asks for it, and ours does not."""
    storage = re.compile(r"localStorage|sessionStorage|indexedDB|document\.cookie|persistAuthorization")
    scripts = [*OWN, *(path for path in VENDOR.glob("*.js") if path.name != "swagger-ui-bundle.js")]
    assert [path.name for path in scripts if storage.search(path.read_text(encoding="utf-8"))] == []


def test_our_scripts_stay_small():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in OWN if path.suffix == ".js") < MOST_LINES
