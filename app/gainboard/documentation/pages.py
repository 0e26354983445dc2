"""The pages of the documentation, in the order of its first one, their text, and the gallery as a part of them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from posixpath import dirname, join, normpath
from threading import Lock, Thread
from typing import Any, Final

from gainboard import children

FIRST: Final = "index"
REFERENCE: Final = "Reference"
"""The heading of the first page below which there are pages that list what there is."""
_MADE = re.compile(r"^<!-- made: ([\w-]+) -->\n.*?^<!-- made -->$", re.DOTALL | re.MULTILINE)
"""A part that the program makes, and what readers of the repository see in its place."""
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
_MAKING = Lock()


@dataclass(frozen=True)
class HelpPage:
    """A page: its name in an address, its file below the root of the repository, and where the first page lists it."""

    name: str
    source: str
    group: str
    title: str

    @property
    def text(self) -> str:
        """The page in Markdown, with the parts that the program makes."""
        text = (root() / self.source).read_text(encoding="utf-8")
        return _MADE.sub(lambda mark: parts()[mark[1]], text)

    def target_of(self, path: str) -> str:
        """Return a file that the page links to, by its path below the root of the repository."""
        return normpath(join(dirname(self.source), path))


@cache
def root() -> Path:
    """Return the folder with `docs`. A wheel has it inside the package, a checkout has it beside the source root."""
    package = Path(__file__).parents[1]
    inside = package / "pages"
    return inside if inside.is_dir() else package.parents[1]


@cache
def every_page() -> Mapping[str, HelpPage]:
    """Return the pages by name: the first page, and those that it lists, in its order."""
    text = (root() / "docs" / f"{FIRST}.md").read_text(encoding="utf-8")
    pages = {FIRST: HelpPage(FIRST, f"docs/{FIRST}.md", "", "Documentation")}
    _, *heads = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    for group, section in zip(heads[::2], heads[1::2], strict=True):
        for path in _LINK.findall(section):
            source = pages[FIRST].target_of(path)
            # A README is named by its folder.
            name = "benchmarks" if source == "benchmarks/README.md" else Path(path).stem.lower()
            # A page that is listed twice is below the first heading.
            if path.endswith(".md") and name not in pages:
                heading = (root() / source).read_text(encoding="utf-8").partition("\n")[0]
                pages[name] = HelpPage(name, source, group, heading.removeprefix("# ").replace("`", ""))
    return pages


def contents() -> list[tuple[str, list[HelpPage]]]:
    """Return the pages by the heading below which the first page lists them. It stands first, without a heading."""
    return [(group, [*pages]) for group, pages in groupby(every_page().values(), lambda page: page.group)]


@cache
def linked_files() -> Mapping[str, Path]:
    """Return the files that pages show or link to, by their path below the root: `docs/images/board.png`."""
    files: dict[str, Path] = {}
    for page in every_page().values():
        for path in _LINK.findall(page.text):
            file = root() / (target := page.target_of(path))
            if ":" not in path and not path.endswith(".md") and file.is_file():
                files[target] = file
    return files


def parts() -> Mapping[str, str]:
    """Return what the program makes of itself, in Markdown, by name. A process apart does it once, in some seconds.

    It imports every command, which no service needs afterwards.
    """
    with _MAKING:  # the others wait for the first
        return _make_parts()


def make_ahead() -> None:
    """Begin to make the parts while a reader looks at a page that has none."""
    if not _MAKING.locked() and not _make_parts.cache_info().currsize:
        # A daemon, because a server that stops should not wait for it.
        Thread(target=parts, daemon=True).start()


@cache
def _make_parts() -> Mapping[str, str]:
    done = subprocess.run(
        children.command("gainboard.cli.parts"), env=children.environment(), capture_output=True, check=True
    )
    texts: dict[str, str] = json.loads(done.stdout)
    return texts


def gallery_page() -> str:
    """Return every kind of job and report with its figure, or a part of its table, and the request for it."""
    gallery: dict[str, Any] = json.loads((root() / "docs/gallery/made.json").read_text(encoding="utf-8"))
    return "\n".join(line for name, kind in gallery.items() for line in _gallery_section(name, kind))


def _gallery_section(name: str, kind: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{kind['summary']} [All about it]({kind['page']}#{name})\n"
    if "caption" in kind:
        yield f"![{kind['caption']}](gallery/{name}.svg)\n"
        yield f"{kind['caption']}\n"
    for line in kind.get("table", ()):
        yield f"| {' | '.join(line)} |"
    yield f"\n```http\nPOST {kind['path']}\n{json.dumps(kind['body'])}\n```\n"
