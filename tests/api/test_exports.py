"""Scores as CSV and as trec_eval prints them."""

import csv
import io

import pytest

from tests.world.campaigns import QRELS, judged, run_text

EXPRESSIONS = ["map", "ndcg_cut_5", "P_5", "recip_rank"]


def test_the_text_has_the_scores_of_trec_eval_itself_and_none_that_is_undefined(shared):
    evaluator = pytest.importorskip("pytrec_eval").RelevanceEvaluator(
        {"1": {"good": 2, "bad": 0}, "2": {"good": 1}}, {"map", "ndcg_cut.5", "P.5", "recip_rank"}
    )
    found = evaluator.evaluate({"1": {"good": 1.0, "bad": 0.5}, "2": {"bad": 1.0, "good": 0.5}})
    campaign = judged(shared, qrels=QRELS + "3 0 good 0\n")
    text = campaign.get("/scores", metric=EXPRESSIONS, topics="all", format="trec_eval", run="tag").text
    lines = [line.split("\t") for line in text.splitlines() if "\tall\t" not in line]
    assert lines == [[f"{name:<22}", topic, f"{found[topic][name]:6.4f}"] for topic in found for name in EXPRESSIONS]
    assert f"{'num_q':<22}\tall\t2\n" in text


@pytest.mark.parametrize("topic", ["=1+1", "+1", "-1", "@a", '"q"', "a,b", "'"])
def test_no_cell_of_csv_is_a_formula(shared, topic):
    campaign = judged(shared, run_text({topic: ["good"]}), qrels=f"{topic} 0 good 1\n")
    text = campaign.get("/scores", metric="AP", topics="all", format="csv").text
    row = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert row == ["tag", f"'{topic}" if topic[0] in "=+-@" else topic, "AP", "1.0"]
