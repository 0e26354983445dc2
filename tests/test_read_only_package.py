"""Large uploads where the package cannot be written to and there is no home, as in a container."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from gainboard import compiled
from gainboard.evaluation import intake
from tests.api.campaign import QRELS, RUN
from tests.conftest import ADMIN
from tests.outside import ROOT, outside
from tests.waiting import until

# Everything is compiled once, with low priority. `tests/test_fast.py` has what is done without compiled code.
pytestmark = [
    pytest.mark.outer,
    pytest.mark.proof,
    pytest.mark.timeout(1200),
]
LARGE = RUN + "".join(f"3 Q0 document-{rank:09} {rank} {-rank} tag\n" for rank in range(1, 400_000))
GIVEN_UP = "compiled code cannot be loaded, so plain code is used for"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the source in which nothing can be kept, not even by root: files are where numba wants folders."""
    for name in ("app/gainboard", "migrations"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for module in (tmp_path / "app").rglob("*.py"):
        (module.parent / "__pycache__").touch()
    return tmp_path / "app"


@pytest.mark.parametrize("uses_compiled", [True, False], ids=["compiled", "plain"])
def test_a_large_run_is_stored(package: Path, tmp_path: Path, uses_compiled: bool) -> None:
    if uses_compiled and not compiled.is_installed():
        pytest.skip("the fast extra is not installed")
    assert len(LARGE) > intake.LARGE_BYTES
    data, log = tmp_path / "data", tmp_path / "log"
    data.mkdir()
    if not uses_compiled:
        (data / "compiled").touch()  # so that nothing can be kept there either
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"DATA": str(data), "ADMIN_TOKEN": ADMIN, "FAST": "on", "JOB_SLOTS": "0"}
    environment = outside(
        HOME="/dev/null",
        PYTHONPATH=str(package),
        PYTHONPYCACHEPREFIX=str(tmp_path / "bytecode"),
        **{f"GAINBOARD_{name}": value for name, value in settings.items()},
    )
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    command = [sys.executable, "-P", "-m", "gainboard", "serve", "--port", str(port)]
    with log.open("wb") as errors, subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=errors) as server:
        try:
            answer, ready = _upload(f"http://127.0.0.1:{port}", log, uses_compiled)
        finally:
            server.terminate()
    assert answer.status_code == 201, answer.text
    assert ready == {"reading": uses_compiled, "scoring": uses_compiled}
    said = [line for line in log.read_text().splitlines() if GIVEN_UP in line or "Traceback" in line]
    if compiled.is_installed():
        assert len(said) == (0 if uses_compiled else len(compiled.names())), said


def _upload(url: str, log: Path, uses_compiled: bool) -> tuple[httpx.Response, dict[str, bool]]:
    """Upload a large run once the server has loaded its compiled code or given up; say what was loaded at the end."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=120) as client:

        def ready() -> dict[str, bool]:
            try:
                found: dict[str, bool] = client.get("/readyz").json()["compiled"]
            except httpx.TransportError:  # it has not started yet
                return {}
            return found

        if uses_compiled:
            until(lambda: (found := ready()) and all(found.values()), 900)
        else:
            tells = len(compiled.names()) if compiled.is_installed() else 0
            until(lambda: ready() and log.read_text().count(GIVEN_UP) >= tells, 300)
        client.post("/v1/collections", json={"name": "c", "levels": 2}).raise_for_status()
        client.put("/v1/collections/c/qrels", content=QRELS).raise_for_status()
        answer = client.post("/v1/collections/c/runs", params={"team": "lemur"}, content=LARGE)
        return answer, ready()
