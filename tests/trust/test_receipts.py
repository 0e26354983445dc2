"""Receipts of uploads, and their comparison with an export of the audit log."""

import hashlib
import json
from pathlib import Path

import pytest

from gainboard.cli import main
from gainboard.store.audit import digest
from tests.world.campaigns import QRELS, RUN, WORSE, Campaign
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer


@pytest.fixture
def campaign(shared):
    return Campaign(shared)


def sent(text):
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text.encode())}


def test_every_upload_answers_with_a_receipt_of_its_entry_in_the_log(campaign):
    team = campaign.client("participant", "lemur")
    run = campaign.submit(RUN, team).json()
    judged = campaign.put_qrels().json()
    matrix = campaign.organiser.put(f"{campaign.path}/score-matrices/own", content="topic,tag\n1,0.5\n").json()
    log = {entry["hash"]: entry for entry in campaign.get("/audit").json()["items"]}
    for answer, text in ((run, RUN), (judged, QRELS)):
        receipt = answer["receipt"]
        assert sent(text).items() <= receipt.items()
        entry = log[receipt["entry"]]
        assert digest(entry) == receipt["entry"]
        assert (entry["subject"], entry["action"]) == (receipt["subject"], receipt["action"])
    assert log[matrix["receipt"]["entry"]]["action"] == "score-matrix-uploaded"
    assert (run["receipt"]["team"], run["receipt"]["subject"]) == ("lemur", "tag")
    later = team.get(f"{campaign.path}/runs/tag/receipt")
    assert later.json() == run["receipt"]
    assert campaign.submit(RUN, team).json()["receipt"] == run["receipt"]  # sent again
    assert team.get(f"{campaign.path}/runs/tag").json()["receipt"] is None


def test_a_log_is_compared_with_receipts(campaign, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("answer.json").write_text(campaign.submit(RUN).text)
    receipt = campaign.submit(WORSE).json()["receipt"]
    Path("receipts.ndjson").write_text(f"{json.dumps(receipt)}\n")
    export = campaign.get("/audit", format="ndjson").text
    Path("log.ndjson").write_text(export)
    verify = ["audit", "verify", "--gaps", "log.ndjson", "--receipt"]
    assert main([*verify, "receipts.ndjson", "--receipt", "answer.json"]) == 0
    assert "the log has what 2 receipts say" in capsys.readouterr().out

    changed = {**receipt, "received_at": "2020-01-01T00:00:00.000000Z", "team": "otter"}
    Path("receipts.ndjson").write_text(json.dumps(changed))
    assert main([*verify, "receipts.ndjson"]) == 1
    said = capsys.readouterr().err
    assert "says team 'otter'" in said
    assert "says received_at '2020-01-01T00:00:00.000000Z', and entry" in said

    Path("log.ndjson").write_text("".join(line for line in export.splitlines(True) if '"worse"' not in line))
    assert main([*verify, "answer.json"]) == 0
    Path("receipts.ndjson").write_text(json.dumps(receipt))
    assert main([*verify, "receipts.ndjson"]) == 1
    assert f"the log has no entry {receipt['entry']}, which the receipt of 'worse' names" in capsys.readouterr().err

    for text, why in (("{", "it is not JSON"), ("[]", "is no receipt"), ('{"receipt": null}', "is no receipt")):
        Path("receipts.ndjson").write_text(text)
        assert main([*verify, "receipts.ndjson"]) == 1
        assert why in capsys.readouterr().err


def test_the_page_of_a_run_has_the_receipt_for_its_team_alone(campaign):
    entry = campaign.submit(RUN).json()["receipt"]["entry"]
    campaign.put_qrels()
    campaign.release(public=True)
    page = f"/c/{campaign.name}/runs/tag"
    assert entry not in campaign.service.anonymous.get(page, headers={"Accept": "text/html"}).text


def test_submit_keeps_receipts(campaign, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAINBOARD_SERVER", campaign.service.url)
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    for name, text in (("run", RUN), ("worse", WORSE)):
        Path(f"{name}.txt").write_text(text)
    submit = ["submit", "run.txt", "worse.txt", "-c", campaign.name, "--team", "lemur", "--receipts"]
    assert main([*submit, "receipts.ndjson"]) == 0
    kept = [json.loads(line) for line in Path("receipts.ndjson").read_text().splitlines()]
    assert {each["subject"] for each in kept} == {"tag", "worse"}
    assert main([*submit, "absent/receipts.ndjson"]) == 1
    assert "Cannot write absent/receipts.ndjson" in capsys.readouterr().err
