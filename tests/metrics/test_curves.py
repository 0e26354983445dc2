"""Gain by rank and precision by recall agree with the metrics and with the definition, rank by rank."""

import math

import numpy as np
import pytest
import pytrec_eval

from gainboard.metrics import CurvesOfRun, JudgedRuns, Scale, judged_share, mean_of, parse_gains, resolve

from .judged import joined, judged, judgments, scores_of

H, DEPTH = 3, 40
SETTINGS = [
    {"gains": "3:2:1", "base": "2"},
    {"gains": "10:5:1", "base": "10", "rel": "2"},
    {"gains": "adjust(3:2:1)", "base": "1.5"},
    {"gains": "5:0:0", "base": "2", "condensed": "true"},
    {"gains": "exp", "base": "200", "rel": "3", "condensed": "true"},
]


def campaign(topics=30, seed=13):
    return JudgedRuns.of([run_of_campaign(topics, seed)[1]], judgments(run_of_campaign(topics, seed)[0], H))


def run_of_campaign(topics=30, seed=13):
    """Topics of all kinds: nothing relevant, nothing of the top level, no ranking, short and long ones."""
    rng = np.random.default_rng(seed)
    qrels = {f"t{t}": {f"d{d}": int(rng.integers(-1, 1 + t % (H + 1))) for d in range(t + 1)} for t in range(topics)}
    run = {}
    for number, (topic, levels) in enumerate(qrels.items()):
        documents = rng.permutation([*levels, *(f"u{d}" for d in range(20))])[: 0 if number % 7 == 3 else 2 * number]
        run[topic] = [str(document) for document in documents]
    return qrels, joined(qrels, run)


def gain_curves(runs, setting, upto):
    found = CurvesOfRun(runs, 0, int(setting.get("rel", 1)), "condensed" in setting)
    return found.gain(parse_gains(setting["gains"], H), float(setting["base"]), upto)


def expected_curve(rankings, name, setting, upto):
    own = {key: value for key, value in setting.items() if key != "base" or "DCG" in name}
    arguments = ",".join(f"{key}={value}" for key, value in own.items())
    metrics = [resolve(f"{name}({arguments})@{rank}", Scale(H, DEPTH)) for rank in range(1, upto + 1)]
    return [float(mean_of(metric, scores_of(metric, rankings))) for metric in metrics]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting["gains"])
@pytest.mark.parametrize("upto", [7, DEPTH])
def test_a_curve_is_the_metric_at_every_cut_off(setting, upto):
    rankings = campaign()
    found = gain_curves(rankings, setting, upto)
    assert list(found) == ["CG", "DCG", "nCG", "nDCG"]
    for name, curve in found.items():
        np.testing.assert_allclose(curve, expected_curve(rankings, name, setting, upto), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS[:3], ids=lambda setting: setting["gains"])
def test_the_ideal_gain_is_the_cumulated_gain_of_a_run_that_ranks_ideally(setting):
    qrels, run = run_of_campaign()
    ideal = {topic: sorted(levels, key=lambda document: -levels[document]) for topic, levels in qrels.items()}
    rel, gains = int(setting.get("rel", 1)), parse_gains(setting["gains"], H)
    expected = CurvesOfRun(judged(qrels, ideal), 0, rel).gain(gains, 2, DEPTH)["CG"]
    found = CurvesOfRun(JudgedRuns.of([run], judgments(qrels, H)), 0, rel).ideal_gain(gains, DEPTH)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_precision_by_recall_is_that_of_trec_eval(seed):
    rng = np.random.default_rng(seed)
    qrels = {f"t{t}": {f"d{d}": int(rng.integers(0, 3)) for d in range(t + 1)} for t in range(40)}
    # trec_eval computes 0.7 * 3 + 0.9 in floating point, and so needs two documents of 3 at recall 0.7, not three.
    odd = {3, 23, 33}
    qrels = {topic: levels for topic, levels in qrels.items() if sum(map(bool, levels.values())) not in odd}
    run = {topic: [str(each) for each in rng.permutation([*levels, "u1", "u2"])] for topic, levels in qrels.items()}
    scores = {topic: {each: -float(rank) for rank, each in enumerate(ranking)} for topic, ranking in run.items()}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(scores)
    relevant = [topic for topic, levels in qrels.items() if any(levels.values())]
    expected = [np.mean([peer[t][f"iprec_at_recall_{step / 10:.2f}"] for t in relevant]) for step in range(11)]
    np.testing.assert_allclose(CurvesOfRun(judged(qrels, run), 0).precision_recall(), expected, rtol=1e-12)


@pytest.mark.parametrize("upto", [1, 7, DEPTH, 100])
def test_the_judged_share_is_that_of_the_first_documents_of_each_topic(upto):
    _, run = run_of_campaign()
    shares = [
        [np.count_nonzero(run.levels_by_rank(topic, rank)[0]) / min(rank, length) for rank in range(1, upto + 1)]
        for topic, length in enumerate(run.retrieved.tolist())
        if length
    ]
    np.testing.assert_allclose(judged_share(run, upto), np.mean(shares, axis=0), rtol=1e-12)


def test_without_a_ranking_there_is_no_judged_share_and_without_judged_documents_it_is_0():
    assert np.isnan(judged_share(joined({"t": {"a": 1}}, {}), 3)).all()
    assert judged_share(joined({"t": {"a": 1}}, {"t": ["x", "y"]}), 3).tolist() == [0, 0, 0]
    assert judged_share(joined({"t": {"a": 1}}, {"t": ["x", "a"]}), 3).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("rel", [1, 2, 3])
@pytest.mark.parametrize("condensed", [False, True])
def test_interpolated_precision_is_its_definition_averaged_over_topics(rel, condensed):
    rankings = campaign()
    found = CurvesOfRun(rankings, 0, rel, condensed).precision_recall()
    np.testing.assert_allclose(found, plain_precision_recall(rel, condensed), rtol=1e-12)
    assert found[0] > found[5] > 0


def plain_precision_recall(rel, condensed):
    qrels, run = run_of_campaign()
    curves_by_topic = []
    for topic, counts in enumerate(judgments(qrels, H).level_counts):
        relevant = int(counts[rel:].sum())
        if not relevant:
            continue
        rows = range(run.starts[topic], run.starts[topic + 1])
        ranks = [row - run.starts[topic] + 1 if condensed else int(run.rank[row]) for row in rows]
        hits = [rank for rank, row in zip(ranks, rows, strict=True) if run.level[row] >= rel]
        precision = [count / rank for count, rank in enumerate(hits, start=1)]
        needed = [max(1, math.ceil(step / 10 * relevant - 1e-9)) for step in range(11)]
        curves_by_topic.append([max(precision[least - 1 :], default=0.0) for least in needed])
    return np.asarray(np.mean(curves_by_topic, axis=0))
