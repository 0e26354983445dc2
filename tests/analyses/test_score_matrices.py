"""The kernels on published score matrices (Urbano and others), where the folder GAINBOARD_REAL_DATA holds them."""

import os
from pathlib import Path

import numpy as np
import pytest

from gainboard.statistics import find_test
from gainboard.statistics.significance import SignificanceSettings


def matrix(name, runs=60):
    """Scores of the first runs: [runs, topics]."""
    folder = os.environ.get("GAINBOARD_REAL_DATA")
    if not folder:
        pytest.skip("GAINBOARD_REAL_DATA does not name the folder of the score matrices")
    return np.loadtxt(Path(folder) / "score-matrices" / f"{name}.csv", delimiter=",", skiprows=1).T[:runs]


def levels(test, scores):
    return find_test(test).decide(scores, SignificanceSettings()).asl


@pytest.mark.parametrize("name", ["adhoc8_ap", "adhoc8_p10", "web2012_err20", "web2012_ndcg20"])
def test_the_bootstrap_agrees_with_students_t(name):
    scores = matrix(name)
    # A published run or two is there twice: no difference on any topic, and a level of 1 by either.
    bootstrap, student = levels("paired-bootstrap", scores), levels("t-test", scores)
    assert np.corrcoef(bootstrap, student)[0, 1] > 0.99
    assert abs((bootstrap < 0.05).mean() - (student < 0.05).mean()) < 0.03


def test_tukey_is_the_strictest_and_the_sign_test_less_sensitive_than_students_t():
    scores = matrix("adhoc8_ap", 30)
    power = {test: (levels(test, scores) < 0.05).mean() for test in ("randomised-tukey-hsd", "sign", "t-test")}
    assert 0 < power["randomised-tukey-hsd"] < power["t-test"]
    assert power["sign"] < power["t-test"] + 0.05


def test_average_precision_tells_more_pairs_apart_than_precision_at_10():
    powers = [(levels("t-test", matrix(name, 129)) < 0.05).mean() for name in ("adhoc8_ap", "adhoc8_p10")]
    assert powers[0] > powers[1] > 0.3
