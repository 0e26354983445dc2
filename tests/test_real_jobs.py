"""Every kind of job on 37 real runs, over HTTP, with the checks that a researcher would make."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gainboard.analyses.job_kinds import every_kind
from tests import real
from tests.waiting import over
from tests.world.servers import new_settings, serving

pytestmark = [pytest.mark.outer, pytest.mark.proof]

# What the organisers published under these names, and which metric it is.
COLUMNS = {
    "map": "AP",
    "map_l2": "AP(rel=2)",
    "ndcg": "MSnDCG(gains=linear)@1000",
    "ndcg_cut_10": "MSnDCG(gains=linear)@10",
    "recip_rank": "RR",
    "P_100": "P@100",
}
METRICS = ["AP", "Q", "nDCG@10", "RR", "P@10"]
LINE = '{"qid": "%s", %s"nuggets": [{"text": "river", "importance": "vital"%s}]}'
UNDER_ALL = "bootstrap-sensitivity leave-one-team-out rank-intervals stability swap-rate "
UNDER_ALL += "test-agreement concordance difficulty"
ASKED = {
    "rank-correlation": {
        "metrics": list(COLUMNS.values()),
        "coefficients": ["kendall", "spearman", "tau_ap", "rbo"],
        "against": "AP",
        "accuracy": True,
    },
    **{kind: {"metrics": METRICS} for kind in UNDER_ALL.split()},
    "gain-robustness": {"metrics": ["Q", "nDCG@10"]},
    "gain-vectors": {"cutoff": 50},
    "judgments": {"against": 1},
    "pool": {"depth": 10},
    "topic-set-size": {"metrics": METRICS, "difference": 0.1},
    "reproduction": {"metrics": METRICS, "pairs": [{"original": "idst_bert_p1", "baseline": "bm25base_p"}]},
    "judge-agreement": {"metrics": METRICS, "sets": ["second"]},
    "answer-agreement": {"metrics": ["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"]},
    "judge-validity": {"judges": ["official", "second"]},
    "corrected-means": {"metrics": METRICS, "judgments": "second", "trusted": "people", "sampled_at_random": True},
}


def second_judgments(service):
    """The judgments of a second judge, who takes what is a little relevant for more."""
    answer = service.organiser.get("/v1/collections/dl19/qrels/1", headers={"Accept": "text/plain"})
    return answer.text.replace(" 1\n", " 2\n")


def of_people(service):
    address, text = "/v1/collections/dl19/qrels/1", {"Accept": "text/plain"}
    lines = service.organiser.get(address, headers=text).text.splitlines(keepends=True)
    topics = sorted({line.split()[0] for line in lines})
    drawn = {topics[place] for place in np.random.default_rng(43).permutation(len(topics))[:22]}
    return "".join(line for line in lines if line.split()[0] in drawn)


@pytest.fixture(scope="module")
def published():
    found = real.published()
    return {label: {row["run"]: float(row[column]) for row in found} for column, label in COLUMNS.items()}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    real.folder()
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        real.load(service, "dl19", order_by="score32")
        text = second_judgments(service)
        path = "/v1/collections/dl19/qrels"
        assert service.organiser.put(path, params={"judgments": "second"}, content=text).status_code == 201
        assert service.organiser.put(path, params={"judgments": "people"}, content=of_people(service)).is_success
        topic = of_people(service).split()[0]
        lines = [LINE % (topic, "", ""), LINE % (topic, '"run_id": "rag", ', ', "assignment": "support"')]
        for path, line in zip(("nuggets", "answers/official", "answers/model"), [*lines, lines[1]], strict=True):
            assert service.organiser.put(f"/v1/collections/dl19/{path}", content=line).status_code == 201
        yield service


@pytest.fixture(scope="module")
def finished(loaded):
    asked = {}
    for kind, params in ASKED.items():
        answer = loaded.organiser.post("/v1/collections/dl19/jobs", json={"kind": kind, "params": params})
        assert answer.status_code == 202, answer.text
        asked[kind] = answer.json()["id"]
    return {kind: waited(loaded, job) for kind, job in asked.items()}


def waited(service, job):
    found = over(service.organiser, f"/v1/jobs/{job}", 240)
    assert found["state"] == "succeeded", found
    return found


@pytest.fixture(scope="module")
def results(loaded, finished):
    return {kind: loaded.organiser.get(job["result_url"]).json() for kind, job in finished.items()}


def by_metric(result):
    return {metric["metric"].split("(")[0]: metric for metric in result["metrics"]}


def test_every_kind_is_asked_for(results):
    # None of these runs is a replicate of another one.
    assert set(results) == {kind.name for kind in every_kind() if not kind.is_change} - {"noise"}
    assert all(result["collection"] == "dl19" for result in results.values())


def test_rankings_correlate_as_the_published_figures_do(results, published):
    found = results["rank-correlation"]
    for (row, one), (column, other) in combinations(enumerate(found["metrics"]), 2):
        x, y = list(published[one].values()), list(published[other].values())
        # Four decimals tie a few runs that are not.
        kendall, spearman = (found["coefficients"][name][row][column] for name in ("kendall", "spearman"))
        assert kendall == pytest.approx(stats.kendalltau(x, y).statistic, abs=0.01)
        assert spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=0.005)
        assert found["p_values"]["kendall"][row][column] < 0.001


def test_reciprocal_rank_is_the_least_sure_by_every_method(results):
    sensitivity = results["bootstrap-sensitivity"]["by_sensitivity"]
    widths = {
        name: np.mean([each["rank_set"][1] - each["rank_set"][0] for each in metric["ranks"]])
        for name, metric in by_metric(results["rank-intervals"]).items()
    }
    errors = {name: each["curve"][0]["minority_rate"] for name, each in by_metric(results["stability"]).items()}
    power = {name: each["discrimination_power"] for name, each in by_metric(results["swap-rate"]).items()}
    concordance, difficulty = results["concordance"], by_metric(results["difficulty"])
    consistency = zip([each["metric"] for each in concordance["metrics"]], concordance["consistency"], strict=True)
    found = {
        "bootstrap-sensitivity": sensitivity[-1],
        "rank-intervals": max(widths, key=widths.get),
        "stability": max(errors, key=errors.get),
        "swap-rate": min(power, key=power.get),
        "concordance": min((sum(row), name) for name, row in consistency)[1],
        "difficulty": min(difficulty, key=lambda name: difficulty[name]["generalisability"]),
    }
    assert found == dict.fromkeys(found, "RR")
    assert {label.split("(")[0] for label in sensitivity[:2]} == {"Q", "nDCG"}
    for metric in by_metric(results["swap-rate"]).values():
        assert sum(each["comparisons"] for each in metric["bins"]) == 666_000
        assert metric["bins"][0]["swap_rate"] > 0.3 > 0.05 > metric["bins"][-1]["swap_rate"]
    assert all(sum(each["counts"].values()) == concordance["pairs"] == 666 for each in concordance["comparisons"])


def test_the_pool_is_some_ten_deep_and_fair_to_most_teams(results):
    found = results["leave-one-team-out"]
    assert (found["pool_depth"], found["estimated"], len(found["teams"])) == (9, True, 12)
    assert sum(team["unique"] for team in found["teams"]) + found["in_no_pool"] < found["judged"] == 9260
    # These stay judged whichever team is left out.
    assert found["in_no_pool"] == 6997
    for metric in found["metrics"]:
        assert metric["mean_change"] < 0.05
        (lone,) = (team for team in metric["teams"] if team["team"] == "Brown")
        assert {run["change"] for run in lone["runs"]} == {0}
        assert lone["tau"] == pytest.approx(1)
        assert min(team["tau"] for team in metric["teams"]) > 0.8


def test_a_pool_of_depth_ten_is_what_was_judged_but_for_one_document(loaded, results):
    """TREC 2019's assessors judged the first ten documents of these runs, and many more that a classifier chose."""
    found = results["pool"]
    pooled = {(each["topic"], document) for each in found["pool"] for document in each["documents"]}
    assert (found["documents"], len(pooled), len(found["topics"])) == (2495, 2495, 43)
    levels = [line.split() for line in (real.folder() / "qrels.dl19-passage.txt").read_text().splitlines()]
    judged = {(topic, document) for topic, _, document, _ in levels}
    assert len(pooled & judged) == 2494
    (pool,) = loaded.organiser.get("/v1/jobs", params={"collection": "dl19", "kind": "pool"}).json()["items"]
    asked = {"kind": "leave-one-team-out", "params": {"metrics": ["AP"], "pool": pool["id"]}}
    job = loaded.organiser.post("/v1/collections/dl19/jobs", json=asked).json()
    fair = loaded.organiser.get(waited(loaded, job["id"])["result_url"]).json()
    assert (fair["pool_depth"], fair["estimated"], fair["topics"]) == (10, False, 42)


def test_judgments_are_those_of_the_published_overview(results):
    found = results["judgments"]
    judged = [line.split() for line in (real.folder() / "qrels.dl19-passage.txt").read_text().splitlines()]
    levels = [sum(int(level) == each for *_, level in judged) for each in range(4)]
    assert (found["topics"], found["judged"]) == (43, 9260)
    assert [each["documents"] for each in found["levels"]] == levels == [5158, 1601, 1804, 697]
    assert [found["against"]["crossed"][level][level] for level in range(4)] == levels
    assert sum(map(sum, found["against"]["crossed"])) == found["against"]["documents"] == 9260
