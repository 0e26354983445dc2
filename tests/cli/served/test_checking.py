"""`gainboard check -c NAME` says of a run what the service says at its upload, as far as topics are declared."""

import json

import pytest

from gainboard.cli import main
from tests.world.campaigns import RUN, Campaign, run_text

pytestmark = pytest.mark.outer

ODD = run_text({"1": ["good", "bad"], "9": ["bad"]}, "odd")
FOREIGN = run_text({"9": ["bad"]}, "foreign")


@pytest.fixture
def declaring(shared, folder, monkeypatch):
    """A hidden collection with two declared topics, as a participant sees it, and files about it."""
    campaign = Campaign(shared, topics=["1", "2"], depth=1)
    assert campaign.put_qrels().status_code == 201
    token = campaign.organiser.post(f"{campaign.path}/tokens", json={"role": "participant", "team": "lemur"})
    monkeypatch.setenv("GAINBOARD_TOKEN", token.json()["token"])
    for name, text in (("odd.txt", ODD), ("foreign.txt", FOREIGN)):
        (folder / name).write_text(text)
    return campaign


def test_a_run_has_the_warnings_and_faults_of_its_upload(declaring, capsys):
    client = declaring.client("participant", "otter")
    assert main(["check", "--json", "run.txt", "odd.txt", "foreign.txt", "-c", declaring.name]) == 1
    whole, odd, foreign = json.loads(capsys.readouterr().out)
    assert whole["warnings"] == declaring.submit(RUN, client).json()["warnings"] == []
    answer = declaring.submit(ODD, client).json()
    assert odd["warnings"] == answer["warnings"]
    assert [each["code"] for each in odd["warnings"]] == ["unknown-topics", "missing-topics"]
    assert odd["retrieved"] == answer["retrieved"] == 2  # the collection's depth is 1
    assert foreign["errors"] == declaring.submit(FOREIGN, client).json()["errors"]


def test_the_environment_names_the_collection(declaring, capsys, monkeypatch):
    monkeypatch.setenv("GAINBOARD_COLLECTION", declaring.name)
    assert main(["check", "odd.txt"]) == 0
    assert "odd.txt: warning: missing-topics: " in capsys.readouterr().out
    monkeypatch.setenv("GAINBOARD_COLLECTION", "")
    monkeypatch.setenv("GAINBOARD_SERVER", "http://127.0.0.1:9")
    assert main(["check", "odd.txt"]) == 0
    assert "missing-topics" not in capsys.readouterr().out


def test_a_collection_without_topics_is_named(campaign, capsys):
    assert main(["check", "run.txt", "-c", campaign.name]) == 0
    said = capsys.readouterr()
    assert said.err == f"note: {campaign.name} declares no topics, so those of the runs were not compared\n"
    assert "warning" not in said.out


@pytest.mark.parametrize("token", ["", "gainboard_unknown"])
def test_a_hidden_collection_is_not_shown_to_others(declaring, capsys, monkeypatch, token):
    monkeypatch.setenv("GAINBOARD_TOKEN", token)
    assert main(["check", "run.txt", "-c", declaring.name]) == 1
    assert "(problem not-authenticated)" in capsys.readouterr().err
    stranger = Campaign(declaring.service).token("organiser")
    monkeypatch.setenv("GAINBOARD_TOKEN", stranger)
    assert main(["check", "run.txt", "-c", declaring.name]) == 1
    assert "(problem not-found)" in capsys.readouterr().err
