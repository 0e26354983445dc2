"""Metric expressions: reading their text, and the metric with a value for every parameter, ready to be computed.

    expression = NAME [ "(" key "=" value { "," key "=" value } ")" ] [ "@" cutoff ]

A cut-off is a rank, or R, the number of relevant documents of each topic. Values may have parentheses, as in
`adjust(...)`, and commas inside of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression, BadGains, NeedsIntents
from gainboard.metrics.catalogue import Metric, Namesake, ScoreLimits, query_parameters
from gainboard.metrics.gains import FLAT, Discount, GainSetting, Geometric, format_number, parse_gains
from gainboard.metrics.intent_views import AnnotatedRankings, IntentRankings
from gainboard.metrics.judgments import Scale
from gainboard.metrics.names import Spelling, find, is_known, name_here
from gainboard.metrics.parameters import AT_R, CONDENSED, GAINS, IA, MEAN, REL
from gainboard.metrics.program import BoundSetting, Formula, bound_setting
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.user_models import GO_ON, LAST_RANK, MOST_READ, UserModel
from gainboard.metrics.values import Setting, Space, Value, spread
from gainboard.metrics.values import parameter as parameter_value
from gainboard.metrics.views import BinaryRankings
from gainboard.metrics.vocabularies import TREC_EVAL, Word

_READING: Final = (GAINS.name, REL.name, CONDENSED.name, MEAN.name, IA.name)
"""Parameters that define how a run is read and how scores are averaged. They are not arguments of metric functions."""


ScoreAll = Callable[[Sequence["BoundMetric"], JudgedRuns, Sequence[int]], Scores]
"""Returns the scores of some runs, as `scoring.score_all` does."""


class BoundMetric:
    """A metric with its parameters (typed values by name) and its cut-off (None for the whole ranking, "R" for R).

    `label` is the canonical expression: equal labels on equal scales mean equal scores. `formula` defines the
    computation, and `settings` are the values for the open settings of the formula, in the same order. A metric whose
    function computes the scores itself has neither: see `Metric.has_formula`.

    `ignored` are sentences on defaults of a request that do not change the metric, because of its name.

    `is_averaged` tells that the score is the expected score over the intents of a topic. `needs_intents` tells that the
    metric needs judgments by intent: it is averaged over intents, or defined by intent.
    """

    is_uploaded: ClassVar[bool] = False
    formula: Formula
    settings: tuple[BoundSetting, ...]
    ignored: Sequence[str] = ()

    def __init__(self, metric: Metric, parameters: Mapping[str, Any], cutoff: int | str | None, scale: Scale) -> None:
        self.metric = metric
        self.parameters = MappingProxyType(dict(parameters))
        self.cutoff = cutoff
        self.scale = scale
        defaults = metric.defaults(scale)
        written = [
            f"{parameter.name}={parameter.write(parameters[parameter.name])}"
            for parameter in metric.parameters_by_name
            if (parameter.always_shown or parameters[parameter.name] != defaults[parameter.name])
            and (parameter.only_with is None or parameters[parameter.only_with[0]] == parameter.only_with[1])
        ]
        shown = f"({','.join(written)})" if written else ""
        self.label = f"{metric.name}{shown}" + (f"@{cutoff}" if cutoff is not None else "")
        self.is_geometric = parameters[MEAN.name] == "geometric"
        self.is_averaged = parameters.get(IA.name, "false") != "false"
        self.needs_intents = metric.needs_intents or self.is_averaged
        if not metric.has_formula:
            return
        fixed = tuple(
            (argument.name, parameters[argument.name])
            for argument in metric.parameters
            if argument.space is None and argument.name not in _READING
        )
        if metric.takes_cutoff:
            fixed = (*fixed, ("cutoff", cutoff))
        self.formula = _formula(metric, fixed, parameters[REL.name], parameters[CONDENSED.name])
        self.settings = tuple([_bind(setting, parameters, scale) for setting in self.formula.settings])

    # Equal values are one object in a process, and a pickled formula would bring others. So it is made again there.
    def __reduce__(self) -> tuple[Any, ...]:
        return BoundMetric, (self.metric, dict(self.parameters), self.cutoff, self.scale)

    def __repr__(self) -> str:
        return f"<BoundMetric {self.label}>"

    @property
    def is_reversed(self) -> bool:
        """True if lower scores are better."""
        return False

    def in_unit(self, scores: Scores) -> Scores:
        """Return scores of a bounded metric mapped to [0, 1], the best to 1."""
        return scores

    @property
    def needs_retrieval_scores(self) -> bool:
        """True if the metric needs the retrieval scores of `JudgedRun`."""
        return self.metric.needs_retrieval_scores

    @cached_property
    def user_model(self) -> UserModel | None:
        """The user model behind the metric; None if it has none, at a cut-off R, and in an average over intents."""
        cutoff = self.cutoff or 0
        own = [setting.value for setting in getattr(self, "settings", ()) if setting.kind == "user_model"]
        if own or self.metric.name not in GO_ON or isinstance(cutoff, str) or cutoff > MOST_READ or self.is_averaged:
            return own[0] if own and not self.is_averaged else None
        # On documents that are relevant or not, each relevant one is worth 1.
        gains = self.parameters.get(GAINS.name) or parse_gains("flat", self.scale.highest_level)
        stop = gains.highest / (gains.at(self.parameters.get("stop_scale", self.scale.highest_level)) + 1.0)
        go_on = GO_ON[self.metric.name].format(p=self.parameters.get("p"), stop=stop)
        if cutoff and self.metric.name != "RBP":  # RBP@l is not renormalised
            go_on = f"({go_on})*(i<{cutoff})"
        reading = self.parameters[REL.name], self.parameters[CONDENSED.name]
        return UserModel(go_on, f"g*(i<={cutoff or MOST_READ})", 0.0, gains, *reading, max(LAST_RANK, cutoff))

    @cached_property
    def of_one_intent(self) -> BoundMetric:
        """The same metric without the average over intents."""
        return BoundMetric(self.metric, {**self.parameters, IA.name: "false"}, self.cutoff, self.scale)

    def own_scores(self, runs: JudgedRuns, positions: NDArray[np.intp], score_all: ScoreAll) -> Scores:
        """Return the scores of the runs at these positions: float64 [positions, n]. The metric has no formula.

        `score_all` computes other metrics, of which the metric may be made.
        """
        arguments = {
            name: value for name, value in self.parameters.items() if name not in _READING or name == GAINS.name
        }
        if self.metric.graded:
            del arguments[GAINS.name]
        gains, scale = self.parameters.get(GAINS.name, FLAT), self.scale
        reading = {name: self.parameters[name] for name in (REL.name, CONDENSED.name) if name in self.parameters}

        def score(metric: Metric, gains: GainSetting, cutoff: int | None) -> Scores:
            parameters = {**metric.defaults(scale), **reading, GAINS.name: gains}
            by_intent = BoundMetric(metric, parameters, cutoff, scale)
            return np.asarray(score_all([by_intent], rankings.runs, positions.tolist())[0])

        reads = cast(type[IntentRankings | AnnotatedRankings], self.metric.reads)
        rankings = reads(runs, positions, **reading, gains=gains, score=score)
        # As in the plain kernels, undefined scores may divide by zero, and are replaced below.
        with np.errstate(all="ignore"):
            cutoff = {"cutoff": self.cutoff} if self.metric.takes_cutoff else {}
            scores: Scores = self.metric.kernel(rankings, **arguments, **cutoff)
            scores[:, rankings.undefined] = np.nan
        return scores

    @property
    def is_bounded(self) -> bool:
        """True if all scores are in [0, 1]."""
        return self.span <= 1.0  # only raw scores of ADM may be negative, and their span has no end

    @property
    def span(self) -> float:
        """The width of a range in which the score of a ranking is, whatever the judgments."""
        gains: GainSetting = self.parameters.get(GAINS.name, FLAT)
        last = min(self.cutoff, self.scale.depth) if isinstance(self.cutoff, int) else self.scale.depth
        return self.metric.span(ScoreLimits(gains.highest, last, self.parameters))


# Equal arguments must give one object: programs are looked up by the identity of their formulas.
@lru_cache(maxsize=4096)
def _formula(metric: Metric, fixed: tuple[tuple[str, Any], ...], rel: int, condensed: bool) -> Formula:
    rankings = cast(type[BinaryRankings], metric.reads)(rel, condensed)
    open_parameters = {
        argument.name: parameter_value(argument.name, argument.space)
        for argument in metric.parameters
        if argument.space is not None
    }
    arguments = dict(fixed)
    if arguments.get("cutoff") == AT_R:
        # R differs from topic to topic, so this cut-off is a value of the formula, and no number of the expression.
        arguments["cutoff"] = rankings.relevant_count
    score: Value = metric.kernel(rankings, **arguments, **open_parameters)
    # A score that every topic has is defined where 1 is not 0.
    worth = spread(1.0, Space.TOPIC) if metric.on_every_topic else rankings.worth
    return Formula.of(spread(score, Space.RANKING), worth, metric.score_of_missing)


def _bind(setting: Setting, parameters: Mapping[str, Any], scale: Scale) -> BoundSetting:
    """Return an open setting of a formula with its value under these parameters."""
    name, *more = setting
    gains: GainSetting = parameters.get(GAINS.name, FLAT)
    if name == "constant":
        return bound_setting("number", more[0])
    if name == "gains":
        return bound_setting("gains", (gains, more[0]))
    if name == "stops":
        return bound_setting("gains", (parameters[name] or gains, more[0]))
    if name == "flat":
        return bound_setting("gains", (parse_gains("flat", scale.highest_level), more[0]))
    if name == "highest_gain":
        return bound_setting("number", gains.highest if more[0] is None else gains.at(more[0]))
    if name == "discount":
        base, shift = more
        return bound_setting("discount", Discount(_bind(base, parameters, scale).value, shift))
    if name == "user_model":
        go_on, gain, expected, rest, rel, condensed = more
        # Without end, the ranks that runs may have are summed up, and the others have a closed form.
        last = max(LAST_RANK, scale.depth) if rest else LAST_RANK
        return bound_setting(name, UserModel(go_on, gain, expected, gains, rel, condensed, last, rest))
    if name == "geometric":
        return bound_setting("discount", Geometric(_bind(more[0], parameters, scale).value))
    value = parameters[name]
    # Parameters by level are written with the highest level first.
    return bound_setting("levels", value[::-1]) if isinstance(value, tuple) else bound_setting("number", value)


_PARAMETERS = re.compile(r"\((.*)\)(@\d+)?$")
_NESTED = r"[^()]"
for _ in range(20):  # deeper ones are refused
    _NESTED = rf"(?:[^()]|\({_NESTED}*\))"
_BETWEEN = re.compile(rf"(?:^|,)((?:[^(),]|\({_NESTED}*\))*)")
"""The parts of arguments: what is between the commas outside of parentheses."""


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name of each label: without parameters, or with those alone that tell it from its namesakes.

    `nDCG(base=2,gains=3:2:1)@10` is `nDCG@10`; beside `nDCG(base=10,gains=3:2:1)@10` it is `nDCG(base=2)@10`.
    """
    bare = {label: _PARAMETERS.sub(r"\2", label) for label in labels}
    short = {}
    for label in labels:
        parameters, namesakes = _PARAMETERS.search(label), [other for other in labels if bare[other] == bare[label]]
        shared = set.intersection(*(set(_parts(other)) for other in namesakes))
        distinct = ",".join(part for part in _parts(label) if part not in shared)
        short[label] = (
            f"{label[: parameters.start()]}({distinct}){parameters[2] or ''}"
            if parameters and distinct
            else bare[label]
        )
    return short


def notes_on_names(metrics: Sequence[BoundMetric]) -> list[str]:
    """Return a sentence for each metric whose name other tools have for something else, the first of each name.

    It says what the metric is, and how to ask for the other one. Sentences on defaults that a name ignores follow.
    """
    first = {
        metric.metric.name: (metric, metric.metric.namesake) for metric in reversed(metrics) if metric.metric.namesake
    }
    notes = [note for metric, other in reversed(first.values()) if (note := _note(metric, other))]
    return [*notes, *dict.fromkeys(note for metric in metrics for note in metric.ignored)]


def _note(metric: BoundMetric, other: Namesake) -> str | None:
    if isinstance(metric.cutoff, str):
        return None  # no other tool cuts at R
    end = "" if metric.cutoff is None else str(metric.cutoff)
    theirs = re.sub("([@_])l$", rf"\g<1>{end}" if end else "", other.expression)
    parts = set(_parts(theirs))
    if parts and parts <= set(_parts(metric.label)):
        return None  # it is theirs
    return f"{metric.metric.name}{end and f'@{end}'} is {other.ours}; {other.theirs} is {theirs}."


def _parts(label: str) -> list[str]:
    parameters = _PARAMETERS.search(label)
    return _BETWEEN.findall(parameters[1]) if parameters else []


_Items = tuple[tuple[str, str], ...]
_LONGEST: Final = 1000
_DEEPEST: Final = 10**9
_FORM: Final = re.compile(
    r"(?P<name>[^()@=,]+)"
    rf"(?:\((?P<arguments>{_NESTED}+)\))?"
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
    for argument in _BETWEEN.findall(match["arguments"]) if match["arguments"] is not None else ():
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
