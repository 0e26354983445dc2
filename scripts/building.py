"""What hatchling does beside packing files: the description without dead links, and the bill of materials.

Hatchling runs this file by itself in each build, so it imports nothing but the standard library and hatchling.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).parents[1]
BILL = "gainboard.cdx.json"
NEEDED_BY_NO_SERVICE = ("dev", "another system")
PICTURE = re.compile(r'!\[[^\]]*\]\((?!https?:)[^)]*\)\n*|<img [^>]*src="(?!https?:)[^>]*>')
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)[^)]*\)")


class DescriptionHook(MetadataHookInterface):
    """The README as the description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = (HERE / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_addresses(text)}


def without_addresses(readme: str) -> str:
    """Return the README as a package index can show it, which has none of the files that the README links to."""
    return LINK.sub(r"\1", PICTURE.sub("", readme))


class BillHook(BuildHookInterface[Any]):
    """Puts the bill of materials into a wheel (PEP 770)."""

    folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bill to where hatchling finds it."""
        if self.target_name != "wheel" or version == "editable":
            return
        self.folder = mkdtemp()
        path = Path(self.folder) / BILL
        path.write_text(json.dumps(bill(self.metadata.version), indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was packed."""
        if self.folder:
            shutil.rmtree(self.folder)


def bill(version: str) -> dict[str, Any]:
    """Return what a wheel holds of others, and which packages it needs, in CycloneDX 1.6."""
    component = {"type": "application", "bom-ref": "gainboard", "name": "gainboard", "version": version}
    component["licenses"] = [{"license": {"id": "MIT"}}]  # type: ignore[assignment]
    needed = [*_packages()]
    refs = [each["bom-ref"] for each in needed if each["scope"] == "required"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component},
        "components": [*_scripts(), *needed],
        "dependencies": [{"ref": "gainboard", "dependsOn": refs}],
    }


def _scripts() -> Iterator[dict[str, Any]]:
    """Yield the scripts for browsers, which are part of the wheel."""
    folder = HERE / "app" / "gainboard" / "dashboard" / "static" / "vendor"
    licences = dict(re.findall(r"^\| (\S+) \| [\d.]+ \| (\S+) \|", _read("docs/dependencies.md"), re.MULTILINE))
    for each in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        purl = f"pkg:npm/{each['name'].replace('@', '%40')}@{each['version']}"
        digest = base64.b64decode(each["integrity"].removeprefix("sha512-")).hex()
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": each["name"],
            "version": each["version"],
            "scope": "required",
            "licenses": [{"license": {"id": licences[each["name"]]}}],
            "hashes": [{"alg": "SHA-512", "content": digest}],
            "purl": purl,
        }


def _packages() -> Iterator[dict[str, Any]]:
    """Yield the packages that a service needs, in the versions that were tested. Extras are optional."""
    versions = re.findall(r"^([\w.-]+)==([^\s;]+)", _read("requirements.lock"), re.MULTILINE)
    known = {name: rest for name, *rest in csv.reader(_read("scripts/licences.csv").splitlines())}
    for name, version in versions:
        licence, part = known[name]
        if part in NEEDED_BY_NO_SERVICE:
            continue
        purl = f"pkg:pypi/{name}@{version}"
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "scope": "required" if part == "always" else "optional",
            "licenses": [{"license": {"name": licence}}],
            "purl": purl,
        }


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
