"""Bounds for unjudged documents and the numbers of users, for those who may see the judgments."""

import pytest

from tests.world.campaigns import codes, judged, refused
from tests.world.people import Person

QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n3 0 z 0\n"
PARTLY = "".join(f"1 Q0 {doc} {rank} {9 - rank} partly\n" for rank, doc in enumerate("uabc", 1)) + "2 Q0 a 1 1 partly\n"
WHOLLY = "1 Q0 a 1 3 wholly\n1 Q0 c 2 2 wholly\n2 Q0 a 1 1 wholly\n3 Q0 q 1 1 wholly\n"


@pytest.fixture
def campaign(shared):
    return judged(shared, PARTLY, WHOLLY, qrels=QRELS)


def numbers_of(answer, metric):
    return {row["name"]: row["numbers"].get(metric) for row in answer.get("rows") or answer["runs"]}


@pytest.mark.parametrize("path", ["/scores", "/leaderboard"])
def test_bounds_are_beside_scores_and_boards(campaign, path):
    answer = campaign.read(path, metric=["AP", "RR"], bounds="true")
    # u is relevant, too: (1/1 + 2/2 + 3/3)/3 on topic 1. Topic 3 has no score, whatever q is.
    assert numbers_of(answer, "AP") == {
        "partly": {"unjudged_nonrelevant": pytest.approx((7 / 12 + 1) / 2), "unjudged_relevant": 1.0},
        "wholly": {"unjudged_nonrelevant": 0.75, "unjudged_relevant": 0.75},
    }
    assert campaign.read(path, metric="AP") == {
        key: [{name: value for name, value in row.items() if name != "numbers"} for row in value]
        if key in ("rows", "runs")
        else value
        for key, value in campaign.read(path, metric="AP", bounds="true").items()
    }


def test_numbers_of_users_are_beside_scores(campaign):
    answer = campaign.read("/scores", metric=["AP", "RR", "INST"], cwl="true", run="partly")
    assert numbers_of(answer, "RR")["partly"] == {"EU": 0.75, "ETU": 1.0, "EC": 1.0, "ETC": 1.5, "EI": 1.5}
    (run,) = answer["runs"]
    inst = next(label for label in run["mean"] if label.startswith("INST"))
    assert run["numbers"].keys() == {"RR", inst}
    assert run["numbers"][inst]["EU"] == pytest.approx(run["mean"][inst], rel=1e-14)


def test_uploaded_scores_have_neither(campaign):
    campaign.organiser.put(
        f"{campaign.path}/score-matrices/mine", content="run,topic,value\npartly,1,.5\nwholly,1,.4\n"
    ).raise_for_status()
    answer = campaign.read("/scores", metric=["AP", "custom:mine"], bounds="true", cwl="true")
    assert [*answer["runs"][0]["numbers"]] == ["AP"]


@pytest.mark.parametrize("what", ["bounds", "cwl"])
@pytest.mark.parametrize("path", ["/scores", "/leaderboard"])
def test_while_judgments_are_hidden_both_are_for_organisers(campaign, path, what):
    policy = {"scores": "all", "parameters": "free"}
    assert campaign.change(topics="from-qrels", policy=policy).status_code == 200
    own = campaign.client("participant", "lemur")
    assert campaign.get(path, own, metric="RR").status_code == 200
    assert refused(campaign.get(path, own, metric="RR", **{what: "true"})) == (403, "judgments-hidden")
    assert campaign.get(path, own, metric="RR", **{what: "false"}).status_code == 200
    campaign.release()
    assert "numbers" in str(campaign.read(path, own, metric="RR", **{what: "true"}))


def test_only_json_has_a_place_for_them(campaign):
    for query in ({"bounds": "true", "format": "csv"}, {"cwl": "true", "format": "trec_eval", "run": "partly"}):
        assert codes(campaign.get("/scores", metric="RR", **query)) == ["json-only"]
    for query in ({"bounds": "true", "format": "csv"}, {"cwl": "true", "format": "latex"}):
        assert codes(campaign.get("/leaderboard", metric="RR", **query)) == ["json-only"]


def test_pages_show_both_to_whoever_sees_the_judgments(campaign):
    organiser = Person(campaign.service, campaign.token("organiser"))

    def page(query):
        return organiser.get(f"/c/{campaign.name}{query}").text

    # A line and two ends for each of two runs.
    assert page("?metric=AP&bounds=true").count('<line class="whisker"') == 6
    assert "whisker" not in page("?metric=AP")
    shown = page("/runs/partly?metric=RR&cwl=true")
    assert "EI, documents read" in shown
    assert shown.count('<td class="num">1.5000</td>') == 2
    assert "cwl=true" in page("/runs/partly?metric=RR")
