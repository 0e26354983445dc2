"""What the service says while its database is gone, locked or waited for."""

import threading
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from gainboard.errors import DatabaseBusy
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from tests.world.campaigns import Campaign, refused
from tests.world.servers import ADMIN, running, serving


def test_a_database_that_is_gone_makes_the_service_unready_and_nothing_is_written(tmp_path):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        ready = service.anonymous.get("/readyz").json()
        assert (ready["status"], ready["database"]) == ("ok", "ok")
        (tmp_path / "gainboard.db").unlink()
        answer = service.anonymous.get("/readyz")
        assert refused(answer) == (503, "database-busy")
        assert int(answer.headers["retry-after"]) > 0
        assert service.anonymous.get("/healthz").status_code == 200
        answer = service.organiser.post("/v1/collections", json={"name": "c", "levels": 1})
        assert refused(answer) == (503, "database-busy")


def test_a_postgresql_that_is_gone_makes_the_service_unready_and_names_no_host(postgres_url):
    admin, name = create_engine(postgres_url, isolation_level="AUTOCOMMIT"), f"gone_{uuid4().hex}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = make_url(postgres_url).set(database=name).render_as_string(False)
    with serving(Settings.read({}, database_url=url, admin_token=ADMIN)) as service:
        assert service.anonymous.get("/readyz").status_code == 200
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        for path in ("/readyz", "/v1/collections", "/v1/me"):
            answer = service.organiser.get(path)
            assert refused(answer) == (503, "database-busy")
            assert "127.0.0.1" not in answer.text
            assert answer.headers["retry-after"]
    admin.dispose()


def test_a_locked_database_refuses_writers_for_now_and_still_answers_readers(tmp_path):
    workspace, _ = open_workspace(Settings.read({}, data=tmp_path, admin_token=ADMIN))
    workspace.database.close()
    url = str(workspace.database.engine.url)
    with running(create_app(Workspace(Database(url, busy_seconds=0.1)))) as service:
        campaign, other = Campaign(service), Database(url)
        with other.writing():
            answer = campaign.change(title="new")
            assert refused(answer) == (503, "database-busy")
            assert answer.headers["retry-after"]
            assert campaign.get("").json()["title"] == ""
        other.close()
        assert campaign.change(title="new").status_code == 200


def test_a_writer_waits_for_another_and_does_not_fail(service, migrated_url):
    campaign, other = Campaign(service), Database(migrated_url)
    answers = []
    with other.writing() as tx:
        tx.execute(text("UPDATE collections SET title = 'theirs'"))
        waiting = threading.Thread(target=lambda: answers.append(campaign.change(title="ours")))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join()
    other.close()
    assert answers[0].json()["title"] == "ours"


def test_a_process_that_stands_still_in_a_transaction_does_not_keep_its_locks(empty_postgres):
    with serving(Settings.read({}, database_url=empty_postgres, admin_token=ADMIN)) as service:
        campaign, other = Campaign(service), Database(empty_postgres, busy_seconds=0.2)

        def stand_still():
            with other.writing() as tx:
                tx.execute(text("UPDATE collections SET title = 'theirs'"))
                assert campaign.change(title="ours").json()["title"] == "ours"

        with pytest.raises(DatabaseBusy):
            stand_still()
        other.close()
