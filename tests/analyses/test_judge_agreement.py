"""judge-agreement: what it says of judgment sets, against the definitions and other tools."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from gainboard.store.records import VersionName
from tests.world.groves import planted

KIND = "judge-agreement"
SECOND = VersionName("second", 1)


def text(levels):
    return "".join(f"{topic} 0 {document} {level}\n" for (topic, document), level in levels.items())


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A campaign with the sets `second`, a noisy copy of the newer half, `half` and `none`."""
    laboratory = planted(tmp_path_factory.mktemp("judged"))
    official, random = laboratory.levels(2), np.random.default_rng(5)
    noisy = {
        pair: int(np.clip(level + random.choice([-1, 0, 0, 0, 1]), -1, 3))
        for pair, level in official.items()
        if random.random() < 0.8
    }
    laboratory.judge(text(noisy | {("101", "unknown"): 2}), "second")
    half = {pair: level for number, (pair, level) in enumerate(official.items()) if number % 2}
    laboratory.judge(text(half), "half")
    laboratory.judge(text(dict.fromkeys(official, 0)), "none")
    return laboratory


@pytest.fixture(scope="module")
def found(judged):
    params = {"metrics": ["AP", "nDCG@10"], "sets": ["second"], "flagged": ["birch"], "resamples": 300}
    return judged.answer(KIND, **params)


def means(laboratory, metric, *versions):
    """The mean of each run under each version, over the topics that are defined under all of them."""
    tables = [next(iter(laboratory.scores(metric, version=each).values())) for each in versions]
    rows = [row for table in tables for row in table.values()]
    topics = [topic for topic in rows[0] if all(row.get(topic) is not None for row in rows)]
    return [
        {run: float(np.mean([row[topic] or 0.0 for topic in topics])) for run, row in table.items()} for table in tables
    ]


def common(judged):
    """The levels that both sets give to the pairs that both judge."""
    official, second = judged.levels(2), judged.levels(1, "second")
    pairs = sorted(official.keys() & second.keys())
    return [official[pair] for pair in pairs], [second[pair] for pair in pairs]


def test_labels_are_those_of_the_pairs_that_both_judge(judged, found):
    first, second = common(judged)
    (each,) = found["sets"]
    assert (each["judgments"], each["qrels_version"]) == ("second", 1)
    assert each["common_pairs"] == len(first) == sum(map(sum, each["confusion"]))
    official = judged.levels(2)
    assert (each["only_reference"], each["only_set"]) == (len(official) - len(first), 1)
    assert each["confusion"][1][2] == sum(pair == (1, 2) for pair in zip(first, second, strict=True))
    labels = each["labels"]
    for name, weights in (("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        expected = cohen_kappa_score(first, second, weights=weights, labels=range(4))
        assert labels[name]["value"] == pytest.approx(expected, abs=1e-12)
        low, high = labels[name]["interval"]
        assert low < labels[name]["value"] < high
    two = [[level >= 1 for level in levels] for levels in (first, second)]
    assert labels["kappa"]["value"] == pytest.approx(cohen_kappa_score(*two), abs=1e-12)
    assert each["leniency"]["bias"]["value"] == pytest.approx(np.mean(second) - np.mean(first), abs=1e-12)


def test_runs_are_scored_on_the_pairs_that_both_judge(judged, found):
    official, second = judged.levels(2), judged.levels(1, "second")
    pairs = official.keys() & second.keys()
    for name, levels in (("cut", official), ("cut-second", second)):
        judged.judge(text({pair: levels[pair] for pair in pairs}), name)
    for metric in found["sets"][0]["metrics"]:
        rows = {row["run"]: row for row in metric["runs"]}
        cut = means(judged, metric["metric"], VersionName("cut"), VersionName("cut-second"))
        assert metric["reason"] is None
        for run, row in rows.items():
            assert row["mean_reference"] == pytest.approx(cut[0][run], abs=1e-12)
            assert row["mean"] == pytest.approx(cut[1][run], abs=1e-12)
        tau = stats.kendalltau(*[[each[run] for run in rows] for each in cut]).statistic
        assert metric["correlations"]["tau"]["value"] == pytest.approx(tau)
        rises = {run: row["rise"] for run, row in rows.items()}
        others = [rise for run, rise in rises.items() if run != "birch"]
        assert (metric["flagged"]["runs"], metric["flagged"]["mean_rise"]) == (["birch"], rises["birch"])
        assert metric["flagged"]["mean_rise_of_others"] == pytest.approx(np.mean(others))
        assert metric["differences"]["mean"] == pytest.approx(np.mean([cut[1][run] - cut[0][run] for run in rows]))


def test_the_overlap_of_rankings_that_tie_the_same_runs_is_1(judged):
    answer = judged.answer(KIND, metrics=["AP"], sets=["second"], runs=["yew", "hazel", "oak"], resamples=10)
    found = answer["sets"][0]["metrics"][0]["correlations"]
    assert found["tau"]["reason"] is None
    assert found["rbo"] == {"value": 1, "reason": None}


def test_all_pairs_are_those_that_each_set_judges(judged):
    answer = judged.answer(KIND, metrics=["AP"], sets=["second"], pairs="all", resamples=10)
    (metric,) = answer["sets"][0]["metrics"]
    rows = {row["run"]: row for row in metric["runs"]}
    official, second = means(judged, "AP", VersionName(version=2), SECOND)
    for run, row in rows.items():
        assert (row["mean_reference"], row["mean"]) == pytest.approx((official[run], second[run]), abs=1e-12)


def test_what_is_undefined_is_null_with_the_reason(judged):
    answer = judged.answer(KIND, metrics=["AP"], sets=["none"], resamples=20)
    (each,) = answer["sets"]
    assert each["labels"]["kappa"]["value"] == 0
    assert each["macro"]["precision"]["value"] is None
    assert "no relevant document" in each["macro"]["precision"]["reason"]
    (metric,) = each["metrics"]
    assert (metric["topics"], metric["correlations"], metric["runs"]) == (0, None, [])
    assert "none of the topics" in metric["reason"]


def test_labels_that_are_all_equal_have_no_kappa_and_no_alpha(judged):
    official = judged.levels(2)
    judged.judge(text(dict.fromkeys(official, 0)), "nothing")
    answer = judged.answer(KIND, metrics=["AP"], judgments="none", sets=["nothing"], resamples=20)
    labels, alpha = answer["sets"][0]["labels"], answer["krippendorff"]["ordinal"]
    for each in (labels["kappa"], labels["kappa_linear"], alpha):
        assert (each["value"], each["interval"]) == (None, None)
        assert "no disagreement is expected" in each["reason"]
    assert labels["agreement"]["value"] == 1
