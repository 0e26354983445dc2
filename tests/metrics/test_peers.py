"""The programs that the field uses give the same scores, but for differences that are named here."""

import math
import re

import numpy as np
import pytest
import pytrec_eval

from gainboard.metrics import Scale, resolve

from .judged import judged, table_of

H = 3
SCALE = Scale(H)
SEEDS = range(6)


def random_case(seed, *, lowest_level):
    """Topics with short and long lists, ties, unjudged documents and levels from `lowest_level`; one is missing."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for topic in map("t{}".format, range(12)):
        levels = rng.integers(lowest_level, H + 1, size=rng.integers(3, 60))
        qrels[topic] = {f"d{number:02}": int(level) for number, level in enumerate([*levels, 1])}
        documents = rng.permutation([*qrels[topic], *(f"u{number:02}" for number in range(30))])
        retrieved = documents[: rng.integers(1, len(documents))]
        # Quarters are exact in single precision too, in which trec_eval 9 compares scores.
        run[topic] = {str(document): float(rng.integers(0, 80)) / 4 for document in retrieved}
    del run["t7"]
    return qrels, run


def ordered(run):
    """By score, equal scores by descending document id."""
    by_score = {topic: sorted(scores, key=lambda doc: (scores[doc], doc)) for topic, scores in run.items()}
    return {topic: {doc: run[topic][doc] for doc in reversed(docs)} for topic, docs in by_score.items()}


TREC_EVAL = [
    ("map", "map"),
    ("recip_rank", "recip_rank"),
    ("Rprec", "Rprec"),
    # trec_eval's ndcg is cut nowhere; no list here is longer than the depth.
    ("ndcg", "MSnDCG(gains=linear)"),
    *(
        (f"{name}_{cutoff}", f"{name}_{cutoff}")
        for name in ("map_cut", "P", "recall", "ndcg_cut", "success")
        for cutoff in (5, 10, 100)
    ),
    ("success_1", "success_1"),
    ("bpref", "bpref"),
    ("infAP", "infAP"),
]


def test_scores_are_those_of_trec_eval():
    compare_with_trec_eval(TREC_EVAL)


def test_a_relevance_threshold_is_that_of_trec_eval():
    # Not for nDCG: trec_eval's threshold does not touch gains, ours does (metrics.md, notation).
    compare_with_trec_eval([row for row in TREC_EVAL if "ndcg" not in row[0]], "rel=2", relevance_level=2)


def test_condensed_lists_are_those_of_trec_eval():
    # Without negative levels: trec_eval drops them with the unjudged, here they stay, as nonrelevant
    # (definitions, "Condensed lists").
    compare_with_trec_eval(TREC_EVAL, "condensed=true", lowest_level=0, judged_docs_only_flag=True)


def compare_with_trec_eval(rows, argument="", lowest_level=-2, **options):
    inside = f"({argument})" if argument else ""
    metrics = [
        resolve(f"{ours[:-1]},{argument})" if ours[-1] + inside[:1] == ")(" else ours + inside, SCALE)
        for _, ours in rows
    ]
    measures = {re.sub(r"_(\d+)$", r".\1", theirs) for theirs, _ in rows}
    for seed in SEEDS:
        qrels, run = random_case(seed, lowest_level=lowest_level)
        peer = pytrec_eval.RelevanceEvaluator(qrels, measures, **options).evaluate(run)
        found = table_of(metrics, judged(qrels, ordered(run)))
        for (theirs, _), metric, scores in zip(rows, metrics, found.tolist(), strict=True):
            for topic, value in zip(qrels, scores, strict=True):
                # trec_eval scores a topic without relevant documents 0; here it is undefined (metrics.md, edge cases).
                # pytrec_eval leaves topics out that the run lacks; trec_eval -c and we give them 0.
                expected = peer.get(topic, {theirs: 0.0})[theirs]
                is_same = value == pytest.approx(expected, abs=1e-12) or (math.isnan(value) and expected == 0)
                assert is_same, f"{metric.label}, seed {seed}, topic {topic}: {value}, {theirs}: {expected}"
