"""Scores as CSV and as trec_eval prints them."""

import csv
import io

import pytest

from tests.world.campaigns import QRELS, WORSE, judged, refused, run_text

# What `trec_eval -c -q -m map -m ndcg_cut.5 -m P.5 -m recip_rank` prints of RUN, with topic 2 found at rank 2.
TREC_EVAL = """\
map                   \t1\t1.0000
ndcg_cut_5            \t1\t1.0000
P_5                   \t1\t0.2000
recip_rank            \t1\t1.0000
map                   \t2\t0.5000
ndcg_cut_5            \t2\t0.6309
P_5                   \t2\t0.2000
recip_rank            \t2\t0.5000
runid                 \tall\ttag
num_q                 \tall\t2
map                   \tall\t0.7500
ndcg_cut_5            \tall\t0.8155
P_5                   \tall\t0.2000
recip_rank            \tall\t0.7500
"""
EXPRESSIONS = ["map", "ndcg_cut_5", "P_5", "recip_rank"]


def test_the_text_is_trec_evals_byte_for_byte(shared):
    campaign = judged(shared)
    answer = campaign.get("/scores", metric=EXPRESSIONS, topics="all", format="trec_eval", run="tag")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == TREC_EVAL


def test_scores_agree_with_trec_eval_itself(shared):
    evaluator = pytest.importorskip("pytrec_eval").RelevanceEvaluator(
        {"1": {"good": 2, "bad": 0}, "2": {"good": 1}}, {"map", "ndcg_cut.5", "P.5", "recip_rank"}
    )
    found = evaluator.evaluate({"1": {"good": 1.0, "bad": 0.5}, "2": {"bad": 1.0, "good": 0.5}})
    lines = [line.split("\t") for line in TREC_EVAL.splitlines() if "\tall\t" not in line]
    assert lines == [[f"{name:<22}", topic, f"{found[topic][name]:6.4f}"] for topic in found for name in EXPRESSIONS]


def test_a_metric_that_trec_eval_has_not_goes_by_its_label_and_one_that_it_has_by_its_name(shared):
    campaign = judged(shared, gains="3:1")
    text = campaign.get("/scores", metric=["AP", "Q", "nDCG@10"], format="trec_eval").text
    names = [line.split("\t")[0].rstrip() for line in text.splitlines()]
    assert names == ["runid", "num_q", "map", "Q(beta=1,gains=3:1)", "nDCG(base=2,gains=3:1)@10"]


def test_the_text_names_the_tag_of_the_file_and_is_of_one_run_only(shared):
    campaign = judged(shared)
    campaign.submit(WORSE, name="renamed")
    assert refused(campaign.get("/scores", format="trec_eval")) == (422, "invalid-request")
    assert "\tall\tworse\n" in campaign.get("/scores", format="trec_eval", run="renamed").text


def test_undefined_scores_are_not_in_the_text(shared):
    campaign = judged(shared, qrels=QRELS + "3 0 good 0\n")
    text = campaign.get("/scores", metric="AP", topics="all", format="trec_eval").text
    assert "\t3\t" not in text
    assert f"{'num_q':<22}\tall\t2\n" in text


def _rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_csv_has_a_row_a_run_topic_and_metric_and_means_as_all(shared):
    campaign = judged(shared)
    answer = campaign.get("/scores", metric=["AP", "Q"], topics="all", format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    label = "Q(beta=1,gains=linear)"
    rows = _rows(answer.text)
    assert rows[0] == ["run", "topic", "metric", "value"]
    assert [row[:3] for row in rows[1:]] == [
        ["tag", topic, metric] for metric in ("AP", label) for topic in ("1", "2", "all")
    ]
    assert rows[3] == ["tag", "all", "AP", "0.75"]
    assert _rows(campaign.get("/scores", metric="AP", format="csv").text)[1:] == [["tag", "all", "AP", "0.75"]]


@pytest.mark.parametrize("topic", ["=1+1", "+1", "-1", "@a", '"q"', "a,b", "'"])
def test_no_cell_of_csv_is_a_formula(shared, topic):
    campaign = judged(shared, run_text({topic: ["good"]}), qrels=f"{topic} 0 good 1\n")
    row = _rows(campaign.get("/scores", metric="AP", topics="all", format="csv").text)[1]
    assert row == ["tag", f"'{topic}" if topic[0] in "=+-@" else topic, "AP", "1.0"]


@pytest.mark.parametrize(
    ("accept", "given", "kind"),
    [
        ("text/csv", None, "text/csv"),
        ("text/plain", None, "text/plain"),
        ("*/*", None, "application/json"),
        ("text/csv;q=0.5, application/json", None, "application/json"),
        ("text/html, */*;q=0.8", None, "application/json"),
        ("application/json", "csv", "text/csv"),
        ("text/csv", "json", "application/json"),
        ("text/csv;q=x", None, "application/json"),
    ],
)
def test_the_format_asked_for_wins_over_the_accept_header(shared, accept, given, kind):
    campaign = judged(shared)
    query = {"format": given} if given else {}
    answer = campaign.organiser.get(f"{campaign.path}/scores", params=query, headers={"Accept": accept})
    assert answer.headers["content-type"].split(";")[0] == kind
