"""Clients and commands that import, freeze, export and back up, beside those of `writers`.

Folders to import are made by another instance, which nobody kills.
"""

import hashlib
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from tests.api.changes import log
from tests.outside import outside
from tests.proofs.writers import Done, Writer
from tests.waiting import until
from tests.world.files import contents_of
from tests.world.laboratories import Laboratory, rotated
from tests.world.servers import ADMIN, new_settings, serving

RUNS = 40
"""The runs of an imported folder, so many that its import takes about a second."""
READY = 2
"""The folders that are ready to be imported before a kill."""
MOST_RELEASES = 12
SUMS = "SHA256SUMS"
OTHERS = ("hidden-", "open-", "jobs-", "frozen-")
"""The beginnings of the names of collections that are not imported."""
KINDS = ("backup", "export", "import")


@dataclass
class Folder:
    """The folder of a release as a tar archive, the name of its collection, and whether that is known to be there."""

    name: str
    packed: bytes
    there: Done = False

    @property
    def path(self):
        return f"/v1/collections/{self.name}"


@contextmanager
def another_instance(folder):
    """Make a service of which each call freezes a new collection with a job, and returns its folder."""
    with serving(new_settings(folder / "another")) as service:

        def frozen():
            lab = Laboratory(service)
            for number in range(4, RUNS):
                assert lab.submit(rotated(number), team=f"team-{number % 2}").status_code == 201
            lab.release(public=True)
            lab.finished(lab.ask())
            lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["AP"]}).raise_for_status()
            return Folder(lab.name, lab.get("/releases/1/archive").raise_for_status().content)

        yield frozen


class Imports(Writer):
    """An organiser who imports folders. An import without an answer was whole, or is repeated at once."""

    all_names = set()
    """The names of all collections that were imported, in earlier rounds as well."""

    def __init__(self, path, draw, make):
        super().__init__(path, draw)
        self._make = make
        self.ready = [make() for _ in range(READY)]
        self.sent = []

    def take(self):
        folder = self.ready.pop()
        self.sent.append(folder)
        folder.there = None
        return folder

    def act(self):
        if not self.ready:
            return None
        folder = self.take()
        folder.there, _ = self._import("import", folder)
        return folder.there

    def _import(self, kind, folder, *expected):
        return self.send(kind, "POST", "/v1/imports", *(expected or (201,)), content=folder.packed)

    def check(self):
        for folder in self.sent:
            is_new, before = folder.there is not True, folder.there
            status = self._client.get(folder.path).status_code
            if before is None:
                self.counts[f"import: not answered, and then {'whole' if status == 200 else 'the name is free'}"] += 1
            else:
                self.want(f"{folder.name} is there", status, 200 if before else 404)
            if status == 404:
                # A command may have been killed alone, and the server still works for it.
                self._import("repeated import", folder, 201, 409)
                until(lambda path=folder.path: self._client.get(path).status_code == 200)
            folder.there = True
            if is_new:
                self._check_whole(folder)
        self.all_names.update(folder.name for folder in self.sent)
        listed = {each["name"] for each in self.items("/v1/collections")}
        self.want("half collections", {name for name in listed if not name.startswith(OTHERS)} - self.all_names, set())
        for listing in ("/v1/collections", "/v1/jobs", "/v1/reports", "/v1/audit", "/"):
            text = self.get(listing, params=None if listing == "/" else {"limit": 500}).text
            self.want(f"hidden names in {listing}", "~" in text, False)
        self.ready += [self._make() for _ in range(READY - len(self.ready))]

    def _check_whole(self, folder):
        archive = self.get(f"{folder.path}/releases/1/archive").content
        self.want(f"{folder.name} is exported as it was imported", archive == folder.packed, True)
        actions = [entry["action"] for entry in log(self._client, folder.path)]
        self.want(f"entries about {folder.name}", actions, ["collection-imported"])
        again, _ = self._import("import of what is there", folder, 409)
        self.want(f"{folder.name} is refused", again, True)


class Releases(Writer):
    """An organiser who freezes a collection again and again, and reads the folders of its releases."""

    def __init__(self, service, name, draw):
        lab = Laboratory(service, name=name)
        super().__init__(lab.path, draw)
        lab.release(public=True)
        first = lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["AP"]}).raise_for_status().json()
        self.hashes = {first["number"]: first["sha256"]}
        self.unknown = 0

    def act(self):
        if len(self.hashes) >= MOST_RELEASES or self.draw.random() < 0.3:
            number = self.draw.choice(list(self.hashes))
            done, answer = self.send("archive", "GET", f"{self.path}/releases/{number}/archive", 200)
            if done:
                self.check_archive(number, answer.content)
            return done
        done, answer = self.send("freeze", "POST", f"{self.path}/releases", 201, json={"metrics": ["AP"]})
        if done:
            self.hashes[answer.json()["number"]] = answer.json()["sha256"]
        self.unknown += done is None
        return done

    def check(self):
        listed = {each["number"]: each["sha256"] for each in self.items(f"{self.path}/releases")}
        self.want("numbers of releases", sorted(listed), list(range(1, len(listed) + 1)))
        self.want("answered releases", {number: listed.get(number) for number in self.hashes}, self.hashes)
        new = listed.keys() - self.hashes
        self.want("releases without an answer", len(new) <= self.unknown, True)
        self.hashes, self.unknown = listed, 0
        for number in new:
            self.check_archive(number, self.get(f"{self.path}/releases/{number}/archive").content)
        entries = Counter(
            entry["details"]["sha256"] for entry in log(self._client, self.path) if entry["action"] == "release-frozen"
        )
        self.want("entries about releases", entries, Counter(listed.values()))

    def check_archive(self, number, packed):
        """Note what is wrong with the folder of a release, if anything is."""
        files = contents_of(packed)
        self.want(f"files of release {number}", differing(files), [])
        found = hashlib.sha256(files["data/release.json"]).hexdigest()
        self.want(f"document of release {number}", found, self.hashes[number])


def differing(files):
    """Return the names in which the files of a folder and its checksums differ."""
    lines = files.pop(SUMS, b"").decode().splitlines()
    named = {path: sha256 for sha256, _, path in (line.partition("  ") for line in lines)}
    found = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    return sorted(path for path, _ in named.items() ^ found.items()) if named else [SUMS]


class KilledCommand:
    """A command that is killed at a random moment, unless it has ended before."""

    typical = dict.fromkeys(KINDS, 1.5)
    """The seconds of each kind, as far as they are known."""

    def __init__(self, kind, draw, arguments, **environment):
        self.kind, self._arguments, self._environment = kind, arguments, environment
        self._process = self._start()
        self._timer = Timer(draw.uniform(0.5, 1.2) * self.typical[kind], self._process.kill)
        self._timer.start()

    def _start(self):
        command = [sys.executable, "-m", "gainboard", *self._arguments]
        given = outside(GAINBOARD_TOKEN=ADMIN, **self._environment)
        return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Wait for its end, and return its exit code: -9 if it was killed."""
        self._process.communicate(timeout=120)
        self._timer.cancel()
        return self._process.returncode

    def repeat(self, **environment):
        """Run it again, undisturbed. Return what it printed of errors if it failed."""
        self._environment |= environment
        began = time.monotonic()
        self._process = self._start()
        _, errors = self._process.communicate(timeout=120)
        self.typical[self.kind] = time.monotonic() - began
        return errors if self._process.returncode else ""


def read_folder(folder):
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
