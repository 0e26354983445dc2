"""The parameters of metric expressions: how each is written, limited and explained, once for every surface.

A kernel's keyword annotated with one of the types at the end has that parameter; its default is the kernel's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from gainboard.errors import BadExpression
from gainboard.metrics.gains import FORMS, parse_gains
from gainboard.metrics.numbers import format_number, read_number
from gainboard.metrics.rankings import Scale
from gainboard.metrics.values import Number, Space, Value

_LARGEST = 1e100
_HIGHEST_LEVEL = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of one metric.

    `default` is a JSON value, None where it depends on the scale; `limits` says in words what values are right,
    `schema` in JSON Schema as far as it can without the scale. `always_shown` puts it into every label, because
    tools disagree about it; the others are shown when they differ from the default.
    """

    name: str
    description: str
    limits: str
    schema: Mapping[str, Any]
    read_text: Callable[[str, Scale], Any]
    """The typed value, or None if the text is none; it may raise an error of its own that says more."""
    write: Callable[[Any], str]
    always_shown: bool = False
    default: str | float | bool | None = None
    default_on: Callable[[Scale], Any] | None = None
    space: Space | None = None
    """Of the value that formulas have in its place; None where a metric's function is called with the parameter's own
    value, which then decides what the formula is."""

    def read(self, text: str, scale: Scale) -> Any:
        """The typed value of `text`. Raises BadExpression (BadGains for gains) with the limits."""
        value = self.read_text(text, scale)
        if value is None:
            raise BadExpression(f"{self.name}={text}: must be {self.limits}")
        return value

    def default_value(self, scale: Scale) -> Any:
        """The typed value where nobody gives one."""
        if self.default_on is not None:
            return self.default_on(scale)
        return self.read(self.default, scale) if isinstance(self.default, str) else self.default


def number(name: str, description: str, *, least: float | None = None, above: float = 0) -> Parameter:
    """A real parameter that is always shown: >= `least` if that is given, else > `above`; at most 1e100."""

    def read(text: str, scale: Scale) -> float | None:
        value = read_number(text)
        if value is None or value > _LARGEST:
            return None
        return value if (value > above if least is None else value >= least) else None

    return Parameter(
        name=name,
        description=description,
        limits=f"a number {f'> {above:g}' if least is None else f'>= {least:g}'}, at most {_LARGEST:g}",
        schema={
            "type": "number",
            **({"exclusiveMinimum": above} if least is None else {"minimum": least}),
            "maximum": _LARGEST,
        },
        read_text=read,
        write=format_number,
        always_shown=True,
        space=Space.NUMBER,
    )


def choice(name: str, description: str, *values: str) -> Parameter:
    """A parameter with a few named values, the first of them the default; shown when it is another."""
    return Parameter(
        name=name,
        description=description,
        limits=" or ".join(values),
        schema={"type": "string", "enum": list(values)},
        read_text=lambda text, scale: text if text in values else None,
        write=str,
        default=values[0],
    )


def _read_rel(text: str, scale: Scale) -> int:
    level = int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else 0
    if not 1 <= level <= scale.highest_level:
        raise BadExpression(f"rel={text}: must be a whole number from 1 to {scale.highest_level}")
    return level


def _read_penalties(text: str, scale: Scale) -> tuple[float, ...] | None:
    values = [value for part in text.split(":") if (value := read_number(part)) is not None]
    well_formed = len(values) == text.count(":") + 1 == scale.highest_level
    fits = well_formed and values == sorted(values) and values[0] > 1 and values[-1] <= _LARGEST
    return tuple(values) if fits else None


def _read_stop_scale(text: str, scale: Scale) -> int | None:
    level = int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else 0
    return level if scale.highest_level <= level <= _HIGHEST_LEVEL else None


def _write_penalties(values: tuple[float, ...]) -> str:
    return ":".join(format_number(value) for value in values)


REL: Final = Parameter(
    name="rel",
    description="The lowest relevance level that counts as relevant; lower ones are worth nothing.",
    limits="a whole number from 1 to h, the highest level",
    schema={"type": "integer", "minimum": 1, "maximum": 127},
    read_text=_read_rel,
    write=str,
    default=1,
)
CONDENSED: Final = Parameter(
    name="condensed",
    description="Whether unjudged documents are removed from the ranking before ranks are counted (Sakai 2007).",
    limits="true or false",
    schema={"type": "boolean"},
    read_text=lambda text, scale: {"true": True, "false": False}.get(text),
    write=lambda value: str(value).lower(),
    default=False,
)
MEAN: Final = choice(
    "mean",
    "How scores are averaged over topics; geometric is exp of the mean of log(max(score, 1e-5)), as in GMAP.",
    "arithmetic",
    "geometric",
)
GAINS: Final = Parameter(
    name="gains",
    description="What the relevance levels are worth, highest level first.",
    limits=FORMS,
    schema={"type": "string", "examples": ["3:2:1", "adjust(10:5:1)", "linear", "exp"]},
    read_text=lambda text, scale: parse_gains(text, scale.highest_level),
    write=lambda setting: str(setting.label),
    always_shown=True,
    default="linear",
)
_PENALTIES: Final = Parameter(
    name="b",
    description="Penalty of each relevance level, highest level first; by default 2, 3, 4 and so on.",
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
    description="The level h' whose gain H would stop a user with probability H/(H+1); by default the highest level.",
    limits="a whole number from h, the highest level of the collection, to 127",
    schema={"type": "integer", "minimum": 1, "maximum": _HIGHEST_LEVEL},
    read_text=_read_stop_scale,
    write=str,
    default_on=lambda scale: scale.highest_level,
)

Beta = Annotated[
    Number, number("beta", "How much cumulative gain counts against the number of relevant documents.", least=0)
]
Base = Annotated[
    Number,
    number("base", "The logarithm base of the discount; ranks up to it are not discounted.", above=1),
]
Penalties = Annotated[Value, _PENALTIES]
RecallBase = Annotated[
    str,
    choice(
        "recall_base",
        "What the sum is divided by: the relevant documents of the topic, or no more of them than the cut-off.",
        "relevant",
        "cutoff",
    ),
]
UserScores = Annotated[
    str, choice("urs", "User scores: gains over the highest gain of the scale, or as they are.", "scaled", "raw")
]
SystemScores = Annotated[
    str,
    choice("srs", "System scores: scaled to [0, 1] within the topic's ranking, or as they are.", "minmax", "raw"),
]
StopScale = Annotated[int, _STOP_SCALE]
Cutoff = int | None
"""`cutoff: Cutoff = None` is a metric of the whole ranking unless cut; `cutoff: int` one that always is."""
