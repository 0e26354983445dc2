"""Runs compared topic by topic: the statistics are those of SciPy, and only who sees free scores sees them."""

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test, ttest_1samp, ttest_rel

from gainboard.evaluation.boards import pair_statistics
from gainboard.statistics.bootstrap_range import bootstrap_ranges, range_levels
from tests.analyses import plain_tests
from tests.world.campaigns import RUN, Campaign, codes, judged, run_text

PAIR = ["run-1", "run-3"]


@pytest.fixture(scope="module")
def clear(shared):
    """30 topics, on most of which `best` is better than `rest`: too many topics for every combination of signs."""
    campaign = Campaign(shared)
    topics = [str(number) for number in range(1, 31)]
    campaign.put_qrels("".join(f"{topic} 0 good 2\n{topic} 0 fair 1\n" for topic in topics) + "99 0 bad 0\n")
    ways = [["good", "fair"], ["bad", "good", "fair"], ["bad", "other", "fair"]]
    better = {topic: ways[number % 3 // 2] for number, topic in enumerate(topics)}
    worse = {topic: ways[number % 5 % 3] for number, topic in enumerate(topics)}
    campaign.submit(run_text(better, "best"))
    campaign.submit(run_text(worse, "rest"))
    return campaign


def compared(campaign, *metrics, run=PAIR, **query):
    return campaign.read("/compare", run=run, metric=metrics, **query)["comparisons"]


def scores_of(found):
    return np.array([row["a"] for row in found["topics"]]), np.array([row["b"] for row in found["topics"]])


def levels(found):
    return {test["name"]: test["asl"] for test in found["tests"]}


@pytest.mark.parametrize("metric", ["AP", "Q", "nDCG@3"])
def test_levels_interval_and_effect_size_are_those_of_scipy(lab, metric):
    (found,) = compared(lab, metric)
    a, b = scores_of(found)
    peer = ttest_rel(a, b)
    flips = permutation_test((a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf)
    signs = np.sign(np.round(a - b, 12))
    assert {name: asl for name, asl in levels(found).items() if "bootstrap" not in name} == pytest.approx(
        {
            "t-test": peer.pvalue,
            "randomisation": flips.pvalue,
            "wilcoxon": plain_tests.wilcoxon([z for z in np.round(a - b, 12).tolist() if z]),
            "sign": binomtest(int((signs > 0).sum()), int((signs != 0).sum())).pvalue,
        }
    )
    assert found["interval"] == pytest.approx(list(peer.confidence_interval(0.95)))
    assert found["effect_size"] == pytest.approx((a - b).mean() / (a - b).std(ddof=1))


def test_scores_and_means_are_those_of_scores_and_the_largest_difference_is_first(lab):
    (found,) = compared(lab, "Q", gains="10:5:1", beta="0.5")
    scores = lab.scores("Q", run=PAIR, topics="all", gains="10:5:1", beta="0.5")
    label = found["metric"]
    own = [run["topics"][label] for run in scores["runs"]]
    seen = {row["topic"]: [row["a"], row["b"]] for row in found["topics"]}
    assert seen == {topic: [each[topic] for each in own] for topic in own[0] if own[0][topic] is not None}
    assert found["mean"] == [run["mean"][label] for run in scores["runs"]]
    differences = [row["difference"] for row in found["topics"]]
    assert differences == sorted(differences, reverse=True)
    assert found["difference"] == pytest.approx(sum(differences) / len(differences))
    assert found["won"] + found["lost"] + found["tied"] == found["topics_scored"] == len(differences)


def test_a_drawn_level_states_its_resamples_and_seed_and_an_exact_one_has_no_seed(lab, clear):
    def drawn(found):
        return {test["name"]: (test["resamples"], test["seed"]) for test in found["tests"]}

    few, many = drawn(compared(lab, "AP")[0]), drawn(compared(clear, "AP", run=["best", "rest"])[0])
    assert (few["randomisation"], many["randomisation"]) == ((2**6, None), (10_000, 0))
    assert few["paired-bootstrap"] == many["paired-bootstrap"] == (1000, 0)
    assert few["t-test"] == many["wilcoxon"] == (None, None)


def test_without_the_topics_that_decide_the_difference_is_not_significant(lab, clear):
    (found,) = compared(clear, "AP", run=["best", "rest"])
    assert levels(found)["t-test"] < found["alpha"]
    assert (found["topics_scored"], found["topics_undefined"]) == (30, ["99"])
    deciding = found["deciding_topics"]
    assert deciding == [row["topic"] for row in found["topics"]][: len(deciding)] != []
    a, b = (side[len(deciding) :] for side in scores_of(found))
    assert ttest_rel(a, b).pvalue >= found["alpha"]
    a, b = (side[len(deciding) - 1 :] for side in scores_of(found))
    assert ttest_rel(a, b).pvalue < found["alpha"]
    (found,) = compared(lab, "AP")
    assert (levels(found)["t-test"] >= found["alpha"], found["deciding_topics"]) == (True, [])


def test_a_geometric_mean_and_a_single_topic_have_no_tests(lab, shared):
    single = judged(shared, RUN, run_text({"2": ["good"]}, "other"))
    single.put_qrels("1 0 good 1\n2 0 bad 0\n")
    found = [*compared(lab, "AP(mean=geometric)"), *compared(single, "AP", run=["tag", "other"])]
    for each in found:
        assert (each["difference"], each["interval"], each["effect_size"]) == (None, None, None)
        assert (each["tests"], each["deciding_topics"]) == ([], [])
    assert [(each["won"], each["topics_scored"]) for each in found][1] == (1, 1)


def test_equivalence_is_two_one_sided_tests_and_needs_a_margin(lab):
    (found,) = compared(lab, "AP", margin=0.4)
    a, b = scores_of(found)
    above = ttest_1samp(a - b, -0.4, alternative="greater")
    below = ttest_1samp(a - b, 0.4, alternative="less")
    asl = max(above.pvalue, below.pvalue)
    assert found["equivalence"] == {
        "margin": 0.4,
        "asl": pytest.approx(asl),
        "asl_holm": pytest.approx(asl),
        "interval": pytest.approx(list(ttest_rel(a, b).confidence_interval(0.9))),
        "is_equivalent": asl < 0.05,
        "no_level_because": None,
    }


def test_a_topic_that_turns_or_tips_the_difference_alone_is_named(clear):
    (found,) = compared(clear, "AP", run=["best", "rest"])
    a, b = scores_of(found)
    z, topics = a - b, [row["topic"] for row in found["topics"]]
    others = [np.delete(z, place) for place in range(len(z))]
    turning = [topic for topic, rest in zip(topics, others, strict=True) if np.sign(rest.mean()) != np.sign(z.mean())]
    own = ttest_1samp(z, 0).pvalue < found["alpha"]
    tipping = [topic for topic, rest in zip(topics, others, strict=True) if (ttest_1samp(rest, 0).pvalue < 0.05) != own]
    assert (sorted(found["turning_topics"]), sorted(found["tipping_topics"])) == (sorted(turning), sorted(tipping))


def test_every_other_run_is_compared_with_each_baseline(lab):
    answer = lab.get("/compare", baseline=["run-1", "run-2"], metric=["AP", "Q"]).json()
    names = [run["name"] for run in answer["runs"]]
    others = [name for name in names if name not in ("run-1", "run-2")]
    pairs = [(run, baseline) for baseline in ("run-1", "run-2") for run in others]
    found = [(each["metric"], each["run"], each["baseline"]) for each in answer["comparisons"]]
    assert found == [(label, *pair) for label in answer["metrics"] for pair in pairs]
    single = compared(lab, "Q", run=[others[0], "run-1"])[0]
    among = next(each for each in answer["comparisons"] if each["metric"] == single["metric"])
    for name, value in single.items():
        if name not in ("tests", "detectable_difference"):
            assert among[name] == value
    # For more pairs together, a difference must be larger to be shown.
    assert among["detectable_difference"] > single["detectable_difference"] > 0
    together, alone = levels(among), levels(single)
    # The range is of all runs of the request, so more runs make it wider.
    assert together.pop("bootstrap-range") >= alone.pop("bootstrap-range")
    assert together == alone


def test_levels_are_corrected_for_exactly_the_pairs_of_the_request(lab):
    found = lab.get("/compare", baseline="run-1", metric="AP", margin=0.3).json()["comparisons"]
    *single, by_range = levels(found[0])
    assert by_range == "bootstrap-range"
    assert {each["tests"][-1]["asl_holm"] for each in found} == {None}
    for number, name in enumerate(single):
        own = [each["tests"][number] for each in found]
        # A share of the resamples is above 0 before it is corrected.
        shift = (lambda asl: (1 + 1000 * asl) / 1001) if name == "paired-bootstrap" else float
        ordered = sorted(shift(test["asl"]) for test in own)
        for test in own:
            place = ordered.index(shift(test["asl"]))
            expected = max(min(1, (len(own) - j) * ordered[j]) for j in range(place + 1))
            assert test["asl_holm"] == pytest.approx(expected)
            expected = min(1, *(len(own) * ordered[j] / (j + 1) for j in range(place, len(own))))
            assert test["asl_benjamini_hochberg"] == pytest.approx(expected)
            assert (test["asl_max_t"] is None) == (name != "paired-bootstrap")
            if test["asl_max_t"] is not None:
                assert test["asl"] <= test["asl_max_t"] <= 1
                assert test["resamples_needed"] == 20 * len(own)
    few = lab.get("/compare", baseline="run-1", run=["run-0", "run-3"], metric="AP").json()["comparisons"]
    assert [each["run"] for each in few] == ["run-0", "run-3"]
    assert few[0]["tests"][0]["asl_holm"] <= found[0]["tests"][0]["asl_holm"]


def test_the_bootstrap_range_is_of_all_runs_of_the_request(lab):
    names = ["run-0", "run-2", "run-3"]
    found = lab.get("/compare", baseline="run-1", run=names, metric="AP").json()["comparisons"]
    by_topic = lab.scores("AP", run=[*names, "run-1"], topics="all")["runs"]
    scores = np.array([[score for score in run["topics"]["AP"].values() if score is not None] for run in by_topic])
    ranges = bootstrap_ranges(scores, 10_000)
    for each in found:
        test = each["tests"][-1]
        assert (test["name"], test["resamples"], test["seed"], test["note"]) == ("bootstrap-range", 10_000, 0, None)
        assert test["asl"] == range_levels(np.array([each["difference"]]), ranges)[0]


def test_a_request_is_for_a_limited_number_of_scores_and_pairs(lab, monkeypatch):
    def told(*metrics, **query):
        answer = lab.get("/compare", metric=metrics, **query)
        return 200 if answer.is_success else codes(answer)

    monkeypatch.setattr(pair_statistics, "MOST_SCORES", 3 * 2 * 8)
    assert told("AP", "Q", "RR", run=PAIR) == 200
    assert told("AP", "Q", "RR", "P@1", run=PAIR) == ["too-many"]
    monkeypatch.setattr(pair_statistics, "MOST_SCORES", 10_000)
    monkeypatch.setattr(pair_statistics, "MOST_PAIRS", 2)
    assert told("AP", "Q", baseline="run-0", run="run-1") == 200
    assert told("AP", "Q", "RR", baseline="run-0", run="run-1") == ["too-many"]
