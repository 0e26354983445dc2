"""The shape of the code: rings that import inwards only."""

from __future__ import annotations

import ast
from pathlib import Path

import gainboard

PACKAGE = gainboard.__name__
ROOT = Path(gainboard.__file__).parent
RINGS = (
    {"errors"},
    {"exhibits", "metrics", "statistics", "trec"},
    {"store"},
    {"evaluation"},
    {"jobs"},
    {"reports"},
    {"api", "dashboard"},
    {"client"},
    {"main"},
    {"cli"},
    {"__main__"},
)
LEAVES = {"settings": {"main", "cli"}, "logs": {"main", "cli"}, "demo": {"cli"}}
FOR_ALL = {"compiled"}


def test_every_import_points_inwards() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {PACKAGE}.{target}"
        for path in sorted(ROOT.rglob("*.py"))
        for target in _targets(path)
        if not _allowed(_room(path), target)
    ]
    assert wrong == []


def _allowed(room: str, target: str) -> bool:
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


def _room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _ring(room: str) -> int:
    return next(number for number, ring in enumerate(RINGS) if room in ring)


def _targets(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            is_package = node.module == PACKAGE
            names = [f"{PACKAGE}.{alias.name}" for alias in node.names] if is_package else [node.module]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith(f"{PACKAGE}.")}
    return found - {"__version__"}
