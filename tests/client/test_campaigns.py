"""What organisers and participants do with a collection, from its making to its end."""

import json
import tarfile

from gainboard.api.models.admin import Rotation as SentRotation
from gainboard.api.models.collections import ChangeableSettings, NewCollection
from gainboard.client.campaigns import CollectionChanges as Changes
from gainboard.client.campaigns import CollectionSettings as Settings
from gainboard.client.campaigns import TokenChanges as Rotation
from gainboard.evaluation import audit
from tests.world.campaigns import QRELS, RUN


def test_a_list_is_read_to_its_end_over_all_pages(organiser, name, monkeypatch):
    monkeypatch.setattr("gainboard.client.requests.PAGE", 2)
    organiser.create_collection(name, 2)
    names = [f"run-{number}" for number in range(5)]
    for each in names:
        organiser.submit(name, RUN.replace("tag", each), team="lemur")
    assert [run.name for run in organiser.runs(name)] == names


def test_a_run_is_marked_with_its_family_later(organiser, name):
    organiser.create_collection(name, 2)
    organiser.submit(name, RUN, team="lemur")
    assert organiser.mark_family(name, "tag", "acme").family == "acme"
    assert organiser.mark_family(name, "tag", None).family is None


def test_files_are_written_where_they_are_wanted(organiser, name, tmp_path):
    organiser.create_collection(name, 2)
    organiser.put_qrels(name, QRELS)
    organiser.submit(name, RUN, team="lemur")
    assert organiser.save_qrels_file(name, 1, tmp_path / "qrels.txt").read_text() == QRELS
    assert organiser.save_run_file(name, "tag", str(tmp_path / "run.txt")).read_text() == RUN
    entries = list(organiser.audit(name))
    assert list(organiser.audit(name, since=entries[0].at)) == entries
    written = organiser.save_audit(tmp_path / "audit.ndjson")
    verdict = audit.verify(map(json.loads, written.read_text().splitlines()))
    assert (verdict.fault, verdict.entries) == (None, len(list(organiser.audit())))
    organiser.change_collection(name, policy={"phase": "released"})
    number = organiser.freeze(name, metrics=["AP"]).number
    assert tarfile.is_tarfile(organiser.save_archive(name, number, tmp_path / "release.tar"))


def test_the_settings_that_can_be_given_are_those_of_the_api():
    assert {"name", "levels", "kind"} | Settings.__annotations__.keys() == NewCollection.model_fields.keys()
    assert Changes.__annotations__.keys() == ChangeableSettings.model_fields.keys()
    assert Rotation.__annotations__.keys() == SentRotation.model_fields.keys()
