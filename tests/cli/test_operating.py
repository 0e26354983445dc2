"""The shell blocks of the pages about operating a service run as printed.

No container engine is at hand, so of its commands only the words are held against the Dockerfile.
"""

import json
import re
import shlex
import signal
import sys

import httpx
import pytest

from gainboard.cli.options import PORT
from gainboard.cli.parsing import parser
from gainboard.settings import Settings
from tests.cli.shells import Shell, served
from tests.outside import ROOT
from tests.test_dockerfile import the_last, the_user_line
from tests.test_readme import Reader, running
from tests.waiting import until
from tests.world.campaigns import judged
from tests.world.pages import DOCS
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

NAMES = ("operating", "security", "troubleshooting")
OF_A_MACHINE = re.compile(r"\n## One machine\n.*?(?=\n## )", re.DOTALL)
"""The part whose commands need systemd, and to be root."""
PAGES = {name: OF_A_MACHINE.sub("", DOCS[f"{name}.md"]) for name in NAMES}
PAGES["order"] = DOCS["judgments.md"].partition("\n## Another order of runs\n")[2].partition("\n## ")[0]
BLOCKS = dict(
    re.findall(r"<!-- (?:command|example): (\w+) -->\n```\w+\n(.*?)```", "\n".join(PAGES.values()), re.DOTALL)
)
UVICORN = f'uvicorn() {{ exec {shlex.quote(sys.executable)} -m uvicorn "$@"; }}'


def test_an_audit_log_is_exported_and_verified(sqlite_service, tmp_path):
    judged(sqlite_service)
    done = Shell(tmp_path, TOKEN=ADMIN, GAINBOARD_SERVER=sqlite_service.url).run(BLOCKS["audit"])
    assert done.code == 0, done.err
    last = sqlite_service.organiser.get("/v1/audit").json()["items"][-1]
    assert last["action"] == "run-uploaded"
    assert last["hash"] in done.out


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_a_service_is_installed_from_its_lock_with_all_extras(tmp_path):
    reader = Reader(tmp_path)
    for script in (BLOCKS["install"], ".venv/bin/pip check", ".venv/bin/gainboard doctor"):
        done = reader.run(script)
        assert done.returncode == 0, done.stderr
    assert "extra" not in done.stdout, "each note names an extra that is missing"


def test_a_service_starts_where_the_page_says(tmp_path):
    line = f"gainboard {BLOCKS['start'].strip().partition(' ')[2]}"

    def visit(url):
        assert httpx.get(f"{url}/readyz", timeout=60).json()["status"] == "ok"
        return (tmp_path / line.split()[line.split().index("--data") + 1] / "gainboard.db").exists()

    assert served(Shell(tmp_path), line, visit)[1]  # its own port, given last, overrides the page's


@pytest.mark.proof
def test_several_processes_answer_at_one_address(tmp_path):
    script = BLOCKS["workers"].strip()
    token = re.findall("GAINBOARD_ADMIN_TOKEN=(\\S+)", script)[0]
    arguments = ["bash", "-c", f'{UVICORN}\n{script} "$@"', "bash"]
    with running(arguments, tmp_path, end=signal.SIGTERM) as url:

        def jobs_are_worked():
            return httpx.get(f"{url}/readyz", timeout=60).json()["jobs"]

        until(lambda: jobs_are_worked() == "here")
        until(lambda: jobs_are_worked() == "elsewhere")  # says a process other than the one above
        me = httpx.get(f"{url}/v1/me", headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert me.json()["role"] == "organiser"


def test_withdrawn_runs_are_pruned_while_the_service_runs(tmp_path):
    with serving(new_settings(tmp_path / "gainboard-data")) as service:
        campaign = judged(service)
        assert service.organiser.delete(f"{campaign.path}/runs/tag").status_code == 204
        done = Shell(tmp_path).run(BLOCKS["prune"])
    assert done.code == 0, done.err
    assert [line.split(" the ")[0] for line in done.out.splitlines()] == ["would delete", "deleted"]


def test_a_backup_of_a_service_that_runs_is_restored_into_a_new_folder(tmp_path):
    with serving(new_settings(tmp_path / "gainboard-data")) as service:
        campaign = judged(service)
        scores = campaign.scores("AP")
        done = Shell(tmp_path).run(BLOCKS["backup"])
    assert done.code == 0, done.err
    with serving(Settings.read({}, data=tmp_path / "restored")) as restored:
        answer = restored.client(ADMIN).get(f"{campaign.path}/scores", params={"metric": "AP"})
    assert answer.json() == scores


def test_a_container_has_the_volume_and_the_port_of_the_dockerfile():
    build, run, logs = (shlex.split(line, comments=True) for line in BLOCKS["container"].splitlines())
    assert run[:3] == ["docker", "run", "--detach"]
    options, image = dict(zip(run[3:-1:2], run[4:-1:2], strict=True)), run[-1]
    assert build == ["docker", "build", "--tag", image, "."]
    assert logs == ["docker", "logs", options["--name"]]
    assert options["--volume"].split(":")[1] == the_last("VOLUME")
    assert options["--publish"].split(":")[2] == the_last("EXPOSE")
    served = parser(["serve"]).parse_args(["serve", *json.loads(the_last("CMD"))[2:]])
    assert getattr(served, "port", PORT) == int(the_last("EXPOSE"))
    assert "GAINBOARD_ADMIN_TOKEN" not in the_last("ENV")  # so that the first start prints one


def test_the_image_has_the_user_and_the_extras_of_the_page():
    said = PAGES["operating"].partition("## Container image")[2].partition("\n## ")[0]
    (extras,) = re.findall(r"for extra in \((.*?)\)", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert re.findall(r"`(\w+)`(?=[^.]* extras)", said) == re.findall(r"'(\w+)'", extras)
    assert re.findall(r"as user (\d+)", said) == re.findall(r"--uid (\d+)", the_user_line())


def test_an_order_is_changed_by_the_command_of_the_page(sqlite_service, tmp_path):
    campaign = judged(sqlite_service)
    command = BLOCKS["order"].replace("-c web", f"-c {campaign.path.rpartition('/')[2]}")
    done = Shell(tmp_path, GAINBOARD_SERVER=sqlite_service.url, GAINBOARD_TOKEN=ADMIN).run(command)
    assert done.code == 0, done.err
    assert sqlite_service.organiser.get(campaign.path).json()["order_by"] == "score32"


def test_the_doctor_says_what_the_page_shows(tmp_path):
    done = Shell(tmp_path, GAINBOARD_FAST="maybe").run("gainboard doctor")
    assert done.code == 1
    assert BLOCKS["doctor"].strip().removesuffix("...") in done.out


TESTED = {"install", "start", "order", "doctor", "audit", "workers", "container", "backup", "prune"}
"""The blocks, each of which has a test above."""


def test_every_block_of_the_pages_has_a_name_and_a_test():
    assert BLOCKS.keys() == TESTED
    assert sum(page.count("```") for page in PAGES.values()) == 2 * len(TESTED)
