"""Metrics of answers: worked by hand, and against the scores that TREC's organisers computed."""

import json

import numpy as np

from gainboard.metrics.answers import NUGGET_METRICS, score_nuggets, score_support
from gainboard.trec import FileLimits
from gainboard.trec.nuggets import read_nuggets, read_verdicts
from tests import real

LIMITS = FileLimits()


def test_six_metrics_by_hand():
    # Topic 1: two vital and two okay nuggets; topic 2: one okay nugget; topic 3: a vital one, and a stray one.
    scores = score_nuggets(
        {"1": "0011", "2": "1", "3": "02"}, [{"1": "2110", "2": "2", "3": "22"}, {"1": "0000", "2": "", "3": ""}]
    )
    assert list(scores) == list(NUGGET_METRICS)
    by_hand = {
        "vital_strict": [1 / 2, 0, 1],
        "vital": [1.5 / 2, 0, 1],
        "weighted_strict": [1 / 3, 1, 1],
        "weighted": [(1.5 + 0.5 * 0.5) / 3, 1, 1],
        "all_strict": [1 / 4, 1, 1],
        "all": [2 / 4, 1, 1],
    }
    for name, values in by_hand.items():
        assert scores[name].tolist() == [values, [0, 0, 0]], name


def test_a_stray_verdict_counts_as_none():
    assert score_nuggets({"1": "00"}, [{"1": "32"}])["vital"].tolist() == [[0.5]]


def test_a_topic_that_was_not_judged_has_no_score():
    assert np.isnan(score_nuggets({"1": "0"}, [{}])["all"]).all()
    assert np.isnan(score_support(["1"], [{}])["recall"]).all()


def test_support_by_hand():
    # Three sentences: full and none; uncited; partial. Citations: 1, 0, .5; best citations: 1, 0, .5.
    answers = [{"1": ["20", "", "1"], "2": []}, {"1": ["", ""], "2": []}, {"1": ["12"], "2": ["2"]}]
    scores = score_support(["1", "2"], answers)
    assert scores["precision"].tolist() == [[1.5 / 3, 0], [0, 0], [1.5 / 2, 1]]
    assert scores["recall"].tolist() == [[1.5 / 3, 0], [0, 0], [1, 1]]


def test_scores_are_those_of_trec_rag_to_the_last_bit():
    folder = real.folder().parent / "nuggets-rag24"
    nuggets = read_nuggets([(folder / "nuggets.jsonl").read_bytes()], LIMITS, stray="count").nuggets
    assigned = [(folder / "assignments.gpt-4o.jsonl").read_bytes()]
    ((_, answers),) = read_verdicts(assigned, LIMITS, nuggets, stray="count").nuggets.runs.items()
    scores = score_nuggets({topic: "".join(kinds.values()) for topic, kinds in nuggets.items()}, [answers])
    official = {row["qid"]: row for row in map(json.loads, (folder / "scores.gpt-4o.jsonl").read_text().splitlines())}
    assert len(official) == 100
    for name in NUGGET_METRICS:
        stem, _, strict = name.partition("_")
        key = f"{strict}_{stem}_score" if strict else f"{stem}_score"
        theirs = [official[topic][key] for topic in nuggets]
        assert np.array_equal(scores[name][0], theirs), name
