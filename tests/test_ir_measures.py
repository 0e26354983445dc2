"""`gainboard.ir_measures`: our metrics as measures of ir_measures, with the scores of `gainboard.score`."""

import subprocess
import sys
import warnings

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, Qrel, nDCG

import gainboard
from gainboard import ir_measures as ours
from gainboard.errors import GainboardError
from gainboard.ir_measures import AWP, MEASURES, Q, parse_measure
from gainboard.metrics import every_metric
from tests.metrics.test_peers import random_case


def scores_of(measures, qrels, run):
    found = ir_measures.iter_calc(measures, qrels, run)
    return {(str(each.measure), each.query_id): each.value for each in found}


def with_intents(qrels):
    return [
        Qrel(topic, document, level, iteration=f"i{place % 3}")
        for topic, judged in qrels.items()
        for place, (document, level) in enumerate(judged.items())
    ]


@pytest.mark.parametrize("intents", [False, True])
def test_every_measure_has_the_scores_of_the_function(intents):
    found, run = random_case(1, lowest_level=-1)
    qrels = {**found, "none": {"d00": 0}}
    asked = [each for each in MEASURES.values() if each.metric.needs_intents == intents]
    measures = [each @ 10 if each.metric.needs_cutoff else each for each in asked]
    judged = with_intents(qrels) if intents else qrels
    lines = (f"{each.query_id} {each.iteration} {each.doc_id} {each.relevance}\n" for each in judged) if intents else ()
    expressions = [each.expression for each in measures]
    expected = gainboard.score("".join(lines) or qrels, {"run": run}, expressions, intents=intents)
    scores = scores_of(measures, judged, run)
    table = {
        (str(measure), topic): score
        for measure, own in zip(measures, expected.by_topic[0].tolist(), strict=True)
        for topic, score in zip(expected.topics, own, strict=True)
        if not np.isnan(score)
    }
    assert scores == table
    assert "none" not in {topic for _, topic in scores}
    means = ir_measures.calc_aggregate(measures, judged, run)
    np.testing.assert_allclose([means[each] for each in measures], expected.means[0], rtol=1e-14)


def test_what_ir_measures_has_stays_its_own():
    assert ir_measures.parse_measure("nDCG@10") == nDCG @ 10
    theirs = (
        {each.name for each in every_metric() if not each.needs_annotations}
        - MEASURES.keys()
        - {"O-measure", "P-measure"}
    )
    assert not any(isinstance(ir_measures.measures.registry[each], ours.GainboardMeasure) for each in theirs)
    qrels, run = random_case(2, lowest_level=0)
    both = ir_measures.calc_aggregate([AP, nDCG @ 10, Q(beta=10) @ 20, AWP], qrels, run)
    assert both[AP] == ir_measures.calc_aggregate([AP], qrels, run)[AP]


def test_parameters_are_given_as_literals_and_shown_in_names():
    qrels, run = random_case(3, lowest_level=0)
    asked = "Q(beta=10,gains='3:2:1',condensed=True)@20"
    measure = parse_measure(asked)
    assert str(measure) == asked
    assert measure == Q(beta=10, gains="3:2:1", condensed=True) @ 20
    expected = gainboard.score(qrels, {"run": run}, ["Q(beta=10,gains=3:2:1,condensed=true)@20"]).means[0, 0]
    assert ir_measures.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(expected, rel=1e-14)
    geometric = Q(mean="geometric")
    expected = gainboard.score(qrels, {"run": run}, ["Q(mean=geometric)"]).means[0, 0]
    assert geometric.calc_aggregate(qrels, run) == pytest.approx(expected, rel=1e-14)


def test_texts_mean_what_they_mean_to_ir_measures():
    for text in ("AP", "nDCG@10", "AP(rel=2)@100", "nDCG(judged_only=True)@5", "IPrec@0.5", "SetF(beta=0.5)", "MRR"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs warns in Python 3.12
            assert repr(parse_measure(text)) == repr(ir_measures.parse_measure(text))
    for text, kind in {"AP(": ValueError, "AP(2)": ValueError, "1 + 1": ValueError, "Nonsense@3": NameError}.items():
        with pytest.raises(kind):
            parse_measure(text)


def test_frames_tuples_and_dictionaries_give_the_same_and_so_do_several_runs():
    pandas = pytest.importorskip("pandas")
    qrels, run = random_case(4, lowest_level=0)
    tuples = [Qrel(topic, document, level) for topic, own in qrels.items() for document, level in own.items()]
    docs = [ir_measures.ScoredDoc(topic, doc, score) for topic, own in run.items() for doc, score in own.items()]
    expected = scores_of([Q], qrels, run)
    assert scores_of([Q], pandas.DataFrame(tuples), pandas.DataFrame(docs)) == expected
    evaluator = ir_measures.evaluator([Q], iter(tuples))
    for _ in range(2):
        assert {(str(each.measure), each.query_id): each.value for each in evaluator.iter_calc(iter(docs))} == expected
    # A run without any judged topic misses all of them, as with every other provider.
    nothings = [{}, {"unknown": {"d": 1.0}}, {"t1": {}}]
    for nothing in nothings:
        assert set(scores_of([Q], qrels, nothing).values()) == {0.0}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"beta": -1}, "beta=-1: must be a number >= 0"),
        ({"gains": "3:2:1:1:1"}, "gains"),
        ({"bta": 1}, "Q has no parameter bta. Available: beta, condensed, cutoff, gains"),
    ],
)
def test_a_bad_parameter_is_refused_with_what_would_be_right(given, why):
    qrels, run = random_case(5, lowest_level=0)
    with pytest.raises(GainboardError, match=why):
        Q(**given).calc_aggregate(qrels, run)
    with pytest.raises(AttributeError, match="no measure 'Nonsense'"):
        _ = ours.Nonsense


@pytest.mark.outer
def test_its_command_is_theirs_with_our_measures(tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 3 t\n1 Q0 z 2 2 t\n")
    command = [sys.executable, "-W", "error", "-m", "gainboard.ir_measures", "qrels.txt", "run.txt"]
    done = subprocess.run(
        [*command, "Q(gains='3:2')@20", "AP"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("Q(gains='3:2')@20\t0.5000\nAP\t0.5000\n", "")
    done = subprocess.run([*command, "Q(beta='x')"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("gainboard: Q(beta=x): beta=x: must be a number")
