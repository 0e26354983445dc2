"""What is compiled agrees with the definitions too, metrics of all kinds scored together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gainboard.compiled import is_installed
from gainboard.metrics import BoundMetric, JudgedRankings, Scale, every_metric, mean_all, resolve, score_all
from gainboard.metrics.twin import SCORING, as_numbers, score_together
from tests.thorough import examples

from .judged import judged
from .test_definitions import H, expressions, plain, topics
from .test_published import GOLDEN, LATER, golden_metric

pytestmark = [pytest.mark.outer, pytest.mark.skipif(not is_installed(), reason="the fast extra is not installed")]


@pytest.fixture(autouse=True, scope="module")
def compiled() -> Iterator[None]:
    SCORING.load()
    yield
    SCORING.unload()


def together(metrics: list[BoundMetric], rankings: JudgedRankings) -> Any:
    """The scores, of which the compiled code must have made all."""
    table = score_together([metric.as_numbers for metric in metrics], rankings.run, rankings.judgments)
    assert table is not None
    return table


@settings(max_examples=examples(400))
@given(data=st.data())
def test_scores_worked_together_are_what_the_definitions_say(data: st.DataObject) -> None:
    cases = data.draw(st.lists(topics(), min_size=1, max_size=4))
    chosen = data.draw(st.lists(st.sampled_from(every_metric()), min_size=1, max_size=12))
    metrics = [data.draw(expressions(metric)) for metric in chosen]
    qrels = {f"t{number}": case[0] for number, case in enumerate(cases)}
    run = {f"t{number}": case[1] for number, case in enumerate(cases)}
    expected = [[plain(metric, *case) for case in cases] for metric in metrics]
    np.testing.assert_allclose(together(metrics, judged(qrels, run)), expected, rtol=1e-12, atol=1e-12)


def campaign(seed: int = 20) -> JudgedRankings:
    """Long lists, short ones, topics that the run lacks or that have nothing to find."""
    rng = np.random.default_rng(seed)
    sizes = [0, 3, 90, 260, 1500]
    qrels = {f"t{size}": {f"d{i}": int(rng.integers(-1, H + 1)) for i in range(size)} for size in sizes}
    qrels |= {"nothing": {"d0": 0, "d1": -1}, "lacking": {"d0": 2}}
    run = {}
    for topic, levels in qrels.items():
        documents = rng.permutation([*levels, *(f"u{i}" for i in range(150))])
        run[topic] = {str(document): 1000.0 - rank for rank, document in enumerate(documents)}
    del run["lacking"]
    return judged(qrels, run)


@pytest.mark.parametrize("gains", ["0.3:0.2:0.1", "adjust(10:5:1)", "9:0:0", "exp"])
@pytest.mark.parametrize("condensed", ["false", "true"])
def test_scores_of_long_lists_are_the_plain_ones(gains: str, condensed: str) -> None:
    query = {"gains": gains, "base": "1.7", "beta": "0.3", "condensed": condensed}
    cut = [f"{metric.name}@{cutoff}" for metric in every_metric() if metric.takes_cutoff for cutoff in (1, 300, 10**6)]
    whole = [metric.name for metric in every_metric() if not metric.needs_cutoff]
    metrics = [
        resolve(expression, Scale(H), query={**query, "rel": rel}) for expression in cut + whole for rel in "312"
    ]
    rankings = campaign()
    expected = [metric.score(rankings) for metric in metrics]
    np.testing.assert_allclose(together(metrics, rankings), expected, rtol=1e-12, atol=1e-12)


def test_all_scales_of_system_scores_are_read_together() -> None:
    options = product(("scaled", "raw"), ("minmax", "raw"), ("false", "true"))
    metrics = [resolve(f"ADM(urs={urs},srs={srs},condensed={condensed})", Scale(H)) for urs, srs, condensed in options]
    rankings = campaign()
    expected = [metric.score(rankings) for metric in metrics]
    np.testing.assert_allclose(together(metrics, rankings), expected, rtol=1e-12, atol=1e-12)


def test_discounts_of_the_deepest_ranks_are_the_plain_ones() -> None:
    qrels = {"t": {f"d{number}": 1 + number % H for number in range(6000)}}
    rankings = judged(qrels, {"t": list(qrels["t"])})
    expressions = ("nDCG@5500", "MSnDCG@5500", "AnDCG@5500", "DCG(base=3)@6000")
    metrics = [resolve(expression, Scale(H, depth=6000)) for expression in expressions]
    expected = [metric.score(rankings) for metric in metrics]
    np.testing.assert_allclose(together(metrics, rankings), expected, rtol=1e-12)


def test_a_run_of_a_topic_or_two_that_finds_nothing_scores_nothing() -> None:
    rankings = judged({"a": {"d": 2}, "b": {"d": 1}}, {"a": ["x"]})
    metrics = [resolve(f"{each.name}@9" if each.needs_cutoff else each.name, Scale(H)) for each in every_metric()]
    expected = [metric.score(rankings) for metric in metrics]
    np.testing.assert_allclose(together(metrics, rankings), expected, rtol=1e-12)


@pytest.mark.parametrize("key", GOLDEN["values"])
def test_worked_examples_have_their_published_values_compiled_too(key: str) -> None:
    example, beta, base = key.split("|")
    case = GOLDEN["examples"][example]
    values = {name: value for name, value in GOLDEN["values"][key].items() if name.partition("@")[0] not in LATER}
    settled = (beta.removeprefix("beta="), base.removeprefix("a="))
    metrics = [golden_metric(name, case["gain"], *settled) for name in values]
    table = together(metrics, judged({"t": case["qrels"]}, {"t": case["run"]}))
    np.testing.assert_allclose(table[:, 0], list(values.values()), rtol=1e-9, atol=1e-9)


def test_every_metric_has_a_twin() -> None:
    metrics = [
        resolve(f"{metric.name}@9" if metric.needs_cutoff else metric.name, Scale(H)) for metric in every_metric()
    ]
    assert [metric.label for metric in metrics if not metric.as_numbers] == []


def test_a_metric_without_a_twin_leaves_all_to_the_plain_code() -> None:
    rankings, metric = campaign(), resolve("AP", Scale(H))
    assert as_numbers("ERR", True, metric.reading, {}, H) == b""
    assert score_together([metric.as_numbers, b""], rankings.run, rankings.judgments) is None


def test_a_run_of_more_ranks_than_two_bytes_hold_is_scored_plainly() -> None:
    rankings, metric = campaign(), resolve("AP", Scale(H))
    deep = JudgedRankings(replace(rankings.run, rank=rankings.run.rank.astype(np.uint32)), rankings.judgments)
    np.testing.assert_allclose(score_all([metric], deep)[0], metric.score(rankings), rtol=1e-12)


def test_a_metric_of_scores_still_says_that_it_needs_them() -> None:
    rankings = campaign()
    bare = JudgedRankings(replace(rankings.run, retrieval_scores=None), rankings.judgments)
    ap = resolve("AP", Scale(H))
    np.testing.assert_array_equal(together([ap], bare), together([ap], rankings))
    with pytest.raises(ValueError, match="needs the run's retrieval scores"):
        score_all([resolve("ADM", Scale(H))], bare)


def test_arrays_as_the_store_gives_them_are_scored_alike() -> None:
    rankings, metric = campaign(), resolve("nDCG", Scale(H))
    columns: dict[str, Any] = {}
    for name in ("starts", "rank", "level", "retrieved"):
        column = getattr(rankings.run, name)
        columns[name] = np.frombuffer(b"x" + column.tobytes(), column.dtype, offset=1)  # read-only, and not aligned
    stored = JudgedRankings(replace(rankings.run, **columns), rankings.judgments)
    np.testing.assert_array_equal(together([metric], stored), together([metric], rankings))


def test_means_are_the_plain_ones() -> None:
    metrics = [resolve(expression, Scale(H)) for expression in ("AP", "AP(mean=geometric)", "Q")]
    table = np.random.default_rng(4).random((3, 5, 50))
    table[:, 1, ::3], table[:, 2], table[1, 3, 0] = np.nan, np.nan, 0.0
    expected = [metric.means(scores) for metric, scores in zip(metrics, table, strict=True)]
    np.testing.assert_allclose(mean_all(metrics, table), expected, rtol=1e-12)
    np.testing.assert_allclose(mean_all(metrics, table[:, 0]), np.array(expected)[:, 0], rtol=1e-12)
