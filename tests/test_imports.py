"""The shape of the code: rings that import inwards only."""

import ast
from functools import cache
from pathlib import Path

import gainboard

PACKAGE = gainboard.__name__
ROOT = Path(gainboard.__file__).parent
RINGS = (
    {"errors"},
    {"notation"},
    {"trec_eval"},
    {"exhibits", "metrics", "statistics", "trec"},
    {"store"},
    {"evaluation"},
    {"analyses"},
    {"jobs"},
    {"api"},
    {"dashboard"},
    {"client", "ir_measures"},
    {"main"},
    {"cli"},
    {"__main__", "__init__"},
)
LEAVES = {"settings": {"main", "cli"}, "logs": {"main", "cli"}, "demo": {"cli"}}
FOR_ALL = {"children", "acceleration"}
PLAIN = (
    "gainboard.store.records",
    "gainboard.store.run_order",
    "gainboard.store.access_records",
    "gainboard.store.job_records",
    "gainboard.trec.zstd",
)
"""Dataclasses, literals and a codec, which import nothing heavy."""


def test_every_import_points_inwards():
    wrong = [
        f"{path.relative_to(ROOT)} imports {PACKAGE}.{target}"
        for path in sorted(ROOT.rglob("*.py"))
        for target in imported_rooms(path)
        if not _allowed(room_of(path), target)
    ]
    assert wrong == []


def test_the_client_imports_errors_models_and_plain_values_alone():
    own = (
        "client",
        "errors",
        "children",
        "notation.sources",
        "api.models",
        "__version__",
        "analyses.job_kinds",
        "analyses.result_models",
    )
    allowed = (*(f"gainboard.{each}" for each in own), *PLAIN)
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "client").glob("*.py"))
        for name in _names(path)
        if not name.startswith(allowed)
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    modules = {_dotted(path): path for path in ROOT.rglob("*.py")}
    imports = {name: {_known(each, modules) for each in _members(path)} - {name, ""} for name, path in modules.items()}
    # Modules that import none of the rest are taken away, again and again. What is left is a circle, or imports one.
    while done := {name for name, others in imports.items() if not others & imports.keys()}:
        imports = {name: others for name, others in imports.items() if name not in done}
    assert imports == {}


def _dotted(path):
    return ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def _known(name, modules):
    """The module of a name that a module, or something in a module, has; empty for the package itself."""
    found = name if name in modules else name.rpartition(".")[0]
    return found if found != PACKAGE else ""


def _allowed(room, target):
    if room == target or target in FOR_ALL:
        return True
    if room in FOR_ALL:
        return False
    if target in LEAVES:
        return room in LEAVES[target]
    if room in LEAVES:
        room = "main" if "main" in LEAVES[room] else "cli"
    ring, inner = _ring(room), _ring(target)
    return inner < ring


def room_of(path):
    """The ring that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _ring(room):
    return next(number for number, ring in enumerate(RINGS) if room in ring)


def imported_rooms(path):
    """The rings that a file imports from."""
    return {name.split(".")[1] for name in _names(path)} - {"__version__"}


def _members(path):
    """Everything of ours that a file imports, by its full name: modules, and what is in them."""
    nodes = [node for node in _imports(path) if isinstance(node, ast.ImportFrom)]
    return {
        f"{node.module}.{alias.name}"
        for node in nodes
        for alias in node.names
        if (node.module or "").startswith(PACKAGE)
    }


@cache
def _imports(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def _names(path):
    """Every module of ours that a file imports, by its full name."""
    found = set()
    for node in _imports(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            is_package = node.module == PACKAGE
            names = [f"{PACKAGE}.{alias.name}" for alias in node.names] if is_package else [node.module]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name for name in names if name.startswith(f"{PACKAGE}.")}
    return found
