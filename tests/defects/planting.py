"""The defects: small changes of one place in a function, each known by a name that survives edits elsewhere.

A name is `module:function:number`, where the number counts the places of the function that can change. `sitecustomize`
beside this module plants the defects that `GAINBOARD_DEFECT` names, in every process of a test. This module imports
nothing of ours, because it is loaded before any other.
"""

import ast
import copy
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader

VARIABLE = "GAINBOARD_DEFECT"
_COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree):
    """Yield the functions of a module with their qualified names, but not those within functions."""

    def below(body, prefix):
        for node in body:
            if isinstance(node, Function):
                yield prefix + node.name, node
            elif isinstance(node, ast.ClassDef):
                yield from below(node.body, f"{prefix}{node.name}.")

    return below(tree.body, "")


def places(function):
    """Return the nodes of a function that can be changed, in the order of the source."""
    found = []
    for statement in function.body:
        found += (node for node in _walk(statement) if _change(node) is not None)
    return found


def _walk(node):
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _change(node):
    """Return the field of a node that a defect changes, and its new value; None for a node without defects."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in _COMPARED:
            return "ops", [_COMPARED[type(only)]()]
        case ast.BoolOp(op=operator):
            return "op", ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.BinOp(left=left, op=operator) if type(operator) in _COMPUTED and not _is_text(left):
            return "op", _COMPUTED[type(operator)]()
        case ast.Constant(value=bool(value)):
            return "value", not value
        case ast.Constant(value=int(value) | float(value)):
            return "value", value + 1
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return "test", ast.UnaryOp(ast.Not(), copy.deepcopy(test))
        case ast.Return(value=value) if value is not None and not _is_none(value):
            return "value", ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            return "value", ast.Constant(None)
        case ast.UnaryOp(op=ast.Not()):
            return "op", ast.UAdd()
    return None


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def plant(source, defects):
    """Return a module with the defects. Raise LookupError if a function has no such place."""
    tree = ast.parse(source)
    known = dict(functions(tree))
    # The innermost come first, because a defect may copy what is in its place.
    for node in reversed([places(known[function])[number] for function, number in sorted(defects)]):
        change = _change(node)
        assert change is not None
        setattr(node, *change)
    return ast.fix_missing_locations(tree)


class _Loader(SourceFileLoader):
    """A loader of one module, which plants its defects and keeps no compiled code."""

    defects: Sequence[tuple[str, int]]

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(plant(self.get_data(path).decode(), self.defects), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """A finder that knows the modules with defects."""

    def __init__(self, defects):
        self._defects = defects

    def find_spec(self, fullname, path, target=None):
        """Return the module's usual specification, with the loader that plants its defects."""
        if fullname not in self._defects or (spec := PathFinder.find_spec(fullname, path, target)) is None:
            return None
        assert spec.origin is not None
        spec.loader = loader = _Loader(fullname, spec.origin)
        loader.defects = self._defects[fullname]
        return spec


def install():
    """Plant the defects of the environment in this process, if there are any."""
    by_module = {}
    for name in os.environ.get(VARIABLE, "").split():
        module, function, number = name.split(":")
        by_module.setdefault(module, []).append((function, int(number)))
    if by_module:
        sys.meta_path.insert(0, _Finder(by_module))
