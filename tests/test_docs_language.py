"""The pages are written in short sentences."""

import re

import pytest

from tests.outside import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
MOST_WORDS = 40
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[^a-z\s])")
"""A stop and a blank, before anything but a small letter: `e.g. two` is one sentence."""
GENERATED = re.compile(r"<!-- \w+: begin.*?<!-- \w+: end -->", re.DOTALL)
"""What is made of docstrings, which are held to their own rules."""


def paragraphs(page):
    """Yield the paragraphs, headings and items of lists of a page, without code, comments and tables."""
    whole = []
    prose = re.sub(r"<!--.*?-->|^( *)```.*?^\1```$", "\n", GENERATED.sub("\n", page), flags=re.DOTALL | re.MULTILINE)
    for line in [*prose.splitlines(), ""]:
        is_code = not whole and line.startswith("    ")
        if not line.strip() or is_code or line.lstrip().startswith(("|", "#")) or ITEM.match(line):
            yield " ".join(whole)
            whole = []
        if line.startswith("#"):
            yield line.lstrip("# ")
        elif line.strip() and not is_code and not line.lstrip().startswith("|"):
            whole.append(line.strip())


def sentences(page):
    for paragraph in paragraphs(page):
        # A stop within code or an address ends no sentence, and code is one word.
        plain = re.sub(r"`[^`]*`", "`code`", re.sub(r"\]\([^)]*\)", "]", paragraph))
        yield from (sentence for sentence in END.split(plain) if sentence)


def words(sentence):
    """Count what has a letter or a digit in it."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_has_over_forty_words(page):
    long = [each for each in sentences(page.read_text(encoding="utf-8")) if words(each) > MOST_WORDS]
    assert long == [], "make two sentences of each"
