"""The server that a command calls, the token, the collection, and how refusals are printed.

Options override environment variables, which override a configuration file.
"""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from gainboard.cli.command import SERVER, Argument, Option, Told
from gainboard.cli.options import HOST, PORT, STANDARD_INPUT
from gainboard.cli.printing import COLLECTION_HINTS, fault_lines, list_faults, printable
from gainboard.errors import BadSetting, Fault, GainboardError
from gainboard.notation.texts import Warned, warning_lines

if TYPE_CHECKING:  # `gainboard check` has the options of this module, and starts without the client
    from gainboard.client import Gainboard, Problem

MEMBERS = ("server", "token", "collection")
"""The settings that each of the three sources may have."""
OPTIONS = {"server": "--server", "token": "--token", "collection": "-c"}
DEFAULT_SERVER = f"http://{HOST}:{PORT}"
RETRIES = 2
"""A user waits, so a command gives up on an unreachable server within a second."""


@dataclass(frozen=True)
class SourcedSetting:
    """A setting and its source."""

    value: str = field(repr=False)
    origin: str


@dataclass(frozen=True)
class Target:
    """A server, a token and a collection. Without a token requests are anonymous."""

    server: SourcedSetting
    token: SourcedSetting | None
    collection: SourcedSetting | None


@dataclass(frozen=True)
class OneServer:
    """The options of every command that calls a server."""

    server: Annotated[
        str | None, Option(f"address of the service (GAINBOARD_SERVER, {DEFAULT_SERVER})", metavar="URL", group=SERVER)
    ] = None
    token: Annotated[
        str | None,
        Option("your token; GAINBOARD_TOKEN is safer, because other users can see command lines", group=SERVER),
    ] = field(default=None, repr=False)
    config: Annotated[
        Path | None, Option("a file with these settings (GAINBOARD_CONFIG)", metavar="FILE", group=SERVER)
    ] = None
    named: str | None = None
    """The collection that the command line names."""
    HOW_TO_NAME: ClassVar = "Name it with -c NAME, or in GAINBOARD_COLLECTION."

    @cached_property
    def target(self) -> Target:
        """Find the target in the command line, the environment and the configuration file. Raise BadSetting."""
        named = self.config or os.environ.get("GAINBOARD_CONFIG")
        home = Path(os.environ.get("XDG_CONFIG_HOME") or "")
        # The XDG specification says that a relative path is ignored.
        home = home if home.is_absolute() else Path("~/.config").expanduser()
        path = Path(named) if named else home / "gainboard" / "config.toml"
        file = _read(path, is_named=bool(named))
        settings: dict[str, SourcedSetting] = {}
        for name, said in (("server", self.server), ("token", self.token), ("collection", self.named)):
            variable = f"GAINBOARD_{name.upper()}"
            sources = ((said, OPTIONS[name]), (os.environ.get(variable), variable), (file.get(name), str(path)))
            if setting := next((SourcedSetting(value, origin) for value, origin in sources if value), None):
                settings[name] = setting
        server = settings.get("server") or SourcedSetting(DEFAULT_SERVER, "the default")
        token = settings.get("token")
        is_for_server = server.value.rstrip("/") == file.get("server", DEFAULT_SERVER).rstrip("/")
        if token and token.origin == str(path) and not is_for_server:
            # A server learns the token that it is sent. A token in the file is only for the server in the file.
            print(
                f"gainboard: The token in {path} is not sent to {server.value}, because it is for another server. Use "
                "GAINBOARD_TOKEN.",
                file=sys.stderr,
            )
            token = None
        return Target(server, token, settings.get("collection"))

    @property
    def collection(self) -> str:
        """Return the collection that the command is about. Raise BadSetting if none is named."""
        if (name := self.some_collection) is None:
            raise BadSetting(f"No collection is named. {self.HOW_TO_NAME}")
        return name

    @property
    def some_collection(self) -> str | None:
        """Return the collection that the command is about, if it is about one."""
        return self.target.collection.value if self.target.collection else None

    @contextmanager
    def connect(self) -> Iterator[Gainboard]:
        """Connect to the server. Raise BadSetting, and from within the context ClientError with its full answer."""
        from gainboard.client import ClientError, Gainboard, NoAnswer, NotGainboard, Problem  # noqa: PLC0415

        target = self.target
        # The client would read an absent token from the environment. An empty one means anonymous.
        with Gainboard(target.server.value, target.token.value if target.token else "", retries=RETRIES) as gainboard:
            try:
                yield gainboard
            except Problem as problem:
                text = describe_problem(problem)
                if problem.type == "not-authenticated" and target.token:
                    text += f"\n(The token is from {target.token.origin}.)"
                elif problem.type == "not-authenticated":
                    how = "set GAINBOARD_TOKEN, write it into the configuration file, or use --token"
                    text += f"\n(To send a token, {how}.)"
                raise ClientError(text) from problem
            except (NoAnswer, NotGainboard) as error:
                raise ClientError(
                    f"{printable(error.message)} (The address is from {target.server.origin}.)"
                ) from error


@dataclass(frozen=True)
class OneCollection(OneServer):
    """The options of a command about one collection."""

    named: Annotated[
        str | None, Option("the collection (GAINBOARD_COLLECTION)", "-c", "--collection", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class NamedCollection(OneServer):
    """The same, where an argument may name the collection."""

    named: Annotated[
        str | None,
        Option("the collection (GAINBOARD_COLLECTION)", "-c", "--collection", metavar="NAME"),
        Argument("as -c", metavar="COLLECTION"),
    ] = None


def find_release(gainboard: Gainboard, collection: str, or_else: str = "") -> int:
    """Return the number of the newest release. Raise BadSetting if there is none."""
    for release in gainboard.releases(collection):
        return release.number
    raise BadSetting(f"{collection} has no release yet. Make one: gainboard freeze {collection}{or_else}")


def _read(path: Path, *, is_named: bool) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            settings = tomllib.load(file)
            mode = os.fstat(file.fileno()).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_named:
            raise BadSetting(f"There is no configuration file {path}. Correct --config or GAINBOARD_CONFIG.") from error
        return {}
    except OSError as error:
        raise BadSetting(f"Cannot read {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} is not valid TOML: {error}.") from error
    problems = [f"{name} must be text in quotes" for name in MEMBERS if not isinstance(settings.get(name, ""), str)]
    if unknown := sorted(settings.keys() - set(MEMBERS)):
        there_is_no = f"there is no setting {', '.join(map(repr, unknown))}; available: {', '.join(MEMBERS)}"
        problems.insert(0, there_is_no)
    if problems:
        raise BadSetting(f"{path}: {'; '.join(problems)}.")
    if "token" in settings and mode & (stat.S_IRWXG | stat.S_IRWXO):
        print(f"gainboard: Other users can read {path}, which has a token. Run: chmod 600 {path}", file=sys.stderr)
    return settings


def describe_problem(problem: Problem) -> str:
    """Return a refusal in full: the reason, every fault that the server names, and the type of problem."""
    lines = [printable(problem.detail)]
    if not problem.tells_all:
        for error in problem.errors:
            parts = (error.get("line") or error.get("location"), error.get("code"), error.get("message"))
            lines.append("  " + printable(": ".join(str(part) for part in parts if part)))
        if (hidden := problem.errors_total - len(problem.errors)) > 0:
            lines.append(f"  and {'at least ' if _is_minimum(problem) else ''}{hidden} more")
    request = f", request {problem.request_id}" if problem.status >= 500 and problem.request_id else ""
    return "\n".join([*lines, f"(problem {printable(problem.type)}{request})"])


def tell_of_refusal(
    file: str, refusal: GainboardError, located: Callable[[Sequence[Fault]], Sequence[Fault]] = list
) -> None:
    """Print every fault that the service names, or the other reason for the refusal, on standard error.

    `located` returns the faults by the lines of the user's files, if the service got several files as one.
    """
    from gainboard.client import Problem  # noqa: PLC0415

    if not isinstance(refusal, Problem):
        faults, total, is_minimum = list_faults(refusal)
    elif refusal.type != "faulty-file":
        faults, total, is_minimum = [Fault(refusal.type, refusal.detail)], 1, False
    else:
        faults, total, is_minimum = [*map(_file_fault, refusal.errors)], refusal.errors_total, _is_minimum(refusal)
    for line in fault_lines(file, located(faults), total, is_minimum, COLLECTION_HINTS):
        print(printable(line), file=sys.stderr)


@contextmanager
def uploading(file: str, located: Callable[[Sequence[Fault]], Sequence[Fault]] = list) -> Iterator[Any]:
    """Yield a file to send, or standard input. If it is refused, print as `tell_of_refusal` does, and raise Told.

    Raise BadSetting if it cannot be read.
    """
    from gainboard.client import Problem  # noqa: PLC0415

    try:
        yield sys.stdin.buffer if file == STANDARD_INPUT else file
    except OSError as error:
        raise BadSetting(f"Cannot read {file}: {error.strerror or error}.") from error
    except Problem as problem:
        tell_of_refusal(file, problem, located)
        raise Told from problem


def tell_of_warnings(file: str, warnings: Sequence[Warned]) -> None:
    """Print the warnings about a file on standard error."""
    for line in warning_lines(file, warnings):
        print(printable(line), file=sys.stderr)


def _file_fault(error: Mapping[str, Any]) -> Fault:
    lines = tuple(error["lines"]) if error.get("lines") else None
    return Fault(error["code"], error["message"], error["line"], lines=lines, last_line=error.get("last_line"))


def _is_minimum(problem: Problem) -> bool:
    return problem.details.get("errors_total_is_minimum") is True
