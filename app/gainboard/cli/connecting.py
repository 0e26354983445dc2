"""A client of the server that a command is to ask, whose refusals are told as a person wants to read them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gainboard.cli.configured import Target, target_of
from gainboard.cli.findings import Warned, fault_lines, warning_lines
from gainboard.cli.listing import printable
from gainboard.client import ClientError, Gainboard, NoAnswer, NotGainboard, Problem
from gainboard.errors import BadSetting, Fault, GainboardError

RETRIES = 2
"""Somebody waits: less than a second is spent on a server that is not there."""


@dataclass(frozen=True)
class Server:
    """A client of the server that a command asks, and what else it was told."""

    gainboard: Gainboard
    target: Target

    @property
    def collection(self) -> str:
        """The collection that the command is about. Raises BadSetting where none is named."""
        if self.target.collection is None:
            raise BadSetting("Which collection? Name it with -c NAME, or in GAINBOARD_COLLECTION.")
        return self.target.collection.value

    @property
    def some_collection(self) -> str | None:
        """The collection that the command is about, if it is about one."""
        return self.target.collection.value if self.target.collection else None


@contextmanager
def connected(parsed: argparse.Namespace) -> Iterator[Server]:
    """The server that the command line, the environment or the configuration file names. Raises BadSetting, and within
    it ClientError with all that the server says."""
    target = target_of(parsed)
    # An empty token, or the client would look for one in the environment by itself.
    token = target.token.value if target.token else ""
    with Gainboard(target.server.value, token, retries=RETRIES) as gainboard:
        try:
            yield Server(gainboard, target)
        except Problem as problem:
            raise ClientError("\n".join([told(problem), *_who_asked(problem, target)])) from problem
        except (NoAnswer, NotGainboard) as error:
            raise ClientError(f"{printable(error.message)} (The address is from {target.server.origin}.)") from error


def _who_asked(problem: Problem, target: Target) -> Iterator[str]:
    """Where the token is from that was not taken, or where one may be put."""
    if problem.type == "not-authenticated" and target.token:
        yield f"(The token is from {target.token.origin}.)"
    elif problem.type == "not-authenticated":
        yield "(Put the token into GAINBOARD_TOKEN or the configuration file, or give it with --token.)"


def told(problem: Problem) -> str:
    """A refusal in full: why, every place at fault that the server names, and which kind of problem it is."""
    request = f", request {problem.request_id}" if problem.status >= 500 and problem.request_id else ""
    places = [f"  {place}" for place in faults(problem)] if len(problem.errors) > 1 else []
    return "\n".join([printable(problem.detail), *places, f"(problem {printable(problem.type)}{request})"])


def faults(problem: Problem) -> Iterator[str]:
    """The places at fault: the line of a file, or a part of the request."""
    for each in problem.errors:
        place = each.get("line") or each.get("location") or ""
        yield printable(": ".join(str(part) for part in (place, each.get("code"), each.get("message")) if part))
    if (hidden := problem.errors_total - len(problem.errors)) > 0:
        yield f"and {hidden} more"


def tell_of_refusal(file: str, refusal: GainboardError) -> None:
    """Every fault that the service names, or why else the file was refused, on standard error."""
    for line in fault_lines(file, *_file_faults(refusal)):
        print(printable(line), file=sys.stderr)


def tell_of_warnings(file: str, warnings: Sequence[Warned]) -> None:
    """What was tolerated, on standard error."""
    for line in warning_lines(file, warnings):
        print(printable(line), file=sys.stderr)


def _file_faults(refusal: GainboardError) -> tuple[list[Fault], int]:
    if not isinstance(refusal, Problem):
        return [Fault("unreadable", refusal.message)], 1
    if refusal.type != "faulty-file":
        return [Fault(refusal.type, refusal.detail)], 1
    return [Fault(each["code"], each["message"], each["line"]) for each in refusal.errors], refusal.errors_total
