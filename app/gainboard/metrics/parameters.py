"""The parameters of metric expressions: their text, limits and explanations, for the API, the commands and the docs.

A metric has a parameter if a keyword of its function is annotated with one of the types at the end of this module. The
default of the keyword is the default of the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from gainboard.errors import BadExpression, BadGains
from gainboard.metrics.gains import FORMS, GainSetting, format_number, parse_gains, read_number
from gainboard.metrics.judgments import Scale
from gainboard.metrics.user_models import FORMS as EXPRESSIONS
from gainboard.metrics.user_models import read_expression
from gainboard.metrics.values import Number, Space, Value

_LARGEST = 1e100
_HIGHEST_LEVEL = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a metric.

    `default` is a JSON value, or None if the default depends on the scale. `limits` describes the valid values in
    words. `schema` describes them in JSON Schema, as far as possible without the scale. `always_shown` adds the
    parameter to every label, because tools use different defaults. Other parameters are added to a label if they differ
    from the default.
    """

    name: str
    description: str
    limits: str
    schema: Mapping[str, Any]
    read_text: Callable[[str, Scale], Any]
    """Returns the typed value of a text, or None if the text is invalid. It may raise a more specific error instead."""
    write: Callable[[Any], str]
    always_shown: bool = False
    default: str | float | bool | None = None
    default_on: Callable[[Scale], Any] | None = None
    only_in_expressions: bool = False
    """True if requests cannot give a default for it, because its name means something else there."""
    only_with: tuple[str, str] | None = None
    """Another parameter and its value, without which this one has no effect. Labels then leave it out."""
    space: Space | None = None
    """The space of the formula value that stands for the parameter. None if the metric's function gets the parameter's
    own value, which then determines the formula."""

    def read(self, text: str, scale: Scale) -> Any:
        """Return the typed value of `text`. Raises BadExpression (BadGains for gains) with the limits."""
        value = self.read_text(text, scale)
        if value is None:
            raise BadExpression(f"{self.name}={text}: must be {self.limits}")
        return value

    def default_value(self, scale: Scale) -> Any:
        """Return the typed default."""
        if self.default_on is not None:
            return self.default_on(scale)
        return self.read(self.default, scale) if isinstance(self.default, str) else self.default


def number(
    name: str,
    description: str,
    *,
    least: float | None = None,
    above: float = 0,
    below: float | None = None,
    most: float = _LARGEST,
) -> Parameter:
    """Return a parameter whose values are numbers: >= `least` if given, else > `above`; < `below`, or <= `most`.

    The parameter is always shown in labels.
    """

    def read(text: str, scale: Scale) -> float | None:
        value = read_number(text)
        if value is None or (value > most if below is None else value >= below):
            return None
        return value if (value > above if least is None else value >= least) else None

    end = f"at most {most:g}" if below is None else f"< {below:g}"

    return Parameter(
        name=name,
        description=description,
        limits=f"a number {f'> {above:g}' if least is None else f'>= {least:g}'}, {end}",
        schema={
            "type": "number",
            **({"exclusiveMinimum": above} if least is None else {"minimum": least}),
            **({"maximum": most} if below is None else {"exclusiveMaximum": below}),
        },
        read_text=read,
        write=format_number,
        always_shown=True,
        space=Space.NUMBER,
    )


def choice(name: str, description: str, *values: str, only_in_expressions: bool = False) -> Parameter:
    """Return a parameter with a few named values. The first value is the default."""
    return Parameter(
        name=name,
        description=description,
        limits=" or ".join(values),
        schema={"type": "string", "enum": list(values)},
        read_text=lambda text, scale: text if text in values else None,
        write=str,
        default=values[0],
        only_in_expressions=only_in_expressions,
    )


def either(one: Parameter, other: Parameter) -> Parameter:
    """Return a parameter of a request that has two meanings, in different metrics: it takes what one of them takes."""

    def read(text: str, scale: Scale) -> Any:
        value = one.read_text(text, scale)
        return other.read_text(text, scale) if value is None else value

    limits = " or ".join(dict.fromkeys((one.limits, other.limits)))
    return replace(one, description=f"{one.description} {other.description}", limits=limits, read_text=read)


def _read_rel(text: str, scale: Scale) -> int:
    # `int` alone would read digits of other scripts, and fail at thousands of digits.
    level = int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else 0
    if not 1 <= level <= scale.highest_level:
        raise BadExpression(
            f"rel={text}: must be a whole number from 1 to {scale.highest_level}, the highest relevance level"
        )
    return level


def _read_penalties(text: str, scale: Scale) -> tuple[float, ...] | None:
    values = [value for part in text.split(":") if (value := read_number(part)) is not None]
    well_formed = len(values) == text.count(":") + 1 == scale.highest_level
    # At rank 1, r - 1/b would be 0 for a penalty of 1.
    fits = well_formed and values == sorted(values) and values[0] > 1 and values[-1] <= _LARGEST
    return tuple(values) if fits else None


def _read_stops(text: str, scale: Scale) -> GainSetting | None:
    try:
        stops = parse_gains(text, scale.highest_level)
    except BadGains:
        return None
    return stops if min(stops.values) > 0 else None


def _read_stop_scale(text: str, scale: Scale) -> int:
    level = int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else 0
    if not scale.highest_level <= level <= _HIGHEST_LEVEL:
        raise BadExpression(
            f"stop_scale={text}: must be a whole number from {scale.highest_level}, the highest relevance level, to "
            f"{_HIGHEST_LEVEL}"
        )
    return level


def _write_penalties(values: tuple[float, ...]) -> str:
    return ":".join(format_number(value) for value in values)


REL: Final = Parameter(
    name="rel",
    description="The lowest relevance level that counts as relevant; lower levels have gain 0.",
    limits="a whole number from 1 to h, the highest level",
    schema={"type": "integer", "minimum": 1, "maximum": 127},
    read_text=_read_rel,
    write=str,
    default=1,
)
CONDENSED: Final = Parameter(
    name="condensed",
    description="If true, unjudged documents are removed from the ranking before ranks are counted (Sakai 2007).",
    limits="true or false",
    schema={"type": "boolean"},
    read_text=lambda text, scale: {"true": True, "false": False}.get(text),
    write=lambda value: str(value).lower(),
    default=False,
)
MEAN: Final = choice(
    "mean",
    "The mean over topics; geometric is exp of the mean of log(max(score, 1e-5)), as in GMAP.",
    "arithmetic",
    "geometric",
)
IA: Final = choice(
    "ia",
    "If true, the score is the expected score over the intents of the topic, by their probabilities. Each intent has "
    "its own relevant documents (Agrawal et al. 2009). If equal, all intents with a relevant document are equally "
    "likely, as in ndeval. Only in collections with intents.",
    "false",
    "true",
    "equal",
)
GAINS: Final = Parameter(
    name="gains",
    description="The gains of the relevance levels, highest level first.",
    limits=FORMS,
    schema={"type": "string", "examples": ["3:2:1", "adjust(10:5:1)", "linear", "exp"]},
    read_text=lambda text, scale: parse_gains(text, scale.highest_level),
    write=lambda setting: str(setting.label),
    always_shown=True,
    default="linear",
)
_PENALTIES: Final = Parameter(
    name="b",
    description="The penalty of each relevance level, highest level first; by default 2, 3, 4 and so on.",
    limits="one number > 1 for each level, highest level first, not decreasing (2:3:4 for three levels)",
    schema={"type": "string", "examples": ["2:3:4"]},
    read_text=_read_penalties,
    write=_write_penalties,
    always_shown=True,
    default_on=lambda scale: tuple(float(value) for value in range(2, scale.highest_level + 2)),
    space=Space.LEVEL,
)

_STOP_SCALE: Final = Parameter(
    name="stop_scale",
    description="The level h' whose gain H stops a user with probability H/(H+1); by default the highest level.",
    limits="a whole number from h, the highest level of the collection, to 127",
    schema={"type": "integer", "minimum": 1, "maximum": _HIGHEST_LEVEL},
    read_text=_read_stop_scale,
    write=str,
    default_on=lambda scale: scale.highest_level,
)
_STOPS: Final = Parameter(
    name="stops",
    description="The share of users who stop at a document of each level, in proportion; by default the gains.",
    limits=f"{FORMS}; each value > 0",
    schema={"type": "string", "examples": ["1:1:1", "4:2:1"]},
    read_text=_read_stops,
    # Without a value, the gains are used. They are not known here.
    write=lambda setting: str(setting.label) if setting else "gains",
)


def _expression(name: str, description: str, default: str) -> Parameter:
    return Parameter(
        name=name,
        description=f"{description} Less than 0 and 0/0 count as 0, and more than 1 as 1.",
        limits=EXPRESSIONS,
        schema={"type": "string", "examples": [default]},
        read_text=lambda text, scale: read_expression(text),
        write=str,
        always_shown=True,
        only_in_expressions=True,
        default=default,
    )


Beta = Annotated[
    Number, number("beta", "The weight of cumulative gain compared with the number of relevant documents.", least=0)
]
Base = Annotated[
    Number,
    number("base", "The logarithm base of the discount; gains at ranks up to the base are not discounted.", above=1),
]
Persistence = Annotated[
    Number,
    number(
        "p",
        "The probability that a user goes on to the next document; by default 0.95, 0.99 for iRBU and 0.5 for NRBP.",
        below=1,
    ),
]
Decay = Annotated[
    Number,
    replace(
        number("gamma", "The number of users who stop at a relevant document, over that at the one above.", below=1),
        always_shown=False,
    ),
]
RecallPoint = Annotated[
    Number, number("recall", "The share of the relevant documents that must be retrieved.", least=0, most=1)
]
Rounding = Annotated[
    str,
    choice(
        "rounding",
        "How `recall` * R becomes a whole number of documents: up; to the nearest, as in trec_eval 10; or by adding "
        "0.9 and cutting off the decimals, as in trec_eval 9.",
        "up",
        "nearest",
        "trec_eval9",
    ),
]
Multiple = Annotated[
    Number, number("multiple", "The rank, as a multiple of R, the topic's number of relevant documents.", most=1000)
]
RecallWeight = Annotated[
    Number, number("weight", "The weight of recall compared with precision; the square of the beta of F-beta.", least=0)
]
Stops = Annotated[GainSetting | None, _STOPS]
Penalties = Annotated[Value, _PENALTIES]
RecallBase = Annotated[
    str,
    choice(
        "recall_base",
        "The divisor: R, the topic's number of relevant documents, or the smaller of R and the cut-off.",
        "relevant",
        "cutoff",
    ),
]
UserScores = Annotated[
    str, choice("urs", "User scores: gains divided by the highest gain of the scale, or raw gains.", "scaled", "raw")
]
SystemScores = Annotated[
    str, choice("srs", "System scores: scaled to [0, 1] within the topic's ranking, or raw scores.", "minmax", "raw")
]
StopScale = Annotated[int, _STOP_SCALE]
_EXPECTED: Final = number("T", "The gain that users expect to find, of documents whose gain is 0 to 1.", least=0.5)
# With less than 0.5, INST's C would be no probability. A user model is made of the number itself.
Expected = Annotated[float, replace(_EXPECTED, space=None, only_in_expressions=True)]
_LAST: Final = choice("n", "The last rank that users read, at which sums are renormalised; inf: none.", "1000", "inf")
LastRead = Annotated[str, replace(_LAST, only_in_expressions=True)]
Continuation = Annotated[str, _expression("C", "The probability that users go on from rank i to the next one.", "0.8")]
RankGain = Annotated[str, _expression("gain", "What the document at rank i is worth.", "g")]
Rank = int | Value
"""The type of a cut-off that a metric always has: a rank, or R of each topic. With `cutoff: int`, it cannot be R."""
Cutoff = Rank | None
"""The type of an optional cut-off: `cutoff: Cutoff = None`."""
AT_R: Final = "R"
"""The cut-off of an expression such as `nDCG@R`: the number of relevant documents of each topic."""
