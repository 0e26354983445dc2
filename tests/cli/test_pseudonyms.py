"""`gainboard export --pseudonyms`: no file of the folder has any name that was given."""

import csv
import json

import pytest

from gainboard.cli import main
from tests.waiting import over
from tests.world.laboratories import REPORT, qrels_text, rotated
from tests.world.servers import ADMIN, new_settings, serving

PATH = "/v1/collections/web"
PEOPLE = ("Jane Lemurton", "lemurton@example.org")
TEAMS = {f"lemur-lab-{number % 2}" for number in range(4)}
RUNS = [f"quokka-{number}" for number in range(4)]
TAGS = [f"wombat-{number}" for number in range(4)]


def fill(client):
    settings = {"name": "web", "levels": 3, "policy": {"phase": "released"}}
    client.post("/v1/collections", json=settings).raise_for_status()
    client.put(f"{PATH}/qrels", content=qrels_text(1), params={"draft": True}).raise_for_status()
    client.put(f"{PATH}/qrels", content=qrels_text()).raise_for_status()
    for number, (name, tag) in enumerate(zip(RUNS, TAGS, strict=True)):
        text = f"# by {PEOPLE[0]} <{PEOPLE[1]}>\n" + rotated(number).replace(f"run-{number}", tag)
        query = {"team": f"lemur-lab-{number % 2}", "name": name, "description": f"by {PEOPLE[0]}"}
        client.post(f"{PATH}/runs", content=text, params=query).raise_for_status()
    client.put(f"{PATH}/runs/{RUNS[0]}/metadata", content=f"actor: {{name: {PEOPLE[0]}}}\n").raise_for_status()
    matrix = f"run,1,2\n{RUNS[0]},0.5,1\n{RUNS[1]},0.25,0\n"
    client.put(f"{PATH}/score-matrices/nuggets", content=matrix).raise_for_status()
    token = {"role": "participant", "team": "lemur-lab-0", "holder": PEOPLE[1]}
    client.post(f"{PATH}/tokens", json=token).raise_for_status()
    for kind, params in (
        ("bootstrap-sensitivity", {"metrics": ["AP"], "resamples": 50, "runs": RUNS[:3]}),
        ("rank-correlation", {"metrics": ["custom:nuggets", "AP"], "runs": RUNS[:2]}),
        ("difficulty", {"metrics": ["AP"], "standardise": "normal", "reference": RUNS[1:]}),
    ):
        asked = client.post(f"{PATH}/jobs", json={"kind": kind, "params": params}).raise_for_status()
        assert over(client, asked.headers["location"])["state"] == "succeeded"
    asked = client.post("/v1/reports", json={"name": REPORT, "collections": ["web"], "params": {}})
    assert over(client, asked.raise_for_status().headers["location"])["state"] == "succeeded"
    body = {"metrics": ["AP"], "creators": [PEOPLE[0]], "title": "Web"}
    client.post(f"{PATH}/releases", json=body).raise_for_status()


@pytest.mark.outer
def test_a_folder_under_pseudonyms_has_no_original_name_and_the_same_numbers(tmp_path, monkeypatch, capsys):
    blind, map_file = tmp_path / "blind", tmp_path / "map.csv"
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    with serving(new_settings(tmp_path / "data")) as service:
        fill(service.organiser)
        monkeypatch.setenv("GAINBOARD_SERVER", service.url)
        before = service.organiser.get(f"{PATH}/releases/1").raise_for_status().json()["content"]
        inside = ["export", "web", "--output", str(blind), "--pseudonyms", str(blind / "map.csv")]
        assert main(inside) == 1
        assert "must be kept apart" in capsys.readouterr().err
        assert main([*inside[:-1], str(map_file)]) == 0, capsys.readouterr().err
    assert capsys.readouterr().err == ""
    after = json.loads((blind / "data/release.json").read_text())
    old = [*TEAMS, *RUNS, *TAGS, *PEOPLE, before["release"]["uuid"], before["audit"]["hash"]]
    old += [each["id"] for each in (*before["results"], *before["reports"])]
    old += [run["sha256"] for run in before["runs"]]
    for path in blind.rglob("*"):
        found = path.relative_to(blind).as_posix().encode() + (path.read_bytes() if path.is_file() else b"")
        assert not [name for name in old if name.encode() in found], path
    assert not (blind / "data/history.ndjson").exists()
    with map_file.open(newline="") as file:
        pseudonyms = {(row["kind"], row["name"]): row["pseudonym"] for row in csv.DictReader(file)}
    assert pseudonyms.keys() == {("team", name) for name in TEAMS} | {("run", name) for name in RUNS}
    means = {row["run"]: row["means"] for row in after["boards"][0]["rows"]}
    for row in before["boards"][0]["rows"]:
        assert means[pseudonyms["run", row["run"]]] == row["means"]
    kinds = [sorted(each["kind"] for each in document["results"]) for document in (before, after)]
    assert kinds[0] == kinds[1]
    assert [each["name"] for each in after["reports"]] == [REPORT]
    assert (after["release"]["number"], after["release"]["corrects"]) == (1, None)
    assert main(["verify", str(blind)]) == 0, capsys.readouterr().err
