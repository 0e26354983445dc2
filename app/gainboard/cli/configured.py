"""Which server a command asks, as whom, and about which collection: options, environment, a file, in this order."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gainboard.client.connections import DEFAULT_SERVER
from gainboard.errors import BadSetting

MEMBERS = ("server", "token", "collection")
"""What each of the three sources may say."""
OPTIONS = {"server": "--server", "token": "--token", "collection": "-c"}


@dataclass(frozen=True)
class Told:
    """A setting, and where it was found."""

    value: str = field(repr=False)
    origin: str


@dataclass(frozen=True)
class Target:
    """A server, and what is said to it; without a token one asks as anybody."""

    server: Told
    token: Told | None
    collection: Told | None


def connecting(parser: argparse.ArgumentParser) -> None:
    """The options of every command that asks a server."""
    group = parser.add_argument_group("server")
    group.add_argument("--server", metavar="URL", help=f"where the service is (GAINBOARD_SERVER, {DEFAULT_SERVER})")
    group.add_argument("--token", metavar="TOKEN", help="who asks; GAINBOARD_TOKEN does not show in lists of processes")
    group.add_argument("--config", type=Path, metavar="FILE", help="a file that has these settings (GAINBOARD_CONFIG)")


def about_collection(parser: argparse.ArgumentParser) -> None:
    """The option of commands about one collection."""
    parser.add_argument("-c", "--collection", metavar="NAME", help="the collection (GAINBOARD_COLLECTION)")


def target_of(parsed: argparse.Namespace) -> Target:
    """What this command line, the environment and the configuration file say together. Raises BadSetting."""
    path, is_named = _config_path(parsed.config, os.environ)
    file = _read(path, is_named)
    found: dict[str, Told] = {}
    for name in MEMBERS:
        # The collections of a report are a list, which the report's own command reads.
        given = getattr(parsed, name, None)
        variable = f"GAINBOARD_{name.upper()}"
        sources = ((given, OPTIONS[name]), (os.environ.get(variable), variable), (file.get(name), str(path)))
        if told := next((Told(value, origin) for value, origin in sources if value and isinstance(value, str)), None):
            found[name] = told
    server = found.get("server") or Told(DEFAULT_SERVER, "the default")
    token = found.get("token")
    if token and token.origin == str(path) and not _is_for(server.value, file):
        # Whoever is sent a token has it: the one in the file is for the server in the file.
        print(f"gainboard: the token in {path} is not sent to {server.value}, another server", file=sys.stderr)
        token = None
    return Target(server, token, found.get("collection"))


def _is_for(server: str, file: Mapping[str, str]) -> bool:
    return server.rstrip("/") == file.get("server", DEFAULT_SERVER).rstrip("/")


def _config_path(given: Path | None, environment: Mapping[str, str]) -> tuple[Path, bool]:
    """The file, and whether somebody has named it."""
    if named := given or environment.get("GAINBOARD_CONFIG"):
        return Path(named), True
    folder = environment.get("XDG_CONFIG_HOME")
    # A relative one counts as none: so says the XDG specification.
    base = Path(folder) if folder and Path(folder).is_absolute() else Path("~/.config").expanduser()
    return base / "gainboard" / "config.toml", False


def _read(path: Path, is_named: bool) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
            mode = os.fstat(file.fileno()).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_named:
            raise BadSetting(f"There is no configuration file {path}.") from error
        return {}
    except OSError as error:
        raise BadSetting(f"Cannot read {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} is not TOML: {error}.") from error
    if faults := list(_faults(found)):
        raise BadSetting(f"{path}: {'; '.join(faults)}.")
    if "token" in found and mode & (stat.S_IRWXG | stat.S_IRWXO):
        print(f"gainboard: others may read {path}, which has a token: chmod 600 {path}", file=sys.stderr)
    return found


def _faults(found: Mapping[str, object]) -> Iterator[str]:
    if unknown := sorted(found.keys() - set(MEMBERS)):
        yield f"there is no setting {', '.join(map(repr, unknown))}; there are: {', '.join(MEMBERS)}"
    for name in MEMBERS:
        if not isinstance(found.get(name, ""), str):
            yield f"{name} is text, in quotes"
