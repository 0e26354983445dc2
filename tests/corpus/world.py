"""One small released campaign and one small hidden one, with known ids and a clock that moves a second a request."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from gainboard.cli import main
from gainboard.cli.page import every_command, section_of
from gainboard.cli.parsing import parser
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.machine import Machine
from tests.api.laboratory import work
from tests.cli import shells
from tests.conftest import ADMIN, copied_database, description, migrated, new_database, running
from tests.corpus.campaigns import ADDRESS, FILES, RELEASED, WATCHED, Builder
from tests.corpus.shown import answer_lines, command_lines, help_lines

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
EVERY_HELP = "gainboard COMMAND --help"
"""Stands for all commands, one after the other."""
ENTRIES_BEGIN = START + timedelta(hours=1)
"""When each entry is asked for, whatever was asked before."""


RELEASES = f"/v1/collections/{RELEASED}/releases"
_HASH_OF_RELEASE = re.compile(r'"name":"([a-z]+-\d+)",[^{}]*"citation":"[^{}]*"sha256":"([0-9a-f]{64})"')
"""It changes with every release of the program, whose version a release of a collection has."""


class Clock:
    """A clock that only requests move."""

    def __init__(self, at=START):
        self.at = at

    def now(self):
        """Return the time."""
        return self.at

    def move(self):
        """A second passes."""
        self.at += timedelta(seconds=1)


class Chance:
    """Bytes as if they were random, the same each time."""

    def __init__(self, seed):
        self._seed, self._count = seed, 0

    def bytes(self, size):
        """Return the next bytes."""
        self._count += 1
        return hashlib.shake_256(f"{self._seed} {self._count}".encode()).digest(size)


class Names:
    """Names for ids that a change of an engine would change, and for secrets."""

    def __init__(self, known=()):
        self.known = dict(known)

    def filled(self, text):
        """Return the text with ids in place of their names."""
        return re.sub(r"\{([a-z]+ [a-z0-9-]+)\}", lambda found: self.known.get(found[1], found[0]), text)

    def hidden(self, text):
        """Return the text with names in place of ids."""
        for name, value in sorted(self.known.items(), key=lambda each: -len(each[1])):
            text = text.replace(value, f"{{{name}}}")
            if name.startswith(("job ", "report ")):
                text = text.replace(value[:12], f"{{{name}}}")
        return text

    def learn(self, answer):
        """Give names to what an answer has and the world has not: ids of jobs and reports, and codes of invitations."""
        found = re.findall(r"/(job|report)s/([0-9a-f]{64})", answer.headers.get("location", "") + answer.text)
        found += [("code", each) for each in re.findall(r"/join#([\w-]+)", answer.text)]
        self.known |= {f"hash {name}": value for name, value in _HASH_OF_RELEASE.findall(answer.text)}
        for noun, value in found:
            if value not in self.known.values():
                count = sum(name.startswith(f"{noun} new-") for name in self.known)
                self.known[f"{noun} new-{count + 1}"] = value


class World:
    """A service on a database, asked in this process."""

    def __init__(self, url, seed, names=(), people=(), at=START):
        self.clock, chance = Clock(at), Chance(seed)
        self.database = Database(url, machine=Machine(self.clock.now, chance.bytes))
        self.workspace = Workspace(self.database)
        self.names, self.people = Names(names), dict(people)
        self._cookies = {}
        self.application = create_app(self.workspace, settings())
        self.application.openapi = description
        self._runner = asyncio.Runner()

    def close(self):
        """End it."""
        self._runner.close()
        self.database.close()

    def ask(self, who, method, address, headers=(), body=""):
        """Return the answer to a request of somebody."""
        self.clock.move()
        sent = self._sent(who, method, address, headers, body)
        answer = self._runner.run(self._answer(sent))
        self.names.learn(answer)
        if who.endswith("'s browser"):
            self._cookies.setdefault(who, {}).update(answer.cookies)
        return answer

    def _sent(self, who, method, address, headers, body):
        given, content = dict(headers), self.names.filled(body)
        if content.startswith("@"):
            content = FILES[content.strip()[1:]]
        elif content.startswith(("{", "[")):
            content = content.strip()
            given.setdefault("Content-Type", "application/json")
        elif content:
            content = content.rstrip("\n")
        person = self.people.get(who.removesuffix("'s browser"), {})
        if who.endswith("'s browser"):
            given = self._from_browser(who, method, person, is_script="X-CSRF-Token" in given) | given
            if given["Content-Type" if method == "POST" else "Accept"].endswith("urlencoded"):
                content = content.replace("\n", "&")
            content = content.replace("{csrf}", person.get("csrf", ""))
            given = {name: value.replace("{csrf}", person.get("csrf", "")) for name, value in given.items()}
        elif "token" in person:
            given.setdefault("Authorization", f"Bearer {person['token']}")
        return method, self.names.filled(address), given, content

    def _from_browser(self, who, method, person, is_script):
        """Return the headers that a browser sends, also for a page's script; and the cookies that it has been given."""
        given = [person["cookie"].split("=", 1)] if "cookie" in person else []
        held = dict(given) | self._cookies.get(who, {})
        headers = {"Origin": ADDRESS, "Accept": "application/json" if is_script else "text/html"}
        headers |= {"Cookie": "; ".join(f"{name}={value}" for name, value in held.items())} if held else {}
        kind = "application/octet-stream" if is_script else "application/x-www-form-urlencoded"
        return headers | ({"Content-Type": kind} if method == "POST" else {})

    async def _answer(self, sent):
        method, address, headers, content = sent
        transport = httpx.ASGITransport(self.application)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, timeout=60) as client:
            return await client.request(method, address, headers=headers, content=content or None)

    def work(self):
        """Work all jobs that are queued."""
        return work(self.workspace)


class Worlds:
    """The world that reads share, and copies of it for all other requests."""

    def __init__(self, folder, kind="sqlite", postgres=None):
        self._folder, self._postgres, self._kind = Path(folder), postgres, kind
        self._stack = ExitStack()
        self.shared = self._stack.enter_context(closing(World(self._new_url(), "the world")))
        builder = Builder(self.shared)
        builder.build()
        self.shared.clock.at = ENTRIES_BEGIN - timedelta(minutes=1)
        builder.use_all_tokens()
        self.shared.ask("organiser", "GET", RELEASES)
        self._names = self.shared.names.known | {
            f"secret {who}": person["token"] for who, person in self.shared.people.items() if "token" in person
        }

    def close(self):
        """End them."""
        self._stack.close()

    def _new_url(self):
        if self._kind == "postgresql":
            return self._stack.enter_context(new_database(self._postgres, is_migrated=True))
        file = self._folder / "shared.db"
        file.write_bytes(migrated())
        return f"sqlite:///{file}"

    def answer_to(self, entry):
        """Return the lines that an entry has, if nothing has changed."""
        if entry.is_read and not entry.who_asks(WATCHED):
            self.shared.clock.at, self.shared.names = ENTRIES_BEGIN, Names(self._names)
            return self._lines(self.shared, entry)
        with self._copy(entry.name) as world:
            return self._lines(world, entry)

    @contextmanager
    def _copy(self, seed):
        names, people = self._names, self.shared.people
        with ExitStack() as stack:
            if self._kind == "postgresql":
                self.shared.database.engine.dispose()  # PostgreSQL copies a database that nobody uses
                url = stack.enter_context(copied_database(self._postgres, self.shared.database.url))
            else:
                file = self._folder / "copy.db"
                with (
                    closing(sqlite3.connect(self._folder / "shared.db")) as source,
                    closing(sqlite3.connect(file)) as target,
                ):
                    source.backup(target)
                stack.callback(lambda: [each.unlink() for each in self._folder.glob("copy.db*")])
                url = f"sqlite:///{file}"
            yield stack.enter_context(closing(World(url, seed, names, people, ENTRIES_BEGIN)))

    def _lines(self, world, entry):
        for each in entry.before:
            if each.who == "work":
                world.work()
            else:
                answer = world.ask(each.who, each.method, each.address, each.headers, each.body)
                assert answer.status_code < 400, f"{each.method} {each.address}: {answer.text}"
        own = entry.request
        if own.method == "$":
            return self._command_lines(world, own)
        names = Names(world.names.known)
        answer = world.ask(own.who, own.method, own.address, own.headers, own.body)
        names.learn(answer)
        return answer_lines(answer, names, entry.shows)

    def _command_lines(self, world, command):
        if command.address == EVERY_HELP:
            # Not as argparse prints it, which differs between versions of Python.
            texts = ((each.prog, "\n".join([*section_of(each), each.epilog or ""])) for each in every_command(parser()))
            return help_lines(texts)
        with TemporaryDirectory() as name, ExitStack() as stack:
            folder, variables = Path(name), {"COLUMNS": "100"}
            for file, content in FILES.items():
                (folder / file).write_text(content)
            address = "no server"
            if command.who != "files":
                # Its own application: the one of the world ends with its server.
                application = create_app(world.workspace, settings())
                address = stack.enter_context(running(application)).url
                variables["GAINBOARD_SERVER"] = address
                if token := world.people[command.who].get("token"):
                    variables["GAINBOARD_TOKEN"] = token
            world.clock.move()
            # Of wrong usage the parser ends the program, here only the command.
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(shells, "main", _code_of_main)
            done = shells.Shell(folder, **variables).run(world.names.filled(f"{command.address}\n{command.body}"))
            if "freeze" in command.address:
                world.ask("organiser", "GET", RELEASES)  # so that its hash has a name
            shown = world.names.hidden(done.out.replace(address, "{server}").replace(name, "{folder}"))
            said = world.names.hidden(done.err.replace(address, "{server}").replace(name, "{folder}"))
            return command_lines(done.code, shown, said)


def settings():
    """Return the settings of every service of the corpus."""
    return Settings.read({}, admin_token=ADMIN, job_slots=0, public_url=ADDRESS)


def _code_of_main(arguments):
    """Return the exit code of a command, of one that its parser refuses, too."""
    try:
        return main(arguments)
    except SystemExit as error:
        return error.code
