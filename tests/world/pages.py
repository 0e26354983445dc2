"""Pages of the documentation, and what is below a mark on them."""

import re

from tests.outside import ROOT

DOCS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}


def rows(page, mark):
    """The cells of the tables below a mark, without their code marks."""
    tables = re.findall(rf"<!-- {mark} -->\n\|.*\n\| ---.*\n((?:\|.*\n)+)", DOCS[page])
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in "".join(tables).splitlines()]


def block(text, mark):
    found = re.search(rf"<!-- {mark} -->\n *```\w+\n(.*?) *```", text, re.DOTALL)
    assert found is not None, f"there is no block {mark}"
    return found[1]
