"""The page on OWASP ASVS has every requirement. What shall show one, or a promise of the other page, is there."""

import re

import pytest

from tests.outside import ROOT

PAGE, SECURITY = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("asvs.md", "security.md"))
ROWS = re.findall(r"^\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
SHOWN = re.compile(r"`((?:app|deploy|docs|tests)/[^`:]+|\.dockerignore)(?:::(\w+))?`")
"""A file, or a test in a file."""
STATES = {"met", "proxy", "not applicable", "not met"}
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


def test_every_requirement_has_its_row_in_order():
    wanted = [f"{section}.{number}" for section, most in SECTIONS.items() for number in range(1, most + 1)]
    assert [row[0] for row in ROWS] == wanted
    assert len(re.findall(r"^\| \d", PAGE, re.MULTILINE)) == len(wanted)  # no row has another form
    assert {state for _, _, state, _ in ROWS} == STATES


def test_every_chapter_has_a_table_or_a_line():
    of_tables = re.findall(r"^## V(\d+) ", PAGE, re.MULTILINE)
    of_lines = re.findall(r"^\| V(\d+) [^|]+\| ([^|]*)\| ([^|]*)\|$", PAGE, re.MULTILINE)
    assert of_tables == [*dict.fromkeys(section.split(".")[0] for section in SECTIONS)]
    assert sorted(map(int, [*of_tables, *(chapter for chapter, _, _ in of_lines)])) == [*range(1, 18)]
    assert [chapter for chapter, holds, lacks in of_lines if not holds.strip() and not lacks.strip()] == []


def test_what_is_met_names_a_file_or_a_test_and_the_proxy_its_own():
    shown = {number: [path for path, _ in SHOWN.findall(by)] for number, _, _, by in ROWS}
    assert [number for number, _, state, _ in ROWS if state == "met" and not shown[number]] == []
    of_proxy = {"deploy/nginx.conf", "tests/test_nginx.py"}
    assert [number for number, _, state, _ in ROWS if state == "proxy" and not of_proxy & {*shown[number]}] == []


@pytest.mark.parametrize(("page", "least"), [(PAGE, 150), (SECURITY, 40)], ids=["asvs", "security"])
def test_every_file_and_test_that_a_page_names_is_there(page, least):
    named = SHOWN.findall(page)
    assert len(named) > least
    assert [path for path, _ in named if not (ROOT / path).is_file()] == []
    assert [f"{path}::{name}" for path, name in named if name and not _is_test(path, name)] == []
    texts = re.findall(r"`(?:app|deploy|docs|tests)/[^`]+`", page)
    assert [text for text in texts if not SHOWN.fullmatch(text)] == []  # nothing is named in another form


def _is_test(path, name):
    return re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_what_the_security_page_says_of_the_proxy_has_a_test():
    table = SECURITY.partition("## What only the proxy does")[2].partition("## ")[0]
    rows = re.findall(r"^\| (?!---|against)[^|]+\| [^|]+\| ([^|]+)\|$", table, re.MULTILINE)
    assert len(rows) > 10
    assert [row for row in rows if "`tests/test_nginx.py::" not in row] == []
