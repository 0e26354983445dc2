"""A command is a typed function: from its signature and its docstring follow its parser, its help and its completion.

    @command("delete a draft", Example("gainboard drafts delete 2 -c web"))
    def delete(at: OneCollection, version: Version, *, force: Annotated[bool, "do not ask"] = False) -> None:
        \"\"\"Delete a draft.\"\"\"

A type says how words are read: `bool` is a switch, `bool | None` has also a `--no-` form, lists may be repeated, and a
`Literal` has choices. Numbers, times and paths are read as such; other types are text. What a type cannot say stands
beside it: the help alone, an `Option` or an `Argument`. A parameter with both is an argument, which disappears where
the option is said. A dataclass is a group of parameters that several commands share. `**query: Unpack[...]` has the
options of a query of the API, in the API's words.
"""

from __future__ import annotations

import argparse
import collections.abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache, partial
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from gainboard.notation.texts import read_integer, read_number, read_time

if TYPE_CHECKING:
    from gainboard.notation.queries import Said

T = TypeVar("T")
TROUBLE = 1
"""The exit code of errors, unless a command says another one: 1 may be its answer."""
SERVER = "server"
"""The title of the options that most commands have, which are therefore the last ones of a help."""


class Option:
    """An option, as far as a type cannot say it: its help, its flags (by default the parameter's name), how it is read.

    `splits` reads several values of a list from one word. Options of one `group` have its title above them. One of
    those that are `either` must be said, and no more than one.
    """

    def __init__(
        self,
        help: str,
        *flags: str,
        metavar: str | None = None,
        read: Callable[[str], Any] | None = None,
        splits: Callable[[str], Iterable[Any]] | None = None,
        choices: Iterable[str] | None = None,
        nargs: str | None = None,
        group: str = "",
        either: bool = False,
    ) -> None:
        self.help, self.flags, self.metavar, self.choices = help, flags, metavar, choices
        self.read, self.splits, self.nargs, self.group, self.either = read, splits, nargs, group, either

    def settings(self, name: str, kind: Any, *, is_required: bool) -> dict[str, Any]:
        """Return the settings of argparse for a parameter of this type."""
        members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        kinds = [member for member in members if member is not type(None)]
        is_list = len(kinds) == 1 and get_origin(kinds[0]) is collections.abc.Sequence
        inner = get_args(kinds[0])[0] if is_list else kinds[0]
        # Only what is said is in the namespace, so defaults stand in the signature alone.
        settings: dict[str, Any] = {"help": self.help, "default": argparse.SUPPRESS}
        if inner is bool:
            return settings | {"action": argparse.BooleanOptionalAction if kinds != [*members] else "store_true"}
        choices = self.choices or (get_args(inner) if get_origin(inner) is Literal else None)
        settings |= {"choices": choices, "metavar": self.metavar, "type": self.read or _READERS.get(inner)}
        if self.metavar is None and choices is None:
            settings["metavar"] = (self.flags or (name,))[-1].strip("-").replace("-", "_").upper()
        return settings | self._number(is_list=is_list, is_required=is_required)

    def _number(self, *, is_list: bool, is_required: bool) -> dict[str, Any]:
        if self.nargs:
            # `--runs a.txt --runs b.txt` means both: with argparse's own `store`, the last one would silently win.
            return {"action": "extend" if is_list else "store", "nargs": self.nargs, "required": is_required}
        if self.splits:
            split = self.splits
            return {"action": "extend", "type": lambda text: list(split(text)), "required": is_required}
        return {"action": "append" if is_list else "store", "required": is_required and not self.either}


class Argument(Option):
    """An argument without a flag; it may be left out if the parameter has a default."""

    def _number(self, *, is_list: bool, is_required: bool) -> dict[str, Any]:
        # argparse would read the default as if it were said, so an argument has none.
        return {"default": None, "nargs": ("+" if is_required else "*") if is_list else None if is_required else "?"}


class Several:
    """Options whose names are known only when a parser is made: the parameter has the values of those that are said."""

    def __init__(self, options: Callable[[], Mapping[str, tuple[type, Option]]]) -> None:
        self.options = options


class Example(NamedTuple):
    """A command line that works, which the tests run, and its purpose."""

    line: str
    why: str = ""


class Misuse(Exception):
    """A command line that the parser reads, but that makes no sense: the usage is shown, and the exit code is 2."""


class Told(Exception):
    """A refusal that is printed already: the exit code is that of errors."""


class Command(NamedTuple):
    """One command: its name, its short help, and the function that runs it and returns the exit code, or None for 0."""

    name: str
    help: str | None
    function: Callable[..., int | None]
    examples: Sequence[Example] = ()
    reads_options: bool = False
    """True if it reads its options itself: all words are arguments, also those that begin with a hyphen."""
    about: Mapping[str, Any] = MappingProxyType({})
    """Values of parameters that no option has."""
    trouble: int = TROUBLE
    """The exit code of every error. With another one than `TROUBLE`, also of unexpected ones."""

    def add_to(self, commands: Any) -> None:
        """Add the command's parser to an argparse group of subparsers."""
        widest = max((len(example.line) for example in self.examples if example.why), default=0)
        lines = [f"  {line:{widest}}  {why}".rstrip() for line, why in self.examples]
        epilog = "\n".join(["examples:", *lines]) if lines else None
        # No argument can begin with NUL, so argparse takes none for an option.
        settings = {"prefix_chars": "\0", "add_help": False} if self.reads_options else {}
        parser = commands.add_parser(
            self.name,
            help=short(self.help),
            description=cleandoc(self.function.__doc__ or ""),
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,
        )
        _add_options(parser, self._parts())
        parser.set_defaults(run_command=partial(self._run, parser), trouble=self.trouble)

    def _parts(self) -> list[_Parameter]:
        return [part for part in _parts(self.function) if part.name not in self.about]

    def _run(self, parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
        try:
            return self.function(**self.about, **_values(self._parts(), vars(parsed))) or 0
        except Misuse as error:
            parser.error(str(error))
        except Told:
            return self.trouble


def command(
    help: str | None, *examples: Example, reads_options: bool = False, trouble: int = TROUBLE
) -> Callable[[Callable[..., int | None]], Command]:
    """Make a command of a function. A command directly under `gainboard` has the docstring of its module as `help`."""

    def make(function: Callable[..., int | None]) -> Command:
        return Command(
            written(function.__name__), help, function, examples, reads_options=reads_options, trouble=trouble
        )

    return make


class Group(NamedTuple):
    """A group of commands about one noun: `gainboard NAME COMMAND`."""

    name: str
    help: str | None
    commands: Sequence[Command]

    def add_to(self, commands: Any) -> None:
        """Add the group's parser, and those of its commands, to an argparse group of subparsers."""
        parser = commands.add_parser(self.name, help=short(self.help), description=self.help)
        subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
        for member in self.commands:
            member.add_to(subparsers)


class CommandParser(argparse.ArgumentParser):
    """A parser in which an argument disappears where an option of its name is said: `score --qrels QRELS RUN_FILE`.

    Arguments of a list may also stand between options: `submit one.txt --team lemur two.txt`.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as usual, but for these two rules."""
        said = {action.dest for word in args or () for action in self._find_options(word.partition("=")[0])}
        replaced = [argument for argument in self._positionals._group_actions if argument.dest in said]
        for action in replaced:
            self._positionals._group_actions.remove(action)
            self._actions.remove(action)
        parsed, rest = super().parse_known_args(args, namespace)
        lists = [action for action in self._positionals._group_actions if action.nargs in ("+", "*")]
        # argparse gives a list the first arguments that stand together, and leaves the others.
        if rest and lists and not any(word.startswith("-") and word != "-" for word in rest):
            more = [self._get_value(lists[-1], word) for word in rest]
            setattr(parsed, lists[-1].dest, [*(getattr(parsed, lists[-1].dest) or ()), *more])
            rest = []
        words = [word for word in rest if word == "-" or not word.startswith("-")]
        if replaced and words:
            flags = {action.dest: action.option_strings[-1] for action in self._actions if action.option_strings}
            self.error(f"{flags[replaced[-1].dest]} names what {words[0]!r} would name. Leave one of them out.")
        return parsed, rest

    def _find_options(self, word: str) -> Iterator[argparse.Action]:
        actions = self._option_string_actions
        if word in actions:
            yield actions[word]
        elif word.startswith("--") and word != "--":  # an abbreviation
            yield from (action for flag, action in actions.items() if flag.startswith(word))
        elif word[:2] in actions:  # with its value, as in `-cweb`
            yield actions[word[:2]]


def short(help: str | None) -> str:
    """Return a help text for a list, without its full stop."""
    return (help or "").rstrip(".")


def written(name: str) -> str:
    """Return the name of a command as it is typed. Commands with the names of other tools have underscores."""
    return name if name == "trec_eval" else name.rstrip("_").replace("_", "-")


class _Parameter(NamedTuple):
    """A parameter of a function, or a field of a group or of a query."""

    name: str
    kind: Any
    said: Sequence[Option | Several]
    parts: Sequence[_Parameter]
    """The fields of a group."""
    is_required: bool


@cache
def _parts(of: Callable[..., Any]) -> list[_Parameter]:
    hints = get_type_hints(of, include_extras=True)
    parts: list[_Parameter] = []
    for name, parameter in signature(of).parameters.items():
        hint = hints[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            options = [option for leaf in _leaves(parts) for option in leaf.said if isinstance(option, Option)]
            taken = {flag.strip("-") for option in options for flag in option.flags}
            parts += _query_parts(get_args(hint)[0], taken | {leaf.name for leaf in _leaves(parts)})
            continue
        kind, *said = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        of_group = _parts(hint) if is_dataclass(hint) and isinstance(hint, type) else []
        said = [Option(each) if isinstance(each, str) else each for each in said]
        parts.append(_Parameter(name, kind, said, of_group, parameter.default is Parameter.empty))
    return parts


def _query_parts(query: Any, taken: Set[str]) -> Iterator[_Parameter]:
    """Yield the fields of a query, and the parameters of metrics in it; but not those that the command reads itself."""
    from gainboard.notation.queries import fields_of, parameters_type  # noqa: PLC0415 (with typing_extensions)

    for name, field in fields_of(query).items():
        if name not in taken:
            text = field.said.option or field.said.description
            text = text if text[0] in "`" or text[1].isupper() else text[0].lower() + text[1:]
            text += f" (default: {field.said.default})" if field.said.default and not field.said.option else ""
            text += "; may be repeated" if field.is_list else ""
            kind = Sequence[field.type] if field.is_list else field.type  # type: ignore[name-defined]
            flags, metavar = filter(None, [field.said.flag]), field.said.metavar or None
            option = Option(text, *flags, metavar=metavar, read=_reader_within(field.type, field.said))
            yield _Parameter(name, kind, [option], (), False)
    if (kind := parameters_type(query)) is not None:
        several = any(get_origin(alternative) is collections.abc.Sequence for alternative in get_args(kind))
        for name, (kind, option) in parameter_options(several=several).items():
            yield _Parameter(name, kind, [option], (), False)


def _reader_within(kind: Any, said: Said) -> Callable[[str], Any] | None:
    """Return what reads a number within the limits of its field; None for other fields."""
    if kind not in (int, float) or said.least is None:
        return None

    def read(text: str) -> Any:
        value = _READERS[kind](text)
        if value < said.least or (said.most is not None and value > said.most):
            most = f" to {said.most:,}" if said.most is not None else " on"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {said.least:g}{most}")
        return value

    return read


def parameter_options(*, several: bool) -> Mapping[str, tuple[Any, Option]]:
    """Return an option for each parameter that any metric has, with its type: a default, or several values to try."""
    from gainboard.metrics import query_parameters  # noqa: PLC0415 (with NumPy, which commands about jobs do without)

    title = "defaults for parameters of metrics, used where an expression does not give the parameter"
    title = "parameters, each of which may be repeated with several values" if several else title
    each_is = "Each is" if several else "It is"
    return {
        # argparse formats the help with `%`.
        name: (
            Sequence[str] if several else str,
            Option(f"{parameter.description} {each_is} {parameter.limits}.".replace("%", "%%"), group=title),
        )
        for name, parameter in query_parameters().items()
    }


def _leaves(parts: Iterable[_Parameter]) -> Iterator[_Parameter]:
    for part in parts:
        yield from _leaves(part.parts) if part.parts else [part]


def _add_options(parser: argparse.ArgumentParser, parts: Iterable[_Parameter]) -> None:
    """Add all arguments, then all options, the format after others, and those of titled groups last."""
    options: list[tuple[str, Any, Option, bool]] = []
    for name, kind, said, _, is_required in _leaves(parts):
        for marker in said:
            if isinstance(marker, Several):
                options += ((key, *value, False) for key, value in marker.options().items())
            else:
                options.append((name, kind, marker, is_required and marker is said[0]))
    options.sort(key=lambda option: (not isinstance(option[2], Argument), option[0] == "format"))
    titles = dict.fromkeys(option.group for _, _, option, _ in options)
    either: Any = None
    for title in sorted(titles, key=lambda title: (title != "", title == SERVER)):
        group: Any = parser.add_argument_group(title) if title else parser
        for name, kind, option, is_required in options:
            if option.group != title:
                continue
            if option.either:
                either = either or parser.add_mutually_exclusive_group(required=True)
            settings = option.settings(name, kind, is_required=is_required)
            if isinstance(option, Argument):
                group.add_argument(name, **settings)
            else:
                flags = option.flags or (f"--{name.replace('_', '-')}",)
                (either if option.either else group).add_argument(*flags, dest=name, **settings)


def _values(parts: Iterable[_Parameter], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those parameters that are said; the others have their defaults."""
    values = {}
    for part in parts:
        if part.parts:
            values[part.name] = part.kind(**_values(part.parts, said))
        elif part.said and isinstance(part.said[0], Several):
            values[part.name] = {name: said[name] for name in part.said[0].options() if name in said}
        elif said.get(part.name) is not None:
            values[part.name] = said[part.name]
    return values


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
        refuse(str(error), error)


def refuse(why: str, cause: Exception | None = None) -> NoReturn:
    """Refuse the value of an option: the usage is shown, and the exit code is 2."""
    raise argparse.ArgumentTypeError(why) from cause


def count(what: str, least: int, most: int, example: int) -> Callable[[str], int]:
    """Return a function for argparse that reads a whole number within limits."""

    def read(text: str) -> int:
        try:
            value = read_integer(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            refuse(f"{text!r} is not {what} from {least} to {most}, such as {example}")
        return value

    return read


_READERS: Mapping[Any, Callable[[str], Any]] = {int: whole_number, float: number, datetime: time, Path: Path}
