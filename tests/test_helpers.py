"""What several tests need is written once, and is shared."""

import ast
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
LEAST = 2
"""The lines of a body from which on it is worth a place of its own."""


def helpers():
    """Each function and class of the tests that is no test, as its file and name, its lines, and its body."""
    for path in sorted(HERE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("test_"):
                body = node.body[ast.get_docstring(node) is not None :]
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                yield f"{path.relative_to(HERE)}:{node.name}", lines, "\n".join(map(ast.dump, body))


def test_no_two_helpers_have_the_same_body():
    places = defaultdict(list)
    for place, lines, body in helpers():
        if lines >= LEAST:
            places[body].append(place)
    assert [each for each in places.values() if len(each) > 1] == []
