"""`gainboard collection`, `qrels`, `token` and `me` against a real server."""

import json
import sys
from uuid import uuid4

import pytest

from gainboard.cli import main
from tests.cli.terminals import Terminal, printed

pytestmark = pytest.mark.outer


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


def test_the_environment_names_the_collection_but_to_delete_it_somebody_types_its_name(
    folder, shared, monkeypatch, capsys
):
    for verb in ("show", "change", "delete"):
        assert main(["collection", verb]) == 1
        assert "No collection is named. Add its name, or set GAINBOARD_COLLECTION." in capsys.readouterr().err
    monkeypatch.setenv("GAINBOARD_COLLECTION", name := f"c-{uuid4().hex}")
    printed(capsys, "collection", "create", "--levels", "relevant")
    printed(capsys, "collection", "change", "--title", "Lemurs")
    shown = json.loads(printed(capsys, "collection", "show", "--format", "json"))
    assert (shown["title"], shown["levels"]) == ("Lemurs", ["relevant"])
    assert main(["collection", "delete", "--yes"]) == 1
    assert "Add the name of the collection to delete" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal(f"{name}\n"))
    assert printed(capsys, "collection", "delete") == f"{name}: deleted\n"


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
    rotated = printed(capsys, "token", "rotate", me["id"], "--expires", "never").removesuffix("\n")
    assert shared.client(token).get("/v1/me").status_code == 401
    assert shared.client(rotated).get("/v1/me").json()["expires_at"] is None
    assert printed(capsys, "token", "revoke", me["id"]) == f"{me['id']}: revoked\n"
    assert shared.client(rotated).get("/v1/me").status_code == 401


def test_a_token_of_the_instance_is_made_listed_and_revoked(shared, folder, capsys):
    token = printed(capsys, "token", "create", "organiser", "--instance", "--holder", "second").removesuffix("\n")
    me = shared.client(token).get("/v1/me").json()
    assert (me["role"], me["collection"]) == ("organiser", None)
    listed = printed(capsys, "token", "list", "--instance")
    assert (me["id"] in listed, token in listed) == (True, False)
    printed(capsys, "token", "revoke", me["id"], "--instance")
    assert shared.client(token).get("/v1/me").status_code == 401
