"""`gainboard collection`, `qrels`, `token` and `me` against a real server."""

import json
import sys
from uuid import uuid4

import pytest

from gainboard.cli import main
from tests.cli.terminals import Terminal, printed
from tests.world.campaigns import OTHER_QRELS, QRELS, Campaign, judged

pytestmark = pytest.mark.outer


def test_a_collection_is_made_changed_shown_and_deleted(shared, folder, capsys):
    name = f"c-{uuid4().hex}"
    (folder / "topics.txt").write_text("1\n2\n")
    line = ["collection", "create", name, "--levels", "B,A,S", "--gains", "3:2:1", "--topics", "topics.txt"]
    printed(capsys, *line, "-m", "Q", "-m", "AP", "--policy", 'quotas={"per_day": 5}')
    made = shared.organiser.get(f"/v1/collections/{name}").json()
    assert made["levels"] == ["B", "A", "S"]
    assert made["metrics"] == ["Q", "AP"]
    assert made["topics"] == ["1", "2"]
    assert made["policy"]["quotas"]["per_day"] == 5
    printed(
        capsys,
        "collection",
        "change",
        name,
        "--levels",
        "2",
        "--gains",
        "linear",
        "--policy",
        "phase=released",
        "--public",
    )
    shown = json.loads(printed(capsys, "collection", "show", name, "--format", "json"))
    assert (shown["levels"], shown["policy"]["phase"], shown["public"]) == (2, "released", True)
    assert name in printed(capsys, "collection", "list")
    assert main(["collection", "delete", name]) == 1
    assert "--yes" in capsys.readouterr().err
    assert printed(capsys, "collection", "delete", name, "--yes") == f"{name}: deleted\n"
    assert shared.organiser.get(f"/v1/collections/{name}").status_code == 404


@pytest.mark.parametrize("time", ["20261231", "2026", "0", "1e9", "2026-12-31", "2026-12-31T12:00:00"])
def test_digits_are_no_time_so_they_release_nothing(campaign, capsys, time):
    assert main(["collection", "change", campaign.name, "--policy", f"releases_at={time}"]) == 1
    assert "2026-12-01T12:00:00Z" in capsys.readouterr().err
    assert campaign.get("").json()["policy"]["phase"] == "hidden"
    for command in (["audit", "export", "--since", time], ["token", "create", "reader", "--expires", time]):
        with pytest.raises(SystemExit, match="2"):
            main(command)
        assert "2026-12-01T12:00:00Z" in capsys.readouterr().err
    assert campaign.get("/tokens").json()["items"] == []


def test_the_environment_names_the_collection(folder, shared, monkeypatch, capsys):
    for verb in ("show", "change", "delete"):
        assert main(["collection", verb]) == 1
        assert "No collection is named. Add its name, or set GAINBOARD_COLLECTION." in capsys.readouterr().err
    monkeypatch.setenv("GAINBOARD_COLLECTION", name := f"c-{uuid4().hex}")
    printed(capsys, "collection", "create", "--levels", "2")
    printed(capsys, "collection", "change", "--title", "Lemurs")
    assert json.loads(printed(capsys, "collection", "show", "--format", "json"))["title"] == "Lemurs"
    assert main(["collection", "delete", "--yes"]) == 1
    assert "Add the name of the collection to delete" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal(f"{name}\n"))
    assert printed(capsys, "collection", "delete") == f"{name}: deleted\n"


def test_another_order_of_judged_runs_is_said_to_take_a_job(shared, folder, capsys):
    campaign = judged(shared)
    assert main(["collection", "change", campaign.name, "--order-by", "score32"]) == 0
    said = capsys.readouterr()
    assert "order_by" in said.out
    assert f"gainboard job list -c {campaign.name} --kind rejudge" in said.err
    assert main(["job", "run", "rejudge", "-c", campaign.name, "--set", "order_by=score32", "--wait"]) == 0
    assert "topics reordered" in capsys.readouterr().out
    assert main(["collection", "change", campaign.name, "--order-by", "score32"]) == 0
    assert capsys.readouterr().err == ""


def test_one_level_may_have_a_name(shared, folder, capsys):
    name = f"c-{uuid4().hex}"
    printed(capsys, "collection", "create", name, "--levels", "relevant")
    assert shared.organiser.get(f"/v1/collections/{name}").json()["levels"] == ["relevant"]


def test_one_preset_needs_no_comma(campaign, folder, capsys):
    for given, presets in (("nDCG@10", ["nDCG@10"]), ("nDCG@10,AP", ["nDCG@10", "AP"]), ("nDCG@10,", ["nDCG@10"])):
        printed(capsys, "collection", "change", campaign.name, "--policy", f"presets={given}")
        assert campaign.get("").json()["policy"]["presets"] == presets


@pytest.mark.parametrize("levels", ["B,,A", ",A", "B,A,"])
def test_a_level_without_a_name_is_refused(levels, folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["collection", "create", "unmade", "--levels", levels])
    assert f"{levels!r} has a level without a name" in capsys.readouterr().err


def test_qrels_are_put_listed_and_read(campaign, folder, capsysbinary):
    assert main(["qrels", "put", "qrels.txt"]) == 0
    assert (
        capsysbinary.readouterr().out
        == b"version 1 (published): 2 topics, 3 judged, 2 relevant (L0: 1, L1: 1, L2: 1)\n"
    )
    assert main(["qrels", "get"]) == 0
    assert capsysbinary.readouterr().out == QRELS.encode()
    assert main(["qrels", "get", "1", "--output", "copy.txt"]) == 0
    assert (folder / "copy.txt").read_text() == QRELS
    assert main(["qrels", "list", "--format", "json"]) == 0
    assert json.loads(capsysbinary.readouterr().out) == campaign.get("/qrels").json()["items"]


def test_faulty_qrels_are_refused_with_their_lines(campaign, folder, capsys):
    (folder / "bad.txt").write_text("1 0 good 2\n1 0 good 1\n1 0\n")
    assert main(["qrels", "put", "bad.txt"]) == 1
    faults = campaign.put_qrels((folder / "bad.txt").read_text()).json()["errors"]
    assert capsys.readouterr().err.splitlines() == [
        f"bad.txt:{each['line']}: {each['code']}: {each['message']}" for each in faults
    ]
    assert main(["qrels", "get"]) == 1
    assert main(["qrels", "put", "absent.txt"]) == 1
    assert "Cannot read absent.txt: No such file or directory." in capsys.readouterr().err


def test_the_note_about_a_level_names_what_the_command_has(campaign, folder, capsys):
    (folder / "bad.txt").write_text("1 0 good 9\n")
    note = "bad.txt: note: bad-level: Correct the file. The collection's levels can change only while it holds no qrels"
    assert main(["qrels", "put", "bad.txt"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(note)
    assert main(["check", "--qrels", "bad.txt"]) == 1  # the environment names the collection, which has the levels
    assert capsys.readouterr().out.splitlines()[-2].startswith(note)
    assert main(["score", "bad.txt", "run.txt", "--levels", "2"]) == 1
    assert capsys.readouterr().err.endswith(
        "note: bad-level: Levels are whole numbers, or the names that --levels lists, lowest first, for example "
        "--levels B,A,S\n"
    )


def test_faults_of_probabilities_have_the_name_and_lines_of_their_file(shared, folder, monkeypatch, capsys):
    monkeypatch.setenv("GAINBOARD_COLLECTION", Campaign(shared, intents=True).name)
    (folder / "intents.txt").write_text("1 1 good 1\n1 2 bad 1\n")
    (folder / "iprob.txt").write_text("1 1 1.5\n1 2 0.5\n")
    put = ["qrels", "put", "intents.txt", "--iprob"]
    assert main([*put, "iprob.txt"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("iprob.txt:1: bad-probability: probability '1.5' of intent '1' ")
    assert main([*put, "absent.txt"]) == 1
    absent = "absent.txt: unreadable: Cannot be read: No such file or directory\n"
    assert capsys.readouterr().err == absent
    assert main(["qrels", "put", "absent.txt", "--iprob", "iprob.txt"]) == 1
    assert capsys.readouterr().err == absent
    (folder / "iprob.txt").write_text("1 1 0.5\n1 2 0.4\n")
    assert main([*put, "iprob.txt"]) == 1
    assert capsys.readouterr().err.startswith(
        "iprob.txt: bad-probability: the probabilities of the intents of topic '1' "
    )
    (folder / "iprob.txt").write_text("1 1 0.5\n1 2 0.45\n")
    assert main([*put, "iprob.txt"]) == 0


def test_a_draft_is_held_against_what_answers_and_published_or_discarded(scored, folder, capsys):
    (folder / "other.txt").write_text(OTHER_QRELS)
    assert "version 2 (draft)" in printed(capsys, "qrels", "put", "other.txt", "--draft")
    found = scored.get("/qrels/2/impact", metric="AP").json()
    assert json.loads(printed(capsys, "qrels", "impact", "2", "-m", "AP", "--format", "json")) == found
    csv = scored.get("/qrels/2/impact", metric="AP", format="csv").text
    assert printed(capsys, "qrels", "impact", "2", "-m", "AP", "--format", "csv") == csv
    assert main(["qrels", "impact", "2", "-m", "AP"]) == 0
    table = capsys.readouterr()
    assert [line.split()[0] for line in table.out.splitlines()[1:]] == [
        run["name"] for run in found["impact"][0]["runs"]
    ]
    assert "AP: tau-b of the rankings" in table.err
    assert [line.split()[3] for line in table.out.splitlines()[1:]] == [
        f"{run['mean_before']:.4f}" for run in found["impact"][0]["runs"]
    ]
    assert "version 2 (published)" in printed(capsys, "qrels", "publish", "2")
    assert scored.get("").json()["qrels_version"] == 2
    (folder / "third.txt").write_text(OTHER_QRELS + "3 0 new 1\n")
    printed(capsys, "qrels", "put", "third.txt", "--draft")
    assert printed(capsys, "qrels", "discard", "3") == "version 3: discarded\n"
    assert [each["version"] for each in scored.get("/qrels").json()["items"]] == [1, 2]


def test_a_new_token_goes_to_standard_output_alone(campaign, shared, capsys):
    line = ["token", "create", "participant", "--team", "lemur", "--holder", "R. Mokoena"]
    assert main([*line, "--expires", "2099-01-01T00:00:00Z"]) == 0
    out, err = capsys.readouterr()
    token = out.removesuffix("\n")
    assert token.startswith("gainboard_")
    assert token not in err
    me = json.loads(printed(capsys, "me", "--token", token, "--format", "json"))
    assert (me["role"], me["team"], me["collection"]) == ("participant", "lemur", campaign.name)
    assert me["expires_at"] == "2099-01-01T00:00:00Z"
    listed = printed(capsys, "token", "list")
    assert me["id"] in listed
    assert "R. Mokoena" in listed
    assert token not in listed
    rotated = printed(capsys, "token", "rotate", me["id"], "--expires", "never").removesuffix("\n")
    assert shared.client(token).get("/v1/me").status_code == 401
    assert shared.client(rotated).get("/v1/me").json()["expires_at"] is None
    assert printed(capsys, "token", "revoke", me["id"]) == f"{me['id']}: revoked\n"
    assert shared.client(rotated).get("/v1/me").status_code == 401


def test_the_audit_log_is_exported_as_the_service_has_it_and_verified(scored, shared, folder, capsys):
    assert main(["audit", "export"]) == 0
    out, err = capsys.readouterr()
    assert out == scored.get("/audit", format="ndjson").text
    assert err == "to verify it: gainboard audit verify --gaps -\n"
    assert main(["audit", "export", "--instance", "--output", "log.ndjson"]) == 0
    assert capsys.readouterr().err == "to verify it: gainboard audit verify log.ndjson\n"
    assert (folder / "log.ndjson").read_text() == shared.organiser.get("/v1/audit?format=ndjson").text
    assert printed(capsys, "audit", "verify", "log.ndjson").startswith("intact: ")
    only = printed(capsys, "audit", "export", "--action", "run-uploaded", "--since", "2026-01-01T00:00:00Z")
    assert [json.loads(line)["action"] for line in only.splitlines()] == ["run-uploaded"] * 2
    assert main(["audit", "export", "--output", "absent/log.ndjson"]) == 1
    assert "Cannot write absent/log.ndjson" in capsys.readouterr().err


@pytest.mark.parametrize("role", ["participant", "reader"])
def test_the_audit_log_is_for_organisers(scored, capsys, role):
    token = printed(capsys, "token", "create", role, *(["--team", "lemur"] if role == "participant" else []))
    for which in ([], ["--instance"]):
        assert main(["audit", "export", *which, "--token", token.strip()]) == 1
        out, err = capsys.readouterr()
        assert (out, "(problem forbidden)" in err) == ("", True)


def test_tokens_of_the_instance(shared, folder, capsys):
    assert main(["token", "create", "organiser", "--instance", "--holder", "second"]) == 0
    token, said = capsys.readouterr()
    token = token.removesuffix("\n")
    assert "of an organiser; " in said
    me = shared.client(token).get("/v1/me").json()
    assert (me["role"], me["collection"]) == ("organiser", None)
    assert me["id"] in printed(capsys, "token", "list", "--instance")
    printed(capsys, "token", "revoke", me["id"], "--instance")
    assert shared.client(token).get("/v1/me").status_code == 401
    assert main(["token", "create", "reader", "--instance"]) == 1
    assert "A token with --instance is always an organiser's" in capsys.readouterr().err


def test_what_is_left_to_a_token(campaign, capsys):
    token = printed(capsys, "token", "create", "participant", "--team", "lemur").removesuffix("\n")
    left = json.loads(printed(capsys, "me", "--limits", "--token", token, "--format", "json"))
    client = campaign.service.client(token)
    assert left == client.get("/v1/me/limits").json()
    assert "team.answers.left" in printed(capsys, "me", "--limits", "--token", token)
