"""The names that other programs print lead to the metric that is meant, as the first of the suggestions."""

import re

import pytest

from gainboard.errors import BadExpression
from gainboard.metrics import Scale
from gainboard.metrics.expressions import resolve
from gainboard.metrics.names import MEANINGS

SCALE = Scale(3, 1000)
MEANT = {
    "Recall@10": "R@10 recall_at_10 cosine_recall@10 val_recall@10 recall10 RECALL-AT-10",
    "P@5": "Precision@5 precision_at_5 P5 cosine_precision@5 precision_5 prec@5 dot_precision@5",
    "Success@1": "accuracy@1 dot_accuracy@1 hit_rate@1 HR@1 hits@1 top1_accuracy acc@1 hit_rate_at_1 accuracy_score",
    "ndcg_cut_10": "ndcg_at_10 cosine_ndcg@10 NanoBEIR_mean_cosine_ndcg@10 eval_dot_ndcg@10 ndcg10 main_score",
    "Recall@1000": "R@1k recall_at_1k recall(k=1000)",
    "RR@10": "mrr_at_10 cosine_mrr@10 MRR_10 reciprocal_rank@10 euclidean_mrr@10 recip_rank_10",
    "AP": "average_precision_score mean_average_precision label_ranking_average_precision_score RetrievalMAP",
    "MSnDCG": "ndcg_score RetrievalNormalizedDCG mean_ndcg",
    "setF": "F1@5 f1 f1_score F-measure@10 cosine_f1",
    "Unjudged@10": "Hole@10 hole_at_10",
    "AP@10": "map_at_k AveragePrecision@k",
    "map@10": "map@k map@K map@n",
}


@pytest.mark.parametrize("meant", MEANT)
def test_the_metric_that_another_program_means_is_suggested_first(meant):
    for name in MEANT[meant].split():
        with pytest.raises(BadExpression) as refused:
            resolve(name, SCALE)
        assert re.search(rf"Did you mean {re.escape(meant)}[,?]", refused.value.message), refused.value.message


def test_every_suggestion_is_a_metric():
    for meaning in MEANINGS.values():
        for expression in (*(each.format(5) for each in meaning.cut), *meaning.whole):
            assert resolve(expression, SCALE).label
