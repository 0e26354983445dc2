"""Docstrings begin with a sentence, not with a fragment.

This checks what a machine can see. The docstring of a function begins with an imperative verb of `VERBS`: "Return the
runs of a team." Any other docstring (of a module, class or property) may begin with a noun ("The runs of a team."), but
not with a word of `FRAGMENTS`, which begins half a sentence ("What a run contains").

Ruff's D401 asks for imperatives as well, but it accepts every word that is no English verb: "What ..." and "The ...".
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent

_VERBS = """
Add Answer Ask Begin Bind Bring Build Cache Call Cancel Change Check Choose Claim Clear Close Collect Compare Compile
Complete Compute Configure Connect Convert Copy Count Create Cut Decide Declare Decorate Delete Describe Discard Do
Draw End Enter Erase Exchange Fill Find Follow Format Forget Get Give Group Import Increase Install Interpolate Invite
Join Keep Kill Let List Load Lock Look Make Map Mark Merge Move Name Note Open Order Pack Parse Pass Prepare Print
Publish Put Queue Raise Rank Read Reduce Refuse Register Release Remember Remove Rename Render Replace Report Request
Require Reset Resolve Return Revoke Round Run Save Score Send Serve Set Settle Shorten Show Sort Split Start Stop
Store Submit Take Tell Test Try Turn Undo Unpack Update Upgrade Upload Use Validate Verify Wait Wake Withdraw Write
Yield
"""
VERBS = frozenset(_VERBS.split())
"""Imperatives with which the docstring of a function may begin. Add a verb when a function needs it."""

_FRAGMENTS = """
About After As At Before Beside But By During For From How If In Into None Nobody Of On Something That Those To Under
Until What Whatever When Where Whether Which While Who Whoever Whom Whose Why With
"""
FRAGMENTS = frozenset(_FRAGMENTS.split())
"""Words that open a phrase without a main clause: a question or a condition, or what belongs to another noun."""

PROPERTIES = frozenset({"property", "cached_property"})
DEFINITIONS = frozenset({"metric", "measure", "preset"})
"""The docstring of a function under these decorators defines a metric for its users, and is a noun phrase."""


def test_docstrings_begin_with_a_sentence():
    assert [
        f"{path.relative_to(ROOT)}:{line}: {opening}"
        for folder in ("app", "migrations")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, opening in fragments_in(ast.parse(path.read_text(encoding="utf-8")))
    ] == []


def fragments_in(tree):
    """Yield the line and the first line of each docstring that begins with a fragment."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield from (each for each in texts_below(node.body[1:]) if each[1].split()[0].strip(",.:;") in FRAGMENTS)
        text = ast.get_docstring(node)
        if text is None:
            continue
        word = (text.split() or [""])[0].strip(",.:;")
        begins_well = word in VERBS if is_action(node) else bool(word) and word not in FRAGMENTS
        if not begins_well:
            yield node.body[0].lineno, text.partition("\n")[0]


def texts_below(body):
    """Yield the line and the first line of each text that describes the attribute above it."""
    for each in body:
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
            yield each.lineno, each.value.value.strip().partition("\n")[0]


def is_action(node):
    """Return whether the node is a function that is called by name, not a property or a definition."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    names = {decorator_name(each) for each in node.decorator_list}
    return not names & (PROPERTIES | DEFINITIONS)


def decorator_name(decorator):
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
