"""Bounds: the score if every unjudged document retrieved were of the highest level, for every metric unasked."""

import numpy as np
from hypothesis import given

from gainboard.metrics import JudgedRuns, Scale, mean_all, mean_if_relevant, resolve, score_all
from gainboard.metrics.rankings import assume_relevant

from .judged import joined, judged, judgments, table_of
from .test_catalogue import bound_every, cases

MAY_FALL = {
    *("AP", "AP11pt", "infAP", "IPrec", "Rprec", "RprecMult", "Recall", "relP", "Irec", "bpref", "binG", "G"),
    *("Q", "Rmeasure", "O-measure", "P-measure", "Pplus", "EBR", "nEBR", "NCUguP", "NCUguBR", "NCUrbP", "NCUrbBR"),
    *("nCG", "nDCG", "AnCG", "AnDCG", "MSnDCG", "AWP", "RWP", "genAP", "nDCGrel", "RnDCG", "NWRR", "NCUrbIE"),
    *("nERR", "niRBU", "nRBP", "DnDCG", "DQ", "DsharpnDCG", "DsharpQ", "alphanDCG", "nERRIA", "nNRBP", "ADM"),
    *("RBPresidual", "Unjudged"),
}
"""Metrics that compare with what is relevant or judged in all: with more of both, a score may be lower. ADM compares
with the run's own scores, and the last two say what is not judged. In docs/metrics.md, too."""


def ends(qrels, run):
    """The metrics, and their scores if the unjudged are nonrelevant, and if they are relevant: [metrics, topics]."""
    metrics = [each for each in bound_every() if not each.metric.needs_annotations]
    one, own = joined(qrels, run), judgments(qrels)
    assumed, extended = assume_relevant(one, own)
    both = ((one, own), (assumed, extended))
    return metrics, *(score_all(metrics, JudgedRuns.of([each], of))[:, 0] for each, of in both)


@given(case=cases())
def test_bounds_are_the_scores_by_judgments_that_have_the_unjudged_as_relevant(case):
    qrels, run = case
    metrics, _, highest = ends(qrels, run)
    judged_all = {topic: levels | dict.fromkeys({*run[topic]} - {*levels}, 3) for topic, levels in qrels.items()}
    expected = table_of(metrics, judged(judged_all, run))
    for metric, computed, wanted in zip(metrics, highest, expected, strict=True):
        np.testing.assert_allclose(computed, wanted, rtol=1e-12, atol=1e-12, err_msg=metric.label)


@given(case=cases())
def test_a_relevant_document_costs_nothing_but_where_the_ideal_grows(case):
    metrics, lowest, highest = ends(*case)
    for metric, low, high in zip(metrics, lowest, highest, strict=True):
        if metric.metric.name not in MAY_FALL:
            assert (low <= high + 1e-12).all(), f"{metric.label}: {low} {high}"


@given(case=cases())
def test_where_everything_is_judged_both_ends_are_one(case):
    qrels, run = case
    metrics, lowest, highest = ends(qrels, {topic: [d for d in run[topic] if d in qrels[topic]] for topic in run})
    for metric, low, high in zip(metrics, lowest, highest, strict=True):
        np.testing.assert_array_equal(low, high, err_msg=metric.label)


def test_means_are_over_the_topics_with_a_score():
    qrels, run = {"a": {"d": 1}, "b": {}, "c": {"e": 3}}, {"a": ["u", "d"], "b": ["u"]}
    metrics = [resolve(each, Scale(3)) for each in ("RR", "Q(gains=3:2:1)", "AP(mean=geometric)")]
    one, own = joined(qrels, run), judgments(qrels)
    scores = score_all(metrics, JudgedRuns.of([one], own))[:, 0]
    # Topic b has no relevant document that is judged, and the run lacks topic c.
    high = mean_if_relevant(metrics, one, own, scores)
    np.testing.assert_allclose(high, [1 / 2, 1 / 2, 1e-5 ** (1 / 2)], rtol=1e-12)
    assert mean_all(metrics, scores)[0] == 1 / 4


def test_long_runs_are_scored_in_parts_to_the_same_bits(monkeypatch):
    rng = np.random.default_rng(3)
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(0, 4)) for i in range(size)} for size in (1, 9, 40, 5)}
    run = {topic: [str(d) for d in rng.permutation([*levels, "u", "v", "w"])] for topic, levels in qrels.items()}
    metrics = [each for each in bound_every() if not each.metric.needs_annotations]
    one, own = joined(qrels, run), judgments(qrels)
    scores = score_all(metrics, JudgedRuns.of([one], own))[:, 0]
    whole = mean_if_relevant(metrics, one, own, scores)
    monkeypatch.setattr("gainboard.metrics.scoring._MOST_ASSUMED", 10)
    assert mean_if_relevant(metrics, one, own, scores).tolist() == whole.tolist()
