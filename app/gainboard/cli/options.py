"""Options that several commands share, and how their values are read.

Commands on files and commands against a server use this module, so it imports neither the readers of files nor the
client.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from gainboard.cli.command import Option, Several, count, parameter_options, refuse
from gainboard.errors import BadSetting
from gainboard.notation.sources import as_utf8

if TYPE_CHECKING:
    from gainboard.settings import Settings

STANDARD_INPUT = "-"
_COMMA = re.compile(r",(?![^()]*\))")
"""A comma outside an expression such as `Q(beta=1,gains=3:2:1)`."""
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
HOST, PORT = "127.0.0.1", 8000
"""The default address of a server, and of the commands that ask one."""
LAST_PORT = 65535


def parse_pair(text: str) -> tuple[str, Any]:
    """Return the name and the value of `NAME=VALUE`, for argparse."""
    name, is_pair, value = text.partition("=")
    if not is_pair or not name:
        refuse(f"{text!r} is not NAME=VALUE, such as beta=10")
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

    def is_item(name: str, value: Any) -> bool:
        schema = schemas.get(name, {})
        types = {alternative.get("type") for alternative in schema.get("anyOf", [schema])}
        return value is not None and not isinstance(value, list) and types - {"null"} == {"array"}

    return {name: [value] if is_item(name, value) else value for name, value in values.items()}


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


def require_one_input(names: Sequence[str]) -> None:
    """Raise BadSetting if two of the files are standard input, which can be read only once."""
    if list(names).count(STANDARD_INPUT) > 1:
        raise BadSetting("Two files are `-`, but standard input can be read only once. Name one of them as a file.")


@contextmanager
def readable(path: str | Path, verb: str = "read") -> Iterator[None]:
    """Raise BadSetting if the block cannot read a file, or do with it what the verb says."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot {verb} {path}: {getattr(error, 'strerror', None) or error}.") from error


def read_version(text: str | None) -> int | None:
    """Return the version of judgments that digits alone name; None for the name of a file, which may be `./2`."""
    return int(text) if text is not None and _VERSION.fullmatch(text) else None


def read_settings(data: Path | None) -> Settings:
    """Return the settings of the environment, with the data folder of the command line. Raises BadSetting."""
    from gainboard.settings import Settings  # noqa: PLC0415 (it imports Pydantic and NumPy)

    return Settings.read(os.environ, data=data)


def environment_here() -> dict[str, str]:
    """Return the settings that also count for a service of a command alone: the limits, and the code that is used."""
    return {name: value for name, value in os.environ.items() if name.startswith(("GAINBOARD_FAST", "GAINBOARD_MAX_"))}


_NESTED = reduce(lambda inner, _: rf"\((?:[^()]|{inner})*\)", range(5), r"\([^()]*\)")
_WORD = rf"(?:[^\s()]|{_NESTED})+"
_WORDS = rf"\s*{_WORD}(?:\s+{_WORD})*\s*"  # compiled by the first command that names a metric
_DOTTED = re.compile(r"([A-Za-z_]+)\.([0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*)")


def split_expressions(text: str) -> Iterator[str]:
    """Yield the expressions of a text: ir_measures writes `nDCG@10 P@5`, trec_eval writes `P.5,10`."""
    text = as_utf8(text)
    for word in re.findall(_WORD, text) if re.fullmatch(_WORDS, text) else [text]:
        dotted = _DOTTED.fullmatch(word)
        yield from (f"{dotted[1]}_{cutoff}" for cutoff in dotted[2].split(",")) if dotted else [word]


class FileBehind(NamedTuple):
    """A file that is read behind judgments; `line` stands in place of its content."""

    name: str
    line: bytes | None = None


_attributes = partial(Option, group="attribute sets")


@dataclass(frozen=True)
class AttributeFiles:
    """The options that name attribute sets for metrics of fairness, each with two files."""

    memberships: Annotated[
        Sequence[str],
        _attributes("memberships in groups: topic, document, a number a group; may be repeated", metavar="NAME=FILE"),
    ] = ()
    target: Annotated[
        Sequence[str], _attributes("the target of a set: a number a line; may be repeated", metavar="NAME=FILE")
    ] = ()
    ordinal: Annotated[
        Sequence[str], _attributes("a set whose groups have an order; may be repeated", metavar="NAME")
    ] = ()

    def behind(self) -> list[FileBehind]:
        """Return what follows the judgments. Raise BadSetting if a set lacks one of its files."""
        given = ([text.partition("=") for text in texts] for texts in (self.memberships, self.target))
        files, targets = ({name: file for name, _, file in pairs if file} for pairs in given)
        named = {text.partition("=")[0] for text in (*self.memberships, *self.target, *self.ordinal)}
        for name in sorted(named - (files.keys() & targets.keys())):
            raise BadSetting(
                f"The attribute set {name!r} needs two files: --memberships {name}=FILE and --target {name}=FILE."
            )
        parts = []
        for name, file in files.items():
            with readable(targets[name]):
                shares = Path(targets[name]).read_text(encoding="utf-8-sig").split()
            kind = "ordinal" if name in self.ordinal else "nominal"
            line = " ".join(["@attributes", name, kind, *shares]) + "\n"
            parts += [FileBehind(targets[name], line.encode()), FileBehind(file)]
        return parts


Data = Annotated[Path | None, Option("folder of the database (GAINBOARD_DATA)", metavar="DIR")]
Host = Annotated[str, "address to listen on (default: only this machine)"]
Port = Annotated[
    int, Option(f"port to listen on (default: {PORT})", read=count("a port (0: any free one)", 0, LAST_PORT, PORT))
]
Quiet = Annotated[bool, "no warnings and notes; faults are printed all the same"]
PerTopic = Annotated[bool, Option("also the scores of each topic", "-q", "--per-topic")]
RunNames = Annotated[Sequence[str], Option("a run; may be repeated", "--run", metavar="RUN")]


def metric_option(default: str) -> Option:
    """Return the option that names metrics, each of which may have several words or be several."""
    text = f"one or several metrics, such as nDCG@10 or 'Q(beta=10)' (default: {default})"
    return Option(text, "-m", "--metric", metavar="METRIC", splits=split_expressions)


Metrics = Annotated[Sequence[str], metric_option("those of the collection")]
REPLICATES: Final = Option("with @, runs named bm25@1 and bm25@2 are replicates of the system bm25", metavar="SIGN")
TOOL = Option("the tool whose names -m uses: each means what that tool computes (default: gainboard)")
Defaults = Annotated[Mapping[str, str], Several(partial(parameter_options, several=False))]
