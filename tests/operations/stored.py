"""What a database holds, and one that holds something of everything."""

from contextlib import closing
from datetime import UTC, datetime

from sqlalchemy import JSON, Text, cast, select

from gainboard.settings import Settings
from gainboard.store import files, tables
from gainboard.store.database import Database
from gainboard.store.job_records import StoredFile
from gainboard.store.tables import metadata
from tests.api.changes import CHANGES, prepared
from tests.world.campaigns import Campaign
from tests.world.laboratories import Laboratory, qrels_text
from tests.world.people import Person
from tests.world.servers import ADMIN, serving

RATIONED = {"policy": {"scores": "own-mean", "presets": ["AP"]}}


def fill(url):
    """Leaves at least one row in every table, by requests, with jobs that nobody has begun."""
    settings = Settings.read({}, database_url=url, admin_token=ADMIN, job_slots=0)
    with serving(settings) as service:
        lab = Laboratory(service)
        for route in sorted(CHANGES, key=lambda route: route == "DELETE /v1/collections/{collection}"):
            answer = prepared(lab, route)(service.organiser)
            assert answer.status_code < 300, answer.text
        judged_twice = Laboratory(service)
        judged_twice.put_qrels(qrels_text(1), judgments="second")
        assert judged_twice.ask("judge-agreement", metrics=["AP"], sets=["second"]).status_code == 202
        service.organiser.post("/v1/tokens", json={}, headers={"Idempotency-Key": "k"})
        person = Person(service)
        with person.client:
            assert person.sign_in(ADMIN).status_code == 303
        rationed = Campaign(service, topics=["1", "2"], **RATIONED)
        rationed.put_qrels()
        own = rationed.client("participant", "own")
        rationed.submit(client=own)
        assert rationed.get("/scores", own, metric="AP").status_code == 200
    _leave_an_upload_and_a_file(url)


def _leave_an_upload_and_a_file(url):
    database = Database(url)
    with database.writing() as tx:
        team = tx.execute(select(tables.teams.c.id)).scalars().first()
        assert team is not None
        at = datetime.now(UTC)
        of_a_process = {"host": "a host", "pid": 1, "release": "0.1.0", "slots": 1, "started_at": at}
        tx.execute(tables.processes.insert().values(id="0" * 12, kind="worker", **of_a_process, leased_until=at))
        tx.execute(tables.objects.insert().values(name="00/an object that nothing refers to", created_at=at))
        tx.execute(tables.uploads.insert().values(id="an upload", team_id=team, process="0" * 12))
        job = tx.execute(select(tables.jobs.c.number)).scalars().first()
        assert job is not None
        files.add_part(tx, job, "tables/of-a-dead-worker.csv", 0, bytes(range(256)))
        files.add(tx, [StoredFile(job, "tables/of-a-dead-worker.csv", 64 * "0", 256)])
    database.close()


def rows(url):
    """All rows by table; JSON as the text that it is stored as."""
    columns = {
        name: [cast(each, Text) if isinstance(each.type, JSON) else each for each in table.columns]
        for name, table in metadata.tables.items()
    }
    with closing(Database(url)) as database, database.reading() as tx:
        return {name: set(map(tuple, tx.execute(select(*own)))) for name, own in columns.items()}
