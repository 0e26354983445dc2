"""Hidden judgments have no effect on what is answered: other ones in their place, and every byte is the same."""

import re

import pytest

from tests.api.routes import BODIES, answer_of, every_route, seen
from tests.world.campaigns import RUN, Campaign
from tests.world.laboratories import TOPICS, Laboratory, qrels_text, rotated

HIDING = [{"scores": "none", "presets": ["AP"]}, {}, {"scores": "all"}]
"""Policies under which no score is shown: by their own words, and for want of presets."""
ELSEWHERE = "7 0 x 1\n8 0 y 2\n"
OTHER_DOCUMENTS = "".join(f"{topic} 0 nowhere-{topic} 1\n" for topic in TOPICS)
"""Judgments of which no run retrieves a document: organisers are warned of it."""


def _fill(campaign, job):
    sent = {"name": "q-measure-appendix", "collections": [campaign.name]}
    report = campaign.organiser.post("/v1/reports", json=sent).json()["id"]
    campaign.organiser.put(f"{campaign.path}/score-matrices/nuggets", content="run,1,2\nmine,0.5,1\n")
    campaign.organiser.put(f"{campaign.path}/nuggets", content=BODIES["nuggets"]).raise_for_status()
    for judge in ("official", "model"):
        campaign.organiser.put(f"{campaign.path}/answers/{judge}", content=answer_of("mine")).raise_for_status()
    campaign.organiser.put(f"{campaign.path}/topic-groups/half", json=["1", "2", "3"])
    named = {
        "group": "half",
        "judgments": "second",
        "matrix": "nuggets",
        **{"judge": "official", "other": "model"},
        "number": "1",
        "report": report,
        "version": "1",
        "run": "mine",
        "team": "team-0",
        "slug": "not-found",
        "token": "0" * 36,
    }
    return {"collection": campaign.name, "job": job, "topic": "1", "table": "curves", "figure": "curves", **named}


def _told(client, fill):
    found = {}
    for route in every_route("GET", "POST"):
        for query in route.variations():
            if route.path == "/readyz":
                continue  # how many jobs are at work is nobody's secret, and not the same twice
            answer = route.ask(client, fill, query)
            key = f"{route.method} {route.path} {query}"
            found[key] = seen(answer)
            if "etag" in answer.headers:
                again = route.ask(client, fill, query, {"If-None-Match": answer.headers["etag"]})
                assert again.status_code == 304
                found[f"{key} again"] = seen(again)
    return found


def _client(campaign, role):
    return campaign.client(role, "team-0" if role == "participant" else None)


@pytest.mark.parametrize(
    ("role", "policy"), [("participant", HIDING[0]), ("participant", HIDING[1]), ("reader", HIDING[2])]
)
def test_with_other_qrels_every_route_answers_the_same_bytes(still, role, policy):
    campaign = Laboratory(still)
    campaign.change(policy=policy)
    campaign.submit(RUN, team="team-0", name="mine")
    fill, client = _fill(campaign, campaign.worked(campaign.ask())["id"]), _client(campaign, role)
    before = _told(client, fill)
    assert sum(" again" in key for key in before) > 5
    assert campaign.put_qrels(qrels_text(1), draft=True).status_code == 201
    assert campaign.put_qrels(ELSEWHERE).status_code == 201
    # Other judgment sets are not there either, released or not.
    assert campaign.put_qrels(qrels_text(2), judgments="second").status_code == 201
    assert campaign.put_qrels(qrels_text(3), judgments="third", draft=True).status_code == 201
    for state in ("hidden", "released"):
        if state == "released":
            assert campaign.put_qrels(OTHER_DOCUMENTS).status_code == 201
            warnings = campaign.organiser.get(f"{campaign.path}/runs/mine").json()["warnings"]
            assert "no-common-documents" in [each["code"] for each in warnings]
        campaign.organiser.patch(f"{campaign.path}/judgments/second", json={"state": state}).raise_for_status()
        after = _told(client, fill)
        assert [key for key in before if after[key] != before[key]] == []


def _normal(found, campaign, fill):
    """Without names, times, ids and hashes of ours; that an ETag is the hash of its body others test."""
    hidden = ((campaign.name, "NAME"), (fill["job"], "JOB"), (fill["report"], "REPORT"))

    def text(value):
        for own, common in hidden:
            value = value.replace(own, common)
        # The hash of an entry of the audit log stands for all entries before it, whose times are never the same.
        value = re.sub(r'"entry":"[0-9a-f]{64}"', '"entry":""', value)
        return re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)|[0-9a-f]{8}-[0-9a-f-]{27}", "X", value)

    return {
        key: (status, text(body), {name: text(value) for name, value in headers.items() if name != "etag"})
        for key, (status, body, headers) in found.items()
    }


def test_under_means_and_presets_nothing_but_the_scores_differs(still):
    seen_by_team = []
    for shift in (0, 2):
        campaign = Campaign(still, levels=3, topics=TOPICS, policy={"presets": ["P@1", "Recall(rel=3)@2"]})
        # The first documents of the team's run are judged the same, and what it lacks is not.
        first = "".join(f"{topic} 0 e{n} {n}\n" for topic in TOPICS for n in (1, 2, 3))
        campaign.put_qrels(first + qrels_text(shift, highest=2))
        own = _client(campaign, "participant")
        campaign.submit("".join(f"{t} Q0 e{n} {n} {9 - n} r\n" for t in TOPICS for n in (1, 2, 3)), own, name="mine")
        campaign.submit(rotated(2), team="team-1", name="theirs")
        campaign.submit(rotated(1), team="team-1", name="others")
        job = {"kind": "stability", "params": {"metrics": ["AP"], "trials": 5}}
        fill = _fill(campaign, campaign.organiser.post(f"{campaign.path}/jobs", json=job).json()["id"])
        found = _told(own, fill)
        assert found[next(key for key in found if key.endswith("/scores {}"))][0] == 200
        lists = ("GET /v1/collections {}", "GET /v1/collections {'limit': '1'}")
        seen_by_team.append({key: value for key, value in _normal(found, campaign, fill).items() if key not in lists})
    assert [key for key, value in seen_by_team[0].items() if seen_by_team[1][key] != value] == []
