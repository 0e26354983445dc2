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
FIRES = """
GainboardDown: up{job="gainboard", instance="a:8000"} 1x10 0x300
GainboardIsNotWatched: up{job="node"} 1x300
GainboardRestarts: process_start_time_seconds{job="gainboard", instance="a:8000"} 0+120x300
GainboardFails: gainboard_answers_total{failed="no"} 0+100x300; gainboard_answers_total{failed="yes"} 0x100 0+2x200
GainboardFails: gainboard_requests_total{status="200"} 0+9x300; gainboard_requests_total{status="503"} _x100 1+1x200
GainboardFails: gainboard_answers_total{failed="no"} 0+90x300; gainboard_answers_total{failed="yes"} 0+9x115 0+9x200
GainboardJobsWait: gainboard_chunks_ready 2x300; gainboard_chunks_running 0x300
GainboardJobsWait: gainboard_chunks_ready 0x300; gainboard_chunks_running 2x300; \
gainboard_jobs{state="running"} 1x300; \
gainboard_worker_slots 0x300; gainboard_job_slots 0x300
GainboardJobsAreOld: gainboard_oldest_open_job_seconds 18000+60x300
GainboardChunksDie: gainboard_claims_freed_total 0x60 0+1x200
GainboardChunksDie: gainboard_chunk_seconds_count{outcome="raised"} 0+1x300
GainboardChunksDie: gainboard_claims_freed_total{instance="a"} 0+0.25x300; \
gainboard_chunk_seconds_count{outcome="raised", instance="b"} 0+0.25x300
GainboardBackupIsOld: gainboard_last_backup_timestamp_seconds 0x2400
GainboardBackupIsOld: gainboard_last_backup_timestamp_seconds 60x2400
GainboardDiskIsFull: gainboard_folder_free_bytes{folder="data"} 9x300; gainboard_folder_bytes{folder="data"} 100x300
GainboardBackupDoesNotFit: gainboard_folder_free_bytes{folder="backups"} 7x300; gainboard_last_backup_bytes 5x300
"""
"""Series of numbers, a minute each, and the rule that fires: also where other series are absent or begin late."""
QUIET = """up{job="gainboard", instance="a:8000"} 1x2400; process_start_time_seconds{job="gainboard"} 0x1200 9e4x1200; \
gainboard_answers_total{failed="no"} 0+100x2400; gainboard_answers_total{failed="yes"} 0+0.5x2400; \
gainboard_chunks_ready 3x2400; gainboard_chunks_running 2x2400; gainboard_jobs{state="running"} 1x2400; \
gainboard_worker_slots 0x2400; gainboard_job_slots 1x2400; gainboard_oldest_open_job_seconds 600x2400; \
gainboard_claims_freed_total 0+0.1x2400; gainboard_chunk_seconds_count{outcome="raised"} 0+0.1x2400; \
gainboard_last_backup_timestamp_seconds 0+60x2400; gainboard_last_backup_bytes 5x2400; \
gainboard_folder_free_bytes{folder="backups"} 20x2400; gainboard_folder_bytes{folder="backups"} 100x2400"""
"""A service in order, with one restart, and a failure now and then."""
CASES = [line.split(": ", 1) for line in FIRES.strip().splitlines()]


def firing(cases, folder):
    """The rules that fire in each case: series, and how many minutes of them."""
    asked = [_asked(number, *case) for number, case in enumerate(cases)]
    (folder / "test.yaml").write_text(json.dumps({"rule_files": [str(DEPLOY / "alerts.yaml")], "tests": asked}))
    done = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 or "got:" in said, done
    found = re.findall(r'expr: "max\(ALERTS\{alertname=\\?"(\w+).*vector\((\d+)\)', said)
    return [{alert for alert, of in found if int(of) == number} for number in range(len(cases))]


def _asked(number, series, minutes):
    """A test with an expression for each rule, which fails, and then is told, where the rule fires."""
    named = [re.fullmatch(r"(\S+?(?:\{.*\})?) (.*)", each.strip()).groups() for each in series.split(";")]
    firing = 'max(ALERTS{{alertname="{}", alertstate="firing"}}) or 0 * vector({})'
    expected = {"eval_time": f"{minutes}m", "exp_samples": [{"labels": "{}", "value": 0}]}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in named],
        "promql_expr_test": [{"expr": firing.format(rule["alert"], number)} | expected for rule in RULES],
    }


@needs_promtool
def test_each_rule_fires_when_it_should_and_none_for_a_service_in_order(tmp_path):
    found = firing([(series, 2300 if "BackupIsOld" in alert else 120) for alert, series in CASES], tmp_path)
    assert [case for case, fired in zip(CASES, found, strict=True) if case[0] not in fired] == []
    assert {alert for alert, _ in CASES} == {rule["alert"] for rule in RULES}
    assert firing([(QUIET, minutes) for minutes in (60, 1210, 2300)], tmp_path) == [set()] * 3


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
