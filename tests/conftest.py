"""Which tests run, and the servers and databases they run on: what touches the store runs on SQLite and PostgreSQL."""

import gc
import os
import pickle
import platform
import signal
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gainboard.dashboard import archives
from gainboard.settings import Settings
from gainboard.store.database import Database
from tests import (
    private_postgres,
    thorough,  # noqa: F401 (it sets how many examples property tests look at)
)
from tests.world.campaigns import Campaign
from tests.world.laboratories import Laboratory
from tests.world.servers import ADMIN, BOTH, drop_databases, migrated_database, new_database, new_settings, serving

INNER_LOOP = "not outer"
SECOND_PART = "proof or postgresql"
"""What `.ci/run` runs after README's command."""
HERE = Path(__file__).parent
OUTER = ("api", "client", "dashboard", "jobs", "operations", "proofs", "reports", "trust")
OF_FIRST_PART = ("analyses", "defects", "exhibits", "reports", "statistics", "trec", "trec_eval")
"""The folders without a proof, and without a test that runs on PostgreSQL."""
LONGEST = {
    *("test_every_page.py", "test_demo.py", "test_ways.py"),
    *("test_dockerfile.py", "test_fleet.py", "test_load.py", "test_owners.py", "test_faults.py"),
    *("test_crash.py", "test_slots.py", "test_package.py", "test_readme.py", "test_operating.py", "test_recipes.py"),
}
ON_BOTH_DATABASES = {"database_url", "migrated_url", "postgres_url", "on_both"}


# A shell that starts the tests in the background has SIGINT ignored. Servers that tests start would inherit that, and
# Ctrl+C would not end them.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # also collected without pytest-xdist
def pytest_xdist_auto_num_workers(config):
    """As many processes as cores for `-n auto`: one more takes 40 s of CPU, which it does not make good."""
    return os.cpu_count() or 1


def pytest_ignore_collect(collection_path, config):
    """Let a part of the tests read no folder of which it runs nothing: imports took a quarter of the inner loop."""
    unread = {INNER_LOOP: OUTER, SECOND_PART: OF_FIRST_PART}.get(config.option.markexpr, ())
    return True if collection_path.parent == HERE and collection_path.name in unread else None


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses among the marks
def pytest_collection_modifyitems(items):
    """Mark what runs on PostgreSQL, the proofs, and the folders in which most tests are slow or start processes."""
    for item in items:
        fixtures = getattr(item, "fixturenames", [])
        folder = item.path.relative_to(HERE).parts[0]
        if ON_BOTH_DATABASES.intersection(fixtures) or folder in OUTER:
            item.add_marker(pytest.mark.outer)
        if "postgres_url" in fixtures:
            item.add_marker(pytest.mark.postgresql)
        if folder == "proofs":
            item.add_marker(pytest.mark.proof)
        if folder in OF_FIRST_PART and any(map(item.get_closest_marker, ("postgresql", "proof"))):
            raise pytest.UsageError(f"{item.nodeid} is of the second part: take {folder!r} out of OF_FIRST_PART")
    if "PYTEST_XDIST_WORKER" in os.environ:
        _begin_with_the_longest(items)


def _begin_with_the_longest(items):
    """Sort files so that no process waits for another one at the end."""
    outer = {item.path for item in items if item.get_closest_marker("outer")}
    items.sort(
        key=lambda item: (item.path.name not in LONGEST, item.path.parent.name != "dashboard", item.path not in outer)
    )


def pytest_configure(config):
    """Keep that order: by itself pytest-xdist begins with the files of most tests, which are quick."""
    config.option.loadscopereorder = False


def pytest_collection_finish():
    """Forget what imports have started: NumPy asks `uname`, and so does Python for the processor, once.

    All modules and tests are here to stay: a job frees memory by a collection, which would look at them for 0.3 s.
    """
    platform.processor()
    _started.clear()
    gc.freeze()


_started = []
"""The programs that were started since the last test, each with the thread that started it."""


def _note_start(event, arguments):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty", "os.system"):
        _started.append((threading.get_ident(), f"{event} {arguments[:2]}"))


sys.addaudithook(_note_start)


@pytest.fixture(autouse=True)
def _inner_loop_starts_no_process(request):
    """Fail a test of the inner loop that starts a process.

    In a whole session only what its own thread starts: a server that other tests share may start one late.
    """
    yield
    is_inner_loop = request.config.option.markexpr == INNER_LOOP
    started = [what for thread, what in _started if is_inner_loop or thread == threading.get_ident()]
    _started.clear()
    if started and request.node.get_closest_marker("outer") is None:
        pytest.fail(f"This test starts a process: mark it with `pytest.mark.outer`. {started[0]}")


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL to test on: the one that is configured, else a private one, else none and that is said."""
    if url := os.environ.get("GAINBOARD_TEST_POSTGRES"):
        yield url
        drop_databases(url)
        return
    if not private_postgres.is_installed():
        pytest.skip("no PostgreSQL: set GAINBOARD_TEST_POSTGRES or install its server")
    # Not below pytest's folders, which another session of pytest closes to everybody but its owner.
    with TemporaryDirectory() as folder, private_postgres.running(Path(folder)) as server:
        yield server.url


@pytest.fixture(params=BOTH)
def database_url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'gainboard.db'}"
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
def empty_postgres(postgres_url):
    with new_database(postgres_url) as url:
        yield url


@pytest.fixture(params=BOTH)
def migrated_url(request, tmp_path):
    """A database of each kind with Gainboard's tables and no rows."""
    with migrated_database(request.param, request, tmp_path) as url:
        yield url


@pytest.fixture
def service(migrated_url):
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN)) as service:
        yield service


@pytest.fixture
def sqlite_service(tmp_path):
    with serving(new_settings(tmp_path)) as service:
        yield service


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Gainboard on SQLite."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture(scope="module")
def unworked(tmp_path_factory):
    """Gainboard on SQLite where nobody works jobs but the tests, in this process."""
    with serving(new_settings(tmp_path_factory.mktemp("data"), job_slots=0)) as running:
        yield running


@pytest.fixture(scope="module")
def still(unworked):
    """The same, and nobody waits for a chore."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gainboard.api.job_answers.MOST_SECONDS", 0.01)
        yield unworked


@pytest.fixture(scope="module", params=BOTH)
def on_both(request, tmp_path_factory):
    """Gainboard on each kind of database, one server for all tests of a file, which works no jobs."""
    with (
        migrated_database(request.param, request, tmp_path_factory.mktemp("data")) as url,
        serving(Settings.read({}, database_url=url, admin_token=ADMIN, job_slots=0)) as running,
    ):
        yield running


@pytest.fixture
def idle(migrated_url):
    """Gainboard on each kind of database, where nobody works the jobs that are asked for."""
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)) as service:
        yield service


@pytest.fixture
def database(idle, migrated_url):
    """The database of the service, which is running on it."""
    found = Database(migrated_url)
    yield found
    found.close()


@pytest.fixture(scope="session", autouse=True)
def _archives_draw_each_figure_once():
    """In this process. It is all that takes long of an archive, and many tests ask for the same one."""
    known, draw = {}, archives.as_svg

    def known_or_drawn(figure):
        key = pickle.dumps(figure)
        return known[key] if key in known else known.setdefault(key, draw(figure))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archives, "as_svg", known_or_drawn)
        yield


@pytest.fixture
def campaign(shared):
    return Campaign(shared)


@pytest.fixture(scope="module")
def lab(shared):
    """Four runs that can be compared, and their jobs."""
    return Laboratory(shared)
