"""What organisers and participants do with a collection, from its making to its end."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from gainboard.api.models.admin import Rotation as SentRotation
from gainboard.api.models.collections import ChangeableSettings, NewCollection
from gainboard.client import Problem
from gainboard.client.campaigns import CollectionChanges as Changes
from gainboard.client.campaigns import CollectionSettings as Settings
from gainboard.client.campaigns import TokenChanges as Rotation
from gainboard.evaluation import audit
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE


def test_a_campaign_from_its_collection_to_its_end(organiser, name, connect, shared):
    made = organiser.create_collection(name, ["B", "A"], gains="2:1", policy={"presets": ["AP"]})
    assert (made.levels, made.gains, made.policy.presets) == (["B", "A"], "2:1", ["AP"])
    assert organiser.change_collection(name, title="The web", topics=None).title == "The web"
    assert organiser.put_qrels(name, QRELS).version == 1
    token = organiser.create_token(name, "participant", team="lemur")
    participant = connect(shared.url, token.token)
    run = participant.submit(name, RUN, description="of the first day")
    assert (run.name, run.team, run.unjudged_share) == ("tag", "lemur", None)
    assert participant.run_file(name, "tag") == RUN.encode()
    assert [scored.mean for scored in organiser.scores(name, "AP").runs] == [{"AP": 0.75}]
    participant.withdraw(name, "tag")
    assert list(organiser.runs(name)) == []
    assert name in {each.name for each in organiser.collections()}
    organiser.delete_collection(name)
    assert name not in {each.name for each in organiser.collections()}


def test_qrels_are_drafted_compared_published_and_discarded(organiser, name, tmp_path):
    organiser.create_collection(name, 2)
    organiser.put_qrels(name, QRELS, columns="trec")
    organiser.submit(name, RUN, team="lemur")
    draft = organiser.put_qrels(name, OTHER_QRELS, draft=True)
    assert (draft.version, draft.state) == (2, "draft")
    assert organiser.impact(name, 2, metrics="nDCG@10", gains="2:1").judgments.added == 1
    assert organiser.publish_qrels(name, 2).state == "published"
    assert organiser.put_qrels(name, QRELS + "3 0 new 1\n", draft=True).version == 3
    organiser.discard_qrels(name, 3)
    assert [each.version for each in organiser.qrels(name)] == [1, 2]
    assert organiser.qrels_version(name, 1).relevant == 2
    assert organiser.qrels_file(name, 2) == OTHER_QRELS.encode()
    assert organiser.save_qrels_file(name, 1, tmp_path / "qrels.txt").read_text() == QRELS


def test_tokens_and_teams_are_made_listed_and_ended(organiser, name, connect, shared):
    organiser.create_collection(name, 2)
    assert organiser.create_team(name, "lemur").name == "lemur"
    ends = datetime.now(UTC) + timedelta(days=1)
    made = organiser.create_token(name, "participant", team="lemur", holder="R. Mokoena", expires_at=ends)
    assert (made.expires_at, made.holder) == (ends, "R. Mokoena")
    rotated = organiser.rotate_token(name, made.id, expires_at=None)
    assert rotated.expires_at is None
    assert connect(shared.url, rotated.token).me().team == "lemur"
    organiser.revoke_token(name, rotated.id)
    assert organiser.token(name, rotated.id).revoked_at is not None
    assert rotated.id in {each.id for each in organiser.tokens(name)}
    assert [(each.name, each.tokens) for each in organiser.teams(name)] == [("lemur", 0)]
    assert organiser.team(name, "lemur").runs == 0
    with pytest.raises(Problem, match="token") as refused:
        connect(shared.url, rotated.token).me()
    assert refused.value.status == 401


def test_organisers_of_the_instance_are_made_and_ended(organiser, connect, shared):
    made = organiser.create_organiser("S. Tanaka")
    assert connect(shared.url, made.token).me().role == "organiser"
    assert organiser.organiser(made.id).holder == "S. Tanaka"
    organiser.revoke_organiser(made.id)
    assert {each.id: each.revoked_at is None for each in organiser.organisers()}[made.id] is False


def test_a_list_is_read_to_its_end_over_all_pages(organiser, name, monkeypatch):
    monkeypatch.setattr("gainboard.client.requests.PAGE", 2)
    organiser.create_collection(name, 2)
    names = [f"run-{number}" for number in range(5)]
    for each in names:
        organiser.submit(name, RUN.replace("tag", each), team="lemur")
    assert [run.name for run in organiser.runs(name)] == names


def test_the_audit_log_is_listed_and_written_as_it_is_verified(organiser, name, tmp_path):
    organiser.create_collection(name, 2)
    entries = list(organiser.audit(name))
    assert [entry.action for entry in entries] == ["collection-created"]
    assert list(organiser.audit(name, since=entries[0].at)) == entries
    assert list(organiser.audit(name, action="run-uploaded")) == []
    written = organiser.save_audit(tmp_path / "audit.ndjson")
    verdict = audit.verify(map(json.loads, written.read_text().splitlines()))
    assert (verdict.fault, verdict.entries) == (None, len(list(organiser.audit())))


def test_the_documents_to_judge_and_a_run_are_read(organiser, name, tmp_path):
    organiser.create_collection(name, 2)
    organiser.submit(name, RUN, team="lemur", pooled=True, type="automatic", name="first")
    organiser.submit(name, WORSE, team="lemur", pooled=False)
    pool = organiser.pool(name, depth=1)
    pool.wait()
    assert organiser.prioritise(name, "first", 2).priority == organiser.run(name, "first").priority == 2
    assert pool.table("pool").columns()["document"] == ["good", "bad"]
    assert organiser.run(name, "first").type == "automatic"
    assert organiser.save_run_file(name, "worse", str(tmp_path / "worse.txt")).read_text() == WORSE


def test_the_settings_that_can_be_given_are_those_of_the_api():
    assert {"name", "levels"} | Settings.__annotations__.keys() == NewCollection.model_fields.keys()
    assert Changes.__annotations__.keys() == ChangeableSettings.model_fields.keys()
    assert Rotation.__annotations__.keys() == SentRotation.model_fields.keys()
