"""The metrics that trec_eval alone has give the values of `gainboard trec_eval`, topic by topic."""

import math

import numpy as np
import pytest

from gainboard.metrics import Scale, resolve, trec_eval_name
from gainboard.trec_eval.measures import MEASURES
from tests.trec_eval.test_peer import random_case, topics_of

from .judged import judged, score, scores_of, table_of
from .test_peers import ordered

SCALE = Scale(4)
SEEDS = range(8)
SHARES = (0.0, 0.1, 0.3, 0.7, 1.0)
SAME = [
    *("set_P", "set_recall", "set_map", "set_relative_P", "set_F", "set_F_0.25", "set_F_4", "binG"),
    *("11pt_avg", *(f"iprec_at_recall_{share:.2f}" for share in SHARES)),
    *(f"relative_P_{cutoff}" for cutoff in (1, 5, 30, 1000)),
    *(f"Rprec_mult_{multiple:.2f}" for multiple in (0.01, 0.2, 0.6, 1.0, 1.33, 2.0, 40.0)),
]
GRADED = ["G", "ndcg_rel", "Rndcg"]
"""trec_eval's threshold does not touch gains, ours does. So these are compared at level 1."""

UNJUDGED = [f"unj_{cutoff}" for cutoff in (1, 5, 20, 100)]


def completed(qrels, run):
    """The run with all judged documents: those that it lacks come last, in the order of the judgments."""
    missed = {topic: [doc for doc in levels if doc not in run[topic]] for topic, levels in qrels.items()}
    return {topic: {**run[topic], **{doc: -1.0 - n for n, doc in enumerate(missed[topic])}} for topic in qrels}


def compare(names, qrels, run, said, threshold=1, *, judged_only=False, gains=None):
    """Asserts that the scores of all topics are those of the program, for the names that it prints."""
    arguments = [f"rel={threshold}", f"condensed={str(judged_only).lower()}", *([f"gains={gains}"] if gains else [])]
    metrics = [resolve(f"{name}({','.join(arguments)})", SCALE) for name in names]
    topics = topics_of(qrels, run, threshold, judged_only=judged_only)
    table = table_of(metrics, judged(qrels, ordered(run), SCALE.highest_level))
    for name, metric, scores in zip(names, metrics, table.tolist(), strict=True):
        stem, _, number = name.rpartition("_")
        measure, given = MEASURES[name if name in MEASURES else stem], None if name in MEASURES else number
        if gains:
            given = ",".join(f"{level}={gain}" for level, gain in enumerate(metric.parameters["gains"].values, 1))
        parameters = measure.read(measure.name, given)
        for value, (place, topic) in zip(scores, topics.items(), strict=True):
            found = measure.compute(topic, parameters.values)
            expected = found[0] if isinstance(found, list) else found
            where = f"{metric.label}, {said}, topic {place}, {topic.levels.tolist()}"
            if topic.relevant == 0:
                assert math.isnan(value), f"{where}: trec_eval gives 0 to a topic without relevant documents"
            elif topic.retrieved:
                assert value == pytest.approx(expected, abs=1e-12), where
            else:
                assert value == 0, f"{where}: a condensed ranking of unjudged documents alone is empty"


def test_the_cases_find_something_and_miss_something():
    names = [*SAME, *GRADED, "unj_1", "unj_100"]
    metrics, found = [resolve(name, SCALE) for name in names], []
    for seed in SEEDS:
        qrels, run = random_case(seed)
        both = (judged(qrels, ordered(each), SCALE.highest_level) for each in (run, completed(qrels, run)))
        found += [table_of(metrics, each) for each in both]
    for name, values in zip(names, np.concatenate(found, axis=1), strict=True):
        assert (values > 0).sum() >= 3, name
        assert len({value for value in values.tolist() if not math.isnan(value)}) > 1, name


def test_scores_are_those_of_the_program():
    for seed in SEEDS:
        (qrels, run), said = random_case(seed), f"seed {seed}"
        compare([*SAME, *GRADED], qrels, run, said)
        compare(SAME, qrels, run, said, threshold=2)
        compare([*SAME, *GRADED], qrels, completed(qrels, run), f"{said}, completed")
        # trec_eval does not sort gains that differ by less than 1.
        for gains in ("7:5:3:1", "4:4:2:2", "20:9.5:2.5:1", "exp"):
            compare(GRADED, qrels, run, said, gains=gains)
        # trec_eval's -J drops negative levels, too. Here they stay, as nonrelevant.
        whole = {topic: {doc: max(level, 0) for doc, level in levels.items()} for topic, levels in qrels.items()}
        compare([*SAME, *GRADED], whole, run, f"{said}, condensed", judged_only=True)
        # trec_eval takes documents of a negative level as unjudged. Here they are judged, as in Judged.
        kept = {topic: {doc: level for doc, level in levels.items() if level >= 0} for topic, levels in qrels.items()}
        compare(UNJUDGED, {topic: levels for topic, levels in kept.items() if levels}, run, said)


def test_points_of_recall_are_rounded_up_where_trec_eval_rounds_to_the_nearest():
    # definitions.md, item 10. Of R = 4, recall 0.3 needs 2 documents, because 1 is a recall of 0.25 only.
    levels, ranking = dict.fromkeys("abcd", 1), ["a", "u", "v", "b"]
    assert score("IPrec(recall=0.3)", levels, ranking) == 0.5
    assert score("IPrec(recall=0.3,rounding=trec_eval9)", levels, ranking) == 0.5
    assert score("iprec_at_recall_0.30", levels, ranking) == 1.0
    # Recall 0.26 needs 1.04 documents, from which trec_eval 9 cuts off the decimals.
    assert [score(f"IPrec(recall=0.26{each})", levels, ranking) for each in ("", ",rounding=trec_eval9")] == [0.5, 1.0]
    (topic,) = topics_of({"t": levels}, {"t": dict(zip(ranking, (4, 3, 2, 1), strict=True))}).values()
    assert MEASURES["iprec_at_recall"].compute(topic, [0.3]) == [1.0]


def test_documents_of_a_negative_level_are_not_unjudged():
    assert score("Unjudged@4", {"a": 1, "s": -2}, ["s", "u", "a"]) == 0.25


def test_values_by_hand():
    levels, ranking = {"a": 2, "b": 1, "c": 1, "n": 0}, ["n", "a", "u", "b", "v"]  # 2 of R = 3 found, L = 5
    at_2, ideal = 2 / math.log2(3), 2 + 1 / math.log2(3) + 1 / math.log2(4)
    at_4 = at_2 + 1 / math.log2(5)
    by_hand = {
        "setP": 2 / 5,
        "setRecall": 2 / 3,
        "setAP": 4 / 15,
        "setRelP": 2 / 3,
        "setF": 4 / 8,
        "setF(weight=4)": 10 / 17,
        "relP@2": 1 / 2,
        "relP@5": 2 / 3,
        "Unjudged@4": 1 / 4,
        "Unjudged@10": 2 / 10,
        "IPrec(recall=0)": 1 / 2,
        "IPrec(recall=0.5)": 1 / 2,
        "IPrec(recall=0.7)": 0.0,
        "AP11pt": 7 * (1 / 2) / 11,
        "RprecMult(multiple=0.5)": 1 / 2,
        "RprecMult(multiple=2)": 2 / 6,
        "binG": (1 / math.log2(3) + 1 / math.log2(4)) / 3,
        # Gains 0 2 0 1 0; the ideal is 2 1 1, so the costs of 1, 2, ... ranks are 2 3 4 5 6.
        "G": (2 / math.log2(2 + 3 - 2) + 1 / math.log2(2 + 5 - 3)) / 4,
        "nDCGrel": (at_2 / (2 + 1 / math.log2(3)) + 2 * at_4 / ideal) / 3,  # b at rank 4, and c, which is missed
        "RnDCG": (0 / 2 + at_2 / ideal + at_4 / ideal) / 3,  # at 1 document of level 2, at R, and at the last rank
    }
    for expression, value in by_hand.items():
        assert score(expression, levels, ranking) == pytest.approx(value, abs=1e-15), expression


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("setF", "set_F"),
        ("setF(weight=2)", "set_F_2"),
        ("IPrec(recall=0,rounding=nearest)", "iprec_at_recall_0.00"),
        ("IPrec(recall=0.125,rounding=nearest)", "iprec_at_recall_0.125"),
        ("IPrec(recall=0.125)", None),
        ("RprecMult(multiple=1.2)", "Rprec_mult_1.20"),
        ("Unjudged@5", "unj_5"),
        ("relP@R", None),
    ],
)
def test_the_name_is_the_one_that_trec_eval_prints(expression, name):
    assert trec_eval_name(resolve(expression, SCALE), SCALE) == name


def test_some_metrics_are_others_at_one_point():
    qrels, run = random_case(3)
    rankings = judged(qrels, ordered(run), 4)
    for one, other in (
        ("RprecMult(multiple=1)", "Rprec"),
        ("relP@R", "Rprec"),
        ("setRecall", "Recall@1000"),
        ("setF(weight=0)", "setP"),
    ):
        found, expected = (scores_of(resolve(each, SCALE), rankings) for each in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-15)
