"""Entries of the corpus as text: a sentence of purpose, the request, and what came back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).parent
MARK = "=== "
FIRST = "first "
ANSWER = "-> "
HASH = "sha256 "
SHOWS = "shows "
ALSO = "also "


@dataclass(frozen=True)
class Request:
    """A request of somebody: `who: METHOD address`, then headers and a body that are indented.

    `$` in place of a method is a command; its address is the command line, and its body has those that follow. The body
    `@name` is a file of the world; the lines of a browser's form are its fields.
    """

    who: str
    method: str
    address: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""

    def text(self):
        lines = [f"{self.who}: {self.method} {self.address}"]
        lines += [f"  {name}: {value}" for name, value in self.headers]
        return [*lines, *(f"  | {line}".rstrip() for line in self.body.splitlines())]


@dataclass(frozen=True)
class Entry:
    """One case. `before` are requests that prepare it, and `shows` names what is normally left out of an answer.

    `also` are calls of the client (`gb`) and commands (`$`) that send the same request.
    """

    file: str
    sentence: str
    request: Request
    before: tuple[Request, ...] = ()
    shows: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    answer: tuple[str, ...] = field(default=(), compare=False)

    @property
    def name(self):
        return f"{self.file}: {self.sentence}"

    @property
    def is_read(self):
        return self.request.method in ("GET", "HEAD", "OPTIONS") and not self.before

    def who_asks(self, people):
        return self.request.who.removesuffix("'s browser") in people

    @property
    def status(self):
        return self.answer[0].removeprefix(ANSWER).split()[0] if self.answer else None

    @property
    def is_hashed(self):
        return any(line.startswith(HASH) for line in self.answer)

    def text(self):
        lines = [MARK + self.sentence]
        for each in self.before:
            first, *rest = each.text()
            lines += [FIRST + first, *rest]
        lines += self.request.text()
        lines += [SHOWS + ", ".join(self.shows)] if self.shows else []
        lines += [ALSO + each for each in self.also]
        return "\n".join([*lines, *self.answer])


def parse(text, file):
    """Return the entries of a file. What an author has not recorded yet has no answer."""
    _, *parts = ("\n" + text).split("\n" + MARK)
    return [_parse_entry(part.strip("\n").split("\n"), file) for part in parts]


def _parse_entry(lines, file):
    sentence, *rest = lines
    at = next((number for number, line in enumerate(rest) if line.startswith(ANSWER)), len(rest))
    asked, answer = rest[:at], rest[at:]
    requests, shows, also = [], (), []
    for line in asked:
        if line.startswith(SHOWS):
            shows = tuple(line.removeprefix(SHOWS).split(", "))
        elif line.startswith(ALSO):
            also.append(line.removeprefix(ALSO))
        elif line.startswith("  |"):
            requests[-1] = replace(requests[-1], body=requests[-1].body + line[4:] + "\n")
        elif line.startswith("  "):
            name, _, value = line.strip().partition(": ")
            requests[-1] = replace(requests[-1], headers=(*requests[-1].headers, (name, value)))
        elif line:
            who, _, what = line.removeprefix(FIRST).partition(": ")
            requests.append(Request(who, *what.split(" ", 1)))
    assert requests, f"{file}: {sentence}: there is no request"
    return Entry(file, sentence, requests[-1], tuple(requests[:-1]), shows, tuple(also), tuple(answer))


def files():
    return sorted(path for path in HERE.glob("*/*.txt") if path.parent.name != "files")


def read_all():
    return [entry for path in files() for entry in parse(path.read_text(), path.relative_to(HERE).as_posix())]


def written(path, entries):
    """Return the text of a file with these entries; what stands before the first one stays."""
    head = ("\n" + path.read_text()).split("\n" + MARK)[0].strip("\n") if path.exists() else ""
    parts = [head] if head else []
    return "\n\n".join([*parts, *(each.text() for each in entries)]) + "\n"
