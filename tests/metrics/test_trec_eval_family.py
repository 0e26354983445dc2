"""Where the metrics that trec_eval alone has differ from it, and what they are called there."""

import numpy as np
import pytest

from gainboard.metrics import Scale, resolve
from gainboard.trec_eval.measures import MEASURES
from tests.trec_eval.test_peer import random_case, topics_of

from .judged import judged, score, table_of
from .test_peers import ordered

SCALE = Scale(4)
GRADED = ["G", "ndcg_rel", "Rndcg"]


@pytest.mark.parametrize("gains", ["7:5:3:1", "4:4:2:2", "20:9.5:2.5:1", "exp"])
def test_gains_that_differ_by_less_than_1_and_others_give_the_scores_of_the_program(gains):
    metrics = [resolve(f"{name}(gains={gains})", SCALE) for name in GRADED]
    for seed in range(8):
        qrels, run = random_case(seed)
        found = table_of(metrics, judged(qrels, ordered(run), SCALE.highest_level))
        for name, metric, scores in zip(GRADED, metrics, found.tolist(), strict=True):
            values = metric.parameters["gains"].values
            parameters = MEASURES[name].read(name, ",".join(f"{level}={gain}" for level, gain in enumerate(values, 1)))
            for value, topic in zip(scores, topics_of(qrels, run).values(), strict=True):
                # trec_eval gives 0 to a topic without relevant documents.
                expected = MEASURES[name].compute(topic, parameters.values) if topic.relevant else np.nan
                assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), (metric.label, seed)


def test_points_of_recall_are_rounded_up_where_trec_eval_rounds_to_the_nearest():
    # definitions.md, item 10. Of R = 4, recall 0.3 needs 2 documents, because 1 is a recall of 0.25 only.
    levels, ranking = dict.fromkeys("abcd", 1), ["a", "u", "v", "b"]
    assert score("IPrec(recall=0.3)", levels, ranking) == 0.5
    assert score("IPrec(recall=0.3,rounding=trec_eval9)", levels, ranking) == 0.5
    assert score("iprec_at_recall_0.30", levels, ranking) == 1.0
    # Recall 0.26 needs 1.04 documents, from which trec_eval 9 cuts off the decimals.
    assert [score(f"IPrec(recall=0.26{each})", levels, ranking) for each in ("", ",rounding=trec_eval9")] == [0.5, 1.0]
    (topic,) = topics_of({"t": levels}, {"t": dict(zip(ranking, (4, 3, 2, 1), strict=True))}).values()
    assert MEASURES["iprec_at_recall"].compute(topic, [0.3]) == [1.0]


def test_documents_of_a_negative_level_are_not_unjudged():
    assert score("Unjudged@4", {"a": 1, "s": -2}, ["s", "u", "a"]) == 0.25
