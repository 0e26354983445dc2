"""Builds the documentation: `python -m scripts.docs` for `/help`, `python -m scripts.docs --site FOLDER` for a site.

The pages are plain Markdown, which GitHub shows, too. Sphinx gets a copy of them, together with the pages that lie
outside of `docs`. The result loads nothing from elsewhere, and nothing in it is inline: a service shows its pages under
a policy that allows scripts and styles in files only.
"""

from __future__ import annotations

import argparse
import hashlib
import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[1]
HELP = ROOT / "app" / "gainboard" / "dashboard" / "help"
"""Where a service looks for its pages. Git ignores the folder, and wheels that are built afterwards have it."""
ELSEWHERE = {"CHANGELOG.md": "changelog.md", "benchmarks/README.md": "benchmarks.md"}
"""The pages outside of `docs`, and their names among the others."""
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^( *)```.*?^\1```$|(?<!`)`[^`\n]+`(?!`)", re.DOTALL | re.MULTILINE)


def stage(folder: Path) -> None:
    """Write to `folder` what Sphinx reads: all pages side by side, and below `files` what else they link to."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    pages = {f"docs/{path.name}": path.name for path in folder.glob("*.md")}
    for source, name in (pages | ELSEWHERE).items():
        text = _moved((ROOT / source).read_text(encoding="utf-8"), posixpath.dirname(source), folder)
        contents = "".join(_contents(text)) if name == "index.md" else ""
        (folder / name).write_text(text + contents, encoding="utf-8")


def _moved(text: str, base: str, folder: Path) -> str:
    """Return a page with its links as they are in `folder`. Files that lie outside of `docs` are copied there."""

    def move(found: re.Match[str]) -> str:
        path, mark, anchor = found[1].partition("#")
        if not path or ":" in path:
            return found[0]
        target = posixpath.normpath(posixpath.join(base, path))
        moved = ELSEWHERE.get(target) or target.removeprefix("docs/")
        if moved == target:
            moved = f"files/{target}"
            (folder / moved).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target, folder / moved)
        return f"]({moved}{mark}{anchor})"

    return _outside_of_code(text, lambda part: LINK.sub(move, part))


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for code in CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _contents(index: str) -> Iterator[str]:
    """Yield the tables of contents that Sphinx needs: the links below each heading of the first page."""
    _, *heads = re.split(r"^## (.*)$", index, flags=re.MULTILINE)
    for title, section in zip(heads[::2], heads[1::2], strict=True):
        names = dict.fromkeys(re.sub(r"\.(md|rst)$", "", link) for link in LINK.findall(section) if "#" not in link)
        yield "\n".join(("", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""))


def build(target: Path, is_for_service: bool) -> None:
    """Build all pages into `target`, which is emptied first. Every warning of Sphinx is an error."""

    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as name:
        source = Path(name) / "source"
        stage(source)
        tags = ["--tag", "service"] if is_for_service else []
        doctrees = ["--doctree-dir", f"{name}/doctrees"]
        if build_main(["-q", "--fail-on-warning", "-E", "-b", "html", *tags, *doctrees, str(source), str(target)]):
            raise SystemExit("The documentation was not built: see above.")
    (target / ".buildinfo").unlink()
    shutil.rmtree(target / "_sources")
    for page in sorted(target.rglob("*.html")):
        html = with_row_ids(for_everybody(page.read_text(encoding="utf-8")))
        page.write_text(without_inline(html, page, target), encoding="utf-8")


SCROLLED = re.compile(r'<pre>|<div class="table-wrapper[^"]*"(?=>)')


def for_everybody(html: str) -> str:
    """Return a page whose wide parts can be scrolled by the keyboard, and whose captions have a level."""
    html = html.replace(' role="heading">', ' role="heading" aria-level="2">')
    return SCROLLED.sub(lambda found: f'{found[0].removesuffix(">")} tabindex="0"{">" * found[0].endswith(">")}', html)


ROW = re.compile(
    r'<tr class="row-(?:odd|even)">(?=<td><p><code[^>]*><span class="pre">([\w-]+)</span></code></p></td>)'
)


def with_row_ids(html: str) -> str:
    """Return a page whose table rows can be linked to: each has the code in its first cell, such as `crlf`, as its id.

    Headings that have the id already keep it, and so does the first row of several.
    """
    taken = set(re.findall(r'\sid="([^"]+)"', html))

    def marked(found: re.Match[str]) -> str:
        if found[1] in taken:
            return found[0]
        taken.add(found[1])
        return f'{found[0][:-1]} id="{found[1]}">'

    return ROW.sub(marked, html)


SCRIPT = re.compile(r"<script(?P<more>(?![^>]*\ssrc=)[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style(?P<more>[^>]*)>(?P<text>.*?)</style>", re.DOTALL)
ATTRIBUTE = re.compile(r'(<\w[^<>]*?)\sstyle="([^"]*)"([^<>]*>)')
CLASS = re.compile(r'\sclass="([^"]*)"')


def without_inline(html: str, page: Path, root: Path) -> str:
    """Return a page whose scripts and styles are files, which are written below `root`."""
    up = "../" * (len(page.relative_to(root).parts) - 1)

    def kept(text: str, ending: str) -> str:
        name = f"_static/inline-{hashlib.sha256(text.encode()).hexdigest()[:12]}.{ending}"
        (root / name).write_text(text, encoding="utf-8")
        return up + name

    html = SCRIPT.sub(lambda found: f'<script src="{kept(found["text"], "js")}"></script>', html)
    html = STYLE.sub(lambda found: f'<link rel="stylesheet" href="{kept(found["text"], "css")}">', html)
    rules: dict[str, str] = {}

    def classed(found: re.Match[str]) -> str:
        before, style, after = found.groups()
        name = f"inline-{hashlib.sha256(style.encode()).hexdigest()[:12]}"
        rules[name] = style
        tag = before + after
        if CLASS.search(tag):
            return CLASS.sub(lambda old: f' class="{old[1]} {name}"', tag, count=1)
        return f'{before} class="{name}"{after}'

    html = ATTRIBUTE.sub(classed, html)
    if rules:
        text = "".join(f".{name} {{ {style} }}\n" for name, style in sorted(rules.items()))
        html = html.replace("</head>", f'<link rel="stylesheet" href="{kept(text, "css")}">\n</head>', 1)
    return html


def main(arguments: list[str]) -> None:
    """Build the pages for a service, or those of a site."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs", description=__doc__.partition("\n")[0])
    parser.add_argument("--site", type=Path, metavar="FOLDER", help="build a site into this folder, which is emptied")
    site: Path | None = parser.parse_args(arguments).site
    build(site or HELP, is_for_service=site is None)
    pages = [*(site or HELP).rglob("*")]
    size = sum(path.stat().st_size for path in pages if path.is_file())
    print(f"{site or HELP}: {sum(path.suffix == '.html' for path in pages)} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
