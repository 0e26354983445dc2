"""User models: the numbers of cwl_eval, metrics that are derived again, and what an expression may be."""

import math

import numpy as np
import pytest

from gainboard.errors import BadExpression
from gainboard.evaluation.scoring.scores import score_beside
from gainboard.metrics import JudgedRuns, Scale, five_numbers, resolve, score_all

from .judged import joined, judged, judgments, score, scores_of, table_of

RANKINGS = {"graded": [3, 0, 1, 2, 0, 0, 3], "late": [0, 0, 3, 0, 3]}
CWL_EVAL = {
    ("graded", "INST(T=2)"): (0.434244467773, 1.378126146726, 1.0, 3.168986527829, 3.173650422020),
    ("graded", "INST(T=1)"): (0.701539485293, 1.090907986774, 1.0, 1.554653609022, 1.555021654203),
    ("graded", "INSQ(T=2)"): (0.337184529912, 1.525787604686, 1.0, 4.509350333873, 4.525223097797),
    ("graded", "INSQ(T=3.5)"): (0.243243645169, 1.818108622195, 1.0, 7.426709030777, 7.475030167132),
    ("graded", "RBP(p=0.8)"): (0.363362133333, 1.816810666667, 1.0, 5.0, 5.0),
    # NERReq8 with the probabilities of stopping as gains; the utility is of g/H, which is 4/3 of them.
    ("graded", "ERR@1000"): (0.038687712782 * 4 / 3, 0.976562500000 * 4 / 3, 1.0, 25.242187500000, 25.242187500000),
    ("late", "INST(T=2)"): (0.173656013807, 0.671185552639, 1.0, 3.856992065511, 3.865122775455),
    ("late", "INSQ(T=2)"): (0.153460819375, 0.694412698917, 1.0, 4.509350333873, 4.525223097797),
    ("late", "RBP(p=0.95)"): (0.085850312500, 1.717006250000, 1.0, 20.0, 20.0),
    ("late", "P@5"): (0.4, 2.0, 1.0, 5.0, 5.0),
    ("late", "RR"): (0.333333333333, 1.0, 1.0, 3.0, 3.0),
}
"""EU, ETU, EC, ETC and EI of cwl_eval 1.0.12: `INSTCWLMetric(2).measure(Ranking("t", gains, costs))` and so on."""


def ranked(levels):
    documents = {f"d{rank}": level for rank, level in enumerate(levels)}
    return judged({"t": documents}, {"t": list(documents)})


def numbers_of(expression, runs):
    model = resolve(expression, Scale(3)).user_model
    return five_numbers(model, runs, np.arange(len(runs)))[:, 0]


@pytest.mark.parametrize(("ranking", "expression"), CWL_EVAL)
def test_the_five_numbers_are_those_of_cwl_eval(ranking, expression):
    computed = numbers_of(expression, ranked(RANKINGS[ranking]))[:, 0]
    np.testing.assert_allclose(computed, CWL_EVAL[ranking, expression], rtol=1e-10)


def test_without_a_last_rank_the_sum_is_that_of_the_limit():
    # The catalogue of formulas of this project has both, by scipy's trigamma function.
    utility, _, _, cost, inspected = numbers_of("INST(n=inf)", ranked(RANKINGS["graded"]))[:, 0]
    assert (utility, inspected) == (pytest.approx(0.4336062980, abs=1e-10), pytest.approx(3.1783213128, abs=1e-10))
    assert cost == inspected
    # Users of INSQ read sum (2T/(i+2T-1))^2 = 16 (pi^2/6 - 1 - 1/4 - 1/9) documents.
    assert numbers_of("INSQ(n=inf)", ranked([1]))[4, 0] == pytest.approx(16 * (math.pi**2 / 6 - 49 / 36), rel=1e-14)


DERIVED = {
    "RBP(p=0.8)": "C=0.8",
    "RBP(p=0.5)": "C=1/2",
    "RBP(gains=1:1:1,p=0.95)": "C=0.95,gains=1:1:1",
    "RBP(p=0.8,rel=2)@3": "C=0.8,gain=g*(i<=3),rel=2",
    "P@1": "C=0,gains=1:1:1",
    "P@10": "C=i<10,gains=1:1:1",
    "P(rel=2)@5": "C=i<5,gains=flat,rel=2",
    "RR": "C=total==0,gains=1:1:1",
    "RR(rel=3)": "C=g==0,gains=flat,rel=3",
    "RR@4": "C=(total==0)*(i<4),gains=1:1:1",
    "INST(T=2)": "C=((i+T+(T-total)-1)/(i+T+(T-total)))**2",
    "INST(T=5.5,gains=exp)": "C=((i+2*T-total-1)/(i+2*T-total))**2,T=5.5,gains=exp",
    "INST(T=1,condensed=true)": "C=((i+1-total)/(i+2-total))**2,condensed=true",
    "INSQ(T=2)": "C=((i+2*T-1)/(i+2*T))**2",
    "INSQ(T=3,gains=adjust(10:5:1))": "C=(1-1/(i+6))**2,gains=adjust(10:5:1)",
}
"""Metrics and the user models of one's own that are the same."""


def some_runs():
    rng = np.random.default_rng(5)
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, 4)) for i in range(size)} for size in (3, 20, 90, 400)}
    documents = {topic: [*levels, *(f"u{i}" for i in range(40))] for topic, levels in qrels.items()}
    run = {topic: [str(document) for document in rng.permutation(ids)] for topic, ids in documents.items()}
    return judged(qrels, run)


@pytest.mark.parametrize("label", DERIVED)
def test_a_metric_is_derived_again_from_its_user_model(label):
    runs = some_runs()
    metric, derived = (resolve(each, Scale(3)) for each in (label, f"CWL({DERIVED[label]})"))
    np.testing.assert_allclose(scores_of(derived, runs), scores_of(metric, runs), rtol=1e-12)
    np.testing.assert_allclose(numbers_of(f"CWL({DERIVED[label]})", runs), numbers_of(label, runs), rtol=1e-12)


def test_a_score_is_the_same_beside_others_and_compiled_or_not():
    runs = some_runs()
    metrics = [resolve(each, Scale(3)) for each in ("INST", "AP", "CWL(C=exp(-total))", "INSQ(n=inf)")]
    table = table_of(metrics, runs)
    for row, metric in enumerate(metrics):
        assert scores_of(metric, runs).tolist() == table[row].tolist()
    alone = JudgedRuns.of([runs_of_topic("t")], judgments({"t": {"d": 3}}))
    many = JudgedRuns.of([runs_of_topic("t")] * 700, judgments({"t": {"d": 3}}))
    every = score_all(metrics, many)
    assert (every == score_all(metrics, alone)).all()


def runs_of_topic(topic):
    return joined({topic: {"d": 3}}, {topic: ["u", "d"]})


def test_means_of_the_numbers_leave_out_undefined_topics():
    qrels, run = {"a": {"d": 3}, "b": {"n": 0}}, {"a": ["d"], "b": ["n"]}
    metrics = [resolve(each, Scale(3)) for each in ("AP", "RR", "nDCG@10", "P@R", "RR(rel=3)", "INST(gains=3:0:0)")]
    one, own = joined(qrels, run), judgments(qrels)
    scores = table_of(metrics, JudgedRuns.of([one], own))
    beside = score_beside(metrics, one, own, scores, bounds=False, cwl=True)
    assert [*beside] == ["RR", "RR(rel=3)", "INST(T=2,gains=3:0:0)"]
    assert beside["RR"] == {"EU": 1.0, "ETU": 1.0, "EC": 1.0, "ETC": 1.0, "EI": 1.0}


def test_users_never_read_on_where_the_probability_is_no_number():
    # 0/0 is at rank 1, and 2 counts as 1.
    assert score("CWL(C=(i-1)/(i-1),gain=g)", {"d": 3, "e": 3}, ["d", "e"]) == 1.0
    assert score("CWL(C=2*(i<2),gain=5*g)", {"d": 3, "e": 3}, ["d", "u"]) == 0.5


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("CWL(C=__import__('os'))", "must be"),
        ("CWL(C=g.real)", "must be"),
        ("CWL(C=g .real)", "must be"),
        ("CWL(C=(g) (i))", "is not allowed"),
        ("CWL(C=i.T)", "must be"),
        ("CWL(C=x)", "x is not allowed. Write an expression"),
        ("CWL(C=9**9)", None),
        ("CWL(C=9**99)", "whole number up to 16"),
        ("CWL(C=0.8**i)", "exp"),
        ("CWL(C=min(i))", "is not allowed"),
        ("CWL(C=min)", "is not allowed"),
        ("CWL(C=max(i,g,T))", "is not allowed"),
        ("CWL(C=0<i<3)", "is not allowed"),
        ("CWL(C=[i])", "must be"),
        ("CWL(C=i i)", "must be"),
        ("CWL(C=0x10)", "must be"),
        ("CWL(C=1e)", "must be"),
        ("CWL(C=e)", "is not allowed"),
        ("CWL(C=1e101)", "is not allowed"),
        ("CWL(C=1j)", "must be"),
        ("CWL(C=((i))", "not a metric expression"),
        ("CWL(C=i))", "not a metric expression"),
        ("CWL(C=" + "(" * 19 + "i" + ")" * 19 + ")", None),
        ("CWL(C=" + "(" * 250 + "i" + ")" * 250 + ")", "not a metric expression"),
        ("CWL(C=" + "-" * 900 + "i)", "parts"),
        ("CWL(C=" + "i+" * 99 + "i)", None),
        ("CWL(C=" + "i+" * 100 + "i)", "201 parts"),
        ("CWL(n=inf)", "has no parameter n"),
        ("CWL(C=-i if g else T)", "is not allowed"),
        ("CWL(C=True)", "is not allowed"),
        ("INST(T=0.4)", "T=0.4"),
        ("INST(n=500)", "n=500: must be 1000 or inf"),
    ],
)
def test_an_expression_is_arithmetic_and_nothing_else(expression, why):
    if why is None:
        assert math.isfinite(score(expression, {"d": 3}, ["d"]))
    else:
        with pytest.raises(BadExpression, match=why.replace("(", r"\(")):
            resolve(expression, Scale(3))


def test_equal_models_have_one_label():
    labels = {resolve(each, Scale(3)).label for each in ("CWL(C=0.80 * ( 1-g ))", "CWL( C = .8*(1-(g)), gain = g)")}
    assert labels == {"CWL(C=0.8*(1-g),T=2,gain=g,gains=linear)"}
    assert resolve(labels.pop(), Scale(3)).label == "CWL(C=0.8*(1-g),T=2,gain=g,gains=linear)"
