"""What is refused, before anything is scored, and with what words."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sqlalchemy import insert, select

from gainboard.analyses.common import CommonTopics
from gainboard.errors import BadExpression, BadGains, BadInput, InvalidRequest, NotFound
from gainboard.jobs.submission import sizes_of_chunks
from gainboard.store.tables import runs as table_of_runs
from tests.world.groves import SYSTEMS, copied, planted

SENSITIVITY, CORRELATION = "bootstrap-sensitivity", "rank-correlation"
MANY = [f"P@{cutoff}" for cutoff in range(1, 21)]
CUTOFFS = [f"P@{cutoff}" for cutoff in range(1, 201)]
HUNDRED = [f"copy-{number}" for number in range(100)]
HUNDREDTHS = [number / 100 for number in range(1, 21)]
HALVES = ("stability", "swap-rate", "test-agreement")


def refused(shelf, kind, **params):
    """Where, with which code, and why."""
    with pytest.raises(BadInput) as raised:
        shelf.launch(kind, **params)
    (fault,) = raised.value.details["errors"]
    return fault["location"], fault["code"], raised.value.message + fault["message"]


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("metric", ["CG@10", "DCG@10", "genP@10", "WRR", "ADM(urs=raw)"])
def test_halves_compare_no_scores_beyond_1(shelf, kind, metric):
    location, code, message = refused(shelf, kind, metrics=["AP", metric])
    assert (location, code) == ("body.params.metrics", "unbounded-metric")
    assert metric[:2] in message


def test_gain_robustness_refuses_what_its_members_do(shelf):
    assert refused(shelf, "gain-robustness", metrics=["DCG@10"])[1] == "unbounded-metric"


def test_unbounded_metrics_can_be_tested_and_correlated(laboratory):
    assert laboratory.answer(SENSITIVITY, metrics=["DCG@10", "WRR"], test="t-test")["topics"] == 11
    assert laboratory.answer(CORRELATION, metrics=["DCG@10", "WRR"])["metrics"][1].startswith("WRR")


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
    """Two runs on three topics."""
    planted_here = planted(tmp_path_factory.mktemp("few"), 3, ("maple", "yew", "birch"))
    yield planted_here
    planted_here.workspace.database.close()


@pytest.mark.parametrize("kind", [*HALVES, "topic-set-size"])
def test_three_topics_are_not_halved(few, kind):
    location, code, message = refused(few, kind, metrics=["AP"])
    assert (location, code) == ("body.params.metrics", "too-few-topics")
    assert "3 of 3 topics" in message
    assert "at least 4" in message


def test_three_topics_can_be_tested(few):
    assert few.answer(SENSITIVITY, metrics=["AP"], resamples=50)["topics"] == 3


@pytest.mark.parametrize(
    ("kind", "params", "field", "bound"),
    [
        ("stability", {"subset_size": 12}, "subset_size", "at most 11"),
        ("swap-rate", {"subset_size": 6}, "subset_size", "at most 5"),
        ("swap-rate", {"subset_size": 12, "replacement": True}, "subset_size", "at most 11"),
        ("test-agreement", {"subset_size": 6}, "subset_size", "at most 5"),
        (SENSITIVITY, {"test": "sign", "resamples": 10}, "resamples", "sign draws no resamples"),
        (SENSITIVITY, {"test": "t-test", "correction": "max-t"}, "correction", 'Use "correction": "holm"'),
        (CORRELATION, {"accuracy": True, "resamples": 100_000, "metrics": MANY}, "accuracy", "at most 20,000,000"),
        ("topic-set-size", {"sizes": [5, 12]}, "sizes", "there are 11 topics"),
        ("concordance", {"metrics": ["AP", "Q"], "test": "sign", "resamples": 10}, "resamples", "draws no resamples"),
        (SENSITIVITY, {"metrics": CUTOFFS, "baseline": "Q"}, "metrics", "at most 200 items"),
        (CORRELATION, {"metrics": CUTOFFS, "against": "Q"}, "metrics", "at most 200 items"),
        ("gain-vectors", {"metrics": None, "cutoff": 100_000}, "cutoff", "at most 500,000"),
    ],
)
def test_the_message_states_the_bound(shelf, kind, params, field, bound):
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
    yield copy
    copy.workspace.database.close()


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


def test_a_job_may_cost_some_hours_and_no_more():
    assert sizes_of_chunks([3600.0] * 4) == [1, 1, 1, 1, 1]
    with pytest.raises(InvalidRequest, match=r"5\.0 hours of one core; the limit is 4\."):
        sizes_of_chunks([3600.0] * 5)


def test_what_is_drawn_at_once_has_a_bound():
    topics = CommonTopics(Any, np.ones(500, bool))
    topics.require_drawable(80_000, "trials")
    with pytest.raises(
        InvalidRequest, match=r"40,000,500 draws \(80,001 trials x 500 topics\); one job may have at most 40,000,000"
    ):
        topics.require_drawable(80_001, "trials")


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"metrics": ["nope"]}, BadExpression),
        ({"metrics": ["AP(beta=1)"]}, BadExpression),
        ({"metrics": ["AP"], "gains": "1:2:3"}, BadGains),
        ({"metrics": ["AP"], "beta": -1}, BadExpression),
        ({"metrics": ["AP"], "runs": {"top": 3, "by": "nope"}}, BadExpression),
        ({"metrics": ["AP"], "baseline": "nope"}, BadExpression),
        ({"metrics": ["AP"], "runs": ["yew", "nobody"]}, NotFound),
        ({"metrics": ["AP"], "qrels": 3}, NotFound),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_kind(shelf, params, error):
    with pytest.raises(error):
        shelf.launch(SENSITIVITY, **params)


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (SENSITIVITY, {"metrics": []}),
        (SENSITIVITY, {"metrics": ["AP"], "resample": 10}),
        (SENSITIVITY, {"metrics": ["AP"], "resamples": 0}),
        (SENSITIVITY, {"metrics": ["AP"], "resamples": 100_001}),
        (SENSITIVITY, {"metrics": ["AP"], "alphas": [0]}),
        (SENSITIVITY, {"metrics": ["AP"], "seed": 2**64}),
        (SENSITIVITY, {"metrics": ["AP"], "seed": -1}),
        (SENSITIVITY, {"metrics": ["AP"], "test": "anova"}),
        (CORRELATION, {"metrics": ["AP"], "coefficients": ["kendall", "kendall"]}),
        (CORRELATION, {"metrics": ["AP"], "p": 1}),
        ("stability", {"metrics": ["AP"], "fuzziness": [1.5]}),
        ("stability", {"metrics": ["AP"], "trials": 0}),
        ("swap-rate", {"metrics": ["AP"], "fuzziness": [0.1]}),
        ("gain-vectors", {"metrics": ["AP"]}),
        ("gain-vectors", {"cutoff": 0}),
        ("topic-set-size", {"metrics": ["AP"], "sizes": [1]}),
        ("topic-set-size", {"metrics": ["AP"], "difference": 0}),
    ],
)
def test_what_the_model_does_not_allow(shelf, kind, params):
    with pytest.raises(ValidationError):
        shelf.launch(kind, **params)


def test_a_binary_metric_has_no_gains_to_vary(shelf):
    location, code, message = refused(shelf, "gain-robustness", metrics=["AP"])
    assert (location, code) == ("body.params.metrics", "unknown-parameter")
    assert "AP has no parameter 'gains'" in message
    sweep = {"metric": "AP", "parameter": "beta", "values": [1], "against": ["Q"]}
    assert refused(shelf, CORRELATION, metrics=["AP"], sweep=sweep)[:2] == ("body.params.sweep", "unknown-parameter")
