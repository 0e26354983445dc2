"""What is refused, before anything is scored, and with what words."""

from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select

from gainboard.analyses.common import CommonTopics
from gainboard.errors import GainboardError, InvalidRequest
from gainboard.store.tables import runs as table_of_runs
from tests.world.groves import SYSTEMS, copied, planted

SENSITIVITY, CORRELATION = "bootstrap-sensitivity", "rank-correlation"
MANY = [f"P@{cutoff}" for cutoff in range(1, 21)]
CUTOFFS = [f"P@{cutoff}" for cutoff in range(1, 201)]
HUNDRED = [f"copy-{number}" for number in range(100)]
HUNDREDTHS = [number / 100 for number in range(1, 21)]
STANDARD = {"standardise": "normal", "reference": ["oak", "yew"]}
HALVES = ("stability", "swap-rate", "test-agreement")


def refused(shelf, kind, **params):
    with pytest.raises(GainboardError) as raised:
        shelf.launch(kind, **params)
    (fault,) = raised.value.details["errors"]
    return fault["location"], fault["code"], raised.value.message + fault["message"]


@pytest.mark.parametrize("kind", [*HALVES, "gain-robustness"])
@pytest.mark.parametrize("metric", ["DCG@10", "genP@10"])
def test_halves_compare_no_scores_beyond_1(shelf, kind, metric):
    location, code, message = refused(shelf, kind, metrics=["Q", metric])
    assert (location, code) == ("body.params.metrics", "unbounded-metric")
    assert metric[:2] in message


@pytest.mark.parametrize(
    ("kind", "more"), [(SENSITIVITY, {}), (CORRELATION, {"accuracy": True}), *((kind, {}) for kind in HALVES)]
)
def test_drawing_topics_compares_no_geometric_means(shelf, kind, more):
    found = refused(shelf, kind, metrics=["AP", "AP(mean=geometric)"], **more)
    assert found[:2] == ("body.params.metrics", "geometric-mean")


@pytest.mark.parametrize("kind", [SENSITIVITY, CORRELATION, *HALVES, "topic-set-size", "difficulty", "rank-intervals"])
def test_one_run_alone_is_compared_with_nothing(shelf, kind):
    for runs in (["yew"], {"top": 1, "by": "AP"}):
        assert refused(shelf, kind, metrics=["AP"], runs=runs)[:2] == ("body.params.runs", "too-few-runs")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("few"), 3, ("maple", "yew", "birch"))


@pytest.mark.parametrize("kind", [*HALVES, "topic-set-size"])
def test_three_topics_are_not_halved(few, kind):
    location, code, message = refused(few, kind, metrics=["AP"])
    assert (location, code) == ("body.params.metrics", "too-few-topics")
    assert "3 of 3 topics" in message
    assert "at least 4" in message


@pytest.mark.parametrize(
    ("kind", "params", "field", "bound"),
    [
        ("stability", {"subset_size": 12}, "subset_size", "at most 11"),
        ("swap-rate", {"subset_size": 6}, "subset_size", "at most 5"),
        (SENSITIVITY, {"test": "sign", "resamples": 10}, "resamples", "sign draws no resamples"),
        (CORRELATION, {"accuracy": True, "resamples": 100_000, "metrics": MANY}, "accuracy", "at most 20,000,000"),
        ("topic-set-size", {"sizes": [5, 12]}, "sizes", "there are 11 topics"),
        ("rank-intervals", {"test": "t-test"}, "correction", "would not hold together"),
        ("rank-intervals", {"test": "t-test", "correction": "benjamini-hochberg"}, "correction", "discovery rate"),
        (CORRELATION, {"against": "AP (qrels 3)"}, "against.qrels", "no published"),
        ("difficulty", {"standardise": "normal", "reference": ["oak"]}, "reference", "at least 2 reference runs"),
        ("difficulty", {"reference": ["oak", "yew"]}, "standardise", "Only standardised scores have reference runs"),
        ("difficulty", STANDARD | {"runs": ["yew", "birch"]}, "reference", "'oak' is not among the selected runs"),
        ("leave-one-team-out", {"contributors": ["oak", "x-1"]}, "contributors", "has no run 'x-1'"),
        ("leave-one-team-out", {"contributors": ["oak", "cedar"]}, "contributors", "at least 2 teams"),
        ("leave-one-team-out", {"metrics": ["ADM"]}, "metrics", "needs more than the ranks of relevant documents"),
        ("judge-agreement", {"sets": ["absent"]}, "sets.0", "'absent'"),
        ("judge-agreement", {"sets": ["people"], "threshold": 4}, "threshold", "3"),
        ("judge-agreement", {"sets": ["people"], "flagged": ["nobody"]}, "flagged", "'nobody'"),
        ("judge-agreement", {"sets": ["people"], "metrics": ["ADM"]}, "metrics", "ADM"),
        (SENSITIVITY, {"metrics": CUTOFFS, "baseline": "Q"}, "metrics", "at most 200 items"),
        ("gain-vectors", {"metrics": None, "cutoff": 100_000}, "cutoff", "at most 500,000"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place_with_what_would_be_right(shelf, kind, params, field, bound):
    sent = {name: value for name, value in ({"metrics": ["AP"]} | params).items() if value is not None}
    location, _, message = refused(shelf, kind, **sent)
    assert location == f"body.params.{field}"
    assert bound in message


@pytest.fixture(scope="module")
def crowd(folder, laboratory, tmp_path_factory):
    """The campaign with copies of a run, 1,500 in all; nothing of them is read before a job is worked."""
    copy = copied(folder, tmp_path_factory.mktemp("crowd"))
    with copy.workspace.database.writing() as tx:
        one = dict(tx.execute(select(table_of_runs).limit(1)).mappings().one())
        del one["id"]
        tx.execute(insert(table_of_runs), [one | {"name": f"copy-{number}"} for number in range(1500 - len(SYSTEMS))])
    return copy


@pytest.mark.parametrize(
    ("kind", "params", "place", "bound"),
    [
        (
            SENSITIVITY,
            {"metrics": CUTOFFS},
            "runs",
            "pairs of runs over all metrics; one job may have at most 12,000,000",
        ),
        (SENSITIVITY, {"runs": HUNDRED, "test": "unpaired-bootstrap", "resamples": 100_000}, "resamples", "42,200,000"),
        (CORRELATION, {"against": "AP"}, "against", "at most 1,000,000"),
        ("stability", {"per_pair": True, "fuzziness": [0.1]}, "runs", "at most 1,000,000"),
        ("stability", {"trials": 1, "fuzziness": HUNDREDTHS}, "runs", "22,485,000"),
        ("swap-rate", {"trials": 1, "metrics": CUTOFFS}, "runs", "at most 40,000,000"),
        ("gain-robustness", {"metrics": ["Q"], "trials": 1, "per_pair": True}, "runs", "at most 1,000,000"),
        ("gain-vectors", {"cutoff": 334}, "cutoff", "501,000"),
        ("rank-intervals", {"resamples": 30_000}, "resamples", "45,000,000 ranks"),
    ],
)
def test_many_runs_have_bounds_of_their_own(crowd, kind, params, place, bound):
    metrics = {} if kind == "gain-vectors" else {"metrics": ["AP"]}
    location, _, message = refused(crowd, kind, **(metrics | params))
    assert location == f"body.params.{place}"
    assert bound in message


def test_what_is_drawn_at_once_has_a_bound():
    topics = CommonTopics(Any, np.ones(500, bool))
    topics.require_drawable(80_000, "trials")
    with pytest.raises(
        InvalidRequest, match=r"40,000,500 draws \(80,001 trials x 500 topics\); one job may have at most 40,000,000"
    ):
        topics.require_drawable(80_001, "trials")
