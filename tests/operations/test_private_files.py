"""Only its own user may use what Gainboard makes for itself, whatever the umask. What is for others follows it."""

import os
import stat
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from gainboard import acceleration
from gainboard.main import open_database
from gainboard.settings import Settings
from gainboard.store.schema import migrate
from tests.operations.test_backup import restored, taken
from tests.operations.test_objects import campaign_of
from tests.outside import outside
from tests.waiting import over, until
from tests.world.processes import answers
from tests.world.servers import ADMIN, Service, free_port

SERVE = ("-m", "gainboard", "serve", "--port")
FACTORY = ("-m", "uvicorn", "--factory", "gainboard.main:create_app_from_environment", "--port")


class Place:
    """Folders that do not exist yet, and the environment of processes that will make them."""

    def __init__(self, top, umask=0):
        self.data, self.objects, self.temporary = top / "new" / "data", top / "own" / "objects", top / "temporary"
        self.made, self.umask = [top / "new", top / "own", self.temporary], umask
        self.temporary.mkdir(mode=0o700)
        self.environment = outside(
            GAINBOARD_DATA=str(self.data),
            GAINBOARD_OBJECTS=self.objects.as_uri(),
            GAINBOARD_ADMIN_TOKEN=ADMIN,
            TMPDIR=str(self.temporary),
        )

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, *arguments], env=self.environment, umask=self.umask)

    def run(self, *arguments):
        assert self.start("-m", "gainboard", *arguments).wait(120) == 0

    def modes(self):
        """The modes of all that was made; sockets and other things included."""
        found = {}
        for path in (each for top in self.made for each in (top, *top.rglob("*"))):
            with suppress(FileNotFoundError):  # it was temporary
                found[str(path)] = path.lstat().st_mode
        return found

    def assert_private(self):
        """Fails if others may use anything. Returns the names of all that was made."""
        modes = self.modes()
        wider = {path: oct(mode) for path, mode in modes.items() if stat.S_IMODE(mode) & ~0o700}
        assert wider == {}
        return {Path(path).name for path in modes}


@contextmanager
def served(place, command):
    port = free_port()
    process = place.start(*command, str(port))
    service = Service(f"http://127.0.0.1:{port}")
    try:
        until(lambda: answers(service.url))
        yield service
    finally:
        service.close()
        process.terminate()
        process.wait(60)


def work(campaign):
    """Lets processes that compute jobs, and draw figures, work for a campaign."""
    job = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "gain-vectors", "params": {}}).json()
    job = over(campaign.organiser, f"/v1/jobs/{job['id']}")
    for figure in job["figures"]:
        campaign.organiser.get(f"/v1/jobs/{job['id']}/figures/{figure['name']}.svg").raise_for_status()


@pytest.mark.proof
@pytest.mark.parametrize(("command", "is_compiling"), [(SERVE, True), (FACTORY, False)])
def test_a_server_and_its_processes_make_nothing_that_others_may_use(tmp_path, command, is_compiling):
    place = Place(tmp_path)
    if is_compiling:
        place.environment["GAINBOARD_FAST"] = "on"
    with served(place, command) as service:
        work(campaign_of(service))
        names = place.assert_private()
        assert {"gainboard.db", "gainboard.db-wal", "gainboard.db-shm"} <= names
        assert any(name.startswith("gainboard.db-process-") for name in names)
        assert len([name for name in names if name.endswith(".zst")]) >= 4
        if is_compiling and acceleration.is_installed():
            until(lambda: [*(place.data / "compiled").rglob("*.nb*")], 180)
        place.assert_private()
    place.assert_private()


@pytest.mark.proof
def test_commands_make_nothing_that_others_may_use(tmp_path):
    place = Place(tmp_path)
    del place.environment["GAINBOARD_OBJECTS"]
    with served(place, SERVE) as service:
        campaign_of(service)
    place.environment["GAINBOARD_OBJECTS"] = place.objects.as_uri()
    place.run("move", "objects")
    place.run("backup", str(place.temporary / "a.backup"))
    for name, command in {"restored": ["restore", str(place.temporary / "a.backup")], "migrated": ["migrate"]}.items():
        place.environment["GAINBOARD_DATA"] = str(tmp_path / "new" / name / "data")
        place.run(*command)
    names = place.assert_private()
    assert {"a.backup", "restored", "migrated"} <= names
    assert any(name.endswith(".zst") for name in names)


def test_what_a_command_writes_for_its_user_follows_the_umask(tmp_path):
    place = Place(tmp_path, umask=0o022)
    with served(place, SERVE) as service:
        place.environment |= {"GAINBOARD_SERVER": service.url, "GAINBOARD_TOKEN": ADMIN}
        place.run("audit", "export", "--instance", "--output", str(tmp_path / "log.ndjson"))
    assert stat.S_IMODE((tmp_path / "log.ndjson").stat().st_mode) == 0o644


def test_a_program_that_sets_no_umask_makes_nothing_that_others_may_use(tmp_path, request):
    before = os.umask(0)
    request.addfinalizer(lambda: os.umask(before))
    place = Place(tmp_path)
    database = open_database(Settings.read({}, data=place.data, objects=place.objects.as_uri()))
    with closing(database):
        migrate(database)
        assert database.objects is not None
        database.objects.put("00/name.zst", b"content")
        assert {"gainboard.db", "gainboard.db-wal", "name.zst"} <= place.assert_private()
    taken(database.url, place.temporary / "a.backup")
    restored(f"sqlite:///{tmp_path / 'new' / 'deep' / 'gainboard.db'}", place.temporary / "a.backup")
    assert {"deep", "a.backup"} <= place.assert_private()
