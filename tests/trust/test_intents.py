"""While judgments are hidden, participants learn nothing of intents, of their probabilities or of their documents."""

import pytest

from tests.api.routes import every_route, seen
from tests.world.campaigns import RUN, Campaign, refused

ONE = "1 1 good 2\n1 2 good 1\n1 0 bad 0\n2 1 good 1\n1 1 0.9\n1 2 0.1\n"
OTHER = "1 1 bad 1\n1 2 bad 1\n1 3 good 2\n1 4 other 1\n2 1 bad 2\n2 2 good 1\n"
"""Judgments of the same topics: other intents, other documents, no probabilities."""
HIDING = [{}, {"scores": "none", "presets": ["Irec@2"]}, {"scores": "all"}]


def filled(service, qrels, name, **settings):
    campaign = Campaign(service, name=name, intents=True, topics=["1", "2"], **settings)
    assert campaign.put_qrels(qrels).status_code == 201
    assert campaign.submit(RUN, team="own", name="mine").status_code == 201
    return campaign


@pytest.mark.parametrize("policy", HIDING, ids=str)
def test_other_intents_change_no_byte_of_what_a_participant_reads(sqlite_service, policy):
    campaign = filled(sqlite_service, ONE, "hidden", policy=policy)
    own = campaign.client("participant", "own")
    fill = {"collection": campaign.name, "run": "mine", "team": "own", "topic": "1", "version": "1", "number": "1"}
    fill |= dict.fromkeys(("group", "judgments", "matrix", "judge", "other", "slug", "job", "report"), "none")
    fill |= dict.fromkeys(("token", "table", "figure"), "none")

    def told():
        found = {}
        for route in every_route("GET"):
            for query in route.variations():
                if route.path not in ("/readyz", "/metrics"):
                    found[f"{route.path} {query}"] = seen(route.ask(own, fill, query))
        for metric in ("Irec@2", "alpha-nDCG@5", "AP(ia=true)", "D#-nDCG@5"):
            found[metric] = seen(campaign.get("/scores", own, metric=metric))
        again = campaign.submit(RUN.replace("tag", "more"), own)
        found["upload"] = (again.status_code, again.json()["unjudged_share"], again.json()["warnings"])
        assert own.delete(f"{campaign.path}/runs/more").status_code == 204
        return found

    before = told()
    assert campaign.put_qrels(OTHER).status_code == 201
    after = told()
    differing = [key for key in before if before[key] != after[key] and "/me" not in key]
    assert differing == []


def test_presets_do_not_open_averages_over_intents_or_other_parameters(sqlite_service):
    policy = {"presets": ["P@2", "alpha-nDCG@5"]}
    campaign = filled(sqlite_service, ONE, "presets", policy=policy)
    own = campaign.client("participant", "own")
    shown = campaign.get("/scores", own, metric=["P@2", "alpha-nDCG@5"])
    assert shown.status_code == 200
    assert shown.json()["topics_undefined"] is None
    limits = own.get("/v1/me/limits").json()
    for metric in ("P(ia=true)@2", "alphanDCG(alpha=0.1)@5", "Irec(intents=all)@2", "Irec@2"):
        assert refused(campaign.get("/scores", own, metric=metric))[0] == 403
    assert refused(campaign.get("/scores", own, metric="P@2", ia="true"))[0] == 403
    assert refused(campaign.get("/qrels/1", own))[0] == 403
    assert own.get("/v1/me/limits").json() == limits


def test_the_setting_is_what_the_organisers_said_and_not_what_the_file_has(sqlite_service):
    campaign = Campaign(sqlite_service, intents=True, topics=["1", "2"])
    own = campaign.client("participant", "own")
    before = seen(campaign.get("", own))
    assert campaign.get("", own).json()["intents"] is True
    assert campaign.put_qrels(ONE).status_code == 201
    assert seen(campaign.get("", own)) == before
