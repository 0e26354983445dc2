"""Numbers from somebody else's program or from the papers; by hand where nobody else has the metric.

Property tests cannot replace these: a discount that is off by one passes them all.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gainboard.metrics import Scale, resolve

from .judged import judged, ordinary_metrics, score, scores_of, table_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metric-examples.json").read_text())
OURS = {
    "AveP_relaxed": "AP",
    "AveP_rigid": "AP(rel=2)",
    "R-Prec_relaxed": "Rprec",
    "R-Prec_rigid": "Rprec(rel=2)",
    "R-measure": "Rmeasure",
    "R-WP": "RWP",
    "genAveP": "genAP",
    "P-plus": "Pplus",
    "expnDCG": "MSnDCG",
    "iRBU.99": "iRBU",
    "RBP.95": "RBP",
}


def golden_metric(name, gains, beta, base):
    values = [gains[level] for level in "321"]
    if name.startswith("expnDCG"):
        values = [2**value - 1 for value in values]
    theirs, at, cutoff = name.partition("@")
    defaults = {"gains": ":".join(map(repr, values)), "beta": beta, "base": base}
    return resolve(OURS.get(theirs, theirs) + at + cutoff, Scale(3), defaults=defaults)


def assert_published():
    """Asserts that all worked examples have their values, for each beta and base."""
    for key, values in GOLDEN["values"].items():
        example, beta, base = key.split("|")
        case = GOLDEN["examples"][example]
        settled = (beta.removeprefix("beta="), base.removeprefix("a="))
        metrics = [golden_metric(name, case["gain"], *settled) for name in values]
        found = table_of(metrics, judged({"t": case["qrels"]}, {"t": case["run"]}))[:, 0]
        np.testing.assert_allclose(found, list(values.values()), rtol=1e-9, atol=1e-9, err_msg=key)


def test_worked_examples_have_their_published_values():
    assert_published()


@pytest.mark.parametrize(
    ("example", "ratio", "gains", "q", "ndcg"),
    [
        ("ex1_321", "3:2:1", [1 / 2, 5 / 3, 17 / 6], 0.48350425973014105, 0.5368564311941167),
        ("ex2_1051", "10:5:1", [1 / 2, 11 / 3, 55 / 6], 0.47926117193876755, 0.5182553557946578),
        ("ex3_short", "3:2:1", [3 / 5, 9 / 5, 13 / 5], 0.28355555555555556, 0.49903940963272564),
    ],
)
def test_gains_adjusted_to_the_topic(example, ratio, gains, q, ndcg):
    case = GOLDEN["examples"][example]
    rankings = judged({"t": case["qrels"]}, {"t": case["run"]})
    query = {"gains": f"adjust({ratio})"}
    setting = resolve("Q", Scale(3), defaults=query).parameters["gains"]
    np.testing.assert_allclose(setting.by_class(rankings.judgments.level_counts, 1)[0, 1:], gains, rtol=1e-14)
    assert scores_of(resolve("Q", Scale(3), defaults=query), rankings)[0] == pytest.approx(q, rel=1e-12)
    assert scores_of(resolve("nDCG@10", Scale(3), defaults=query), rankings)[0] == pytest.approx(ndcg, rel=1e-12)


LATER = {
    # EBR, iRBU, NCU and bpref agree with NTCIREVAL's four decimals; the residual is from the formula.
    "EBR": (0.5493590795693277, 0.5155511236080367, 0.6136363636363636),
    "iRBU@10": (0.9201911274319592, 0.9348136247307927, 0.858862125),
    "NCUguP": (0.5271428571428571, 0.510351966873706, 0.4),
    "NCUguBR": (0.4882773109243697, 0.46736870914564677, 0.34090909090909094),
    "NCUrbP": (0.579826536267564, 0.579826536267564, 0.3610070069433988),
    "NCUrbBR": (0.5160996579537235, 0.47596050878582685, 0.299388000192392),
    "bpref": (0.5416666666666666, 0.5416666666666666, 0.2),
    "RBPresidual": (0.6747767108028317, 0.6747767108028317, 0.8573749999999999),
}


@pytest.mark.parametrize("name", LATER)
def test_later_metrics_have_their_known_values(name):
    examples = (("ex1_321", "3:2:1"), ("ex2_1051", "10:5:1"), ("ex3_short", "3:2:1"))
    for (example, gains), expected in zip(examples, LATER[name], strict=True):
        case = GOLDEN["examples"][example]
        assert score(name, case["qrels"], case["run"], gains=gains) == pytest.approx(expected, rel=1e-12)


def test_gdeval_stops_users_as_if_there_were_a_fourth_level():
    # By hand: the first document stops with probability 7/16, else the second one with 1/16.
    found = score("ERR(gains=exp,stop_scale=4)@20", {"d": 3, "e": 1}, ["d", "e"])
    assert found == pytest.approx(7 / 16 + (9 / 16) * (1 / 16) / 2, rel=1e-15)


EX1, EX3 = "ex1_321", "ex3_short"
IDEAL_EX3 = 3 + 3 / math.log2(3) + 2 / 2 + 1 / math.log2(5) + 1 / math.log2(6)
BY_HAND = [
    # First relevant: B at rank 1 with b=4, so 1/(1-1/4); the best there is has b=2, so 1-1/2 of it.
    ("WRR", EX1, 4 / 3),
    ("NWRR", EX1, 2 / 3),
    # S first at rank 3: 1/(3-1/2).
    ("WRR(rel=3)", EX1, 2 / 5),
    ("RR(rel=2)", EX1, 1 / 3),
    ("RR(rel=3,condensed=true)", EX1, 1 / 3),
    # b1 _ s1 u1 a1 _ b2 _ u2 b3: 3 of the 6 relevant within 5.
    ("Recall@5", EX1, 1 / 2),
    # Gains 1 0 3 0 2 0 1 0 0 1.
    ("genP@5", EX1, 6 / 5),
    # Cumulated: 1 1 4 4 6, and with the discount 1 1 1+3/log2(3).
    ("ACG@5", EX1, 16 / 5),
    ("ADCG@3", EX1, (1 + 1 + 1 + 3 / math.log2(3)) / 3),
    ("Success(rel=3)@3", EX1, 1.0),
    # u1 and u2 of ten are not judged.
    ("Judged@10", EX1, 8 / 10),
    # Stops of 1/4, 3/4 and 1/2 at ranks 1, 3 and 5; ideal: 3/4, 1/2, 1/2.
    ("ERR@3", EX1, 1 / 4 + (3 / 4) * (3 / 4) / 3),
    # Stops 1/4 and then 3/4 at ranks 1 and 3; in the ideal 3/4, 1/2 and 1/2.
    ("niRBU(p=0.9)@3", EX1, (0.9 / 4 + 9 / 16 * 0.729) / (0.9 * 3 / 4 + 0.81 / 8 + 0.729 / 16)),
    # Blended ratios (1+1)/(3+1) and (4+2)/(7+3).
    ("nEBR@3", EX1, (1 / 4 * 1 / 2 + 9 / 16 * 3 / 5) / (3 / 4 + 1 / 8 + 1 / 16)),
    ("nRBP(p=0.9)@3", EX1, (1 + 3 * 0.81) / (3 + 2 * 0.9 + 2 * 0.81)),
    ("NCUrbIE(p=0.9,gamma=0.5)@3", EX1, (0.9 + 0.5 * 0.729) / 3),
    ("nERR@3", EX1, (1 / 4 + (3 / 4) * (3 / 4) / 3) / (3 / 4 + (1 / 4) / 2 / 2 + (1 / 4) / 2 / 2 / 3)),
    # Gains 1 and 3 of at most 3 at ranks 1 and 3.
    ("RBP(p=0.5)@3", EX1, (1 / 3 + 1 / 4) / 2),
    # Rank 4 is u1: 1 - (1/2)(1 + 1/2 + 1/4 + 1/16).
    # cwl_eval 1.0.12 of gains 2/3, 0 and 1, as in test_user_models.py.
    ("INST(T=2)", EX3, 0.303184772157892),
    ("INSQ(T=2)", EX3, 0.245537311000657),
    # A user who goes on with 1/2 reads a1 and s2 with 1 and 1/4, and 2 documents in all.
    ("CWL(C=0.5)", EX3, (2 / 3 + 1 / 4) / 2),
    ("RBPresidual(p=0.5)@5", EX1, 1 - (1 + 1 / 2 + 1 / 4 + 1 / 16) / 2),
    # a1 n1 s2: of the pool, one document of two above s2 is relevant.
    ("infAP", EX3, (1 + 1 / 3 + (2 / 3) * (1 + 1e-5) / (2 + 2e-5)) / 5),
    # n1 above s2, N=1.
    ("bpref", EX3, (1 + 0) / 5),
    # 2 of 3 retrieved and of 5 relevant; a set of 3 can have precision 1.
    ("setP", EX3, 2 / 3),
    ("setRecall", EX3, 2 / 5),
    ("setF", EX3, 2 * (2 / 3) * (2 / 5) / (2 / 3 + 2 / 5)),
    ("setAP", EX3, (2 / 3) * (2 / 5)),
    ("setRelP", EX3, 2 / 3),
    ("relP@10", EX3, 2 / 5),
    # Precision is 1 up to recall 1/5, 2/3 up to 2/5, and 0 beyond.
    ("IPrec(recall=0.3)", EX3, 2 / 3),
    ("AP11pt", EX3, (3 * 1 + 2 * 2 / 3) / 11),
    ("RprecMult(multiple=0.6)", EX3, 2 / 3),
    ("binG", EX3, (1 / math.log2(2) + 1 / math.log2(3)) / 5),
    # Gains 2 0 3 of an ideal 3 3 2 1 1: a1 lost 3 - 2, s2 lost 3 + 3 + 2 - 5.
    ("G", EX3, (2 / math.log2(2 + 1) + 3 / math.log2(2 + 3)) / 10),
    # Discounted: 2 2 3.5 of 3 and, at rank 3, 4 + 3/log2(3). The three others count as the whole: 3.5 of the ideal.
    ("nDCGrel", EX3, (2 / 3 + 3.5 / (4 + 3 / math.log2(3)) + 3 * 3.5 / IDEAL_EX3) / 5),
    # The ideal gain falls after ranks 2, 3 and 5.
    ("RnDCG", EX3, (2 / (3 + 3 / math.log2(3)) + 3.5 / (4 + 3 / math.log2(3)) + 3.5 / IDEAL_EX3) / 3),
    ("Unjudged@5", EX1, 1 / 5),
    # Of R(S)=2, R(A)=1 and R(B)=2, a1 stops 2 and s2 stops 4 of 2*4 + 1*2 + 2*1 = 12 users.
    ("NCUguP(stops=4:2:1)", EX3, (2 * 1 + 4 * 2 / 3) / 12),
    # R=6: the gains 1 0 3 0 2 0 against the ideal 3 2 2 1 1 1.
    (
        "nDCG@R",
        EX1,
        (1 + 3 / math.log2(3) + 2 / math.log2(5))
        / (3 + 2 + 2 / math.log2(3) + 1 / 2 + 1 / math.log2(5) + 1 / math.log2(6)),
    ),
    # Ranks 1, 3, 5 of R=6, divided by min(5, 6).
    ("AP(recall_base=cutoff)@5", EX1, (1 + 2 / 3 + 3 / 5) / 5),
    # Without u1 and u2 the relevant ranks are 1, 3, 4, 6, 8.
    ("AP(condensed=true)", EX1, (1 + 2 / 3 + 3 / 4 + 4 / 6 + 5 / 8) / 6),
]


def test_metrics_worked_by_hand():
    for expression, example, expected in BY_HAND:
        case = GOLDEN["examples"][example]
        computed = score(expression, case["qrels"], case["run"], gains="3:2:1")
        assert computed == pytest.approx(expected, rel=1e-12), (expression, example)


ADM_QRELS = {"s": 3, "b": 1, "n": 0, "missed": 2}
ADM_RANKING = {"s": 8.0, "u": 6.0, "n": 4.0, "b": 0.0}
ADM_BY_HAND = [
    # Scaled: s 1, u 3/4, n 1/2, b 0, missed 0; wanted: 1, 0, 0, 1/3, 2/3.
    ("ADM", 1 - (0 + 3 / 4 + 1 / 2 + 1 / 3 + 2 / 3) / 5),
    ("ADM(srs=raw)", 1 - (7 + 6 + 4 + 1 / 3 + 2 / 3) / 5),
    ("ADM(urs=raw)", 1 - (2 + 3 / 4 + 1 / 2 + 1 + 2) / 5),
    # Without u there are four documents; the extremes are still 8 and 0.
    ("ADM(condensed=true)", 1 - (0 + 1 / 2 + 1 / 3 + 2 / 3) / 4),
    ("ADM(rel=2)", 1 - (0 + 3 / 4 + 1 / 2 + 0 + 2 / 3) / 5),
    # Every level has one of three documents: gains 8/3, 5/3, 2/3, still over the ratio's 3.
    ("ADM(gains=adjust(3:2:1))", 1 - (1 / 9 + 3 / 4 + 1 / 2 + 2 / 9 + 5 / 9) / 5),
]


@pytest.mark.parametrize(("expression", "expected"), ADM_BY_HAND)
def test_the_average_distance_worked_by_hand(expression, expected):
    assert score(expression, ADM_QRELS, ADM_RANKING, gains="3:2:1") == pytest.approx(expected, rel=1e-12)


def test_scores_beyond_all_numbers_are_infinitely_far_off():
    far = judged({"t": {"d0": 0, "d1": 0}}, {"t": {"d0": 1.7e308, "d1": -1.7e308}})
    np.testing.assert_array_equal(far.system_columns(True, False).distance, [[np.inf]])
    np.testing.assert_array_equal(far.system_columns(False, False).distance, [[1.0]])


def test_levels_below_0_are_judged_but_no_sign_against_a_relevant_document():
    levels, ranking = {"a": 1, "b": 1, "n": 0, "spam": -2}, ["spam", "a", "n", "b"]
    # bpref: nothing judged nonrelevant above a; n above b, N=1. infAP: spam is in the pool, but not judged.
    assert score("bpref", levels, ranking) == pytest.approx((1 + 0) / 2)
    at_two, at_four = 1 / 2 + (1 / 2) * 1e-5 / 2e-5, 1 / 4 + (3 / 4) * (1 + 1e-5) / (2 + 2e-5)
    assert score("infAP", levels, ranking) == pytest.approx((at_two + at_four) / 2, rel=1e-12)
    assert score("Judged@4", levels, ranking) == 1.0
    assert score("RBPresidual(p=0.5)", levels, ranking) == pytest.approx(1 / 16)
    # With rel=2, level 1 is judged nonrelevant.
    graded = {"s": 2, "b": 1, "n": 0, "m": 0}
    assert score("bpref(rel=2)", graded, ["b", "s"]) == pytest.approx(0.0)
    assert score("bpref(rel=2)", {**graded, "t": 2}, ["b", "s", "t"]) == pytest.approx((1 / 2 + 1 / 2) / 2)


def test_every_metric_has_numbers_from_somebody_else_or_by_hand():
    published = {OURS.get(name.partition("@")[0], name) for values in GOLDEN["values"].values() for name in values}
    expressions = [*published, *LATER, *(row[0] for row in BY_HAND), *(row[0] for row in ADM_BY_HAND)]
    covered = {expression.partition("(")[0].partition("@")[0] for expression in expressions}
    assert {metric.name for metric in ordinary_metrics()} - covered == set()
