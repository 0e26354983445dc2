"""One small released campaign and one small hidden one, with known ids and a clock that moves a second a request."""

import asyncio
import hashlib
import re
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from sqlalchemy import NullPool, create_engine, select, text

from gainboard.cli import main
from gainboard.cli.parsing import parser
from gainboard.cli.parts import every_command, section_of
from gainboard.evaluation.principals import USES
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.settings import Settings
from gainboard.store import audit
from gainboard.store.audit import AuditWanted
from gainboard.store.database import Database
from gainboard.store.machine import Machine
from gainboard.store.tables import collections, releases
from tests.cli import shells
from tests.corpus.campaigns import ADDRESS, FILES, WATCHED, Builder
from tests.corpus.shown import answer_lines, command_lines, help_lines
from tests.world.laboratories import work
from tests.world.servers import ADMIN, description, migrated, new_database, running

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
EVERY_HELP = "gainboard COMMAND --help"
"""Stands for all commands, one after the other."""
ENTRIES_BEGIN = START + timedelta(hours=1)
"""When each entry is asked for, whatever was asked before."""


class Still:
    """A clock that only requests move, and bytes as if they were random, the same each time."""

    def __init__(self):
        self.at, self._seed, self._count = START, "", 0

    def begin(self, at, seed):
        self.at, self._seed, self._count = at, seed, 0

    def move(self):
        self.at += timedelta(seconds=1)

    def now(self):
        return self.at

    def bytes(self, size):
        self._count += 1
        return hashlib.shake_256(f"{self._seed} {self._count}".encode()).digest(size)


class Held:
    """A database with a clock and chance of its own, which worlds may follow each other in.

    A new one would compile all statements anew, which takes longer than most entries.
    """

    def __init__(self, url):
        self.still = Still()
        self.database = Database(url, machine=Machine(self.still.now, self.still.bytes))

    def close(self):
        self.database.close()


class Names:
    """Names for ids that a change of an engine would change, and for secrets."""

    def __init__(self, known=()):
        self.known = dict(known)

    def filled(self, text):
        """Return the text with ids in place of their names; `{filler 70}` is a text of 70 letters."""
        text = re.sub(r"\{filler (\d+)\}", lambda found: "x" * int(found[1]), text)
        return re.sub(r"\{([a-z]+ [a-z0-9-]+)\}", lambda found: self.known.get(found[1], found[0]), text)

    def hidden(self, text):
        for name, value in sorted(self.known.items(), key=lambda each: -len(each[1])):
            text = text.replace(value, f"{{{name}}}")
            if name.startswith(("job ", "report ")):
                text = text.replace(value[:12], f"{{{name}}}")
        return re.sub(r"gainboard_[\w-]{43}", "gainboard_...", text)

    def learn(self, answer):
        """Name what an answer has and the world has not: ids of jobs, reports and tokens, and codes of invitations."""
        location = answer.headers.get("location", "")
        found = re.findall(r"/(job|report)s/([0-9a-f]{64})", location + answer.text)
        found += re.findall(r"/(token)s/([0-9a-f-]{36})", location)
        found += [("code", each) for each in re.findall(r"/join#([\w-]+)", answer.text)]
        for noun, value in found:
            if value not in self.known.values():
                count = sum(name.startswith(f"{noun} new-") for name in self.known)
                self.known[f"{noun} new-{count + 1}"] = value


class World:
    def __init__(self, held, seed, names=(), people=(), at=START, log=()):
        self.clock, self.database = held.still, held.database
        self.clock.begin(at, seed)
        self.workspace = Workspace(self.database)
        self.names, self.people, self.files, self.log = Names(names), dict(people), dict(FILES), list(log)
        self.cookies = {}
        """What answers have given to each browser."""
        self.application = create_app(self.workspace, settings())
        self.application.openapi = description
        self._runner = asyncio.Runner()
        self.answer = None
        """The last one."""

    def close(self):
        self._runner.close()
        self.database.close()  # the next world in it opens it again

    def ask(self, who, method, address, headers=(), body=""):
        answer = self.pass_on(*self._sent(who, method, address, headers, body))
        if who.endswith("'s browser"):
            self.cookies.setdefault(who, {}).update(answer.cookies)
        return answer

    def pass_on(self, method, address, headers, content):
        self.clock.move()
        self.answer = self._runner.run(self._answer(method, address, headers, content))
        return self.answer

    def _sent(self, who, method, address, headers, body):
        given = httpx.Headers(headers)  # one may be there twice
        usual = "application/x-www-form-urlencoded" if who.endswith("'s browser") else ""
        content = self.sent_content(body, given.get("Content-Type", usual))
        if body.startswith(("{", "[")):
            given.setdefault("Content-Type", "application/json")
        person = self.people.get(who.removesuffix("'s browser"), {})
        if who.endswith("'s browser"):
            for name, value in self._from_browser(who, method, person, "X-CSRF-Token" in given).items():
                given.setdefault(name, value)
            if given["Content-Type" if method == "POST" else "Accept"].endswith("urlencoded"):
                content = content.replace("\n", "&")
            content = content.replace("{csrf}", person.get("csrf", ""))
            if "X-CSRF-Token" in given:
                given["X-CSRF-Token"] = given["X-CSRF-Token"].replace("{csrf}", person["csrf"])
        elif "token" in person:
            given.setdefault("Authorization", f"Bearer {person['token']}")
        return method, self.names.filled(address), given, content

    def sent_content(self, body, kind=""):
        """Return the content of a body: a file of the world, or its text with ids in place of their names."""
        text = self.names.filled(body)
        if text.startswith("@"):
            return self.files[text.strip()[1:]]
        if kind.startswith("multipart/"):
            return text.replace("\n", "\r\n")
        return text.rstrip("\n") if "urlencoded" in kind or text.startswith(("{", "[")) else text

    def _from_browser(self, who, method, person, is_script):
        """Return the headers that a browser sends, also for a page's script; and the cookies that it has been given."""
        given = [person["cookie"].split("=", 1)] if "cookie" in person else []
        held = dict(given) | self.cookies.get(who, {})
        headers = {"Origin": ADDRESS, "Accept": "application/json" if is_script else "text/html"}
        headers |= {"Cookie": "; ".join(f"{name}={value}" for name, value in held.items())} if held else {}
        kind = "application/octet-stream" if is_script else "application/x-www-form-urlencoded"
        return headers | ({"Content-Type": kind} if method == "POST" else {})

    async def _answer(self, method, address, headers, content):
        transport = httpx.ASGITransport(self.application)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, timeout=60) as client:
            return await client.request(method, address, headers=headers, content=content or None)

    def all_names(self):
        """Return names also for the hashes of releases, and of the log's entries since the first job.

        They cover ids of jobs, and the versions of what computed.
        """
        with self.database.reading() as tx:
            known = self.log[-1].number if self.log else None
            self.log += audit.page(tx, AuditWanted(), after=known, limit=10_000)
            stored = tx.execute(select(collections.c.name, releases).join(collections)).all()
        since = next((entry.number for entry in self.log if entry.action == "job-launched"), len(self.log) + 1)
        named = {f"entry {entry.number}": entry.hash for entry in self.log if entry.number >= since}
        return Names(self.names.known | named | {f"release {each.name}-{each.number}": each.sha256 for each in stored})

    def work(self):
        return work(self.workspace)


class Worlds:
    """The world that reads share, and copies of it for all other requests."""

    def __init__(self, folder, postgres=None):
        self._folder, self._postgres = Path(folder), postgres
        self.answer = None
        """The last answer, itself."""
        self._stack = ExitStack()
        # No worker draws here: an answer that waits for a figure says at once that it is being made.
        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("gainboard.api.job_answers.MOST_SECONDS", 0.01)
        self.shared = self._stack.enter_context(closing(World(self._held(), "the world")))
        builder = Builder(self.shared)
        builder.build()
        self.shared.clock.at = ENTRIES_BEGIN - timedelta(minutes=1)
        builder.use_all_tokens()
        if postgres is not None:
            self._saved_rows  # noqa: B018 (as they are before any entry)
        people = self.shared.people.items()
        self.shared.names.known |= {f"secret {who}": each["token"] for who, each in people if "token" in each}

    def close(self):
        self._stack.close()

    def _held(self, name="shared"):
        if self._postgres is not None:
            return Held(self._stack.enter_context(new_database(self._postgres, is_migrated=True)))
        file = self._folder / f"{name}.db"
        file.write_bytes(migrated())
        return Held(f"sqlite:///{file}")

    @cached_property
    def _held_copy(self):
        return self._held("copy") if self._postgres is None else Held(self.shared.database.url)

    @cached_property
    def _archive(self):
        """The folder of a release of another instance, as a tar archive: the file `archive`."""
        with closing(World(self._held("other"), "another instance")) as other:
            return Builder(other).archive()

    def answer_to(self, entry):
        """Return the lines that an entry has, if nothing has changed."""
        with self.world_of(entry) as world:
            lines, self.answer = self._lines(world, entry), world.answer
            return lines

    @contextmanager
    def world_of(self, entry):
        """A world in which the entry can be asked for, whatever was asked before."""
        if entry.is_read and not entry.who_asks(WATCHED):
            self.shared.clock.at, self.shared.cookies = ENTRIES_BEGIN, {}
            yield self.shared
        else:
            with self._copy(entry.name) as world:
                if any(each.body.strip() == "@archive" for each in (*entry.before, entry.request)):
                    world.files["archive"] = self._archive
                yield world

    @contextmanager
    def _copy(self, seed):
        names, people = self.shared.names.known, self.shared.people
        with ExitStack() as stack:
            held = self._held_copy
            if self._postgres is not None:
                stack.callback(self._put_rows_back)
            else:
                with (
                    closing(sqlite3.connect(self._folder / "shared.db")) as source,
                    closing(sqlite3.connect(self._folder / "copy.db")) as target,
                ):
                    source.backup(target)
                stack.callback(lambda: [each.unlink() for each in self._folder.glob("copy.db*")])
            yield stack.enter_context(closing(World(held, seed, names, people, ENTRIES_BEGIN, self.shared.log)))

    @cached_property
    def _saved_rows(self):
        """Statements that give the database of PostgreSQL the rows that it has now. To copy it takes a second."""
        with _superuser(self.shared.database.url) as connection:
            connection.execute(text("CREATE SCHEMA saved"))
            tables = connection.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all()
            counted = text("SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'")
            sequences = connection.execute(counted).all()
            for name in tables:
                connection.execute(text(f"CREATE TABLE saved.{name} AS TABLE public.{name}"))
        back = [f"DELETE FROM {name}; INSERT INTO {name} OVERRIDING SYSTEM VALUE TABLE saved.{name}" for name in tables]
        back += [f"SELECT setval('{name}', {last or 1}, {last is not None})" for name, last in sequences]
        return "; ".join(["SET LOCAL session_replication_role = replica", *back])  # without triggers and references

    def _put_rows_back(self):
        with _superuser(self.shared.database.url) as connection:
            connection.execute(text(self._saved_rows))
        self.shared.workspace.kept.pop(USES, None)  # what it has noted is not there any more

    def _lines(self, world, entry):
        prepare(world, entry)
        own = entry.request
        if own.method == "$":
            return self._command_lines(world, own)
        answer = world.ask(own.who, own.method, own.address, own.headers, own.body)
        names = world.all_names()
        names.learn(answer)  # not in the world, which the next entry may share
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
            names = world.all_names()
            shown = names.hidden(done.out.replace(address, "{server}").replace(name, "{folder}"))
            said = names.hidden(done.err.replace(address, "{server}").replace(name, "{folder}"))
            return command_lines(done.code, shown, said)


def prepare(world, entry):
    """Send what prepares an entry. What is made once somebody asks for it is refused until it has been worked."""
    for each in entry.before:
        if each.who == "work":
            world.work()
        else:
            answer = world.ask(each.who, each.method, each.address, each.headers, each.body)
            is_made_later = answer.status_code == 409 and "retry-after" in answer.headers
            assert answer.status_code < 400 or is_made_later, f"{each.method} {each.address}: {answer.text}"
            world.names.learn(answer)


@contextmanager
def _superuser(url):
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


def settings():
    return Settings.read({}, admin_token=ADMIN, job_slots=0, public_url=ADDRESS)


def _code_of_main(arguments):
    """Return the exit code of a command, of one that its parser refuses, too."""
    try:
        return main(arguments)
    except SystemExit as error:
        return error.code
