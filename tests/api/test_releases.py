"""Releases: what is frozen never changes, corrections are new releases, and what a release holds stays."""

import pytest

from gainboard.evaluation.runs.pruning import prune
from gainboard.main import open_workspace
from tests.api.changes import log
from tests.world.campaigns import refused
from tests.world.files import contents_of
from tests.world.laboratories import REPORT, Laboratory, after_work, qrels_text, rotated
from tests.world.servers import new_settings, serving

FROZEN = {"title": "Web ☃", "metrics": ["AP", "nDCG@5"], "creators": ["R. Mokoena"], "doi": "10.5281/zenodo.42"}


@pytest.fixture
def lab(shared):
    lab = Laboratory(shared)
    lab.release(public=True)
    return lab


def freeze(lab, client=None, **changes):
    return (client or lab.organiser).post(f"{lab.path}/releases", json=FROZEN | changes)


def own_organiser(lab):
    return lab.client("organiser")


def test_a_release_has_everything_and_stays_the_same_bytes(lab):
    lab.put_qrels(qrels_text(1), judgments="second")
    lab.organiser.patch(f"{lab.path}/judgments/second", json={"state": "released"})
    lab.put_qrels(qrels_text(2), judgments="hidden")
    job, report = lab.worked(lab.ask()), after_work(lab, lab.report(REPORT).headers["location"])
    answer = freeze(lab)
    assert answer.status_code == 201, answer.text
    path, shown = answer.headers["location"], answer.json()
    assert shown["name"] == f"{lab.name}-1"
    first = lab.organiser.get(path)
    content = first.json()["content"]
    assert {each["judgments"] for each in content["judgments"]} == {"official", "second"}
    assert [run["name"] for run in content["runs"]] == [f"run-{number}" for number in range(4)]
    assert job["id"] in {each["id"] for each in content["results"]}
    assert [each["id"] for each in content["reports"]] == [report["id"]]
    board = lab.board(metric=FROZEN["metrics"], by="nDCG@5")
    assert [(row["run"], row["means"], row["groups"]) for row in content["boards"][1]["rows"]] == [
        (row["name"], row["mean"], row["groups"]) for row in board["rows"]
    ]
    label, scored = content["metrics"][0], lab.scores("AP", run="run-2", topics="all")["runs"][0]
    assert dict(zip(content["topics"], content["scores"][label]["run-2"], strict=True)) == scored["topics"][label]
    entry = log(lab.organiser, lab.path)[-1]
    assert (entry["action"], entry["subject"], entry["details"]["sha256"]) == (
        "release-frozen",
        shown["name"],
        shown["sha256"],
    )
    lab.put_qrels(qrels_text(1))
    lab.change(title="new", gains="9:5:1")
    assert lab.organiser.get(path).content == first.content


def test_what_a_release_holds_stays_unless_an_organiser_of_the_instance_takes_it(lab):
    lab.put_qrels(qrels_text(1), judgments="second")
    lab.organiser.patch(f"{lab.path}/judgments/second", json={"state": "released"})
    matrix = f"{lab.path}/score-matrices/nuggets"
    lab.organiser.put(matrix, content="run,1,2\nrun-0,0.5,1\n").raise_for_status()
    organiser, name = own_organiser(lab), f"{lab.name}-1"
    assert freeze(lab, organiser).status_code == 201
    held = [
        organiser.delete(f"{lab.path}/runs/run-1"),
        organiser.delete(f"{lab.path}/judgments/second"),
        organiser.patch(f"{lab.path}/judgments/second", json={"state": "hidden"}),
        organiser.delete(matrix),
        organiser.delete(lab.path),
    ]
    for answer in held:
        assert refused(answer) == (409, "held-by-release")
        assert answer.json()["releases"] == [name]
        assert name in answer.json()["detail"]
    newer = lab.submit(rotated(7), team="team-0").json()["name"]
    assert organiser.delete(f"{lab.path}/runs/{newer}").status_code == 204
    assert lab.organiser.delete(f"{lab.path}/runs/run-1").status_code == 204
    entry = log(lab.organiser, lab.path)[-1]
    assert (entry["action"], entry["details"]["held_by"]) == ("run-withdrawn", [name])
    assert lab.organiser.delete(lab.path).status_code == 204


def test_hidden_judgments_are_not_frozen_and_hide_the_releases_again(shared):
    lab = Laboratory(shared)
    assert refused(freeze(lab)) == (409, "conflict")
    lab.release(public=True)
    path = freeze(lab).headers["location"]
    assert shared.anonymous.get(path).status_code == 200
    lab.change(policy={"phase": "hidden"})
    assert refused(lab.client("reader").get(path)) == (403, "judgments-hidden")
    assert refused(shared.anonymous.get(path)) == (401, "not-authenticated")


def test_pruning_leaves_what_a_release_holds(tmp_path):
    settings = new_settings(tmp_path)
    with serving(settings) as service:
        lab = Laboratory(service)
        lab.release(public=True)
        path = freeze(lab).headers["location"]
        lab.organiser.delete(f"{lab.path}/runs/run-1")
        before = lab.organiser.get(path).content
        workspace, _ = open_workspace(settings)
        assert prune(workspace, days=0).runs == 1
        workspace.database.close()
        assert lab.organiser.get(path).content == before
        answer = lab.organiser.get(f"{path}/archive").raise_for_status()
        held = [name for name in contents_of(answer.content) if name.startswith("data/runs/")]
        assert held == [f"data/runs/run-{number}.txt" for number in (0, 2, 3)]
        assert lab.organiser.get(f"{lab.path}/runs/run-2", headers={"Accept": "text/plain"}).text == rotated(2)
