"""The files of `deploy`: measurements that are shown exist, and the composed service works as processes."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from gainboard.cli.parsing import parser
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.schema import migrate
from tests.nginx import NGINX
from tests.outside import ROOT, outside
from tests.test_nginx import OPENSSL, Proxy, certificate
from tests.waiting import until
from tests.world.laboratories import SHORT, Laboratory
from tests.world.processes import fleet_worker, server
from tests.world.servers import ADMIN, Service, serving

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
UNITS = sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")])
SYSTEMD = shutil.which("systemd-analyze")
MEASURED = re.compile(r"\bgainboard_\w+")
__all__ = ["certificate"]  # a fixture


def expressions():
    shown = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return shown + [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]


@pytest.mark.outer
def test_every_measurement_that_is_shown_or_watched_is_one(tmp_path):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        lab = Laboratory(service)
        lab.finished(lab.ask(**SHORT))
        service.organiser.get(f"{lab.path}/scores")
        text = service.organiser.get("/metrics").text
    there = set(re.findall(r"^(gainboard_\w+)", text, re.MULTILINE))
    wanted = {name for expression in expressions() for name in MEASURED.findall(expression)}
    assert wanted - there == set()
    # The other way round, too: what is measured can be seen.
    shown, measured = (
        {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in own} for own in (wanted, there)
    )
    assert measured <= shown
    route = "/v1/collections/{collection}/runs"
    assert f'route="{route}"' in text
    assert any(route in expression for expression in expressions())


def test_what_is_composed_and_what_units_start_are_commands_and_settings():
    composed = [
        found
        for service in COMPOSE["services"].values()
        for found in re.findall(r"gainboard (?:serve|worker|migrate|backup)[^;&\"]*", str(service.get("command", "")))
    ]
    started = [line for unit in UNITS for line in re.findall(r"/(gainboard [^(;\n][^;\n]*)", unit.read_text())]
    lines = [
        shlex.split(re.sub(r"\$+\(date \+%+A\)", "monday", line).rstrip("'"))[1:] for line in (*composed, *started)
    ]
    names = [line[0] for line in lines]
    assert sorted(names[:5]) == ["backup", "migrate", "serve", "serve", "worker"]
    assert set(names[5:]) == {"serve", "worker", "backup"}
    for line in lines:
        parser(line[:1]).parse_args(line)
    given = {name for service in COMPOSE["services"].values() for name in service.get("environment", {})}
    assert Settings.unknown(dict.fromkeys(given, "")) == []


def backup_loop(folder, after, **environment):
    """The composed loop of backups into a folder, with these words in place of its pause."""
    words = shlex.split(COMPOSE["services"]["backup"]["command"].replace("$$", "$"))
    assert "sleep 86400" in words[-1]
    script = words[-1].replace("sleep 86400", after).replace("/backups", str(folder))
    script = script.replace("gainboard ", f"{shlex.quote(sys.executable)} -m gainboard ")
    return subprocess.run([*words[:-1], script], env=outside(**environment), capture_output=True, text=True)


def has_backup(folder):
    check = COMPOSE["services"]["backup"]["healthcheck"]["test"].replace("$$", "$").replace("/backups", str(folder))
    return subprocess.run(["sh", "-c", check]).returncode == 0


@pytest.mark.outer
def test_a_composed_backup_that_fails_is_noticed(tmp_path):
    data, backups = tmp_path / "data", tmp_path / "backups"
    backups.mkdir()
    with serving(Settings.read({}, data=data, admin_token=ADMIN)):
        pass
    failed = backup_loop(tmp_path / "none", "exit 7", GAINBOARD_DATA=str(data))
    assert failed.returncode == 1, "the container would end as if all was well"
    assert "none" in failed.stderr
    assert not has_backup(backups)
    assert backup_loop(backups, "exit 7", GAINBOARD_DATA=str(data)).returncode == 7
    assert has_backup(backups)
    (made,) = backups.iterdir()
    two_days_ago = made.stat().st_mtime - 48 * 3600
    os.utime(made, (two_days_ago, two_days_ago))
    assert not has_backup(backups)


@pytest.mark.outer
@pytest.mark.skipif(SYSTEMD is None, reason="no systemd-analyze: install systemd")
def test_units_are_in_order(tmp_path):
    # Where the package is not installed, its command is not there either.
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace("/opt/gainboard/bin/gainboard", "/bin/true")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", *(unit.name for unit in UNITS)], cwd=tmp_path, capture_output=True
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")


def test_a_file_with_a_secret_is_made_for_its_owner_alone_first():
    page = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    private = re.findall(r"install (?:--owner \w+ )?--mode 0600 /dev/null (\S+)", page)
    secrets = re.findall(r"`(/etc/\S+)`:\n\n```ini\n[^`]*(?:PASSWORD|TOKEN)", page)
    read = {Path(file) for unit in UNITS for file in re.findall("EnvironmentFile=(.+)", unit.read_text())}
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())["scrape_configs"]
    needed = {*secrets, *map(str, read), job["authorization"]["credentials_file"]}
    assert secrets
    assert needed <= set(private)
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    assert [text for text in pages if "/etc/cron" in text and "PASSWORD" in text.split("/etc/cron")[1]] == []


@pytest.mark.outer
@pytest.mark.skipif(NGINX is None or OPENSSL is None, reason="no nginx or no openssl: install them")
def test_the_composed_service_works_as_processes(empty_postgres, certificate, tmp_path):
    with closing(Database(empty_postgres)) as database:
        migrate(database)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(server(empty_postgres, slots=0, host=host)) for host in ("127.0.0.2", "127.0.0.3")
        )
        for _ in range(COMPOSE["services"]["worker"]["deploy"]["replicas"]):
            stack.enter_context(fleet_worker(empty_postgres))
        both = Service("; server ".join(server.url.removeprefix("http://") for server in (first, second)))
        stack.callback(both.close)
        client = stack.enter_context(Proxy(both, certificate, tmp_path).running()).client()
        until(lambda: (ready := client.get("/readyz")).status_code == 200 and ready.json()["workers"] == 2)
        works(client)
        first.kill()
        # Not at once: a busy machine may be late with one answer, after which the proxy waits before it asks again.
        until(lambda: {client.get("/readyz").status_code for _ in range(6)} == {200})


def works(client):
    """Judges runs and has a job done, through the proxy."""
    lab = Laboratory(SimpleNamespace(organiser=client))
    # Whichever of the two servers answers, it knows what the other one was told.
    means = [lab.scores("AP")["runs"] for _ in range(6)]
    assert len(means[0]) == 4
    assert all(each == means[0] for each in means)
    lab.finished(lab.ask())
