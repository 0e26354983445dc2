"""Renews what others wrote for browsers: `python -m scripts.vendor`, which needs npm.

Each package is taken as npm packs it, checked against npm's own hash, and written with its licence to
`static/vendor`. The manifest has what was taken: a test compares the files with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

VENDOR = Path(__file__).parents[1] / "app" / "gainboard" / "dashboard" / "static" / "vendor"


@dataclass(frozen=True)
class Package:
    """A package: the files that browsers load, and those with its licence."""

    name: str
    version: str
    files: tuple[str, ...]
    licences: tuple[str, ...] = ("LICENSE",)


PACKAGES = (
    Package("htmx.org", "4.0.1", ("dist/htmx.min.js",)),
    Package("d3", "7.9.0", ("dist/d3.min.js",)),
    Package("@observablehq/plot", "0.6.17", ("dist/plot.umd.min.js",)),
    Package("swagger-ui-dist", "5.35.0", ("swagger-ui-bundle.js", "swagger-ui.css"), ("LICENSE", "NOTICE")),
)


def take(package: Package) -> dict[str, Any]:
    """Write the files of a package, and return its entry of the manifest."""
    with TemporaryDirectory() as folder:
        command = ["npm", "pack", "--json", "--pack-destination", folder, f"{package.name}@{package.version}"]
        (packed,) = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        (archive,) = Path(folder).glob("*.tgz")
        content = archive.read_bytes()
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        if packed["integrity"] != f"sha512-{digest}":
            raise SystemExit(f"{package.name} {package.version} has another hash than npm says. Nothing was written.")
        with tarfile.open(archive) as files:
            written = [_write(files, package, name) for name in (*package.files, *package.licences)]
    return {
        "name": package.name,
        "version": package.version,
        "integrity": packed["integrity"],
        "files": dict(written),
    }


def _write(files: tarfile.TarFile, package: Package, name: str) -> tuple[str, str]:
    source = files.extractfile(f"package/{name}")
    assert source is not None
    # A script's last line may name its source map, which is not taken.
    kept = [line for line in source.read().splitlines(keepends=True) if b"# sourceMappingURL" not in line[:22]]
    content = b"".join(kept)
    short = package.name.rpartition("/")[2].removesuffix(".org").removesuffix("-dist")
    target = Path(name).name if name in package.files else f"{short}.{Path(name).name}.txt"
    (VENDOR / target).write_bytes(content)
    return target, hashlib.sha256(content).hexdigest()


def main() -> None:
    """Renew all packages."""
    VENDOR.mkdir(parents=True, exist_ok=True)
    for old in VENDOR.iterdir():
        old.unlink()
    manifest = [take(package) for package in PACKAGES]
    (VENDOR / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    for each in manifest:
        print(f"{each['name']} {each['version']}: {', '.join(each['files'])}")


if __name__ == "__main__":
    main()
