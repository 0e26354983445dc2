"""After the release of hidden judgments nobody submits quietly."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from gainboard.store.database import Database
from gainboard.store.tables import collections, runs
from tests.world.campaigns import RUN, WORSE, Campaign, refused, run_text

IDEAL = run_text({"1": ["good"], "2": ["good"]}, "ideal")
"""The documents of the released qrels in their ideal order."""


def hidden(service, **policy):
    """A hidden campaign with qrels and one run of a team, and the team's client."""
    campaign = Campaign(service, topics=["1", "2"], metrics=["AP"], policy=policy)
    assert campaign.put_qrels().status_code == 201
    own = campaign.client("participant", "own")
    assert campaign.submit(WORSE, own, name="early").status_code == 201
    return campaign, own


def marks(campaign, client=None, **query):
    answers = [campaign.get(f"/{name}", client, **query).json() for name in ("runs", "scores", "leaderboard", "sweep")]
    lists = [answer.get("items") or answer.get("runs") or answer["rows"] for answer in answers]
    return [{run["name"]: run["late"] for run in each} for each in lists]


def test_the_ideal_order_of_released_qrels_is_refused(shared):
    campaign, own = hidden(shared)
    campaign.release()
    assert campaign.get("/qrels/1", own).status_code == 200
    answer = campaign.submit(IDEAL, own)
    assert refused(answer) == (403, "upload-after-release")
    assert "--policy late=marked" in answer.json()["detail"]
    assert datetime.fromisoformat(answer.json()["released_at"]) <= datetime.now(UTC)
    assert marks(campaign) == [{"early": False}] * 4
    # Organisers may upload it, and it is marked.
    assert campaign.submit(IDEAL, team="own").json()["late"] is True
    assert marks(campaign, own) == [{"early": False, "ideal": True}] * 4
    campaign.change(policy={"phase": "hidden"})  # they stay known
    assert refused(campaign.submit(WORSE, own, name="again")) == (403, "upload-after-release")


def test_marked_runs_are_shown_as_late_and_left_out_on_request(shared):
    campaign, own = hidden(shared, late="marked")
    campaign.release()
    sent = campaign.submit(IDEAL, own)
    assert (sent.status_code, sent.json()["late"]) == (201, True)
    assert campaign.get("/runs/ideal", own).json()["late"] is True
    assert marks(campaign, own) == [{"early": False, "ideal": True}] * 4
    assert marks(campaign, own, late="exclude") == [{"early": False}] * 4
    board = campaign.get("/leaderboard", own, late="exclude").json()
    assert ([row["rank"] for row in board["rows"]], board["groups_test"]) == ([1], None)
    assert campaign.get("/scores", own, run="ideal", late="exclude").json()["runs"] == []
    assert refused(campaign.get("/runs", own, late="no")) == (422, "invalid-request")


def test_a_collection_that_was_never_hidden_has_no_late_runs(shared):
    campaign = Campaign(shared, metrics=["AP"], policy={"phase": "released"})
    campaign.put_qrels()
    own = campaign.client("participant", "own")
    campaign.change(policy={"phase": "released", "decimals": 4})
    assert campaign.submit(IDEAL, own).status_code == 201
    assert marks(campaign, own) == [{"ideal": False}] * 4
    assert own.delete(f"{campaign.path}/runs/ideal").status_code == 204


def test_teams_withdraw_nothing_after_the_release_and_organisers_may(shared):
    campaign, own = hidden(shared, late="open")
    campaign.release()
    answer = own.delete(f"{campaign.path}/runs/early")
    assert refused(answer) == (403, "withdrawal-after-release")
    assert "Ask the organisers" in answer.json()["detail"]
    assert campaign.organiser.delete(f"{campaign.path}/runs/early").status_code == 204


def test_a_release_by_its_time_counts_from_that_time(service, migrated_url):
    campaign, own = hidden(service, releases_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    released = datetime.now(UTC) - timedelta(minutes=1)
    with closing(Database(migrated_url)) as database, database.writing() as tx:
        # An hour has passed.
        before = {"created_at": released - timedelta(hours=1)}
        tx.execute(update(runs).values(before))
        tx.execute(update(collections).values(before | {"releases_at": released}))
    assert refused(campaign.submit(IDEAL, own)) == (403, "upload-after-release")
    assert campaign.submit(IDEAL).json()["late"] is True
    # Another time does not undo it.
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert campaign.change(policy={"releases_at": later}).status_code == 200
    assert refused(campaign.submit(RUN, own)) == (403, "upload-after-release")
    assert {run["name"]: run["late"] for run in campaign.get("/runs").json()["items"]} == dict(
        zip(("early", "ideal"), (False, True), strict=True)
    )
