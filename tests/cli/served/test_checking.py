"""`gainboard check -c NAME` says of a run what the service says at its upload, as far as topics are declared."""

import json

import pytest

from gainboard.cli import main
from tests.world.campaigns import RUN, Campaign, run_text

pytestmark = pytest.mark.outer


def test_a_run_has_the_warnings_and_faults_of_its_upload(shared, folder, monkeypatch, capsys):
    campaign = Campaign(shared, topics=["1", "2"], depth=1)
    assert campaign.put_qrels().status_code == 201
    monkeypatch.setenv("GAINBOARD_TOKEN", campaign.token("participant", "lemur"))
    client = campaign.client("participant", "otter")
    odd, foreign = run_text({"1": ["good", "bad"], "9": ["bad"]}, "odd"), run_text({"9": ["bad"]}, "foreign")
    (folder / "odd.txt").write_text(odd)
    (folder / "foreign.txt").write_text(foreign)
    assert main(["check", "--json", "run.txt", "odd.txt", "foreign.txt", "-c", campaign.name]) == 1
    of_whole, of_odd, of_foreign = json.loads(capsys.readouterr().out)
    assert of_whole["warnings"] == campaign.submit(RUN, client).json()["warnings"] == []
    answer = campaign.submit(odd, client).json()
    assert of_odd["warnings"] == answer["warnings"]
    assert [each["code"] for each in of_odd["warnings"]] == ["unknown-topics", "missing-topics"]
    assert of_odd["retrieved"] == answer["retrieved"] == 2  # the collection's depth is 1
    assert of_foreign["errors"] == campaign.submit(foreign, client).json()["errors"]
