"""What the papers say of their metrics, which must hold exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainboard.metrics import Scale, resolve

from .judged import judged, score, scores_of

FIVE = {f"b{number}": 1 for number in range(1, 6)}
THREE = {f"b{number}": 1 for number in range(1, 4)}


def at_rank(rank):
    """A ranking of a thousand documents of which only the one at `rank` is relevant."""
    return ["b1" if place == rank else f"x{place}" for place in range(1, 1001)]


def test_weighted_precision_does_not_see_how_late_a_document_arrives():
    for ranking in (at_rank(5), at_rank(1000)):
        assert score("nCG@1000", FIVE, ranking, gains="3:2:1") == pytest.approx(0.2, abs=1e-15)
        assert score("AWP", FIVE, ranking, gains="3:2:1") == pytest.approx(0.04, abs=1e-15)


def test_q_measure_sees_how_late_a_document_arrives():
    assert score("Q", FIVE, at_rank(5), gains="3:2:1") == pytest.approx(0.04, abs=1e-15)
    assert score("Q", FIVE, at_rank(1000), gains="3:2:1") == pytest.approx(2 / 1005 / 5, rel=1e-14)


def test_a_large_base_makes_ndcg_blind_to_ranks_below_it():
    third, tenth, eleventh = (score("nDCG(base=10)@1000", THREE, at_rank(rank)) for rank in (3, 10, 11))
    assert third == tenth
    assert eleventh < tenth


LEVELS = st.lists(st.integers(0, 3), min_size=1, max_size=20)


@given(LEVELS, st.integers(0, 20))
def test_flat_gains_turn_graded_metrics_into_binary_ones(levels, retrieved):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    rankings = judged({"t": qrels}, {"t": list(qrels)[:retrieved]})

    def flat(expression):
        return float(scores_of(resolve(expression, Scale(3), defaults={"gains": "1:1:1"}), rankings)[0])

    assert flat("Rmeasure") == pytest.approx(flat("Rprec"), nan_ok=True)
    assert flat("RWP") == pytest.approx(flat("Rprec"), nan_ok=True)
    assert flat("genAP") == pytest.approx(flat("AP"), nan_ok=True)
    assert not flat("Q") > flat("AWP") + 1e-12


def test_a_run_of_low_levels_has_more_q_measure_than_awp():
    qrels = {"low": 1, "high": 3}
    for blended, weighted in (("Q", "AWP"), ("Rmeasure", "RWP")):
        scores = [score(name, qrels, ["low", "x"], gains="3:2:1") for name in (blended, weighted)]
        assert scores[0] > scores[1]


@given(LEVELS)
def test_beta_0_makes_q_measure_average_precision(levels):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    q, ap = (score(name, qrels, list(qrels), gains="3:2:1") for name in ("Q(beta=0)", "AP"))
    assert q == pytest.approx(ap, nan_ok=True)


@given(LEVELS)
def test_flat_gains_make_q_awp_and_ap_equal_above_rank_r(levels):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    relevant = sum(level > 0 for level in levels)
    ranking = list(qrels)[:relevant]
    scores = [score(name, qrels, ranking, gains="1:1:1") for name in ("Q", "AWP", "AP")]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-13)


@pytest.mark.parametrize("name", ["Q", "Rmeasure"])
@pytest.mark.parametrize(("gains", "beta"), [("30:20:10", "10"), ("0.3:0.2:0.1", "0.1")])
@given(levels=LEVELS)
def test_larger_gains_are_a_larger_beta(name, gains, beta, levels):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    by_gains = score(f"{name}(gains={gains})", qrels, list(qrels))
    by_beta = score(f"{name}(beta={beta},gains=3:2:1)", qrels, list(qrels))
    assert by_gains == pytest.approx(by_beta, rel=1e-12, nan_ok=True)


@given(levels=st.permutations([3, 3, 2, 1, 1, 0]), length=st.integers(1, 6))
def test_q_is_one_only_for_an_ideal_list(levels, length):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    ideal = levels[:length] == sorted(levels, reverse=True)[:length] and length >= 5
    assert (score("Q", qrels, list(qrels)[:length], gains="3:2:1") > 1 - 1e-12) == ideal


@given(levels=st.permutations([3, 2, 1, 0, 0, 0]))
def test_r_measure_is_one_only_if_the_first_r_are_relevant(levels):
    qrels = {f"d{number}": level for number, level in enumerate(levels)}
    perfect = min(levels[:3]) > 0
    assert (score("Rmeasure", qrels, list(qrels), gains="3:2:1") > 1 - 1e-12) == perfect


def test_the_vector_of_jarvelin_and_kekalainen():
    vector = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    qrels = {f"d{number}": level for number, level in enumerate(vector)}
    cg = [score(f"CG@{rank}", qrels, list(qrels), gains="3:2:1") for rank in range(1, 11)]
    dcg = [score(f"DCG@{rank}", qrels, list(qrels), gains="3:2:1") for rank in range(1, 11)]
    assert cg == [3, 5, 8, 8, 8, 9, 11, 13, 16, 16]
    np.testing.assert_allclose(dcg, [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61], atol=0.005)


def test_the_ideal_vector_of_jarvelin_and_kekalainen():
    found, missed = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0], [1, 1, 1]
    qrels = {f"d{number}": level for number, level in enumerate(found + missed)}
    ranking, best = list(qrels)[: len(found)], sorted(qrels, key=lambda document: -qrels[document])
    ideal = [score(f"DCG@{rank}", qrels, best, gains="3:2:1") for rank in range(1, 11)]
    ndcg = [score(f"nDCG@{rank}", qrels, ranking, gains="3:2:1") for rank in range(1, 11)]
    np.testing.assert_allclose(ideal, [3, 6, 7.89, 8.89, 9.75, 10.52, 10.88, 11.21, 11.53, 11.83], atol=0.015)
    np.testing.assert_allclose(ndcg, [1, 0.83, 0.87, 0.78, 0.71, 0.69, 0.73, 0.77, 0.83, 0.81], atol=0.005)


def test_the_average_distance_prefers_a_run_that_ranks_worse():
    qrels = {"s": 3, "a": 2, "b": 1}
    perfect, reversed_ = {"s": 0.5, "a": 0.4, "b": 0.2}, {"b": 0.3, "a": 0.2, "s": 0.1}
    distances = [
        3 * (1 - score("ADM(gains=0.3:0.2:0.1,srs=raw,urs=raw)", qrels, ranking)) for ranking in (perfect, reversed_)
    ]
    np.testing.assert_allclose(distances, [0.5, 0.4], rtol=1e-12)
