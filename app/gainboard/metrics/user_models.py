"""User models (C/W/L): how far users read, what they gain and what it costs them, computed rank by rank.

A user goes on from rank i with probability C(i), so rank i is read with probability C(1) C(2) ... C(i-1). W(i) is its
share in the sum over all ranks, and L(i) the probability that rank i is the last one (Moffat et al., Incorporating user
expectations and behavior into the measurement of search effectiveness, ACM TOIS 35(3), 2017).

C and the gain are expressions of users: Python's parser reads them, but nothing of Python is executed. Formulas of
other metrics know relevant documents only. Users also read the others, so here each ranking has all its ranks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, reduce
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression
from gainboard.metrics.gains import GainSetting
from gainboard.metrics.judgments import join_stretches
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores

LAST_RANK: Final = 1000
"""The last rank that a user may read, as in cwl_eval, which adds up to there and renormalises."""
MOST_READ: Final = 10_000
"""The deepest cut-off of a metric whose users are computed."""
NUMBERS: Final = ("EU", "ETU", "EC", "ETC", "EI")
"""Expected utility a document and in total, expected cost a document and in total, and expected documents inspected."""
GO_ON: Final[Mapping[str, str]] = {"RBP": "{p}", "ERR": "1-g*{stop}", "P": "1", "RR": "total==0"}
"""C of other metrics, by name. ERR has users, but is not their utility: see Azzopardi et al., ICTIR 2021."""
_MOST_PARTS, _MOST_POWER, _LARGEST = 200, 16, 1e100
_VARIABLES: Final = ("i", "g", "T", "total")
_FUNCTIONS: Final = {"min": np.minimum, "max": np.maximum, "exp": np.exp, "log": np.log, "sqrt": np.sqrt}
_ARITHMETIC: Final = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
_COMPARED = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal}
FORMS: Final = (
    f"an expression of at most {_MOST_PARTS} parts over i (the rank), g (the gain, 0 to 1), T and total (the gain down "
    "to this rank): numbers, + - * /, ** with a whole number up to 16, comparisons, min, max, exp, log and sqrt"
)
_Compute: TypeAlias = Callable[[Mapping[str, Any]], Any]


class UserModel(NamedTuple):
    """A user model with the values of its parameters.

    `go_on` is C, and `gain` what a document is worth, both as expressions. `scale` are the gains of the levels, and
    `rel` is the lowest relevant level. `last` is the last rank that is read. `rest` is an expression for x, if C is
    ((x - 1)/x)^2 at all ranks and x grows by 1 a rank after `last`: then users read on without end.
    """

    go_on: str
    gain: str
    expected: float
    scale: GainSetting
    rel: int
    condensed: bool
    last: int = LAST_RANK
    rest: str = ""


def read_expression(text: str) -> str:
    """Return the canonical text of an expression. Raises BadExpression, which says what is not allowed."""
    # The characters come first, because Python's parser warns of some texts.
    if not re.fullmatch(r"[-+*/(),.<>= 0-9A-Za-z]+", text) or re.search(r"[0-9.](?![eE][-+0-9])[A-Za-z]", text):
        raise BadExpression(f"{text}: must be {FORMS}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadExpression(f"{text}: must be {FORMS}") from error
    parts = sum(isinstance(node, ast.expr) and not isinstance(node, ast.Call) for node in ast.walk(tree))
    if parts > _MOST_PARTS:
        raise BadExpression(f"{text[:80]}: has {parts} parts, but at most {_MOST_PARTS} are allowed")
    _compiled(tree)
    return ast.unparse(tree).replace(" ", "")


def _compiled(node: ast.expr) -> _Compute:
    """Return the function of an expression, of the variables' values. Raises BadExpression for what is not allowed."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and number <= _LARGEST:
            constant = float(number)
            return lambda values: constant
        case ast.Name(id=name) if name in _VARIABLES:
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _compiled(operand)
            return lambda values: -negated(values)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if 1 <= power <= _MOST_POWER:
            base = _compiled(left)
            # As products, because NumPy's powers differ between processors.
            return lambda values: reduce(np.multiply, [base(values)] * power)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            return _applied(_ARITHMETIC[type(operation)], left, right)
        case ast.Compare(left=left, ops=[operation], comparators=[right]) if type(operation) in _COMPARED:
            compared = _applied(_COMPARED[type(operation)], left, right)
            return lambda values: compared(values) * 1.0  # true is 1, and false 0
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            if len(arguments) == _FUNCTIONS[name].nin:
                return _applied(_FUNCTIONS[name], *arguments)
    raise BadExpression(f"{ast.unparse(node)} is not allowed. Write {FORMS}; in place of 0.8**i, exp(log(0.8)*i)")


def _applied(function: np.ufunc, *operands: ast.expr) -> _Compute:
    compiled = [_compiled(operand) for operand in operands]
    return lambda values: function(*(operand(values) for operand in compiled))


@lru_cache(maxsize=256)  # clients choose the text
def _function(text: str) -> _Compute:
    """Return the function of an expression, within [0, 1]; what is no number, such as 0/0, counts as 0."""
    compute = _compiled(ast.parse(text, mode="eval").body)
    return lambda values: np.fmin(np.fmax(compute(values), 0.0), 1.0)


_AT_ONCE: Final = 1 << 14
"""The most ranks of rankings at once, unless one ranking has more: 128 kB a part, which the processor's cache holds."""


def five_numbers(model: UserModel, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Scores:
    """Return the `NUMBERS` of the runs at the positions `chosen`: float64 [5, chosen, n]. A document costs 1."""
    ranks, parts = np.arange(1.0, model.last + 1), [np.empty((len(NUMBERS), 0))]
    for gains in _gains_by_rank(model, runs, chosen):
        values = {"i": ranks, "g": gains, "T": model.expected, "total": gains.cumsum(axis=1)}
        with np.errstate(all="ignore"):
            on, gain = (np.broadcast_to(_function(text)(values), gains.shape) for text in (model.go_on, model.gain))
        reached = np.ones(gains.shape)
        np.cumprod(on[:, :-1], axis=1, out=reached[:, 1:])
        # L(i) is lost where a user goes on from the last rank, as in cwl_eval.
        ends, total, inspected = reached * (1.0 - on), gain.cumsum(axis=1), reached.sum(axis=1)
        gained, cost = (ends * total).sum(axis=1), (ends * ranks).sum(axis=1)
        if model.rest:
            x = np.broadcast_to(_compiled(ast.parse(model.rest, mode="eval").body)(values), gains.shape)[:, -1]
            left = reached[:, -1] * on[:, -1]
            # The sum of (x/(x+m))^2 over m = 0, 1, ... is x^2 trigamma(x), and x is so large that its first terms do.
            inspected += left * (x + 0.5 + 1.0 / (6.0 * x) - 1.0 / (30.0 * x * x * x))
            # Everybody ends somewhere, so the expected last rank is the number of documents read.
            gained, cost = gained + left * total[:, -1], inspected
        parts.append(np.array([(reached * gain).sum(axis=1) / inspected, gained, np.ones(len(gains)), cost, inspected]))
    numbers = np.concatenate(parts, axis=1)
    return numbers.reshape(len(NUMBERS), len(chosen), runs.judgments.topics)


def _gains_by_rank(model: UserModel, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Iterator[Scores]:
    """Yield the gains of all rankings by rank, some rankings after the others: float64 [rankings, ranks]."""
    first, size, _ = runs.spans(chosen)
    rows, ends = join_stretches(first, size), np.cumsum(size)
    ranking = np.repeat(np.arange(len(size)), size)
    classes = runs.judgments.classes
    by_class = model.scale.by_class(classes.counts, model.rel) / (model.scale.highest or 1.0)
    topic_class = np.tile(classes.topic_class, len(chosen))[ranking] if len(by_class) > 1 else 0
    worth = by_class[topic_class, runs.level[rows].astype(np.intp)]
    rank = runs.rank[int(model.condensed), rows].astype(np.intp)
    for begin in range(0, len(size), at_once := max(1, _AT_ONCE // model.last)):
        end = min(begin + at_once, len(size))
        some = np.arange(ends[begin] - size[begin], ends[end - 1])
        some = some[rank[some] <= model.last]
        gains = np.zeros((end - begin, model.last))
        gains[ranking[some] - begin, rank[some] - 1] = worth[some]
        yield gains
