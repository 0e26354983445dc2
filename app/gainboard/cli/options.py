"""Options that several commands share, and how their values are read.

Commands on files and commands against a server use this module, so it imports neither the readers of files nor the
client.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from gainboard.cli.command import Option, Several
from gainboard.cli.command import count as reading_count
from gainboard.errors import BadSetting
from gainboard.notation.sources import as_utf8
from gainboard.notation.texts import read_integer, read_number, read_time
from gainboard.vocabulary import LateShown

if TYPE_CHECKING:
    from gainboard.metrics.parameters import Parameter
    from gainboard.settings import Settings

T = TypeVar("T")

STANDARD_INPUT = "-"
_COMMA = re.compile(r",(?![^()]*\))")
"""A comma outside an expression such as `Q(beta=1,gains=3:2:1)`."""
HOST, PORT = "127.0.0.1", 8000
"""The default address of a server, and of the commands that ask one."""
LAST_PORT = 65535


def whole_number(text: str) -> int:
    """Return the whole number of an option, for argparse."""
    return _read(read_integer, text)


def number(text: str) -> float:
    """Return the number of an option, for argparse."""
    return _read(read_number, text)


def time(text: str) -> datetime:
    """Return the time of an option, for argparse."""
    return _read(read_time, text)


def _read(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def count(what: str, least: int, most: int, example: int) -> Callable[[str], int]:
    """Return a function for argparse that reads a whole number within limits."""

    def read(text: str) -> int:
        try:
            found = read_integer(text)
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least} to {most}, such as {example}")
        return found

    return read


def parse_pair(text: str) -> tuple[str, Any]:
    """Return the name and the value of `NAME=VALUE`, for argparse."""
    name, is_pair, value = text.partition("=")
    if not is_pair or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as beta=10")
    return name, parse_value(value)


def parse_value(text: str) -> Any:
    """Read a value as JSON, else as a list if it has commas (`0.05,0.01`, or `0.05,` for one item), else as text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        words = _COMMA.split(text)
    return text if len(words) == 1 else [parse_value(word.strip()) for word in words if word.strip()]


def with_lists(values: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, with a single item as a list of one if its JSON schema allows nothing but lists."""
    return {name: [value] if _is_item(value, schemas.get(name, {})) else value for name, value in values.items()}


def _is_item(value: Any, schema: Mapping[str, Any]) -> bool:
    types = {each.get("type") for each in schema.get("anyOf", [schema])}
    return value is not None and not isinstance(value, list) and types - {"null"} == {"array"}


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


def require_one_input(names: Sequence[str]) -> None:
    """Raise BadSetting if two of the files are standard input, which can be read only once."""
    if list(names).count(STANDARD_INPUT) > 1:
        raise BadSetting("Two files are `-`, but standard input can be read only once. Name one of them as a file.")


def data_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the data folder."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the database (GAINBOARD_DATA)")


def read_settings(parsed: Any) -> Settings:
    """Return the settings of the environment and of this command line. Raises BadSetting."""
    from gainboard.settings import Settings  # noqa: PLC0415 (it imports Pydantic and NumPy)

    return Settings.read(os.environ, data=parsed if isinstance(parsed, Path) or parsed is None else parsed.data)


def environment_here() -> dict[str, str]:
    """Return the settings that also count for a service of a command alone: the limits, and the code that is used."""
    return {name: value for name, value in os.environ.items() if name.startswith(("GAINBOARD_FAST", "GAINBOARD_MAX_"))}


def listening_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run a server: host and port."""
    parser.add_argument("--host", default=HOST, help="address to listen on (default: only this machine)")
    port = count("a port (0: any free one)", 0, LAST_PORT, PORT)
    parser.add_argument("--port", type=port, default=PORT, help=f"port to listen on (default: {PORT})")


_WORD = r"(?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+"
_WORDS = re.compile(rf"\s*{_WORD}(?:\s+{_WORD})*\s*")
_DOTTED = re.compile(r"([A-Za-z_]+)\.([0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*)")


def metric_option(parser: argparse.ArgumentParser, default: str = "those of the collection") -> None:
    """Add the option that names metrics."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        default=[],
        help=f"one or several metrics, such as nDCG@10 or 'Q(beta=10)' (default: {default})",
    )


def names_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the tool whose metrics are meant."""
    from gainboard.metrics import Names  # noqa: PLC0415 (with NumPy, as below)

    parser.add_argument(
        "--names",
        choices=get_args(Names),
        default="gainboard",
        help="the tool whose names -m uses: each means what that tool computes (default: gainboard)",
    )


def read_metrics(parsed: argparse.Namespace) -> list[str]:
    """Return the expressions of the command line, each by itself."""
    return [expression for text in parsed.metrics for expression in split_expressions(text)]


def split_expressions(text: str) -> Iterator[str]:
    """Yield the expressions of a text: ir_measures writes `nDCG@10 P@5`, trec_eval writes `P.5,10`."""
    text = as_utf8(text)
    for word in re.findall(_WORD, text) if _WORDS.fullmatch(text) else [text]:
        dotted = _DOTTED.fullmatch(word)
        yield from (f"{dotted[1]}_{cutoff}" for cutoff in dotted[2].split(",")) if dotted else [word]


def score_output_options(parser: argparse.ArgumentParser, forms: Iterable[str]) -> None:
    """Add the options that say which scores are printed, and in which format."""
    parser.add_argument("-q", "--per-topic", action="store_true", help="also the scores of each topic")
    parser.add_argument("-f", "--format", choices=forms, default="table", help="the format (default: table)")


def quiet_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves warnings out."""
    parser.add_argument("--quiet", action="store_true", help="no warnings and notes; faults are printed all the same")


def run_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names stored runs."""
    parser.add_argument("--run", dest="runs", metavar="RUN", action="append", default=[], help="a run; may be repeated")


def qrels_option(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a version of the judgments, and their set."""
    judgments_option(parser)
    parser.add_argument("--qrels", metavar="VERSION", type=whole_number, help="a version (default: the published one)")


def topics_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the topics."""
    parser.add_argument("--topics", metavar="GROUP", help="a topic group: scores over its topics alone (default: all)")


def judgments_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a judgment set."""
    parser.add_argument("--judgments", metavar="SET", help="a judgment set (default: the official one)")


def late_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves out late runs."""
    text = "exclude leaves out runs that came after the release (default: include)"
    parser.add_argument("--late", choices=("include", "exclude"), help=text)


def parameter_default_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for the default of each parameter that any metric has."""
    group = parser.add_argument_group(
        "defaults for parameters of metrics, used where an expression does not give the parameter"
    )
    for name, each in _query_parameters().items():
        # argparse formats the help with `%`.
        text = f"{each.description} It is {each.limits}.".replace("%", "%%")
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar=name.upper(), help=text)


def parameter_value_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for several values of each parameter that any metric has."""
    group = parser.add_argument_group("parameters, each of which may be repeated with several values")
    for name, each in _query_parameters().items():
        text = f"{each.description} Each is {each.limits}.".replace("%", "%%")
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, dest=name, metavar=name.upper(), action="append", help=text)


def read_parameters(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the command line, each with its value or the list of its values."""
    return {name: given for name in _query_parameters() if (given := getattr(parsed, name)) is not None}


def _query_parameters() -> Mapping[str, Parameter]:
    from gainboard.metrics import query_parameters  # noqa: PLC0415 (with NumPy, which commands about jobs do without)

    return query_parameters()


# ---- new

Data = Annotated[Path | None, Option("folder of the database (GAINBOARD_DATA)", metavar="DIR")]
Host = Annotated[str, Option("address to listen on (default: only this machine)")]
Port = Annotated[
    int,
    Option(f"port to listen on (default: {PORT})", read=reading_count("a port (0: any free one)", 0, LAST_PORT, PORT)),
]
Quiet = Annotated[bool, Option("no warnings and notes; faults are printed all the same")]
PerTopic = Annotated[bool, Option("also the scores of each topic", "-q", "--per-topic")]
RunNames = Annotated[Sequence[str], Option("a run; may be repeated", "--run", metavar="RUN")]
TopicGroup = Annotated[
    str | None, Option("a topic group: scores over its topics alone (default: all)", "--topics", metavar="GROUP")
]
JudgmentSet = Annotated[str | None, Option("a judgment set (default: the official one)", metavar="SET")]
Late = Annotated[
    LateShown | None, Option("exclude leaves out runs that came after the release (default: include)", "--late")
]


def metric_help(default: str) -> Option:
    """Return the option that names metrics, each of which may have several words or be several."""
    text = f"one or several metrics, such as nDCG@10 or 'Q(beta=10)' (default: {default})"
    return Option(text, "-m", "--metric", metavar="METRIC", splits=split_expressions)


Metrics = Annotated[Sequence[str], metric_help("those of the collection")]
TOOL = Option("the tool whose names -m uses: each means what that tool computes (default: gainboard)")


def _parameter_options(title: str, kind: Any, said: str) -> Mapping[str, tuple[Any, Option]]:
    """Return an option for each parameter that any metric has. `said` comes before the values that it may have."""
    return {
        # argparse formats the help with `%`.
        name: (kind, Option(f"{each.description} {said} {each.limits}.".replace("%", "%%"), group=title))
        for name, each in _query_parameters().items()
    }


Defaults = Annotated[
    Mapping[str, str],
    Several(
        partial(
            _parameter_options,
            "defaults for parameters of metrics, used where an expression does not give the parameter",
            str,
            "It is",
        )
    ),
]
Values = Annotated[
    Mapping[str, Sequence[str]],
    Several(
        partial(
            _parameter_options,
            "parameters, each of which may be repeated with several values",
            Sequence[str],
            "Each is",
        )
    ),
]
