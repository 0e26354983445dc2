"""Metrics of sampled pools: beside NIST's sample_eval, and its tiny example."""

import gzip
import json

import numpy as np
import pytest

import gainboard
from gainboard.errors import BadExpression
from tests import real

TINY = ["a 1 2", "b 1 0", "c 1 1", "d 2 -1", "e 2 1", "f 2 -1", "g 2 0", "h 2 -1", "i 2 -1"]
QRELS = "".join(f"1 0 {line}\n" for line in TINY).encode()
RUN = "".join(f"1 Q0 {document} {rank} {-rank} r\n" for rank, document in enumerate("adexgc", 1)).encode()
NAMES = {"xinfAP": "infAP", "infNDCG": "infNDCG"} | {f"iP@{k}": f"iP{k}" for k in (5, 10, 15, 20, 30, 100, 1000)}


def test_the_tiny_example_has_the_scores_of_sample_eval():
    found = gainboard.score(QRELS, {"r": RUN}, ["xinfAP", "infNDCG", "iP@5"]).means[0]
    assert found == pytest.approx([0.783328416810, 0.786688450757, 0.499994500142], abs=1e-12)


def test_a_real_run_has_the_twelve_decimals_of_sample_eval():
    folder = real.folder().parent / "avs-2021"
    expected = json.loads((folder / "sample_eval.json").read_text())
    qrels = gzip.decompress((folder / "qrels-five-columns.txt.gz").read_bytes())
    found = gainboard.score(qrels, folder / "run.txt.gz", [*NAMES])
    rows = [[expected[topic][theirs] for topic in found.topics] for theirs in NAMES.values()]
    np.testing.assert_allclose(found.by_topic[0], rows, atol=2e-12)


def test_other_metrics_take_what_was_not_sampled_as_unjudged_and_say_so():
    metrics = ["AP", "bpref", "infAP", "nDCG@5", "Judged@6"]
    with_strata = gainboard.score(QRELS, {"r": RUN}, metrics)
    kept = [line.split() for line in TINY if not line.endswith("-1")]
    without = "".join(f"1 0 {document} {level}\n" for document, _, level in kept).encode()
    assert with_strata.means.tolist() == gainboard.score(without, {"r": RUN}, metrics).means.tolist()
    (note,) = [note for note in with_strata.notes if "unsampled-documents" in note]
    assert note.endswith("for other metrics they are unjudged (4)")


def test_a_topic_that_the_run_lacks_counts_as_zero_and_not_as_left_out():
    both = QRELS + QRELS.replace(b"1 0 ", b"2 0 ")
    found = gainboard.score(both, {"r": RUN}, ["xinfAP", "iP@5"])
    assert found.by_topic[0][:, 1].tolist() == [0, 0]
    assert found.means[0].tolist() == (found.by_topic[0][:, 0] / 2).tolist()


def test_qrels_without_strata_are_refused_for_these_metrics():
    for expression in NAMES:
        with pytest.raises(BadExpression, match="strata of a sampled pool"):
            gainboard.score(b"1 0 a 1\n", {"r": RUN}, [expression])


def test_the_ideal_ranking_loses_no_rank_to_a_sum_of_fractions():
    # Each of the 49 relevant documents stands for 50/49, and 49 times that, added up, is less than 50.
    for pooled in range(2, 200):
        lines = [f"1 0 d{number} 1 {1 if number else -1}\n" for number in range(pooled)]
        run = "".join(f"1 Q0 d{number} 1 {-number} r\n" for number in range(1, pooled)).encode()
        found = gainboard.score("".join(lines).encode(), {"r": run}, ["infNDCG"]).means[0, 0]
        ideal, gained = (sum(1 / np.log2(np.arange(2, end))) for end in (pooled + 2, pooled + 1))
        assert found == pytest.approx(gained / ideal, abs=1e-12), pooled


def test_a_pool_of_which_nothing_is_judged_yet_has_no_scores():
    assert np.isnan(gainboard.score(b"1 0 a 1 -1\n", {"r": RUN}, ["xinfAP", "AP"]).means).all()
