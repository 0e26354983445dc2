"""The pages lead where they say, and their commands are ones."""

import re
import shlex
from functools import cache

import pytest

from gainboard.cli.parsing import every_command, parser
from tests.outside import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
INLINE = re.compile(r"(?<!`)`(gainboard [a-z][^`\n]*)`")
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


@cache
def anchors(page):
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problem(page, link):
    """Whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not link.startswith("http") and problem(page, link)] == []


def test_every_page_is_listed_in_the_first_one():
    first = ROOT / "docs" / "index.md"
    others = {*(ROOT / "docs").glob("*.md")} - {first}
    assert [page.name for page in others if f"]({page.name})" not in first.read_text(encoding="utf-8")] == []
    assert "](docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_within_a_text_is_one(page):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        words = shlex.split(command)[1:]
        if len(words) > 2:
            parser(words[:1]).parse_args(words)  # exits where it is not understood
        elif words[:1] == ["trec_eval"]:  # its help is trec_eval's own
            assert parser(words).parse_args([*words, "--help"]).arguments[-1] == "--help"
        else:  # it is named, without what it needs
            with pytest.raises(SystemExit) as ended:
                parser(words[:1]).parse_args([*words, "--help"])
            assert ended.value.code == 0, command


def test_every_command_is_named_by_a_page():
    whole = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    names = [each.name for each in every_command()]
    assert [name for name in names if not re.search(rf"\bgainboard {name}\b|`{name}`", whole)] == []
