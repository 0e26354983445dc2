"""The shape of the code: docs/architecture.md draws it as it is, and its rings import inwards only."""

import ast
import re
from functools import cache
from importlib import import_module

from gainboard.api.response_cache import MOST_BYTES
from gainboard.evaluation.boards.leaderboard import MOST_TESTED_BYTES
from gainboard.evaluation.scoring.matrices import KEPT_BYTES
from gainboard.evaluation.scoring.scorer import SLICE_BYTES
from tests.outside import ROOT, SOURCE
from tests.world.pages import DOCS

PACKAGE = SOURCE / "gainboard"
MODULES = sorted(PACKAGE.rglob("*.py"))
PAGE = DOCS["architecture.md"]
OF_THE_CLIENT = (
    *(
        "gainboard.client",
        "gainboard.errors",
        "gainboard.children",
        "gainboard.vocabulary",
        "gainboard.notation.sources",
        "gainboard.notation.sources",
        "gainboard.notation.queries",
        "gainboard.notation.texts",
        "gainboard.api.models",
    ),
    *("gainboard.__version__", "gainboard.analyses.job_kinds", "gainboard.analyses.result_models"),
    "gainboard.trec.bodies",
)
"""What the client imports: errors, models, and dataclasses, literals and a codec, which import nothing heavy."""


def table(name):
    rows = re.findall(rf"<!-- table: {name} -->\n\|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE)[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows.splitlines()]


def test_the_page_draws_what_each_ring_imports_and_every_import_leads_to_a_lower_row():
    imports = {}
    for path in MODULES:
        if (ring := path.relative_to(PACKAGE).parts[0].removesuffix(".py")) != "__init__":
            others = {name.split(".")[1] for name in _names(path)} - {"__version__", ring}
            imports.setdefault(ring, set()).update(others)
    drawing = re.findall(r"<!-- drawing: rings -->\n```text\n(.*?)```", PAGE, re.DOTALL)[0]
    rows = [row.split() for row in re.findall(r"^\| ([^|]+) \|", drawing, re.MULTILINE)]
    assert sorted(ring for row in rows for ring in row) == sorted(imports)
    row_of = {ring: number for number, row in enumerate(rows) for ring in row}
    assert [(ring, each) for ring, others in imports.items() for each in others if row_of[each] <= row_of[ring]] == []
    said = {ring.strip("`"): set(re.findall("`(\\w+)`", others)) for ring, others, _ in table("imports")}
    assert said == imports
    assert [*said] == sorted(said, key=lambda ring: row_of[ring], reverse=True)


def test_the_client_imports_errors_models_and_plain_values_alone():
    wrong = [(path, name) for path in MODULES if path.parent.name == "client" for name in _names(path)]
    assert [each for each in wrong if not each[1].startswith(OF_THE_CLIENT)] == []


def test_no_modules_import_each_other_in_a_circle():
    modules = {_dotted(path): path for path in MODULES}
    imports = {name: {_known(each, modules) for each in _members(path)} - {name, ""} for name, path in modules.items()}
    # Modules that import none of the rest are taken away, again and again. What is left is a circle, or imports one.
    while done := {name for name, others in imports.items() if not others & imports.keys()}:
        imports = {name: others for name, others in imports.items() if name not in done}
    assert imports == {}


def test_every_module_that_the_page_names_is_there():
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE))
    assert len(named) > 50
    assert sorted(name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()) == []


def test_every_cache_is_listed_with_its_bound():
    own = re.compile(r"^([A-Z_]+): WorkspaceCache\[", re.MULTILINE)
    found = {name: path for path in MODULES for name in own.findall(path.read_text(encoding="utf-8"))}
    rows = {row[0].strip("`"): row for row in table("caches")}
    others = {"answers": MOST_BYTES, "score matrices": KEPT_BYTES, "tested boards": MOST_TESTED_BYTES}
    assert {row[0].strip("`") for row in table("caches") if row[0].startswith("`")} == found.keys()
    for name, path in found.items():
        assert rows[name][1].strip("`") == path.relative_to(PACKAGE).as_posix()
        others[name] = getattr(import_module(_dotted(path)), name)._size
    assert {name: _number(rows[name][2]) for name in others} == others
    assert f"in slices of {SLICE_BYTES >> 20} MiB" in PAGE


def _number(bound):
    """A bound as a number: `64 MiB`, or `10,000 runs`."""
    count, unit = bound.split(maxsplit=1)
    return int(count.replace(",", "")) * {"MiB": 1 << 20}.get(unit, 1)


def _dotted(path):
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _known(name, modules):
    """The module of a name that a module, or something in a module, has; empty for the package itself."""
    found = name if name in modules else name.rpartition(".")[0]
    return found if found != "gainboard" else ""


@cache
def _imports(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def _members(path):
    """Everything of ours that a file imports, by its full name: modules, and what is in them."""
    nodes = [node for node in _imports(path) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").startswith("gainboard")]
    return {f"{node.module}.{alias.name}" for node in ours for alias in node.names}


def _names(path):
    """Every module of ours that a file imports, by its full name."""
    found = set()
    for node in _imports(path):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [f"gainboard.{name}" for name in names] if node.module == "gainboard" else [node.module or ""]
        found |= {name for name in names if name.startswith("gainboard.")}
    return found


def test_literals_of_the_same_words_have_one_order():
    """`typing` keeps the last hundred it made, and gives one for the other: an enumeration would have either order."""
    orders = {}
    for path in PACKAGE.rglob("*.py"):
        for words in re.findall(r"Literal\[([^]]*)\]", path.read_text(encoding="utf-8")):
            listed = tuple(re.findall(r"[\"']([^\"']+)[\"']", words))
            orders.setdefault(frozenset(listed), set()).add(listed)
    assert [each for each in orders.values() if len(each) > 1] == []
