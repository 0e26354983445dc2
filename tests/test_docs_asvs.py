"""The page on security has every requirement of OWASP ASVS, and what shall show one, or a promise, is there."""

import re

from tests.outside import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"`((?:app|deploy|docs|tests)/[^`:]+|\.dockerignore)(?:::(\w+))?`")
"""A file, or a test in a file."""
NUMBER = re.compile(r"(?<![.\d])\d+\.\d+\.\d+(?!\d|\.\d)")
SECTIONS = {
    **{"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2},
    **{"2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1},
    **{"3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2},
    **{"4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4},
    **{"5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3},
    **{"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2},
    **{"8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1},
    **{"13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5},
    **{"14.1": 2, "14.2": 4, "14.3": 3},
    **{"16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3},
}
"""How many requirements of levels 1 and 2 each section of version 5.0.0 has: the first ones of the section."""


def part(heading):
    """The text below a heading of the second level."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def items(text):
    """The items of the lists of a text, each on one line."""
    return [" ".join(each.split()) for each in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


CHECKLIST = part("Checklist: OWASP ASVS")
ABSENT = next(each for each in items(CHECKLIST) if each.startswith("**Not applicable**"))
MET = [each for each in items(CHECKLIST.partition("\nV1 ")[2]) if NUMBER.search(each)]


def test_every_requirement_is_met_or_has_its_place_among_the_others():
    wanted = {f"{section}.{number}" for section, most in SECTIONS.items() for number in range(1, most + 1)}
    places = ("\n".join(MET), ABSENT, part("What only the proxy does"), part("What is not protected"))
    found = [number for place in places for number in NUMBER.findall(place)]
    assert sorted(found) == sorted(wanted)
    assert [len(NUMBER.findall(place)) for place in places[1:]] == [21, 6, 11]


def test_every_chapter_has_a_list_or_a_line():
    of_lists = re.findall(r"^V(\d+) ", CHECKLIST, re.MULTILINE)
    of_lines = re.findall(r"^- V(\d+) [^:]+: \w", CHECKLIST, re.MULTILINE)
    assert of_lists == [*dict.fromkeys(section.split(".")[0] for section in SECTIONS)]
    assert sorted(map(int, of_lists + of_lines)) == [*range(1, 18)]


def test_what_is_met_stands_in_its_chapter_and_names_a_file_or_a_test():
    assert [each for each in MET if not SHOWN.search(each)] == []
    for chapter, text in re.findall(r"^V(\d+) [^\n]+:\n\n(.*?)\n(?=\n)", CHECKLIST, re.MULTILINE | re.DOTALL):
        assert {number.split(".")[0] for number in NUMBER.findall(text)} == {chapter}


def test_every_file_and_test_that_the_page_names_is_there():
    named = SHOWN.findall(PAGE)
    assert len(named) > 150
    assert [path for path, _ in named if not (ROOT / path).is_file()] == []
    assert [f"{path}::{name}" for path, name in named if name and not _is_test(path, name)] == []
    texts = re.findall(r"`(?:app|deploy|docs|tests)/[^`]+`", PAGE)
    assert [text for text in texts if not SHOWN.fullmatch(text)] == []  # nothing is named in another form


def _is_test(path, name):
    return re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_what_the_security_page_says_of_the_proxy_has_a_test():
    table = part("What only the proxy does")
    rows = re.findall(r"^\| (?!---|against)[^|]+\| [^|]+\| ([^|]+)\|$", table, re.MULTILINE)
    assert len(rows) > 10
    assert [row for row in rows if "`tests/test_nginx.py::" not in row] == []
