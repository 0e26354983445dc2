"""Metric expressions: reading their text and finding the metric with all its parameters.

    expression = NAME [ "(" key "=" value { "," key "=" value } ")" ] [ "@" cutoff ]

A cut-off is a rank, or R, the number of relevant documents of each topic.
Values cannot contain a comma. Parentheses may be nested once, for `adjust(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from gainboard.errors import BadExpression, BadGains, NeedsIntents
from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.catalogue import query_parameters
from gainboard.metrics.gains import format_number
from gainboard.metrics.judgments import Scale
from gainboard.metrics.names import Spelling, find, is_known, name_here
from gainboard.metrics.parameters import AT_R
from gainboard.metrics.vocabularies import TREC_EVAL, Word

_Items = tuple[tuple[str, str], ...]
_LONGEST: Final = 1000
_DEEPEST: Final = 10**9
_FORM: Final = re.compile(
    r"(?P<name>[^()@=,]+)"
    r"(?:\((?P<arguments>(?:[^()]|\([^()]*\))+)\))?"
    r"(?:@(?P<cutoff>[0-9]+|R))?"
)


class _Parsed(NamedTuple):
    text: str
    name: str
    arguments: dict[str, str]
    cutoff: str | None


def resolve(expression: str, scale: Scale, *, defaults: Mapping[str, str] = {}) -> BoundMetric:
    """Return the metric that `expression` names, with a value for every parameter.

    A value comes from the first of these that gives it: the expression, `defaults`, the metric's own default. Values
    for parameters that the metric does not have are ignored, but they must be valid. trec_eval's own names (`map`,
    `P_10`) ignore `defaults`, because they mean what trec_eval computes.

    Raises:
        BadExpression: the expression or a parameter is invalid.
        BadGains: a gain setting is invalid.
        NeedsIntents: the metric needs judgments by intent, and the scale has none.
    """
    return _resolve(expression, scale, tuple(defaults.items()))


def explain_ignored_defaults(expression: str, ours: str, metric: BoundMetric, query: Mapping[str, str]) -> list[str]:
    """Return a sentence for each of the request's defaults that would change the metric under a name of Gainboard.

    `expression` is that of the request, and `ours` is it in our names. A parameter of the expression is no default.
    """
    read = _read(ours)
    if expression == ours and not read.spelling.pinned:
        return []
    explicit = {*read.parsed.arguments, *read.spelling.named} if expression == ours else set[str]()
    notes = []
    for parameter in metric.metric.parameters:
        if parameter.name not in query or parameter.only_in_expressions or parameter.name in explicit:
            continue
        # Both in canonical form, because 1 and 1.0 are one default.
        text = parameter.write(parameter.read(query[parameter.name], metric.scale))
        if text != parameter.write(metric.parameters[parameter.name]):
            default = f"{parameter.name}={query[parameter.name]}"
            cutoff = f"@{metric.cutoff}" if metric.cutoff not in (None, _DEEPEST) else ""
            notes.append(
                f"{default} is ignored for {expression}, because a name of another tool means what that tool computes. "
                f"To use it, ask by Gainboard's own name: {metric.metric.name}({default}){cutoff}."
            )
    return notes


def without(expression: str, parameter: str) -> str:
    """Return the expression without this parameter, so that a default of the request can set the parameter."""
    parsed = _parse(expression)
    kept = [f"{key}={value}" for key, value in parsed.arguments.items() if key != parameter]
    cutoff = f"@{parsed.cutoff}" if parsed.cutoff else ""
    return parsed.name + (f"({','.join(kept)})" if kept else "") + cutoff


class _Read(NamedTuple):
    """An expression, the metric that it names, and the parameters that it gives."""

    parsed: _Parsed
    spelling: Spelling
    arguments: Mapping[str, str]


@lru_cache(maxsize=1024)
def _resolve(expression: str, scale: Scale, items: _Items) -> BoundMetric:
    read, defaults = _read(expression), _check_defaults(items, scale)
    explicit, fallback = read.arguments, {} if read.spelling.pinned else defaults
    texts = []
    for parameter in read.spelling.metric.parameters:
        text = explicit.get(parameter.name)
        if text is None and not parameter.only_in_expressions:
            text = fallback.get(parameter.name)
        if text is not None:
            texts.append((parameter.name, text))
    return _bind_values(expression, scale, tuple(texts))


@lru_cache(maxsize=1024)  # requests with other parameters ask for the same expressions
def _read(expression: str) -> _Read:
    parsed = _parse(expression)
    if (nearest := TREC_EVAL.absent.get(parsed.name)) and not is_known(parsed.name):
        raise BadExpression(f"{parsed.name} of trec_eval is not here. The nearest by meaning is {nearest}")
    spelling = find(parsed.name, expression)
    metric, arguments = spelling.metric, parsed.arguments
    available = sorted(parameter.name for parameter in metric.parameters)
    for key in arguments:
        if key not in available:
            is_cutoff = key in ("k", "cutoff") and metric.takes_cutoff
            hint = f" Did you mean {metric.name}@{arguments[key]}?" if is_cutoff else ""
            raise BadExpression(
                f"{expression}: {metric.name} has no parameter {key}.{hint} Available: {', '.join(available)}"
            )
    for key in spelling.named.keys() & arguments.keys():
        raise BadExpression(f"{expression}: {key} is given twice")
    return _Read(parsed, spelling, {**spelling.implied, **spelling.named, **arguments})


@lru_cache(maxsize=1024)  # half of the metrics have none of the parameters that a request changes
def _bind_values(expression: str, scale: Scale, items: _Items) -> BoundMetric:
    """Return the metric of an expression with the texts of some of its parameters, and the defaults of the others."""
    parsed, spelling, _ = _read(expression)
    texts, metric = dict(items), spelling.metric
    values = {**metric.defaults(scale)}
    for parameter in metric.parameters if texts else ():
        if parameter.name in texts:
            try:
                values[parameter.name] = parameter.read(texts[parameter.name], scale)
            except (BadExpression, BadGains) as error:
                # A request may have many expressions, and only one of them is wrong.
                raise type(error)(f"{parsed.text}: {error.message}") from error
    for parameter in metric.parameters:
        other, needed = parameter.only_with or ("", "")
        if parameter.name in parsed.arguments and other and values[other] != needed:
            raise BadExpression(
                f"{parsed.text}: {parameter.name} has no effect with {other}={values[other]}. Remove {parameter.name}, "
                f"or write {other}={needed}"
            )
    bound = BoundMetric(metric, values, _read_cutoff(parsed, spelling, scale), scale)
    if bound.needs_intents and not scale.intents:
        raise NeedsIntents(
            f"{bound.label} needs judgments by intent (subtopic), which this collection does not have. Choose another "
            "metric, or create a collection with intents (for files: --intents)"
        )
    return bound


def _parse(expression: str) -> _Parsed:
    match = _FORM.fullmatch(expression) if len(expression) <= _LONGEST else None
    if match is None:
        name = re.sub("@[kn]$", "", expression[:_LONGEST], flags=re.IGNORECASE)
        meant = [f"{name}@10"] if is_known(name) else name_here(expression[:_LONGEST])
        hint = f"Did you mean {', '.join(meant)}? " if meant else ""
        raise BadExpression(
            f"{expression[:80]!r} is not a metric expression. {hint}Write NAME, NAME@cutoff, NAME(key=value,...) or "
            "NAME(key=value,...)@cutoff, for example nDCG(gains=3:2:1)@10"
        )
    arguments: dict[str, str] = {}
    for argument in match["arguments"].split(",") if match["arguments"] is not None else ():
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not (key and equals and value):
            raise BadExpression(f"{expression}: {argument.strip()!r} is not a parameter. Write key=value, as in beta=1")
        if key in arguments:
            raise BadExpression(f"{expression}: {key} is given twice")
        arguments[key] = value
    return _Parsed(expression, match["name"], arguments, match["cutoff"])


@lru_cache(maxsize=64)  # all expressions of a request have the same defaults
def _check_defaults(defaults: _Items, scale: Scale) -> Mapping[str, str]:
    parameters = query_parameters()
    for key, text in defaults:
        if key in parameters:
            parameters[key].read(text, scale)
    return dict(defaults)


def _read_cutoff(parsed: _Parsed, spelling: Spelling, scale: Scale) -> int | str | None:
    # A name such as P_10 brings a cut-off of its own, and @5 after it would contradict it.
    text, metric = parsed.cutoff or spelling.cutoff, spelling.metric
    if parsed.cutoff and spelling.cutoff:
        raise BadExpression(f"{parsed.text} has two cut-offs, {spelling.cutoff} and {parsed.cutoff}. Give one cut-off")
    if text is None:
        return scale.depth if metric.needs_cutoff else None
    if not metric.takes_cutoff:
        raise BadExpression(f"{parsed.text}: {metric.name} takes no cut-off: it needs the whole ranking. Remove the @")
    if text == AT_R:
        if not metric.takes_r:
            raise BadExpression(f"{parsed.text}: {metric.name} takes a fixed cut-off only, such as {metric.name}@10")
        return text
    # The length comes first, because Python refuses to read thousands of digits.
    if len(text) > len(str(_DEEPEST)) or not 1 <= int(text) <= _DEEPEST:
        raise BadExpression(f"{parsed.text}: the cut-off must be a whole number from 1 to {_DEEPEST}, such as @10")
    return int(text)


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """Return trec_eval's own name for this metric with these parameters, or None if trec_eval has no name for it."""
    for name, word in TREC_EVAL.words.items():
        for written in _spellings(name, word, metric) if word.ours == metric.metric.name else ():
            # Equal labels mean equal scores, whatever parameters either name leaves out.
            if TREC_EVAL.has(written) and resolve(TREC_EVAL.translate(written), scale).label == metric.label:
                return written
    return None


def _spellings(name: str, word: Word, metric: BoundMetric) -> Sequence[str]:
    """Return the forms of a name that may stand for the metric, the one that trec_eval prints first."""
    if word.number:
        value = metric.parameters[word.number]
        exact = f"{name}_{format_number(value)}"
        return (name, exact) if word.cutoff == "may" else (f"{name}_{value:.2f}", exact)
    return (name if word.cutoff == "never" else f"{name}_{metric.cutoff}",)
