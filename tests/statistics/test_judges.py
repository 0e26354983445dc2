"""Agreement of judges, against scikit-learn and published numbers, and by hand."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from gainboard.statistics.draws import Draws
from gainboard.statistics.judging import (
    MEASUREMENTS,
    UNJUDGED,
    at_threshold,
    bias_by_level,
    cohen_kappa,
    coincidences,
    krippendorff_alpha,
    label_agreement,
    macro_means,
    percentile_interval,
    retrieval_agreement,
    spread_of_differences,
)
from tests.statistics import plain_alpha

LEVELS = 4


def drawn(seed, documents=200, noise=0.3):
    """The levels that two judges give, who agree more or less."""
    random = np.random.default_rng(seed)
    first = random.choice(LEVELS, documents, p=[0.6, 0.2, 0.15, 0.05])
    other = random.choice(LEVELS, documents)
    return first, np.where(random.random(documents) < noise, other, first)


def table(first, second, levels=LEVELS):
    found = np.zeros((levels, levels))
    np.add.at(found, (first, second), 1)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("ours", "theirs"), [("unweighted", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_kappa_is_that_of_scikit_learn(seed, ours, theirs):
    first, second = drawn(seed)
    expected = cohen_kappa_score(first, second, weights=theirs, labels=range(LEVELS))
    assert cohen_kappa(table(first, second), ours) == pytest.approx(expected, abs=1e-12)


def test_kappa_by_hand():
    # Agreement 35/50; by chance 25/50 * 30/50 + 25/50 * 20/50 = 1/2.
    assert cohen_kappa(np.array([[20.0, 5.0], [10.0, 15.0]])) == pytest.approx(0.4, abs=1e-15)


@pytest.mark.parametrize("weighting", ["unweighted", "linear", "quadratic"])
def test_a_judge_of_one_level_has_a_kappa_of_exactly_0_and_two_of_the_same_level_none(weighting):
    constant = np.zeros((3, 3))
    constant[:, 1] = [7, 11, 13]
    assert cohen_kappa(constant, weighting) == 0
    assert np.isnan(cohen_kappa(np.diag([0.0, 9.0, 0.0]), weighting))
    assert np.isnan(cohen_kappa(np.zeros((3, 3)), weighting))


PUBLISHED = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four judges and twelve units, with their alphas (Krippendorff, Computing Krippendorff's alpha-reliability, 2011)."""
ALPHAS = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
OF_KRIPPENDORFF = {
    2: {"nominal": 0.36445242369838415, "ordinal": 0.2801471149449096, "interval": 0.2723219455703533},
    3: {"nominal": 0.4933604578377895, "ordinal": 0.44863319027271475, "interval": 0.4457102171591314},
    5: {"nominal": 0.3898010778498753, "ordinal": 0.3789025914915448, "interval": 0.3772550042339182},
}
"""What krippendorff 0.9.0 gives for `values(judges, judges)`. Its licence keeps it out of our dependencies."""


def values(seed, judges):
    """The levels that several judges give, each of whom has skipped some documents."""
    random = Draws(seed, "values").resamples(150, 20)[:, : 1 + 2 * judges]
    truth, luck, noise = random[:, :1] % LEVELS, random[:, 1 : 1 + judges], random[:, 1 + judges :] % LEVELS
    return np.where(luck < 4, UNJUDGED, np.where(luck < 10, noise, truth)).astype(np.int8)


@pytest.mark.parametrize("measurement", MEASUREMENTS)
def test_alpha_is_that_of_the_published_example(measurement):
    rows = [
        [UNJUDGED if value == "." else int(value) for value in line.split()] for line in PUBLISHED.split("\n")[1:-1]
    ]
    found = krippendorff_alpha(coincidences(np.array(rows, np.int8).T, 6), measurement)
    assert round(float(found), 3) == ALPHAS[measurement]


@pytest.mark.parametrize("judges", OF_KRIPPENDORFF)
@pytest.mark.parametrize("measurement", MEASUREMENTS)
def test_alpha_is_that_of_krippendorff_and_of_the_definition(judges, measurement):
    levels = values(judges, judges)
    found = float(krippendorff_alpha(coincidences(levels, LEVELS), measurement))
    assert found == pytest.approx(OF_KRIPPENDORFF[judges][measurement], abs=1e-12)
    units = [[value for value in row if value != UNJUDGED] for row in levels.tolist()]
    assert found == pytest.approx(plain_alpha.alpha(units, measurement), abs=1e-12)


def test_alpha_is_undefined_where_all_values_are_equal():
    # The package krippendorff raises an error there.
    same = np.full((9, 3), 2, np.int8)
    assert all(np.isnan(krippendorff_alpha(coincidences(same, LEVELS), each)) for each in MEASUREMENTS)


def test_the_share_of_agreement_and_of_relevant_documents_by_hand():
    found = label_agreement(np.array([[4.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), 1)
    assert found["agreement"] == 6 / 10
    assert found["relevant_reference"] == 4 / 10
    assert found["relevant"] == 5 / 10
    assert found["bias"] == (2 - 1 + 1) / 10
    assert at_threshold(np.arange(9.0).reshape(3, 3), 2).tolist() == [[8, 7], [13, 8]]


def test_bias_and_its_spread_are_those_of_the_differences():
    first, second = drawn(3)
    found, differences = table(first, second), second - first
    assert label_agreement(found, 1)["bias"] == pytest.approx(differences.mean(), abs=1e-12)
    assert spread_of_differences(found) == pytest.approx(differences.std(ddof=1), abs=1e-12)
    by_level = [differences[first == level].mean() for level in range(LEVELS)]
    assert bias_by_level(found) == pytest.approx(by_level, abs=1e-12)
    # Only upwards from the lowest level, and downwards from the highest: floor and ceiling.
    assert by_level[0] > 0 > by_level[-1]
    assert np.isnan(bias_by_level(np.diag([1.0, 0.0]))[1])
    assert np.isnan(spread_of_differences(np.diag([1.0, 0.0])))


def test_what_is_found_of_the_relevant_documents_by_hand():
    tables = np.array(
        [[[5.0, 3.0], [1.0, 2.0]], [[4.0, 0.0], [2.0, 0.0]], [[4.0, 2.0], [0.0, 0.0]], [[6.0, 0], [0, 0]]]
    )
    found = retrieval_agreement(tables, 1)
    assert np.array_equal(found["precision"], [2 / 5, np.nan, 0, np.nan], equal_nan=True)
    assert np.array_equal(found["recall"], [2 / 3, 0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(found["f1"], [4 / 8, 0, 0, np.nan], equal_nan=True)
    assert np.array_equal(found["jaccard"], [2 / 6, 0, 0, np.nan], equal_nan=True)
    assert macro_means(found["precision"]) == pytest.approx(0.2)
    twice = np.array([[2.0, 1.0, 1.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    assert np.array_equal(macro_means(found["precision"], twice), [0.8 / 3, np.nan], equal_nan=True)


def test_an_interval_leaves_out_undefined_resamples():
    estimates = np.append(np.arange(1.0, 201.0), [np.nan] * 7)
    assert percentile_interval(estimates).tolist() == [5, 195]
    assert np.isnan(percentile_interval(np.array([np.nan]))).all()
