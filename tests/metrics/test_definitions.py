"""Every metric of the catalogue agrees with a plain loop over its definition."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gainboard.errors import BadExpression
from gainboard.metrics import Scale, resolve
from tests.thorough import examples

from .judged import judged, ordinary_metrics, scores_of, table_of
from .plain import Topic, plain_score

H = 3
RATIOS = ("1:1:1", "3:2:1", "10:5:1", "0.3:0.2:0.1", "5:0:0", "2.5:2.5:0", "0:0:0")
SETTINGS = (*RATIOS, *(f"adjust({ratio})" for ratio in RATIOS), "linear", "exp")
VALUES = {
    "beta": ("0", "0.1", "1", "10"),
    "base": ("1.5", "2", "2.7", "10", "200"),
    "gains": SETTINGS,
    "rel": ("1", "2", "3"),
    "condensed": ("true", "false"),
    "recall_base": ("relevant", "cutoff"),
    "b": ("2:3:4", "1.5:1.5:9"),
    "urs": ("scaled", "raw"),
    "srs": ("minmax", "raw"),
    "stop_scale": ("3",),
    "p": ("0.5", "0.8", "0.95", "0.999"),
    "gamma": ("0.1", "0.95"),
    "recall": ("0", "0.1", "0.33", "0.5", "1"),
    "rounding": ("up", "nearest", "trec_eval9"),
    "multiple": ("0.01", "0.2", "1", "1.5", "2", "1000"),
    "weight": ("0", "0.25", "1", "4"),
    "stops": ("4:2:1", "1:1:1", "exp", "adjust(10:5:1)"),
    "C": ("0.8", "i<3", "1-g/2", "((i+2*T-total-1)/(i+2*T-total))**2", "exp(-i)", "min(0.9,max(g,0.1*i))"),
    "gain": ("g", "g*(i<=3)", "sqrt(g)/i", "3*g-1"),
    "T": ("0.5", "2", "7.5"),
    "n": ("1000", "inf"),
}
"""What the tests choose from; `mean` is not about topics."""


def test_every_parameter_has_values():
    named = {parameter.name for metric in ordinary_metrics() for parameter in metric.parameters}
    assert named - {"mean", "ia"} <= VALUES.keys()


@st.composite
def topics(draw):
    """Qrels and a ranking of one topic: short, long or empty, with unjudged documents and negative levels."""
    levels = draw(st.lists(st.integers(-2, H), max_size=14))
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    unjudged = [f"u{number}" for number in range(draw(st.integers(0, 10)))]
    ranking = draw(st.permutations([*qrels, *unjudged]))
    ranking = ranking[: draw(st.integers(0, len(ranking)))]
    scores = draw(st.lists(st.integers(-5, 5), min_size=len(ranking), max_size=len(ranking)))
    return qrels, dict(zip(ranking, sorted(map(float, scores), reverse=True), strict=True))


@st.composite
def expressions(draw, metric):
    names = [parameter.name for parameter in metric.parameters if parameter.name in VALUES]
    chosen = {name: draw(st.sampled_from(VALUES[name])) for name in names}
    if metric.name == "RBPresidual":
        chosen["condensed"] = "false"  # the other value is refused
    if draw(st.booleans()):
        chosen.pop("stops", None)  # by default, they are the gains
    arguments = ",".join(f"{name}={value}" for name, value in chosen.items())
    cutoffs = st.none() | st.integers(1, 30) | st.just("R") if metric.takes_r else st.none() | st.integers(1, 30)
    cutoff = draw(cutoffs) if metric.takes_cutoff else None
    return resolve(f"{metric.name}({arguments})" + (f"@{cutoff}" if cutoff else ""), Scale(H, depth=30))


def plain(metric, qrels, ranking):
    values = {key: value for key, value in metric.parameters.items() if key not in ("mean", "ia")}
    gains = values.pop("gains", None)
    topic = Topic(
        judged=list(qrels.values()),
        retrieved=[qrels.get(document) for document in ranking],
        scores=list(ranking.values()),
        ratio=gains.values if gains else (1.0,) * H,
        adjust=bool(gains and gains.adjusted),
        rel=values.pop("rel"),
        condensed=values.pop("condensed"),
    )
    if metric.metric.takes_cutoff:
        values["cutoff"] = topic.R if metric.cutoff == "R" else metric.cutoff
    return plain_score(metric.metric.name, topic, not ranking, metric.metric.graded, **values)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_score_is_what_the_definition_says(data):
    cases = data.draw(st.lists(topics(), min_size=1, max_size=4))
    metrics = [data.draw(expressions(metric)) for metric in ordinary_metrics()]
    qrels = {f"t{number}": case[0] for number, case in enumerate(cases)}
    run = {f"t{number}": case[1] for number, case in enumerate(cases)}
    for metric, scores in zip(metrics, table_of(metrics, judged(qrels, run)), strict=True):
        expected = [plain(metric, *case) for case in cases]
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12, err_msg=metric.label)


def test_long_lists_lose_no_digits():
    rng = np.random.default_rng(20)
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, H + 1)) for i in range(size)} for size in (3, 90, 260)}
    documents = {topic: [*levels, *(f"u{i}" for i in range(150))] for topic, levels in qrels.items()}
    run = {
        topic: {str(document): 1000.0 - rank for rank, document in enumerate(rng.permutation(ids))}
        for topic, ids in documents.items()
    }
    defaults = {"gains": "0.3:0.2:0.1", "base": "1.7", "beta": "0.3"}
    names = [f"{metric.name}@300" if metric.needs_cutoff else metric.name for metric in ordinary_metrics()]
    metrics = [resolve(name, Scale(H), defaults=defaults) for name in names]
    for metric, scores in zip(metrics, table_of(metrics, judged(qrels, run)), strict=True):
        expected = [plain(metric, qrels[topic], run[topic]) for topic in qrels]
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12, err_msg=metric.label)


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("P@R", "Rprec"),
        ("P(rel=2)@R", "Rprec(rel=2)"),
        ("Recall@R", "Rprec"),
        ("nCG@R", "RWP"),
        ("nCG(gains=10:5:1,condensed=true)@R", "RWP(gains=10:5:1,condensed=true)"),
        ("AP(recall_base=cutoff)@R", "AP@R"),
    ],
)
def test_at_rank_r_some_metrics_are_others(expression, same):
    rng = np.random.default_rng(7)
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, H + 1)) for i in range(size)} for size in (1, 3, 9, 90)}
    run = {
        topic: {str(document): 1000.0 - rank for rank, document in enumerate(rng.permutation([*levels, "u1", "u2"]))}
        for topic, levels in qrels.items()
    }
    found, expected = (scores_of(resolve(each, Scale(H)), judged(qrels, run)) for each in (expression, same))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("expression", ["AnCG@R", "AnDCG@R", "Rprec@R", "nDCG@r", "P_R", "nDCG@R10"])
def test_a_cut_off_r_is_refused_where_it_has_no_meaning(expression):
    with pytest.raises(BadExpression):
        resolve(expression, Scale(H))
