"""The audit log cannot be changed unnoticed: SQL is refused, and where it is not, the chain of hashes breaks."""

import hashlib
import json
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from gainboard import cli
from gainboard.evaluation.audit import FIELDS, read_line, verify
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store.tables import audit
from tests.api.changes import log
from tests.api.test_races import at_once
from tests.world.campaigns import Campaign, judged, run_text

UNLOCK = {
    "sqlite": ("DROP TRIGGER audit_is_not_changed", "DROP TRIGGER audit_is_not_shortened"),
    "postgresql": ("DROP TRIGGER audit_is_append_only ON audit",),
}
COLUMNS = ("collection_id", "at", "token_id", "role", "action", "subject", "details", "previous", "hash", "number")


def unlock(database):
    with database.writing() as tx:
        for statement in UNLOCK[tx.dialect.name]:
            tx.execute(text(statement))


def test_a_hash_is_that_of_the_entry_as_anybody_can_compute_it(shared):
    Campaign(shared, title="Größe ☃", gains="2:1")
    for entry in log(shared.organiser):
        kept = {key: value for key, value in entry.items() if key != "hash"}
        written = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(written.encode()).hexdigest() == entry["hash"]


def test_entries_are_neither_changed_nor_deleted_by_sql(idle, database):
    judged(idle)
    before = log(idle.organiser)
    for statement in (
        "UPDATE audit SET subject = 'x'",
        "DELETE FROM audit",
        "INSERT INTO audit SELECT * FROM audit WHERE number = 1 ON CONFLICT (number) DO UPDATE SET subject = 'x'",
    ):
        with pytest.raises(DBAPIError, match="append-only"), database.writing() as tx:
            tx.execute(text(statement))
        assert log(idle.organiser) == before


def test_an_entry_is_not_replaced_by_sqlites_own_way_of_inserting(tmp_path):
    workspace, _ = open_workspace(Settings.read({}, data=tmp_path))
    columns = ", ".join(column.name if column.name != "subject" else "'x'" for column in audit.columns)
    with pytest.raises(DBAPIError, match="append-only"), workspace.database.writing() as tx:
        tx.execute(text(f"INSERT OR REPLACE INTO audit SELECT {columns} FROM audit"))
    workspace.database.close()


def test_any_field_that_is_altered_is_found(idle, database):
    judged(idle)
    Campaign(idle)
    whole, number = log(idle.organiser), 3
    unlock(database)
    for column in COLUMNS:
        with database.writing() as tx:
            (old,) = tx.execute(text(f"SELECT {column} FROM audit WHERE number = {number}")).one()
            change = text(f"UPDATE audit SET {column} = :new WHERE number = :number")
            tx.execute(change, {"new": _other(column, old), "number": number})
        verdict = verify(log(idle.organiser))
        assert verdict.fault is not None, column
        assert verdict.entries == number - 1
        with database.writing() as tx:
            moved = 99 if column == "number" else number
            tx.execute(change, {"new": old, "number": moved})
    assert log(idle.organiser) == whole
    assert verify(whole).fault is None
    with database.writing() as tx:
        old = tx.execute(text("SELECT details FROM audit WHERE number = 2")).scalar_one()
    assert '"name":' in old
    for new in ('{"name":1,', "{ ", '{"more":'):  # what says something else beside the same
        with database.writing() as tx:
            tx.execute(text("UPDATE audit SET details = :new WHERE number = 2"), {"new": new + old[1:]})
        verdict = verify(log(idle.organiser))
        assert (verdict.entries, verdict.fault) == (1, "entry 2 was changed: its hash does not match its fields")


def _other(column, old):
    if column in ("collection_id", "token_id"):
        return None
    known = {"number": 99, "details": '{"team":"other"}', "hash": "0" * 64, "previous": "1" * 64}
    return known.get(column, f"{old}x")


def test_an_entry_that_is_altered_with_its_hash_missing_moved_or_no_entry_is_found(shared):
    judged(shared)
    entries = log(shared.organiser)
    assert verify(entries[:2]).fault is None
    kept = {key: entries[1][key] for key in FIELDS if key != "hash"} | {"subject": "forged"}
    written = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    forged = kept | {"hash": hashlib.sha256(written.encode()).hexdigest()}
    verdict = verify([entries[0], forged, *entries[2:]])
    assert (verdict.entries, "entry 3" in verdict.fault) == (2, True)
    wrong = [entries[1:], entries[:1] + entries[2:], entries[::-1], [*entries, entries[-1]]]
    odd = [None, [], {}, entries[1] | {"more": 1}, entries[1] | {"number": "2"}]
    odd += [entries[1] | {"subject": "\ud800"}, entries[1] | {"details": float("nan")}]
    assert all(verify(each).fault for each in (*wrong, *([entries[0], each] for each in odd)))


def test_a_line_that_says_two_things_is_not_intact(shared):
    judged(shared)
    lines = shared.organiser.get("/v1/audit", params={"format": "ndjson"}).text.splitlines()[:2]
    assert verify(map(read_line, lines)).fault is None
    for old, new in (
        ('"action":', '"action":"run-withdrawn","action":'),
        ('"action":', '"act\\u0069on":"run-withdrawn","action":'),
        ('"details":{', '"details":{"name":"other","name":"other","of":{"deep":1,"deep":1},'),
    ):
        verdict = verify(map(read_line, [lines[0], lines[1].replace(old, new, 1)]))
        assert verdict.entries == 1
        assert "the line after entry 1 is not an entry of an audit log: it has the key" in str(verdict.fault)


def test_a_collections_export_has_gaps_and_each_entry_is_still_bound(shared):
    first, second = Campaign(shared), Campaign(shared)
    for campaign in (first, second, first):
        campaign.change(title=f"{campaign.name}-{len(log(shared.organiser))}")
    entries = log(shared.organiser, first.path)
    assert verify(entries).fault is not None
    assert verify(entries, has_gaps=True).entries == len(entries) == 3
    assert verify(entries[::-1], has_gaps=True).fault is not None
    assert verify([entries[0], entries[1] | {"role": "reader"}], has_gaps=True).entries == 1


def test_entries_of_many_at_once_form_one_chain(idle):
    campaigns = [judged(idle) for _ in range(3)]
    tokens = [each.new_token("organiser") for each in campaigns]
    holders = [idle.client(each["token"]) for each in tokens]
    before = len(log(idle.organiser))
    acts = []
    for number, (each, token, holder) in enumerate(zip(campaigns, tokens, holders, strict=True)):
        # One file for all collections: its blob is one row, for which their transactions wait.
        acts += [partial(each.submit, run_text({"1": ["d"]}, f"r{copy}"), team=f"t{number}") for copy in range(3)]
        acts += [partial(each.change, title="new"), partial(each.put_qrels, "1 0 good 1\n2 0 bad 1\n")]
        acts += [partial(holder.post, f"{each.path}/teams", json={"name": "made"})]
        acts += [partial(each.organiser.post, f"{each.path}/tokens/{token['id']}/rotate")] * 2
        acts += [partial(each.organiser.delete, f"{each.path}/runs/tag")]
    answers = at_once(acts)
    assert {answer.status_code for answer in answers} <= {200, 201, 204, 401}
    entries = log(idle.organiser)
    made = sum(answer.status_code in (200, 201, 204) for answer in answers) + 3  # and a team of each collection
    assert len(entries) == before + made
    assert verify(entries).fault is None


def test_organisers_who_revoke_each_other_at_once_leave_one(idle):
    made = [idle.organiser.post("/v1/tokens", json={}).json() for _ in range(6)]
    answers = at_once([partial(idle.organiser.delete, f"/v1/tokens/{each['id']}") for each in made for _ in range(2)])
    assert {answer.status_code for answer in answers} == {204}
    entries = log(idle.organiser)
    assert [entry["action"] for entry in entries].count("token-revoked") == 6
    assert verify(entries).fault is None


def test_the_command_verifies_an_export_and_names_the_first_entry_that_is_broken(shared, tmp_path, capsys):
    campaign = judged(shared)
    lines = shared.organiser.get("/v1/audit?format=ndjson").text.splitlines()
    broken, part = tmp_path / "broken", tmp_path / "part"
    broken.write_text("\n".join([*lines[:2], lines[2].replace("organiser", "reader"), *lines[3:]]), encoding="utf-8")
    part.write_text(campaign.get("/audit", format="ndjson").text, encoding="utf-8")
    assert cli.main(["audit", "verify", str(broken)]) == 1
    assert "entry 3 was changed" in capsys.readouterr().err
    assert [cli.main(["audit", "verify", str(part), *gaps]) for gaps in ([], ["--gaps"])] == [1, 0]
