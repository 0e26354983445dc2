"""A search in the sections of all pages: any of the words, in the words of newcomers as well as in ours."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from gainboard.documentation.pages import REFERENCE, HelpPage, every_page
from gainboard.documentation.rendering import Section, render

MOST_HITS: Final = 20
EXCERPT: Final = 240
"""Characters of a section that a hit shows."""
_WORD = re.compile(r"[a-z0-9]+(?:[@.'_-][a-z0-9]+)*")
_COMMON: Final = """a about an and any are as at be but by can do does for from has have how i in is it its me my not of
on or our so that the their them there this to was we what when where which who why will with you your"""
_SYNONYMS: Final[tuple[tuple[str, str], ...]] = (
    ("deadline extend postpone late", "window opens_at closes_at deadline"),
    ("timezone zone utc", "time utc zone"),
    ("measure measures", "metric"),
    ("query queries", "topic"),
    ("submission submissions system systems", "run"),
    ("grade grades graded", "level"),
    ("assessor annotator label", "judge judgment"),
    ("ground truth gold", "judgment qrels"),
    ("leaderboard ranking standings", "board leaderboard"),
    ("login log logon password account", "sign token"),
    ("significant significance pvalue p-value", "level test letters"),
    ("anonymous anonymise anonymize", "pseudonyms"),
    ("docker container kubernetes", "image docker deploy"),
    ("restore disaster", "backup"),
    ("remove erase", "delete withdraw"),
    ("llm gpt", "model judge"),
    ("speed fast slow performance", "seconds compiled fast"),
    ("doi cite citation bibtex", "cite release doi"),
    ("excel spreadsheet", "csv"),
    ("overleaf paper", "latex table"),
    ("https certificate ssl", "tls nginx"),
    ("quota rate", "limit quota budget"),
    ("upgrade update migrate", "upgrade migrate"),
    ("invite invitation", "invitation team"),
)
"""Words of newcomers, and the words of the pages that mean the same. The first found counts most."""
_OF_HEADING, _OF_TITLE, _OF_SYNONYM = 4.0, 2.0, 0.5
_USUAL_LENGTH = 150
"""Words of a section."""
_ABOUT_CODE: Final = ("architecture", "contributing")
_KIND_OF_PAGE: Final = {"Tutorials": 1.2, REFERENCE: 0.15, "Explanation": 0.8}


@dataclass(frozen=True)
class Hit:
    """A section that answers, the page that it is on, its address below `/help/`, and a part of its text."""

    page: HelpPage
    heading: str
    address: str
    excerpt: str


@dataclass(frozen=True)
class _Entry:
    page: HelpPage
    section: Section
    title: frozenset[str]
    heading: frozenset[str]
    words: Counter[str]


def search(query: str) -> Sequence[Hit]:
    """Return the sections with any of the words, the best first, and at most `MOST_HITS`.

    A rare word counts more than a common one, one in a heading more than one in the text, and a page that people wrote
    more than a list of what there is. Words that mean the same are looked for, too. The code of a fault or the name of
    a setting leads to its row first.
    """
    wanted = {word: 1.0 for word in _words(query) if word not in _COMMON.split()}
    for theirs, ours in _SYNONYMS:
        if wanted.keys() & set(_words(theirs)):
            for word in _words(ours):
                wanted.setdefault(word, _OF_SYNONYM)
    entries, number_with = _index()
    weights = {
        word: weight * math.log(1 + len(entries) / number_with[word])
        for word, weight in wanted.items()
        if word in number_with
    }
    scored = [(_score(entry, weights), number) for number, entry in enumerate(entries)]
    exact = []
    if page := _codes().get(code := query.strip()):
        exact.append(Hit(page, code, f"{page.name}.html#{code}", render(page.name).codes[code]))
    # By descending number, too: of equal scores, the section that comes first on the pages is first.
    best = sorted(((score, -number) for score, number in scored if score > 0), reverse=True)[:MOST_HITS]
    return [*exact, *(_hit(entries[-number], weights) for _, number in best)]


def _words(text: str) -> list[str]:
    """Return the words in small letters, and without the `s` of a plural."""
    return [
        word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
        for word in _WORD.findall(text.lower())
    ]


@cache
def _index() -> tuple[Sequence[_Entry], Mapping[str, int]]:
    """Return all sections, and in how many of them each word is."""
    entries = [
        _Entry(
            page,
            section,
            frozenset(_words(page.title)),
            frozenset(_words(section.heading)),
            Counter(_words(f"{section.heading} {section.text}")),
        )
        for page in every_page().values()
        for section in render(page.name).sections
    ]
    return entries, Counter(word for entry in entries for word in entry.words)


@cache
def _codes() -> Mapping[str, HelpPage]:
    """Return the pages of the codes that are no usual words: those of faults, and names with a hyphen or underscore."""
    every = [(code, page) for page in every_page().values() for code in render(page.name).codes]
    # Reversed, so that of two rows for a code the first one stays.
    return dict(reversed([(code, page) for code, page in every if page.name == "formats" or re.search("[-_]", code)]))


def _score(entry: _Entry, weights: Mapping[str, float]) -> float:
    """Return how well a section answers: more for a short section, and for one that has more of the words."""
    total = has = 0.0
    for word, weight in weights.items():
        if number := entry.words.get(word, 0):
            has += weight
            total += weight * (_OF_HEADING * (word in entry.heading) + _OF_TITLE * (word in entry.title))
            # As BM25 has it: each further time counts less, and so does a word of a long section.
            total += weight * 2 * number / (number + 0.5 + entry.words.total() / _USUAL_LENGTH)
    kind = 0.3 if entry.page.name in _ABOUT_CODE else _KIND_OF_PAGE.get(entry.page.group, 1.0)
    # A section with all words comes before one that has one of them many times.
    return total * has / sum(weights.values()) * kind if has else 0.0


def _hit(entry: _Entry, words: Iterable[str]) -> Hit:
    section, wanted = entry.section, set(words)
    anchor = f"#{section.anchor}" if section.level > 1 else ""
    starts = [word.start() for word in _WORD.finditer(section.text.lower()) if {*_words(word[0])} & wanted]
    begin = max(0, (starts[0] if starts else 0) - 60)
    begin = section.text.find(" ", begin) + 1 if begin else 0
    excerpt = section.text[begin : begin + EXCERPT]
    shown = ("… " if begin else "") + excerpt + (" …" if begin + EXCERPT < len(section.text) else "")
    return Hit(entry.page, section.heading, f"{entry.page.name}.html{anchor}", shown)
