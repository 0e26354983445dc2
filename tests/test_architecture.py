"""docs/architecture.md draws the code as it is."""

import re
from importlib import import_module

import pytest

from gainboard.api.response_cache import MOST_BYTES
from gainboard.evaluation.judged_runs import SLICE_BYTES
from gainboard.evaluation.leaderboard import MOST_TESTED_BYTES
from gainboard.evaluation.matrices import KEPT_BYTES
from tests.outside import ROOT
from tests.test_imports import ROOT as PACKAGE
from tests.test_imports import imported_rooms, room_of
from tests.world.pages import DOCS

PAGE = DOCS["architecture.md"]
UNITS = {"MiB": 1 << 20}


def drawn():
    """The rings of the drawing, the outermost row first."""
    drawing = re.findall(r"<!-- drawing: rings -->\n```text\n(.*?)```", PAGE, re.DOTALL)[0]
    return [set(row.split()) for row in re.findall(r"^\| ([^|]+) \|", drawing, re.MULTILINE)]


def table(name):
    """The cells of the table below a mark."""
    rows = re.findall(rf"<!-- table: {name} -->\n\|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE)[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows.splitlines()]


def imports():
    """What the modules of each ring import of other rings."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        ring = room_of(path)
        if ring != "__init__":
            found.setdefault(ring, set()).update(imported_rooms(path) - {ring})
    return found


def test_every_ring_is_drawn_and_no_other():
    assert sorted(ring for row in drawn() for ring in row) == sorted(imports())


def test_every_import_leads_to_a_lower_row_of_the_drawing():
    row_of = {ring: number for number, row in enumerate(drawn()) for ring in row}
    wrong = [
        f"{ring} imports {other}"
        for ring, others in imports().items()
        for other in others
        if row_of[other] <= row_of[ring]
    ]
    assert wrong == []


def test_the_table_says_what_each_ring_imports():
    said = {ring.strip("`"): set(re.findall("`(\\w+)`", others)) for ring, others, _ in table("imports")}
    assert said == imports()


def test_the_table_of_rings_is_in_the_order_of_the_drawing():
    row_of = {ring: number for number, row in enumerate(drawn()) for ring in row}
    rows = [row_of[ring.strip("`")] for ring, *_ in table("imports")]
    assert rows == sorted(rows, reverse=True)


def test_every_module_that_the_page_names_is_there():
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE))
    assert len(named) > 50
    assert sorted(name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()) == []


def test_every_cache_is_listed_with_its_bound():
    own = re.compile(r"^([A-Z_]+): WorkspaceCache\[", re.MULTILINE)
    found = {name: path for path in PACKAGE.rglob("*.py") for name in own.findall(path.read_text(encoding="utf-8"))}
    rows = {row[0].strip("`"): row for row in table("caches") if row[0].startswith("`")}
    assert rows.keys() == found.keys()
    for name, (_, module, bound, _) in rows.items():
        assert module.strip("`") == found[name].relative_to(PACKAGE).as_posix()
        cache = getattr(import_module(_dotted(found[name])), name)
        assert number(bound) == cache._size


@pytest.mark.parametrize(
    ("name", "size"), [("answers", MOST_BYTES), ("score matrices", KEPT_BYTES), ("tested boards", MOST_TESTED_BYTES)]
)
def test_other_caches_have_the_bounds_of_the_page(name, size):
    assert [number(row[2]) for row in table("caches") if row[0] == name] == [size]


def test_slices_of_judged_rankings_are_as_large_as_the_page_says():
    assert f"in slices of {SLICE_BYTES >> 20} MiB" in PAGE


def number(bound):
    """A bound as a number: `64 MiB`, or `10,000 runs`."""
    count, unit = bound.split(maxsplit=1)
    return int(count.replace(",", "")) * UNITS.get(unit, 1)


def _dotted(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
