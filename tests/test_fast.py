"""The `fast` extra from outside: it changes no answer, and its absence or failure none either."""

import gc
import json
import logging
import os
import subprocess
import sys
from importlib import import_module

import pytest

from gainboard import acceleration
from gainboard.acceleration import NotCompiled, OptionalKernel, serving
from gainboard.main import start_compiled
from gainboard.settings import Settings
from gainboard.trec import READING
from tests.outside import SOURCE, outside

pytestmark = pytest.mark.outer  # what is compiled takes its time
FILES = {
    "ordinary": b"1 Q0 d2 1 2.5 tag\n1 Q0 d1 2 1.5 tag\n2 Q0 d1 1 7e-1 tag\n",
    "unordered": b"1\tQ0\td2\t2\t0.5\ttag\n1\tQ0\td1\t1\t0.5\ttag\n9\tQ0\td1\t1\t1\ttag\n",
    "interleaved": b"1 Q0 d2 1 2.5 tag\n2 Q0 d1 1 0.7 tag\n1 Q0 d1 2 1.5 tag\n",
    "odd": b"# by hand\r\n1 Q0 d\xc3\xa9 1 2.5 tag\r\n1 Q0 d1 2 1.5 other",
    "faulty": b"1 Q0 d2 1 2.5 tag\n1 Q0 d2 2 1.5 tag\n2 Q0 d1 1 nan tag\n2 Q0 d1\n",
    "cut": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    "foreign": b"8 Q0 d2 1 2.5 tag\n",
    "empty": b"",
}
UNLIKE = ("created_at", "collection", "instance", "receipt", "request_id")


@pytest.fixture
def reading():
    if not acceleration.is_installed():
        pytest.skip("the fast extra is not installed")
    READING.unload()
    yield READING
    READING.unload()


def answers(service, collection):
    """What the uploads of all files answer, and the scores of those that were stored."""
    url = f"/v1/collections/{collection}"
    service.organiser.post("/v1/collections", json={"name": collection, "levels": 2})
    service.organiser.put(f"{url}/qrels", content=b"1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n")
    found = {}
    for name, content in FILES.items():
        answer = service.organiser.post(f"{url}/runs?team=lemur&name={name}", content=content)
        found[name] = answer.status_code, {k: v for k, v in answer.json().items() if k not in UNLIKE}
    for levels in (b"", b"1 0 d2 1\n1 0 d1 -1\n9 0 d1 2\n"):  # stored runs are judged by new qrels, too
        if levels:
            service.organiser.put(f"{url}/qrels", content=levels)
        found[levels.decode()] = service.organiser.get(f"{url}/scores?metric=Q&metric=ADM&topics=all").json()["runs"]
    return json.loads(json.dumps(found).replace(f"'{collection}'", "'NAME'"))


def test_every_file_is_answered_as_without_it(sqlite_service, reading):
    plainly = answers(sqlite_service, "plain")
    reading.load()
    assert answers(sqlite_service, "fast") == plainly
    assert [plainly[name][0] for name in FILES] == [201, 201, 201, 201, 422, 422, 422, 422]


def test_switched_off_it_is_not_loaded(reading):
    start_compiled(Settings.read({"GAINBOARD_FAST": "off"}))
    assert reading.get() is None


def test_what_does_not_compile_is_logged_once_and_the_rest_is_loaded(monkeypatch, caplog):
    if not acceleration.is_installed():
        pytest.skip("the fast extra is not installed")
    monkeypatch.setattr(OptionalKernel, "every", [])
    broken, sound = OptionalKernel("broken", lambda: 1 // 0), OptionalKernel("sound", lambda: 7)
    gc.unfreeze()
    with caplog.at_level(logging.WARNING, "gainboard.acceleration"):
        _started(None)
    assert (broken.get(), sound.get()) == (None, 7)
    assert gc.get_freeze_count() > 0, "full collections look at what was loaded, while all threads wait"
    assert [record.getMessage() for record in caplog.records] == [
        "compiled code cannot be loaded, so plain code is used for broken: ZeroDivisionError: "
        "integer division or modulo by zero"
    ]


KERNELS = """
from gainboard.acceleration import njit

@njit
def double(number):
    return number + number
"""
TWIN = """
import os
from gainboard.acceleration import OptionalKernel

def load():
    from doubling_kernels import double
    double(1)
    with open(os.environ["NOTED"], "a") as noted:
        noted.write(f"{os.getpid()}\\n")
    return double

DOUBLING = OptionalKernel("doubling", load)
"""


LOADED = """
import sys
import doubling
from gainboard import acceleration

acceleration.load_kept()
print("numba" in sys.modules)
"""


def test_where_nothing_was_compiled_numba_is_not_asked(tmp_path):
    # To import it takes as long as to read tens of megabytes.
    (tmp_path / "doubling.py").write_text(TWIN)
    (tmp_path / "__pycache__").mkdir()
    world = outside(PYTHONPATH=os.pathsep.join((str(tmp_path), str(SOURCE))))
    done = subprocess.run([sys.executable, "-c", LOADED], env=world, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_another_process_compiles_and_this_one_loads_what_it_kept(tmp_path, monkeypatch):
    if not acceleration.is_installed():
        pytest.skip("the fast extra is not installed")
    (tmp_path / "doubling_kernels.py").write_text(KERNELS)
    (tmp_path / "doubling.py").write_text(TWIN)
    folder, noted = tmp_path / "compiled", tmp_path / "noted"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    # Numba reads the variable when it is imported, and another test may have imported it.
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder))
    monkeypatch.setenv("NOTED", str(noted))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(OptionalKernel, "every", [])
    doubling = import_module("doubling").DOUBLING
    with pytest.raises(NotCompiled, match="double is not compiled"):
        acceleration.load(folder)
    _started(folder)
    assert doubling.get()(21) == 42
    processes = noted.read_text().split()
    assert len(processes) == 2
    assert processes[1] == str(os.getpid()) != processes[0]
    doubling.unload()
    _started(folder)
    assert noted.read_text().split()[2:] == [str(os.getpid())], "nothing was left to compile"


def _started(folder):
    thread = serving.start(folder)
    assert thread is not None
    thread.join()
