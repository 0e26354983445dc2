"""User models (C/W/L): how far users read, what they gain and what it costs them, computed rank by rank.

A user goes on from rank i to the next one with probability C(i). The probability of reading rank i is the product of
C(1), ..., C(i-1); W(i) is its share in the sum over all ranks, and L(i) is the probability that rank i is the last one
(Moffat, Bailey, Scholer and Thomas, Incorporating user expectations and behavior into the measurement of search
effectiveness, ACM TOIS 35(3), 2017).

C and the gain of a document are expressions of users, so this module reads them as data: nothing is executed. Formulas
of other metrics know relevant documents only. Users also read the others, so here each ranking has all its ranks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

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
NUMBERS: Final = ("EU", "ETU", "EC", "ETC", "EI")
"""Expected utility a document and in total, expected cost a document and in total, and expected items inspected."""
MOST_NODES: Final = 200
GO_ON: Final[Mapping[str, str]] = {"RBP": "{p}", "ERR": "1-g*{stop}", "P": "1", "RR": "total==0"}
"""C of other metrics, by name. ERR has a user model, but is not its utility: see Azzopardi et al., ICTIR 2021."""
_MOST_POWER: Final = 16
_LARGEST: Final = 1e100
_FUNCTIONS: Final[Mapping[str, tuple[np.ufunc, int]]] = {
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "exp": (np.exp, 1),
    "log": (np.log, 1),
    "sqrt": (np.sqrt, 1),
}
_VARIABLES: Final = ("i", "g", "T", "total")
_OPERATIONS: Final[Mapping[type[ast.AST], np.ufunc]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
FORMS: Final = (
    f"an expression of at most {MOST_NODES} parts over i (the rank), g (the gain, 0 to 1), T and total (the gain down "
    "to this rank, with it): numbers, + - * / **, comparisons (1 or 0), min, max, exp, log and sqrt"
)


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
    # Words and numbers are checked first, because Python's parser warns of some texts and reads others as keywords.
    words = [word for word in re.findall(r"[A-Za-z_]+", text) if word not in ("e", "E")]
    for word in words:
        if word not in (*_VARIABLES, *_FUNCTIONS):
            raise BadExpression(f"{text}: there is no {word}. Available: {', '.join((*_VARIABLES, *_FUNCTIONS))}")
    if not re.fullmatch(r"[-+*/(),.<>=! 0-9A-Za-z]+", text) or re.search(r"[0-9.](?![eE][-+0-9])[A-Za-z]", text):
        raise BadExpression(f"{text}: must be {FORMS}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadExpression(f"{text}: must be {FORMS}") from error
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    # The name of a function is a part of its call.
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    if len(nodes) - len(called) > MOST_NODES:
        raise BadExpression(f"{text[:80]}...: {len(nodes) - len(called)} parts, but at most {MOST_NODES} are allowed")
    for node in nodes:
        if not (id(node) in called or _is_allowed(node)):
            raise BadExpression(
                f"{text}: {ast.unparse(node)} is not allowed. An exponent is a whole number from 1 to {_MOST_POWER} "
                f"(in place of 0.8**i, write exp(log(0.8)*i)); it must be {FORMS}"
            )
    return ast.unparse(tree).replace(" ", "")


def _is_allowed(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float() as number):
            return not isinstance(number, bool) and number <= _LARGEST
        case ast.Name(id=name):
            return name in _VARIABLES
        case ast.UnaryOp(op=operation):
            return type(operation) in _OPERATIONS
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() as power)):
            return 1 <= power <= _MOST_POWER
        case ast.BinOp(op=operation):
            return type(operation) in _OPERATIONS
        case ast.Compare(ops=[operation]):
            return type(operation) in _OPERATIONS
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return len(arguments) == _FUNCTIONS[name][1]
    return False


@lru_cache(maxsize=256)  # clients choose the text
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression that `read_expression` has read: a float, or float64 that broadcasts."""
    match node:
        case ast.Constant(value=number):
            return float(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=operation, operand=operand):
            return _OPERATIONS[type(operation)](_evaluate(operand, values))
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int() as power)):
            # As products, because NumPy's powers differ between processors.
            base = product = _evaluate(left, values)
            for _ in range(power - 1):
                product = product * base
            return product
        case ast.BinOp(left=left, op=operation, right=right):
            return _OPERATIONS[type(operation)](_evaluate(left, values), _evaluate(right, values))
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return _OPERATIONS[type(comparison)](_evaluate(left, values), _evaluate(right, values)) * 1.0
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name][0](*(_evaluate(argument, values) for argument in arguments))
    raise AssertionError(ast.dump(node))


_AT_ONCE: Final = 1 << 18
"""The most ranks of rankings in memory at once, unless one ranking has more: 2 MB for each part of an expression."""


class _Readers(NamedTuple):
    """The users of some rankings. Each array broadcasts to [rankings, ranks].

    `reached` is the probability of reading a rank, `on` is C, and `gain` what is gained there. `beyond` [rankings] is
    the sum of the first over all ranks after the last of these; 0 if users end there.
    """

    reached: Scores
    on: Scores
    gain: Scores
    beyond: Scores | float

    @property
    def inspected(self) -> Scores:
        """EI, the expected number of documents that are read."""
        return np.asarray(self.reached.sum(axis=-1) + self.beyond)

    @property
    def utility(self) -> Scores:
        """EU, the expected gain of a document that is read."""
        return np.asarray((self.reached * self.gain).sum(axis=-1) / self.inspected)

    def five_numbers(self, has_end: bool) -> Scores:
        """Return the `NUMBERS`, float64 [5, rankings]. A document costs 1, so that EC is 1."""
        ends, total = self.reached * (1.0 - self.on), self.gain.cumsum(axis=-1)
        gained, inspected = (ends * total).sum(axis=-1), self.inspected
        cost = (ends * np.arange(1.0, total.shape[-1] + 1)).sum(axis=-1)
        if not has_end:
            # Everybody ends somewhere, so the expected last rank is the number of documents read.
            gained, cost = gained + self.reached[..., -1] * self.on[..., -1] * total[..., -1], inspected
        columns = self.utility, gained, 1.0, cost, inspected
        return np.array([np.broadcast_to(column, len(total)) for column in columns])


def expected_utility(model: UserModel, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Scores:
    """Return EU of the runs at the positions `chosen`: float64 [chosen, n]. A missing topic is an empty ranking."""
    parts = [readers.utility for readers in _readers(model, runs, chosen)]
    return np.concatenate([np.empty(0), *parts]).reshape(len(chosen), runs.judgments.topics)


def five_numbers(model: UserModel, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Scores:
    """Return the `NUMBERS` of the runs at the positions `chosen`: float64 [5, chosen, n]."""
    parts = [readers.five_numbers(not model.rest) for readers in _readers(model, runs, chosen)]
    numbers = np.concatenate([np.empty((len(NUMBERS), 0)), *parts], axis=1)
    return numbers.reshape(len(NUMBERS), len(chosen), runs.judgments.topics)


def _readers(model: UserModel, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Iterator[_Readers]:
    """Yield the readers of all rankings, some rankings after the others."""
    first, size, _ = runs.spans(chosen)
    rows, bounds = join_stretches(first, size), np.concatenate(([0], np.cumsum(size)))
    ranking = np.repeat(np.arange(len(size)), size)
    classes = runs.judgments.classes
    by_class = model.scale.by_class(classes.counts, model.rel) / (model.scale.highest or 1.0)
    topic_class = np.tile(classes.topic_class, len(chosen))[ranking] if len(by_class) > 1 else 0
    worth = by_class[topic_class, runs.level[rows].astype(np.intp)]
    rank = runs.rank[int(model.condensed), rows].astype(np.intp)
    at_once = max(1, _AT_ONCE // model.last)
    for begin in range(0, len(size), at_once):
        end = min(begin + at_once, len(size))
        some = np.arange(bounds[begin], bounds[end])
        some = some[rank[some] <= model.last]
        gains = np.zeros((end - begin, model.last))
        gains[ranking[some] - begin, rank[some] - 1] = worth[some]
        yield _read(model, gains)


def _read(model: UserModel, gains: Scores) -> _Readers:
    """Return the readers of rankings with these gains by rank, float64 [rankings, ranks]."""
    ranks = np.arange(1.0, model.last + 1)
    values = {"i": ranks, "g": gains, "T": model.expected, "total": gains.cumsum(axis=1)}
    with np.errstate(all="ignore"):
        on = _in_unit(_evaluate(_parse(model.go_on), values))
        on = np.broadcast_to(on, gains.shape if on.ndim > 1 else ranks.shape)
        gain = np.broadcast_to(_in_unit(_evaluate(_parse(model.gain), values)), gains.shape)
        reached = np.ones(on.shape)
        np.cumprod(on[..., :-1], axis=-1, out=reached[..., 1:])
        if not model.rest:
            return _Readers(reached, on, gain, 0.0)
        x = np.broadcast_to(_evaluate(_parse(model.rest), values), on.shape)[..., -1]
    # The sum of (x/(x+m))^2 over m = 0, 1, ... is x^2 trigamma(x), and x is large enough for the first terms.
    beyond = x + 0.5 + 1.0 / (6.0 * x) - 1.0 / (30.0 * x * x * x)
    return _Readers(reached, on, gain, reached[..., -1] * on[..., -1] * beyond)


def _in_unit(values: Any) -> Any:
    """Return the values within [0, 1]; 0 for what is no number, such as 0/0."""
    return np.clip(np.where(np.isnan(values), 0.0, values), 0.0, 1.0)
