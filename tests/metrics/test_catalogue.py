"""What holds for every metric of the catalogue; a new one is tested unasked."""

import inspect
import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainboard.metrics import JudgedRuns, Scale, every_metric, mean_of, resolve

from .judged import joined, judged, judgments, scores_of, table_of

SCALE = Scale(3, depth=20, intents=True)
QRELS = {"a": {"d": 1}}
RATIO = {"gains": "3:2:1"}
BOUNDED = [metric for metric in every_metric() if metric.bounded]


def bound(metric, **defaults):
    """The metric as it is by default, cut at the depth if it must be cut."""
    cutoff = f"@{SCALE.depth}" if metric.needs_cutoff else ""
    return resolve(f"{metric.name}{cutoff}", SCALE, defaults={**RATIO, **defaults})


def bound_every(metrics=None, /, **defaults):
    return [bound(metric, **defaults) for metric in metrics or every_metric()]


SPANNED = [
    {},
    {"gains": "exp"},
    {"gains": "100:10:1", "base": "10", "b": "1.01:2:3", "urs": "raw", "srs": "raw"},
    {"gains": "adjust(9:5:1)", "ia": "true"},
    {"ia": "equal"},
]
"""Settings that widen the range of some metrics."""


@st.composite
def cases(draw):
    """Qrels of a few topics, each with a relevant document, and a run of judged and unjudged documents."""
    qrels, run = {}, {}
    for topic in "abc"[: draw(st.integers(1, 3))]:
        levels = [draw(st.integers(1, 3)), *draw(st.lists(st.integers(-1, 3), max_size=8))]
        qrels[topic] = {f"d{number}": level for number, level in enumerate(levels)}
        ranking = draw(st.permutations([*qrels[topic], "u0", "u1", "u2"]))
        run[topic] = ranking[: draw(st.integers(1, len(ranking)))]
    return qrels, run


def test_judgments_are_the_same_in_another_process_once_they_were_used():
    run, own = joined(QRELS, {"a": ["u", "d"]}), judgments(QRELS)
    for metric in bound_every():
        expected = scores_of(metric, JudgedRuns.of([run], own))
        again = pickle.loads(pickle.dumps(own))
        assert scores_of(metric, JudgedRuns.of([run], again)).tolist() == expected.tolist(), metric.label


@given(case=cases())
def test_bounded_scores_lie_between_0_and_1(case):
    runs = judged(*case)
    for gains in ("3:2:1", "1:1:1", "9:0:0", "exp", "adjust(10:5:1)"):
        table = table_of(bound_every(BOUNDED, gains=gains), runs)
        for metric, scores in zip(BOUNDED, table, strict=True):
            defined = scores[~np.isnan(scores)]
            assert (defined >= -1e-12).all(), f"{metric.name}, {gains}: {defined}"
            assert (defined <= 1 + 1e-12).all(), f"{metric.name}, {gains}: {defined}"


@given(case=cases(), data=st.data(), query=st.sampled_from(SPANNED))
def test_judgments_move_a_score_by_its_span_at_most(case, data, query):
    qrels, run = case
    other = {
        topic: {doc: data.draw(st.integers(0, 3)) for doc in [*levels, "u0", "u1"] if data.draw(st.booleans())}
        for topic, levels in qrels.items()
    }
    metrics = bound_every(**query)
    before, after = (table_of(metrics, judged(each, run)) for each in (qrels, other))
    for metric, moved in zip(metrics, abs(before - after), strict=True):
        assert (moved[~np.isnan(moved)] <= metric.span * (1 + 1e-12)).all(), f"{metric.label}: {moved}"


def test_topics_without_relevant_documents_are_undefined():
    nothing = judged({"a": {"n": 0}, "b": {}, "c": {"d": 1}}, {"a": ["n"], "c": ["d"]})
    below = judged({"a": {"d": 1}, "b": {"d": 2}}, {"a": ["d"], "b": ["d"]})
    no_gain = judged({"a": {"d": 2}}, {"a": ["d"]})
    for metric in every_metric():
        is_undefined = metric.name != "Judged"
        assert metric.on_every_topic == (not is_undefined), metric.name
        scores = scores_of(bound(metric), nothing)
        assert np.isnan(scores).tolist() == [is_undefined, is_undefined, False], metric.name
        assert np.isnan(scores_of(bound(metric, rel="2"), below)).tolist() == [is_undefined, False], metric.name
        # Gains that are all 0 leave only binary metrics defined.
        assert np.isnan(scores_of(bound(metric, gains="3:0:0"), no_gain)[0]) == metric.graded, metric.name


def test_a_topic_that_the_run_lacks_scores_nothing():
    for run in ({"a": ["d"]}, {}):
        table = table_of(bound_every(), judged({"a": {"d": 1}, "b": {"d": 1}}, run))
        for metric, scores in zip(every_metric(), table, strict=True):
            assert scores[1] == metric.score_of_missing == (metric.name == "RBPresidual"), metric.name


def test_no_topics_have_no_scores():
    for metric in bound_every():
        scores = scores_of(metric, judged({}, {}))
        assert scores.shape == (0,)
        assert math.isnan(mean_of(metric, scores)), metric.label


@given(case=cases())
def test_condensed_lists_do_not_see_the_unjudged(case):
    qrels, run = case
    scores = {topic: dict(zip(ranking, range(99, 0, -1), strict=False)) for topic, ranking in run.items()}
    kept = {topic: {doc: scores[topic][doc] for doc in run[topic] if doc in qrels[topic]} for topic in run}
    metrics = [each for each in every_metric() if each.name != "RBPresidual" and not each.needs_annotations]
    condensed = table_of(bound_every(metrics, condensed="true"), judged(qrels, scores))
    removed = table_of(bound_every(metrics), judged(qrels, kept))
    # A ranking of nothing but unjudged documents is condensed to an empty one, which is not a missing topic.
    left = np.array([bool(kept[topic]) for topic in qrels])
    for metric, one, other in zip(metrics, condensed, removed, strict=True):
        np.testing.assert_allclose(one[left], other[left], rtol=1e-14, err_msg=metric.name)


RISES = [
    metric for metric in BOUNDED if metric.sorted_is_best and metric.name not in ("ADM", "RBPresidual", "Unjudged")
]
"""ADM looks at scores. A residual and Unjudged fall when a judged document moves up."""


@given(case=cases())
def test_a_better_document_that_moves_up_never_costs(case):
    qrels, run = case
    levels, ranking = qrels["a"], list(run["a"])
    before = table_of(bound_every(RISES), judged({"a": levels}, {"a": ranking}))[:, 0]
    for place, (one, other) in enumerate(pairwise(ranking)):
        if levels.get(one, 0) < levels.get(other, 0):
            moved = [*ranking[:place], other, one, *ranking[place + 2 :]]
            after = table_of(bound_every(RISES), judged({"a": levels}, {"a": moved}))[:, 0]
            assert [RISES[lost].name for lost in np.flatnonzero(after < before - 1e-12)] == []


def test_every_entry_explains_itself():
    for metric in every_metric():
        assert metric.title, metric.name
        assert metric.reference, metric.name
        assert metric.definition == inspect.getdoc(metric.kernel), metric.name
        assert metric.definition.endswith("."), metric.name
        for parameter in metric.parameters:
            assert parameter.description.endswith("."), (metric.name, parameter.name)
            assert parameter.limits, (metric.name, parameter.name)
            assert parameter.schema, (metric.name, parameter.name)


def mean(scores, expression="AP"):
    return float(mean_of(resolve(expression, SCALE), np.array(scores)))


def test_a_mean_leaves_undefined_topics_out():
    assert mean([0.25, math.nan, 0.75]) == 0.5
    assert math.isnan(mean([math.nan]))


def test_a_geometric_mean_takes_small_scores_for_a_hundred_thousandth():
    assert mean([0.25, 0.25, math.nan], "AP(mean=geometric)") == pytest.approx(0.25)
    assert mean([0.0, 0.1], "AP(mean=geometric)") == pytest.approx(1e-3)


def test_a_metric_of_scores_says_that_it_needs_them():
    bare = JudgedRuns.of([replace(joined(QRELS, {"a": ["d"]}), retrieval_scores=None)], judgments(QRELS))
    assert resolve("ADM", SCALE).needs_retrieval_scores
    assert not resolve("AP", SCALE).needs_retrieval_scores
    with pytest.raises(ValueError, match="needs the run's retrieval scores"):
        scores_of(resolve("ADM", SCALE), bare)
