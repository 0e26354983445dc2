"""Values by topic on random hard cases beside those of pytrec_eval, which is trec_eval 9 in Python."""

import math

import numpy as np
import pytest
import pytrec_eval

from gainboard.trec_eval.files import levels_by_rank, read_qrels, read_results
from gainboard.trec_eval.measures import MEASURES
from gainboard.trec_eval.topic import TopicResult

SEEDS = range(8)
NEW = {"rbp", "rbp_resid", "unj", "yaap", "dcg", "ideal_dcg"}
"""Measures that trec_eval 9 does not have, or its Python form does not give."""
BY_TOPIC = [name for name, each in MEASURES.items() if name not in NEW and each.form in ("mean", "sum")]
INTERPOLATED = ("iprec_at_recall", "11pt_avg")
"""Their recall points are rounded in version 10, and version 9 cuts off x * R + 0.9, as `Rprec_mult` still does."""


def random_case(seed, *, relevant=None):
    """Topics with short and long lists, ties, unjudged documents, levels from -2 to 4, and none that is relevant.

    `relevant` fixes the number of relevant documents of each topic.
    """
    rng = np.random.default_rng(seed)
    qrels = {}
    run = {}
    for topic in map("t{}".format, range(10)):
        levels = rng.choice([-2, -1, 0, 0, 1, 1, 2, 4], size=rng.integers(1, 50)).tolist()
        if topic == "t3":
            levels = [min(level, 0) for level in levels]
        if relevant is not None:
            levels = [*(level for level in levels if level < 1), *rng.choice([1, 2, 4], size=relevant).tolist()]
        qrels[topic] = {f"d{number:02}": level for number, level in enumerate(levels)}
        documents = rng.permutation([*qrels[topic], *(f"u{number:02}" for number in range(20))])
        retrieved = documents[: rng.integers(1, len(documents))]
        # Quarters are exact in single precision, too, in which trec_eval 9 compares scores.
        run[topic] = {str(document): float(rng.integers(0, 60)) / 4 for document in retrieved}
    return qrels, run


def topics_of(qrels, run, threshold=1, *, judged_only=False):
    judgments = read_qrels("".join(f"{t} 0 {d} {n}\n" for t, each in qrels.items() for d, n in each.items()).encode())
    lines = (f"{t} Q0 {d} 1 {score} tag\n" for t, each in run.items() for d, score in each.items())
    retrieved, _ = read_results("".join(lines).encode())
    found = {}
    for topic, own in judgments.items():
        levels = levels_by_rank(retrieved[topic], own, 10_000)
        found[topic.decode()] = TopicResult(levels[levels >= 0] if judged_only else levels, own.counts(), threshold, 0)
    return found


def compare(names, seed, relevant=None, **options):
    qrels, run = random_case(seed, relevant=relevant)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {*names}, **options).evaluate(run)
    threshold, judged_only = options.get("relevance_level", 1), options.get("judged_docs_only_flag", False)
    topics = topics_of(qrels, run, threshold, judged_only=judged_only)
    for name in names:
        parameters = MEASURES[name].read(name, None)
        for topic, each in topics.items():
            found = MEASURES[name].compute(each, parameters.values)
            values = found if isinstance(found, list) else [found]
            expected = [theirs[topic][label] for label in parameters.names]
            said = f"{name}, seed {seed}, topic {topic}, {options}, {each.levels.tolist()}"
            assert values == pytest.approx(expected, abs=1e-9, nan_ok=True), said


def test_interpolated_precision_is_that_of_trec_eval():
    for seed in SEEDS:
        compare(INTERPOLATED, seed, relevant=10 * (1 + seed % 3))


@pytest.mark.parametrize("options", [{}, {"relevance_level": 2}, {"judged_docs_only_flag": True}], ids=str)
def test_values_are_those_of_trec_eval(options):
    for seed in SEEDS:
        compare([name for name in BY_TOPIC if name not in INTERPOLATED], seed, **options)


def value_of_peer(measure, levels, run):
    """Return trec_eval's value. The class below pytrec_eval's own takes the parameters as they are."""
    evaluator = pytrec_eval.RelevanceEvaluator.__base__(
        query_relevance={"t": levels}, measures={measure}, relevance_level=1, judged_docs_only_flag=False
    )
    (value,) = evaluator.evaluate({"t": run})["t"].values()
    return float(value)


@pytest.mark.parametrize("name", ["ndcg", "G", "Rndcg", "ndcg_rel"])
def test_gains_are_ordered_as_trec_eval_does_however_close_they_are(name):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        highest = rng.integers(1, 9)
        levels = {f"d{n:02}": int(level) for n, level in enumerate(rng.integers(-1, highest + 1, size=20))} | {"e": 1}
        run = {str(document): float(n) for n, document in enumerate(rng.permutation([*levels, "u1", "u2"])[:18])}
        given = rng.permutation(np.arange(-1, highest + 3))[: rng.integers(1, highest + 2)].tolist()
        given += given[: seed % 3]  # a level with two gains
        # Version 9 keeps gains in single precision, in which 64ths are exact. One difference is larger than an int.
        gains = [rng.choice([*range(-16, 192), 2.0**40]) / 64 for _ in given]
        text = ",".join(f"{level}={gain}" for level, gain in zip(given, gains, strict=True))
        topic, parameters = topics_of({"t": levels}, {"t": run})["t"], MEASURES[name].read(name, text)
        value = MEASURES[name].compute(topic, parameters.values)
        expected = value_of_peer(f"{name}.{text}", levels, run)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True), (name, text, levels, run)


def test_gains_far_beyond_whole_numbers_are_ordered_as_trec_eval_does():
    levels, run = {"a": 1, "b": 2, "c": 3, "d": 0}, {"a": 4.0, "b": 1.0, "c": 5.0, "d": 7.0}
    topic = topics_of({"t": levels}, {"t": run})["t"]
    for text in ("1=inf", "1=nan", "2=1e30,1=-inf", "3=-1e300", "1=3e9,2=0.5", "1=-3e9,3=0.5,2=0.75", "3=.5,1=-.75"):
        for name in ("ndcg", "ndcg_rel"):
            value = MEASURES[name].compute(topic, MEASURES[name].read(name, text).values)
            assert value == pytest.approx(value_of_peer(f"{name}.{text}", levels, run), nan_ok=True), (name, text)


def test_measures_that_version_9_lacks_are_those_of_their_definitions():
    levels, counts = np.array([2, -1, 0, 1, -2]), np.array([3, 2, 2])
    topic = TopicResult(levels, counts, 1, 0)
    values = {name: MEASURES[name].compute(topic, MEASURES[name].read(name, None).values) for name in NEW}
    assert values["rbp"] == pytest.approx(0.1 * (1 + 0.5 * 0.9**3))
    assert values["rbp_resid"] == pytest.approx(0.9**5 + 0.1 * (0.9 + 0.9**4))
    assert values["unj"] == pytest.approx([2 / 5, 2 / 10, 2 / 20])
    assert values["yaap"] == pytest.approx(math.log((1 + 1.5) / (1 + 4 - 1.5)))
    assert values["dcg"] == pytest.approx(2 + 1 / math.log2(5))
    assert values["ideal_dcg"] == pytest.approx(2 + 2 / math.log2(3) + 1 / 2 + 1 / math.log2(5))
    own = MEASURES["rbp"].read("rbp", "p=0.5,2=1,1=0.5")
    assert own.names == ["rbp_p=0.5,2=1,1=0.5"]
    assert MEASURES["rbp"].compute(topic, own.values) == pytest.approx(0.5 * (1 + 0.5 * 0.5**3))
    assert MEASURES["rbp_resid"].compute(TopicResult(np.array([1]), counts, 1, 0), ()) == 0.0
