"""The rules of `deploy/alerts.yaml` fire when they should: tried by Prometheus's own tool, on series of numbers."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from tests.cli.shells import Shell
from tests.outside import ROOT
from tests.world.servers import new_settings, serving

DEPLOY = ROOT / "deploy"
RULES = [rule for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="no promtool: install prometheus")
pytestmark = pytest.mark.outer
SERVER = 'job="gainboard", instance="a:8000"'

FIRES = {
    "down": ("GainboardDown", {f"up{{{SERVER}}}": "1x10 0x300"}),
    "no target": ("GainboardIsNotWatched", {'up{job="node"}': "1x300"}),
    "starts again and again": ("GainboardRestarts", {f"process_start_time_seconds{{{SERVER}}}": "0+120x300"}),
    "fails, and nothing else failed before": (
        "GainboardFails",
        {'gainboard_answers_total{failed="no"}': "0+100x300", 'gainboard_answers_total{failed="yes"}': "0x100 0+2x200"},
    ),
    "fails, in an earlier version": (
        "GainboardFails",
        {
            'gainboard_requests_total{status="200"}': "0+9x300",
            'gainboard_requests_total{status="503"}': "_x100 1+1x200",
        },
    ),
    "restarts while it fails": (
        "GainboardFails",
        {
            'gainboard_answers_total{failed="no"}': "0+90x300",
            'gainboard_answers_total{failed="yes"}': "0+9x115 0+9x200",
        },
    ),
    "nobody works": ("GainboardJobsWait", {"gainboard_chunks_ready": "2x300", "gainboard_chunks_running": "0x300"}),
    "all workers died with chunks": (
        "GainboardJobsWait",
        {
            "gainboard_chunks_ready": "0x300",
            "gainboard_chunks_running": "2x300",
            'gainboard_jobs{state="running"}': "1x300",
            "gainboard_worker_slots": "0x300",
            "gainboard_job_slots": "0x300",
        },
    ),
    "an old job": ("GainboardJobsAreOld", {"gainboard_oldest_open_job_seconds": "18000+60x300"}),
    "processes die, and no worker is asked": ("GainboardChunksDie", {"gainboard_claims_freed_total": "0x60 0+1x200"}),
    "chunks raise, and nothing else is known": (
        "GainboardChunksDie",
        {'gainboard_chunk_seconds_count{outcome="raised"}': "0+1x300"},
    ),
    "some die on one host, and some raise on another": (
        "GainboardChunksDie",
        {
            'gainboard_claims_freed_total{instance="a"}': "0+0.25x300",
            'gainboard_chunk_seconds_count{outcome="raised", instance="b"}': "0+0.25x300",
        },
    ),
    "never a backup": ("GainboardBackupIsOld", {"gainboard_last_backup_timestamp_seconds": "0x2400"}),
    "the last backup is two days old": ("GainboardBackupIsOld", {"gainboard_last_backup_timestamp_seconds": "60x2400"}),
    "little room": (
        "GainboardDiskIsFull",
        {'gainboard_folder_free_bytes{folder="data"}': "9x300", 'gainboard_folder_bytes{folder="data"}': "100x300"},
    ),
    "no room for a backup": (
        "GainboardBackupDoesNotFit",
        {'gainboard_folder_free_bytes{folder="backups"}': "7x300", "gainboard_last_backup_bytes": "5x300"},
    ),
}
QUIET = {f"up{{{SERVER}}}": "1x2400", f"process_start_time_seconds{{{SERVER}}}": "0x1200 9e4x1200"} | {
    name: f"{value}x2400"
    for name, value in {
        'gainboard_answers_total{failed="no"}': "0+100",
        'gainboard_answers_total{failed="yes"}': "0+0.5",
        "gainboard_chunks_ready": "3",
        "gainboard_chunks_running": "2",
        'gainboard_jobs{state="running"}': "1",
        "gainboard_worker_slots": "0",
        "gainboard_job_slots": "1",
        "gainboard_oldest_open_job_seconds": "600",
        "gainboard_claims_freed_total": "0+0.1",
        'gainboard_chunk_seconds_count{outcome="raised"}': "0+0.1",
        "gainboard_last_backup_timestamp_seconds": "0+60",
        "gainboard_last_backup_bytes": "5",
        'gainboard_folder_free_bytes{folder="backups"}': "20",
        'gainboard_folder_bytes{folder="backups"}': "100",
    }.items()
}
"""A service in order, with one restart, and a failure now and then."""


def firing(series, minutes, folder):
    """The rules that fire after so many minutes of these series, each of which is tried by itself."""
    asked = {
        "rule_files": [str(DEPLOY / "alerts.yaml")],
        "tests": [
            {
                "name": rule["alert"],
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [
                    {
                        "expr": f'max(ALERTS{{alertname="{rule["alert"]}", alertstate="firing"}}) or vector(0)',
                        "eval_time": f"{minutes}m",
                        "exp_samples": [{"labels": "{}", "value": 0}],
                    }
                ],
            }
            for rule in RULES
        ],
    }
    (folder / "test.yaml").write_text(json.dumps(asked))
    done = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 or "got:" in done.stdout + done.stderr, done
    return set(re.findall(r'expr: "max\(ALERTS\{alertname=\\?"(\w+)', done.stdout + done.stderr))


@needs_promtool
@pytest.mark.parametrize("case", FIRES)
def test_a_rule_fires(case, tmp_path):
    alert, series = FIRES[case]
    minutes = 2300 if alert == "GainboardBackupIsOld" else 120
    assert alert in firing(series, minutes, tmp_path)


def test_every_rule_is_shown_to_fire():
    assert {alert for alert, _ in FIRES.values()} == {rule["alert"] for rule in RULES}


@needs_promtool
def test_no_rule_fires_for_a_service_in_order(tmp_path):
    assert [firing(QUIET, minutes, tmp_path) for minutes in (60, 1210, 2300)] == [set()] * 3


@needs_promtool
def test_prometheus_reads_the_configuration(tmp_path):
    shutil.copy(DEPLOY / "alerts.yaml", tmp_path / "gainboard-alerts.yaml")
    token = tmp_path / "gainboard.token"
    token.touch()
    text = (DEPLOY / "prometheus.yaml").read_text().replace("/etc/prometheus/gainboard.token", str(token))
    (tmp_path / "prometheus.yml").write_text(text)
    done = subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done
    assert f"{len(RULES)} rules found" in done.stdout.decode()


def test_what_rules_watch_is_there_from_the_start(tmp_path):
    with serving(new_settings(tmp_path)) as service:
        text = service.organiser.get("/metrics").text
    watched = {name for rule in RULES for name in re.findall(r'(gainboard_\w+(?:\{\w+="\w+"\})?)', rule["expr"])}
    there = set(re.findall(r"^([^ #]+) ", text, re.MULTILINE))
    there |= {name.partition("{")[0] for name in there}
    # Requests are counted by route and status, so any may be the first of its kind, and there was no backup yet.
    assert watched - there == {"gainboard_requests_total", 'gainboard_folder_free_bytes{folder="backups"}'}
    assert "process_start_time_seconds" in there


def measured(service):
    lines = service.organiser.get("/metrics").text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_a_backup_is_measured(tmp_path):
    with serving(new_settings(tmp_path / "data")) as service:
        assert measured(service)["gainboard_last_backup_timestamp_seconds"] == 0
        shell = Shell(tmp_path)
        assert shell.run("gainboard backup --data data a.backup").code == 0
        found = measured(service)
        assert shell.run("gainboard backup --data data a.backup").code == 1  # the file is there
        assert (
            measured(service)["gainboard_last_backup_timestamp_seconds"]
            == (found["gainboard_last_backup_timestamp_seconds"])
        )
    file = (tmp_path / "a.backup").stat()
    assert found["gainboard_last_backup_bytes"] == file.st_size
    assert abs(found["gainboard_last_backup_timestamp_seconds"] - file.st_mtime) < 60
    size = os.statvfs(tmp_path)
    for folder in ("data", "backups"):
        assert found[f'gainboard_folder_bytes{{folder="{folder}"}}'] == size.f_blocks * size.f_frsize
        assert 0 < found[f'gainboard_folder_free_bytes{{folder="{folder}"}}'] <= size.f_blocks * size.f_frsize
