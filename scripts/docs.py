"""Writes the documentation as a site of files: `python -m scripts.docs FOLDER`. A service shows the same at `/help`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from markupsafe import Markup

from gainboard import __version__
from gainboard.dashboard.rendering import ENVIRONMENT, read
from gainboard.documentation import contents, every_page, linked_files, render

STATIC = ("gainboard.css", "icon.svg")


def build(target: Path) -> None:
    """Write all pages, and the files that they lead to, into `target`, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    template = ENVIRONMENT.get_template("documentation_site.html")
    for name, shown in every_page().items():
        content = Markup(render(name).html)
        text = template.render(groups=contents(), shown=shown, content=content, version=__version__)
        (target / f"{name}.html").write_text(text, encoding="utf-8")
    for asset in STATIC:
        (target / asset).write_bytes(read(asset))
    for path, file in linked_files().items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target / path)


def main() -> None:
    """Build a site."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs", description=(__doc__ or "").strip())
    parser.add_argument("folder", type=Path, help="where to write it; what is there is removed")
    target: Path = parser.parse_args().folder
    build(target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {len(every_page())} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
