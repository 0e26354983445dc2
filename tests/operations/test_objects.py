"""Files outside of the database: in a folder, and in a bucket of an S3-compatible server."""

import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from moto.server import ThreadedMotoServer
from sqlalchemy import select, update

from gainboard.cli import main
from gainboard.errors import BadSetting, ObjectsUnreachable
from gainboard.evaluation.runs.pruning import prune
from gainboard.evaluation.workspace import Workspace
from gainboard.settings import Settings
from gainboard.store import blobs as contents
from gainboard.store import inspection
from gainboard.store.backup import take
from gainboard.store.blobs import move
from gainboard.store.database import Database
from gainboard.store.objects import Objects
from gainboard.store.tables import blob_parts, blobs, objects
from tests.operations.test_backup import quiet, restored
from tests.waiting import until
from tests.world.campaigns import RUN, WORSE, Campaign, judged, refused, run_text
from tests.world.servers import ADMIN, serving

TEXT = {"Accept": "text/plain"}


@pytest.fixture(scope="module")
def s3():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path, monkeypatch):
    """An address for files: a folder that does not exist yet, or an empty bucket."""
    if request.param == "folder":
        return (tmp_path / "some files").as_uri()
    endpoint, bucket = request.getfixturevalue("s3"), f"bucket-{uuid4().hex}"
    known = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    for name, value in (known | {"AWS_ENDPOINT_URL": endpoint}).items():
        monkeypatch.setenv(name, value)
    httpx.put(f"{endpoint}/{bucket}", timeout=60).raise_for_status()
    return f"s3://{bucket}/of/gainboard"


@pytest.fixture
def service(database_url, place):
    with serving(Settings.read({}, database_url=database_url, objects=place, admin_token=ADMIN)) as found:
        yield found


@pytest.fixture
def database(database_url, place):
    with closing(Database(database_url, objects=place)) as found:
        yield found


def names(database):
    with database.reading() as tx:
        return {name for name in tx.execute(select(blobs.c.object_name)).scalars() if name is not None}


def known(database):
    with database.reading() as tx:
        return set(tx.execute(select(objects.c.name)).scalars())


def parts(database):
    with database.reading() as tx:
        return len(tx.execute(select(blob_parts.c.position)).all())


def is_sound(database):
    with inspection.looking(database) as tx:
        return list(inspection.broken_files(database, tx)) == []


def campaign_of(service):
    return judged(service, RUN, WORSE)


def text_of(campaign, name):
    answer = campaign.organiser.get(f"{campaign.path}/runs/{name}", headers=TEXT)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_files_and_results_are_kept_there_and_nowhere_else(service, database):
    campaign = campaign_of(service)
    asked = {"kind": "gain-vectors", "params": {}}
    job = campaign.organiser.post(f"{campaign.path}/jobs", json=asked).json()
    until(lambda: campaign.organiser.get(f"/v1/jobs/{job['id']}").json()["state"] == "succeeded")
    assert campaign.organiser.get(f"/v1/jobs/{job['id']}/result").json()["kind"] == "gain-vectors"
    assert len(names(database)) >= 4  # qrels, runs and the result
    before = names(database)
    assert (before, parts(database)) == (known(database), 0)
    campaign_of(service)  # equal content is kept once
    assert names(database) == known(database) == before
    assert (text_of(campaign, "tag"), text_of(campaign, "worse")) == (RUN, WORSE)
    assert is_sound(database)


def test_a_large_file_goes_in_pieces(service, database):
    campaign = Campaign(service)
    campaign.put_qrels()
    # Random ids do not become much smaller, so that the object has several parts.
    text = "".join(f"1 Q0 {uuid4().hex}{uuid4().hex} {rank} {-rank} big\n" for rank in range(1, 200_000))
    assert campaign.submit(text).status_code == 201
    assert text_of(campaign, "big") == text
    assert is_sound(database)


def test_files_move_out_of_the_database_and_back(database_url, database, place, monkeypatch, capsys):
    with serving(Settings.read({}, database_url=database_url, admin_token=ADMIN)) as without:
        campaign = campaign_of(without)
        inside = parts(database)
        assert (inside > 0, names(database)) == (True, set())
        monkeypatch.setenv("GAINBOARD_DATABASE_URL", database_url)
        monkeypatch.setenv("GAINBOARD_OBJECTS", place)
        assert main(["move", "objects"]) == 0
        assert "moved 3 files" in capsys.readouterr().out
        assert (parts(database), len(names(database))) == (0, 3)
        assert is_sound(database)
        answer = campaign.organiser.get(f"{campaign.path}/runs/tag")  # nothing of the file is needed
        assert answer.status_code == 200
        with serving(Settings.read({}, database_url=database_url, objects=place)) as service:
            found = service.client(ADMIN).get(f"{campaign.path}/runs/tag", headers=TEXT)
            assert found.text == RUN
        assert main(["move", "database"]) == 0
        assert (parts(database), names(database), known(database)) == (inside, set(), set())
        assert text_of(campaign, "tag") == RUN


def test_damaged_content_is_not_moved(service, database, tmp_path):
    campaign_of(service)
    assert database.objects is not None
    (first, *_) = sorted(names(database))
    database.objects.delete([first])
    database.objects.put(first, b"something else")
    moved = move(database, "database", lambda done, total: None)
    assert moved.broken == [first.split("/")[1].split(".")[0]]
    assert moved.files == 2
    assert names(database) == {first}
    assert not is_sound(database)


def test_a_refused_upload_leaves_no_object_and_what_is_pruned_is_deleted_there(service, database):
    campaign = campaign_of(service)
    before = names(database)
    assert campaign.submit(run_text({"1": ["bad", "good"]})).status_code == 409  # another run has this name
    assert known(database) == names(database) == before
    assert campaign.organiser.delete(f"{campaign.path}/runs/tag").status_code == 204
    assert prune(Workspace(database), 0).runs == 1
    assert len(names(database)) == len(before) - 1
    assert names(database) == known(database)
    assert database.objects is not None
    (gone,) = before - names(database)
    with pytest.raises(ObjectsUnreachable, match="missing"):
        list(database.objects.get(gone))
    # The same content is stored again where it comes again.
    assert campaign.submit(RUN).status_code == 201
    assert text_of(campaign, "tag") == RUN
    assert names(database) == known(database)


def test_what_a_dead_server_has_left_is_pruned_a_day_later(service, database):
    campaign_of(service)
    with contents.prepared(database, "0" * 64, 4, b"text") as content:
        content.is_used = True  # as after a commit whose answer was lost
    prune(Workspace(database))
    assert known(database) - names(database) == {content.object_name}
    with database.writing() as tx:
        tx.execute(update(objects).values(created_at=datetime.now(UTC) - timedelta(hours=25)))
    prune(Workspace(database))
    assert known(database) == names(database)
    assert is_sound(database)


def test_a_backup_has_the_files_and_restores_without_the_place(service, database, place, tmp_path):
    campaign = campaign_of(service)
    file, url = tmp_path / "a.backup", f"sqlite:///{tmp_path / 'restored.db'}"
    with_files = take(database, file, quiet).rows["blob_parts"]
    restored(url, file)
    with closing(Database(url)) as other:
        assert is_sound(other)
        assert (names(other), known(other), parts(other)) == (set(), set(), with_files)
    # Whoever tries a restore beside the service must not delete what the service needs.
    with closing(Database(url, objects=place)) as other:
        prune(Workspace(other), 0)
    assert text_of(campaign, "tag") == RUN


def test_a_server_that_does_not_know_the_place_says_so(service, database_url, monkeypatch, capsys):
    campaign = campaign_of(service)
    monkeypatch.setenv("GAINBOARD_DATABASE_URL", database_url)
    assert main(["doctor"]) == 1
    assert "GAINBOARD_OBJECTS is not set" in capsys.readouterr().out
    with closing(Database(database_url)) as lost, pytest.raises(ObjectsUnreachable, match="GAINBOARD_OBJECTS"):
        list(contents.get(lost, campaign.get("/runs/tag").json()["sha256"]))


def test_nothing_is_stored_while_the_place_cannot_be_reached(database_url, tmp_path):
    folder = tmp_path / "files"
    with serving(Settings.read({}, database_url=database_url, objects=folder.as_uri(), admin_token=ADMIN)) as service:
        campaign = Campaign(service)
        campaign.put_qrels()
        shutil.rmtree(folder)
        folder.write_text("a file in place of the folder")
        answer = campaign.submit(RUN)
        assert refused(answer) == (503, "objects-unreachable")
        assert answer.headers["Retry-After"] == "5"
        assert campaign.get("/runs").json()["items"] == []
        folder.unlink()
        assert campaign.submit(RUN).status_code == 201


@pytest.mark.parametrize("address", ["", "/srv/files", "file://host/folder", "s3:///x", "gs://bucket", "file:///"])
def test_other_addresses_are_refused(address):
    with pytest.raises(BadSetting, match="s3://bucket/gainboard"):
        Objects(address)
