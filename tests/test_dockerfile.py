"""The image's recipe, carried out without a container engine, and a server of what it makes.

Every `COPY` and `RUN` of the Dockerfile happens in one temporary directory that stands for the file system of all
stages; absolute paths are moved below it, and `pip` and `python` are those of a fresh virtual environment in the
place of the base image's. The one line that makes the user changes the machine, so only its form is tested.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import pytest
import yaml

from gainboard import acceleration
from gainboard.evaluation.runs import intake
from tests.outside import ROOT
from tests.waiting import until
from tests.world.campaigns import QRELS, RUN
from tests.world.servers import ADMIN, free_port

# The image's packages are downloaded and its kernels compiled.
pytestmark = [pytest.mark.outer, pytest.mark.timeout(1200)]

ABSOLUTE_PATH = re.compile(r"(?<![^\s=])/(?=\w)")


def instructions():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", "")
    return [line.split(maxsplit=1) for line in code.splitlines() if line]


def the_last(word):
    return [rest for own, rest in instructions() if own == word][-1]


def the_user_line():
    return next(rest for word, rest in instructions() if word == "RUN" and rest.startswith("useradd"))


def tracked(path):
    listed = subprocess.run(["git", "ls-files", "-z", path], cwd=ROOT, capture_output=True, check=True)
    return listed.stdout.decode().rstrip("\0").split("\0")


class Image:
    def __init__(self, root):
        self.root, self.folder = root, root
        python = root / "usr/local"
        # The newest pip, as in the base image, takes half the time of a distribution's.
        subprocess.run([sys.executable, "-m", "venv", "--upgrade-deps", python], check=True, stdout=subprocess.DEVNULL)
        # Bytecode of what is installed would take longer to write than all tests of the image; that of what runs is
        # shared with the servers below. pip reads the variable of an option that begins with "no" the other way round.
        self.environment = {**os.environ, "PATH": f"{python}/bin:{os.environ['PATH']}", "PIP_NO_COMPILE": "0"}
        self.environment["PYTHONPYCACHEPREFIX"] = str(root / "bytecode")
        for name in ("PYTHONPATH", "NUMBA_CACHE_DIR"):
            self.environment.pop(name, None)

    def build(self):
        steps = {"WORKDIR": self.enter, "COPY": self.copy, "RUN": self.run}
        for word, rest in instructions():
            if word in steps and rest != the_user_line():
                steps[word](rest)

    def enter(self, folder):
        self.folder = self.root / folder.lstrip("/")
        self.folder.mkdir(parents=True, exist_ok=True)

    def copy(self, rest):
        if rest.startswith("--from="):
            _, source, target = (self.root / part.lstrip("/") for part in rest.split())
            if source != target:  # else it is there already: the stages share one root
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            return
        *sources, _ = rest.split()
        for file in (file for source in sources for file in tracked(source)):
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.folder / file)

    def run(self, command):
        moved = ABSOLUTE_PATH.sub(f"{self.root}/", command)
        done = subprocess.run(moved, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def name_of(requirement):
    """`pytrec-eval-terrier` of `pytrec_eval-terrier>=0.5.7`: as the lock spells it."""
    return re.split(r"[^\w.-]", requirement)[0].replace("_", "-").lower()


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The virtual environment that the final stage runs, made by the Dockerfile's own commands."""
    made = Image(tmp_path_factory.mktemp("image"))
    made.build()
    return made.root / "opt/gainboard"


GIVEN_UP = "compiled code cannot be loaded, so plain code is used for"


@contextmanager
def read_only_server(image, folder, keeps_compiled):
    """A server of the image without a home, and its log. Not even root can keep anything beside the modules."""
    data, log = folder / "data", folder / "log"
    if keeps_compiled:
        shutil.copytree(image.parents[1] / "data", data)
    else:
        data.mkdir()
        (data / "compiled").touch()  # so that nothing can be kept there either
    (package,) = image.glob("lib/python*/site-packages/gainboard")
    for beside in {module.parent / "__pycache__" for module in package.rglob("*.py")}:
        shutil.rmtree(beside, ignore_errors=True)
        beside.touch()  # a file where numba wants a folder
    port = free_port()
    environment = {
        "PATH": f"{image}/bin:{os.environ['PATH']}",
        "HOME": "/dev/null",
        "PYTHONPYCACHEPREFIX": str(image.parents[1] / "bytecode"),
        "GAINBOARD_DATA": str(data),
        "GAINBOARD_ADMIN_TOKEN": ADMIN,
        "GAINBOARD_JOB_SLOTS": "0",
    }
    command = ["gainboard", "serve", "--port", str(port)]
    headers = {"Authorization": f"Bearer {ADMIN}"}
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, env=environment, cwd=folder, stderr=errors) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120) as client,
    ):
        try:
            yield client, log
        finally:
            server.terminate()


def loaded(client):
    """Say which compiled code a server has loaded: nothing before it has started."""
    with suppress(httpx.TransportError):
        return client.get("/readyz").json()["compiled"]
    return {}


@pytest.mark.proof
@pytest.mark.parametrize("keeps_compiled", [True, False], ids=["compiled", "plain"])
def test_a_server_of_the_image_stores_a_large_run(image, tmp_path, keeps_compiled):
    large = RUN + "".join(f"3 Q0 document-{rank:09} {rank} {-rank} tag\n" for rank in range(1, 400_000))
    assert len(large) > intake.LARGE_BYTES
    with read_only_server(image, tmp_path, keeps_compiled) as (client, log):
        if keeps_compiled:
            until(lambda: (found := loaded(client)) and all(found.values()), 300)
        else:
            until(lambda: loaded(client) and log.read_text().count(GIVEN_UP) >= len(acceleration.names()), 300)
        client.post("/v1/collections", json={"name": "c", "levels": 2}).raise_for_status()
        client.put("/v1/collections/c/qrels", content=QRELS).raise_for_status()
        answer = client.post("/v1/collections/c/runs", params={"team": "lemur"}, content=large)
        ready = loaded(client)
    assert answer.status_code == 201, answer.text
    assert ready == {"reading": keeps_compiled, "scoring": keeps_compiled}
    said = [line for line in log.read_text().splitlines() if GIVEN_UP in line or "Traceback" in line]
    assert len(said) == (0 if keeps_compiled else len(acceleration.names())), said


@pytest.mark.proof
def test_the_image_holds_the_package_and_its_migrations(image):
    """With what is compiled, in the locked versions, and without tools."""
    (package,) = image.glob("lib/python*/site-packages/gainboard")
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    expected = {path.removeprefix("app/gainboard/") for path in tracked("app") if path.endswith(".py")}
    assert modules == expected | {path for path in tracked("migrations") if path.endswith(".py")}
    assert (package / "pages/docs/index.md").exists()
    entries = {path.name.split("-")[0] for path in image.parents[1].glob("data/compiled/*/*.nbc")}
    assert {"kernels.tokenise", "kernels.join", "kernels.group", "kernels.score"} <= entries
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = project["build-system"]["requires"] + project["project"]["optional-dependencies"]["dev"]
    locked = re.findall(r"^([\w-]+)==([^ ]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    parts = [path.stem.split("-") for path in image.glob("lib/*/*/*.dist-info")]
    installed = {name_of(name): version for name, version in parts if name != "gainboard"}
    assert "fastapi" in installed
    assert installed.items() <= set(locked)
    assert installed.keys().isdisjoint({"pip", *map(name_of, tools)})


def test_the_health_check_fails_exactly_when_the_server_does():
    class Health(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/healthz" else 418)
            self.end_headers()

    _, command = the_last("HEALTHCHECK").split("CMD", 1)
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
    with HTTPServer(("127.0.0.1", 0), Health) as server:
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        _, *arguments = json.loads(command.replace("127.0.0.1:8000", f"127.0.0.1:{server.server_port}"))
        for status in (200, 404, 503):
            checked = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True)
            assert (checked.returncode == 0) is (status == 200)
        server.shutdown()


def test_the_server_runs_as_a_user_that_owns_the_data():
    user, data, backups = the_last("USER"), the_last("VOLUME"), "/backups"
    assert user != "root"
    assert f"GAINBOARD_DATA={data}" in the_last("ENV").split()
    useradd, install = the_user_line().split(" && ")
    assert re.fullmatch(rf"useradd --system --uid \d+ --no-create-home {user}", useradd.strip())
    assert re.fullmatch(rf"install --directory --owner {user} --mode 0750 {data} {backups}", install.strip())
    # A folder of a volume that the image does not have would be made by the engine, for root alone.
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"].values()
    own = [volume for each in services if each["image"] == "gainboard" for volume in each.get("volumes", ())]
    assert {volume.split(":")[1] for volume in own} == {backups}
