"""A score has the same bits plainly and compiled, whatever other runs and metrics it is worked out with."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gainboard.acceleration import is_installed
from gainboard.metrics import JudgedRun, JudgedRuns, Scale, plain, resolve, score_all
from gainboard.metrics.scoring import SCORING
from tests.thorough import examples

from .judged import joined, judged, judgments, ordinary_metrics
from .test_definitions import H, expressions, topics
from .test_definitions import plain as by_definition

# A fresh clone compiles half a minute for it.
pytestmark = [
    pytest.mark.outer,
    pytest.mark.proof,
    pytest.mark.skipif(not is_installed(), reason="the fast extra is not installed"),
]


@pytest.fixture(autouse=True, scope="module")
def compiled():
    SCORING.load()
    yield
    SCORING.unload()


def plainly(metrics, runs):
    SCORING.unload()
    try:
        return score_all(metrics, runs)
    finally:
        SCORING.load()


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))


@settings(max_examples=examples(300))
@given(data=st.data())
def test_scores_are_what_the_definitions_say_and_the_same_both_ways(data):
    cases = data.draw(st.lists(topics(), min_size=1, max_size=4))
    chosen = data.draw(st.lists(st.sampled_from(ordinary_metrics()), min_size=1, max_size=12))
    metrics = [data.draw(expressions(metric)) for metric in chosen]
    qrels = {f"t{number}": case[0] for number, case in enumerate(cases)}
    run = {f"t{number}": case[1] for number, case in enumerate(cases)}
    expected = [[[by_definition(metric, *case) for case in cases]] for metric in metrics]
    found = score_all(metrics, judged(qrels, run))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert_same_bits(found, plainly(metrics, judged(qrels, run)))


def campaign(runs=3, seed=20):
    """Long lists, short ones, topics that runs lack or that have nothing to find."""
    rng = np.random.default_rng(seed)
    sizes = [0, 3, 9, 10, 90, 129, 260, 1500]
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, H + 1)) for i in range(size)} for size in sizes}
    qrels |= {"nothing": {"d0": 0, "d1": -1}, "lacking": {"d0": 2}}
    found = []
    for _ in range(runs):
        run = {}
        for topic, levels in qrels.items():
            documents = rng.permutation([*levels, *(f"u{i}" for i in range(150))])
            run[topic] = {str(document): 1000.0 - rank for rank, document in enumerate(documents)}
        del run["lacking"]
        found.append(joined(qrels, run))
    return qrels, found


def every_way(gains, condensed):
    query = {"gains": gains, "base": "1.7", "beta": "0.3", "condensed": condensed}
    cut = [
        f"{metric.name}@{cutoff}" for metric in ordinary_metrics() if metric.takes_cutoff for cutoff in (1, 300, 10**6)
    ]
    cut += [f"{metric.name}@R" for metric in ordinary_metrics() if metric.takes_r]
    whole = [metric.name for metric in ordinary_metrics() if not metric.needs_cutoff]
    options = product(("scaled", "raw"), ("minmax", "raw"))
    distances = [f"ADM(urs={urs},srs={srs})" for urs, srs in options]
    also = [f"{name}(stops=4:2:1)" for name in ("NCUguP", "NCUguBR")]
    every = [each for each in (*cut, *whole, *distances, *also) if condensed == "false" or "residual" not in each]
    return [resolve(expression, Scale(H), defaults={**query, "rel": rel}) for expression in every for rel in "312"]


@pytest.mark.parametrize(
    ("gains", "condensed"), [("0.3:0.2:0.1", "false"), ("adjust(10:5:1)", "true"), ("exp", "true")]
)
def test_a_score_does_not_depend_on_how_or_with_what_it_is_worked_out(gains, condensed, monkeypatch):
    metrics, (qrels, runs) = every_way(gains, condensed), campaign()
    together = JudgedRuns.of(runs, judgments(qrels))
    found = score_all(metrics, together)
    assert_same_bits(found, plainly(metrics, together))
    for number, run in enumerate(runs):
        alone = JudgedRuns.of([run], judgments(qrels))
        assert_same_bits(found[:, number], score_all(metrics, alone)[:, 0])
        assert_same_bits(found[:, number], plainly(metrics, alone)[:, 0])
    monkeypatch.setattr(plain, "MOST_ROWS", 1)
    assert_same_bits(found, plainly(metrics, together))
    single = np.array([score_all([metric], together)[0] for metric in metrics])
    assert_same_bits(found, single)


@pytest.mark.parametrize("highest", [1, 2, 4, 5, 6])
def test_any_number_of_levels_has_the_same_bits_both_ways(highest):
    rng, gains = np.random.default_rng(highest), ":".join(map(str, range(highest, 0, -1)))
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, highest + 1)) for i in range(size)} for size in (9, 260)}
    run = {topic: [str(each) for each in rng.permutation([*levels, "u"])] for topic, levels in qrels.items()}
    metrics = [
        resolve(f"{metric.name}@9" if metric.needs_cutoff else metric.name, Scale(highest), defaults=asked)
        for metric in ordinary_metrics()
        for asked in ({"rel": str(rel), "gains": gains} for rel in range(1, highest + 1))
    ]
    assert_same_bits(score_all(metrics, judged(qrels, run, highest)), plainly(metrics, judged(qrels, run, highest)))


@pytest.mark.parametrize("way", [score_all, lambda *asked: _plainly_chosen(*asked)])
def test_runs_may_be_chosen_in_any_order(way):
    metrics, (qrels, runs) = every_way("3:2:1", "false"), campaign(4)
    together = JudgedRuns.of(runs, judgments(qrels))
    found = score_all(metrics, together)
    for chosen in ([2], [3, 0], [0, 1, 2, 3], [3, 2, 1, 0], []):
        assert_same_bits(way(metrics, together, chosen), np.ascontiguousarray(found[:, chosen]))


def _plainly_chosen(metrics, runs, chosen):
    SCORING.unload()
    try:
        return score_all(metrics, runs, chosen)
    finally:
        SCORING.load()


def test_ranks_below_every_table_have_their_discount():
    run = JudgedRun(np.array([0, 1]), np.array([200_000], np.uint32), np.ones(1, np.int8), np.array([300_000]))
    runs = JudgedRuns.of([run], judgments({"t": {"d": 1}}))
    found = score_all([resolve("DCG(gains=1:1:1)@250000", Scale(H))], runs)
    assert found[0, 0, 0] == pytest.approx(1 / np.log2(200_000))


def test_no_runs_and_no_topics_have_no_scores():
    metrics = every_way("3:2:1", "false")
    for way in (score_all, plainly):
        assert way(metrics, JudgedRuns.of([], judgments({"t": {"d": 1}}))).shape == (len(metrics), 0, 1)
        assert way(metrics, judged({}, {})).shape == (len(metrics), 1, 0)


PLAIN_ONLY = {"ideal_cost", "ideal_discounted_gain", "ideal_falls", "logarithm", "reciprocals_at_falls", "running_sum"}
"""The operations of three metrics that trec_eval calls experimental. These are computed alone, plainly."""


def test_every_other_operation_has_both_forms():
    from gainboard.metrics.instructions import COMPILED  # noqa: PLC0415 (it imports the compiler)

    spread = {name for name in COMPILED if name.startswith("spread ")}
    assert COMPILED - spread == plain.OPERATIONS - PLAIN_ONLY
