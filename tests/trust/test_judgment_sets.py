"""Other judgment sets do not exist for participants while judgments are hidden, nor before their own release."""

import pytest

from tests.api.routes import seen
from tests.world.campaigns import refused, token_of
from tests.world.groves import few_trusted
from tests.world.laboratories import Laboratory, qrels_text
from tests.world.people import Person

THERE, ABSENT = "second", "absent"
POLICIES = [{}, {"scores": "own-mean", "presets": ["AP"]}, {"scores": "all", "parameters": "free"}]
"""Policies of a hidden phase: the default, one with scores of one's own, and one that gives all scores away."""
READS = (
    "/qrels",
    "/qrels/1",
    "/qrels/1/impact",
    "/scores?metric=AP",
    "/scores?metric=AP&topics=all&format=csv",
    "/leaderboard?metric=AP",
    "/compare?run=run-0&run=run-1",
    "/compare?baseline=run-0",
    "/sweep?metric=Q&beta=1",
    "/runs/run-0/profile",
    "/topics/1/rankings",
)
JOBS = (
    ("stability", {"judgments": "SET"}),
    ("judgments", {"against": {"judgments": "SET"}, "metrics": None}),
    ("rank-correlation", {"metrics": ["AP", {"metric": "AP", "judgments": "SET"}]}),
    ("rank-correlation", {"metrics": ["AP"], "against": "AP (judgments SET, qrels 1)"}),
    ("judge-agreement", {"sets": ["SET"]}),
    ("judge-agreement", {"judgments": "SET", "sets": [{"qrels": 1}]}),
    ("judge-validity", {"judges": ["official", "SET"], "metrics": None}),
    ("corrected-means", {"trusted": "SET", "sampled_at_random": True}),
    ("corrected-means", {"judgments": "SET", "trusted": {"qrels": 1}, "sampled_at_random": True}),
    ("judge", {"judgments": "SET", "qrels": 1, "metrics": None}),
)
PAGES = (
    "/c/NAME",
    "/c/NAME/judgments",
    "/c/NAME/judgments/1",
    "/c/NAME/topics",
    "/c/NAME/topics/1",
    "/c/NAME/compare?run=run-0&run=run-1",
    "/c/NAME/compare.json?run=run-0&run=run-1",
    "/c/NAME/runs/run-0",
    "/c/NAME/board.json",
    "/c/NAME/scores.json",
    "/c/NAME/qrels.json",
    "/embed/c/NAME",
)


def named(value, name):
    if isinstance(value, dict):
        return {key: named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [named(each, name) for each in value]
    return value.replace("SET", name) if isinstance(value, str) else value


def asked(lab, client, name):
    """All that a client sees of the answers to requests that name a set."""
    found = {}
    for path in READS:
        joint = "&" if "?" in path else "?"
        found[path] = client.get(f"{lab.path}{path}{joint}judgments={name}")
    found["corrected"] = client.get(f"{lab.path}/leaderboard?metric=AP&corrected_by={name}")
    for kind, params in JOBS:
        sent = {key: each for key, each in ({"metrics": ["AP"]} | named(params, name)).items() if each is not None}
        found[f"{kind} {params}"] = client.post(f"{lab.path}/jobs", json={"kind": kind, "params": sent})
    report = {"name": "q-measure-appendix", "collections": [lab.name], "params": {"judgments": {lab.name: name}}}
    found["report"] = client.post("/v1/reports", json=report)
    for path in (f"{lab.path}/judgments", "/v1/me/limits", "/v1/jobs", f"{lab.path}/runs"):
        found[path] = client.get(path)
    found["release"] = client.patch(f"{lab.path}/judgments/{name}", json={"state": "released"})
    found["delete"] = client.delete(f"{lab.path}/judgments/{name}")
    return {what: seen(answer, {name: "NAME"}) for what, answer in found.items()}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("state", ["hidden", "released"])
def test_while_judgments_are_hidden_a_set_looks_like_one_that_is_not_there(still, policy, state):
    lab = Laboratory(still)
    lab.change(policy=policy)
    assert lab.put_qrels(qrels_text(1), judgments=THERE).status_code == 201
    lab.organiser.patch(f"{lab.path}/judgments/{THERE}", json={"state": state}).raise_for_status()
    client = lab.client("participant", "team-0")
    there, absent = asked(lab, client, THERE), asked(lab, client, ABSENT)
    assert [what for what in there if there[what] != absent[what]] == []
    assert 200 not in [status for what, (status, *_) in there.items() if "judgments" not in what and "/v1/" not in what]
    with_sets = [what for what, (_, body, _) in there.items() if THERE in body and "NAME" not in body]
    assert with_sets == []


def test_jobs_over_a_set_are_not_there_and_tell_nothing_of_themselves(still):
    lab = Laboratory(still)
    lab.put_qrels(qrels_text(1), judgments=THERE)
    jobs = [
        lab.worked(lab.ask("judge-agreement", metrics=["AP"], sets=[THERE], resamples=10)),
        lab.worked(lab.ask("stability", metrics=["AP"], trials=5, judgments=THERE)),
        lab.worked(lab.ask("judge-validity", judges=["official", THERE], resamples=10)),
    ]
    client = lab.client("participant", "team-0")
    for released in (False, True):
        if released:
            lab.release()
        for job in jobs:
            for path in ("", "/result", "/events", "/tables/labels.csv", "/figures/confusion.svg"):
                assert refused(client.get(f"/v1/jobs/{job['id']}{path}")) == (404, "not-found")
            assert refused(client.delete(f"/v1/jobs/{job['id']}")) == (404, "not-found")
    assert jobs[0]["id"] not in client.get("/v1/jobs", params={"collection": lab.name}).text
    person, judges = Person(still, token_of(client)), f"/c/{lab.name}/judges"
    assert f"Beside official/1, {THERE}/1" in Person(still, token_of(lab.organiser)).get(judges).text
    assert f"{THERE}/1" not in (text := person.get(judges).text)
    assert ">official</textarea>" in text


def test_an_answer_that_is_kept_in_memory_is_not_for_everybody(still, monkeypatch):
    lab = Laboratory(still)
    lab.put_qrels(qrels_text(1), judgments=THERE)
    lab.release(public=True)
    reader = lab.client("reader")
    few_trusted(monkeypatch)
    lab.put_qrels("".join(line for line in qrels_text(2).splitlines(True) if line[0] in "1234"), judgments="people")
    named = [f"{path}{'&' if '?' in path else '?'}judgments={THERE}" for path in READS[3:]]
    for path in [*named, "/leaderboard?metric=P@2&corrected_by=people"]:
        address = f"{lab.path}{path}"
        first = lab.organiser.get(address)
        assert first.status_code == 200, first.text
        for client in (reader, still.anonymous):
            assert refused(client.get(address)) == (404, "not-found"), path
            again = client.get(address, headers={"If-None-Match": first.headers["etag"]})
            assert again.status_code == 404


def test_pages_of_the_dashboard_show_a_set_to_whom_the_api_does(still):
    lab = Laboratory(still)
    lab.put_qrels(qrels_text(1), judgments=THERE)
    token = lab.organiser.post(f"{lab.path}/tokens", json={"role": "participant", "team": "team-0"}).json()["token"]
    person = Person(still, token)

    def pages(name):
        found = {}
        asked = {path: f"{path}{'&' if '?' in path else '?'}judgments={name}" for path in PAGES}
        asked["corrected"] = f"/c/NAME?corrected_by={name}"
        for path, address in asked.items():
            answer = person.get(address.replace("NAME", lab.name))
            found[path] = answer.status_code
            assert answer.status_code != 500
        return found

    def named(address):
        return person.get(address).text.replace(f'class="{THERE}"', "")  # of buttons

    assert pages(THERE) == pages(ABSENT)
    lab.release(public=True)
    assert pages(THERE) == pages(ABSENT)
    assert THERE not in named(f"/c/{lab.name}/judgments")
    lab.organiser.patch(f"{lab.path}/judgments/{THERE}", json={"state": "released"}).raise_for_status()
    after = pages(THERE)
    assert {path: status for path, status in after.items() if status != 200} == {
        "/c/NAME/judgments/1": 403,
        "corrected": 422,  # it is there, and has too few topics
    }
    assert THERE in named(f"/c/{lab.name}/judgments")
    change = person.post(f"/c/{lab.name}/judgment-sets/{THERE}/hidden", csrf=person.csrf)
    assert change.status_code == 403
